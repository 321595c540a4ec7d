"""Flows that share a queue: what divides the link between them, if not their controllers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Queue, Subject, number, seconds
from windtunnel.notes.words import count, percent, time, times

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Events of two flows in the same round trips, as a share of those of the flow with fewer, that count as synchronised.
_TOGETHER = 0.8
#: Fewer events show nothing.
_EVENTS = 4
#: Events that are so frequent that others meet them by chance more often than this show nothing either.
_CHANCE = 0.5
#: Pairs of flows that are compared: with many flows, the first ones.
_COMPARED = 8


@rule(
    "unequal-rtts",
    before=True,
    source="Floyd, Connections with Multiple Congested Gateways, 1991",
)
def unequal_rtts(subject: Subject) -> Sayings:
    """Flows of one controller share a queue without bands of their own, and their round trips differ by a factor of
    two or more: windows grow by round trips, so that rates are not equal by design.
    """
    for queue in subject.data_queues:
        if has_trait(queue.kind, "fair"):
            continue
        for cc in sorted({flow.cc for flow in queue.flows if flow.is_greedy and flow.by_loss}):
            same = [flow for flow in queue.flows if flow.cc == cc and flow.is_greedy and flow.rtt > 0]
            near, far = min(same, key=lambda f: f.rtt, default=None), max(same, key=lambda f: f.rtt, default=None)
            if near is None or far is None or far.rtt < 2 * near.rtt:
                continue
            numbers, seen = {"ratio": far.rtt / near.rtt}, ""
            if _rate(near) and _rate(far):
                numbers["rates"] = _rate(near) / _rate(far)
                seen = f"; {near.name} got {times(numbers['rates'])} times the rate of {far.name}"
            yield Said(
                f"{queue.name}: RTTs of {near.label} flows differ {times(numbers['ratio'])} times ({time(near.rtt)} "
                "and "
                f"{time(far.rtt)}): they do not share equally by design{seen}",
                queue=queue,
                numbers=numbers,
            )


@rule("model-beside-loss", level="warning", before=True, source="Ware and others, Modeling BBR's Interactions, 2019")
def model_beside_loss(subject: Subject) -> Sayings:
    """BBR shares a tail drop with a flow that grows until it loses: below a bandwidth-delay product of buffer BBR
    takes more than its part, above one and a half it holds what its cap of two allows, and the other the rest.
    """
    for queue in subject.data_queues:
        model = [flow for flow in queue.flows if has_trait(flow.cc, "model") and flow.is_greedy]
        loss = [flow for flow in queue.flows if flow.is_greedy and flow.by_loss]
        if not has_trait(queue.kind, "passive") or not model or not loss:
            continue
        share = queue.limit / queue.bdp(model[0])
        if 1 <= share <= 1.5 or math.isnan(share):
            continue
        who = (
            f"{model[0].label} takes most of the link"
            if share < 1
            else f"{loss[0].label} fills it behind {model[0].label}"
        )
        seen = ""
        if all(_rate(flow) for flow in (model[0], loss[0])):
            seen = f" (here {times(_rate(model[0]) / _rate(loss[0]))} to 1)"
        size = "no limit" if math.isinf(share) else f"{times(share)} BDP"
        yield Said(
            f"{queue.name}: {model[0].label} with {loss[0].label} in a tail drop of {size}: {who}{seen}; the size of "
            f"the buffer decides, not the controllers",
            queue=queue,
            numbers={"bdps": share},
        )


@rule("delay-beside-loss", before=True, source="Mo, La, Anantharam, Walrand, Analysis of TCP Reno and Vegas, 1999")
def delay_beside_loss(subject: Subject) -> Sayings:
    """A controller that keeps delay low shares a queue with one that grows until it loses: it gives way."""
    for queue in subject.data_queues:
        shy = [flow for flow in queue.flows if has_trait(flow.cc, "delay") and flow.is_greedy]
        bold = [flow for flow in queue.flows if flow.is_greedy and flow.by_loss]
        if has_trait(queue.kind, "fair") or not shy or not bold:
            continue
        numbers, seen = {}, ""
        if _rate(shy[0]) and _rate(bold[0]):
            numbers["rates"] = _rate(shy[0]) / _rate(bold[0])
            seen = f": it got {percent(numbers['rates'])} of the other's rate"
        yield Said(
            f"{queue.name}: {shy[0].name} keeps the delay low next to {bold[0].name}, which fills the queue, and "
            f"gives way{seen}",
            queue=queue,
            numbers=numbers,
        )


@rule("one-start", before=True, source="Floyd, Jacobson, On Traffic Phase Effects, 1992; Zhang, Shenker, Clark, 1991")
def one_start(subject: Subject) -> Sayings:
    """Two equal flows or more start in the same instant on a tail drop, and no jitter moves their phases: a simulation
    has no noise that would part them, and results of one run are those of one phase.
    """
    for queue in subject.data_queues:
        if not has_trait(queue.kind, "passive") or subject.ideal or _phases_move(subject, queue):
            continue
        alike: dict[tuple[str, float, float], list[Flow]] = {}
        for flow in queue.flows:
            staggered = str(flow.setup.get("stagger") or "0 s") != "0 s" or flow.setup.get("active")
            if flow.is_greedy and not staggered and subject.narrowest(flow) is queue:
                alike.setdefault((flow.terms, flow.rtt, flow.start), []).append(flow)
        largest = max(alike.values(), key=number, default=[])
        if number(largest) >= 2:
            yield Said(
                f"{queue.name}: {number(largest)} equal flows ({largest[0].label}) start at {time(largest[0].start)} "
                "together on "
                f"a tail drop: phase decides who loses; stagger them, or vary the seed with jitter",
                queue=queue,
                numbers={"flows": number(largest), "start_s": largest[0].start},
            )


@rule("synchronised-losses", source="Zhang, Clark, Oscillating Behavior of Network Traffic, 1990; RFC 7567 section 2")
def synchronised_losses(subject: Subject) -> Sayings:
    """Two flows lost in the same events, four fifths of them or more: the queue does not choose, and both answer
    together.
    """
    events = _loss_events(subject)
    for queue in subject.data_queues:
        flows = [flow for flow in queue.flows if flow.index in events][:_COMPARED]
        shared = [_together(subject, a, b, events) for a, b in combinations(flows, 2)]
        chance = max((_by_chance(subject, flow, events) for flow in flows), default=1.0)
        if not shared or chance > _CHANCE or min(shared) < _TOGETHER:
            continue
        share = min(shared)
        alone = sum(bool(flow.cc) for flow in queue.flows) == 2
        who = "the two flows" if alone else f"{len(flows)} flows"
        numbers = {"share": share, "flows": len(flows), "events": min(len(events[flow.index]) for flow in flows)}
        yield Said(
            f"{queue.name}: {who} lost in the same events (synchronised): {percent(share)} of "
            f"{count(numbers['events'], 'event')}",
            queue=queue,
            numbers=numbers,
        )


@rule("lock-out", level="warning", source="Floyd, Jacobson, On Traffic Phase Effects, 1992; RFC 7567 section 2")
def lock_out(subject: Subject) -> Sayings:
    """Of two equal flows on a tail drop one has twice the rate of the other or more, and the other loses a larger part
    of its packets by the same factor or more, while no jitter moves their phases: phase, not the controller, divides
    the link. A flow that is merely ahead since its start loses as large a part as the other.
    """
    for queue in subject.data_queues:
        if not has_trait(queue.kind, "passive") or not queue.drops() or _phases_move(subject, queue):
            continue
        greedy = [flow for flow in queue.flows if flow.is_greedy and flow.by_loss and _rate(flow)]
        greedy = [flow for flow in greedy if subject.narrowest(flow) is queue]
        for a, b in combinations(greedy[:_COMPARED], 2):
            same = (a.terms, a.start) == (b.terms, b.start) and math.isclose(a.rtt, b.rtt, rel_tol=0.05)
            high, low = (a, b) if _rate(a) >= _rate(b) else (b, a)
            if same and _rate(high) >= 2 * _rate(low) and _chosen(low, high):
                numbers = {"ratio": _rate(high) / _rate(low), "lost": high.lost(), "lost_other": low.lost()}
                yield Said(
                    f"{queue.name}: {high.name} has {times(numbers['ratio'])} times the rate of {low.name}, its equal, "
                    "and "
                    f"lost {high.lost()} packets where that lost {low.lost()}: a phase effect of tail drop",
                    queue=queue,
                    numbers=numbers,
                )
                break


@rule("not-converged", source="Jain, Chiu, Hawe, DEC TR-301, 1984")
def not_converged(subject: Subject) -> Sayings:
    """Equal flows did not reach a Jain index of 0.95 of their rates over seconds while all of them ran: means over
    the run show how they started.
    """
    from windtunnel.notes.fairness import shared_fairness

    for queue in subject.data_queues:
        fairness = shared_fairness(subject, equal_flows(queue))
        if fairness and math.isnan(fairness.converged_s) and fairness.jain < 0.95:
            yield Said(
                f"{queue.name}: {fairness.flows} equal flows did not converge in the {time(fairness.lasted_s)} "
                "that they shared: "
                f"Jain's index is {times(fairness.jain)}",
                queue=queue,
                numbers={"jain": fairness.jain, "lasted_s": fairness.lasted_s, "flows": fairness.flows},
            )


def _chosen(low: Flow, high: Flow) -> bool:
    """The queue drops a larger part of the slower flow's packets, by the factor of the rates at least: more than their
    bursts would explain. Rates go with the root of that part, so that a phase effect shows its square.
    """
    part, other = (flow.lost() / max(1, int(flow.measured.get("sent") or 0)) for flow in (low, high))
    return low.lost() >= _EVENTS and part * _rate(low) >= other * _rate(high)


def _phases_move(subject: Subject, queue: Queue) -> bool:
    """Some jitter is longer than a packet takes: packets meet the queue in no fixed order."""
    return any(not seconds(each.get("deviation")) < queue.drain(queue.mtu) for each in subject.elements("jitter"))


def _rate(flow: Flow) -> float:
    """What a flow received while it was active; 0 before the run."""
    return float((flow.measured.get("active") or {}).get("throughput_mbps") or 0.0)


def _loss_events(subject: Subject) -> dict[int, npt.NDArray[np.float64]]:
    """The times of a flow's loss events, of each flow that has some: losses less than two of its round trips apart are
    one.
    """
    table: Any = (subject.tables or {}).get("flows") or {}
    if "lost" not in table:
        return {}
    import numpy as np

    lossy = np.asarray(table["lost"]) > 0
    times_s, flows = np.asarray(table["time_s"])[lossy], np.asarray(table["flow"])[lossy]
    order = np.lexsort([times_s, flows])
    times_s, flows = times_s[order], flows[order]
    firsts = np.flatnonzero(np.diff(flows, prepend=-1))
    lengths = np.diff(firsts, append=len(flows))
    since = np.diff(times_s, prepend=-np.inf)
    since[firsts] = np.inf
    interval = _interval(subject)
    spans = [max(_longest_rtt(subject.flows[index]), interval) for index in flows[firsts].tolist()]
    begins = since > 2 * np.repeat(np.asarray(spans), lengths)
    counts = np.add.reduceat(begins, firsts, dtype=np.int64) if len(firsts) else firsts
    return {
        int(flows[first]): times_s[first : first + length][begins[first : first + length]]
        for first, length in zip(firsts[counts >= _EVENTS], lengths[counts >= _EVENTS], strict=True)
    }


def _together(subject: Subject, a: Flow, b: Flow, events: dict[int, npt.NDArray[np.float64]]) -> float:
    """The share of events of the flow with fewer that happened within a round trip of one of the other."""
    import numpy as np

    few, many = sorted((events[a.index], events[b.index]), key=len)
    span = max(_span(subject, a), _span(subject, b))
    nearest = [float(np.min(np.abs(many - at))) for at in few]
    return float(np.mean(np.asarray(nearest) <= span))


def _by_chance(subject: Subject, flow: Flow, events: dict[int, npt.NDArray[np.float64]]) -> float:
    """The part of the run that is within a round trip of one of a flow's events: events anywhere are there as often."""
    return 2 * _span(subject, flow) * len(events[flow.index]) / subject.duration


def _span(subject: Subject, flow: Flow) -> float:
    """What counts as one moment: a round trip, but no less than the interval at which losses are recorded."""
    return max(_longest_rtt(flow), _interval(subject))


def _interval(subject: Subject) -> float:
    """How often losses are recorded."""
    return seconds((subject.scenario.get("record") or {}).get("interval"))


def _longest_rtt(flow: Flow) -> float:
    """The median round-trip time, queues included."""
    return max(flow.rtt, float((flow.measured.get("rtt_ms") or {}).get("p50") or 0.0) / 1e3)


def equal_flows(queue: Queue) -> Sequence[Flow]:
    """The flows of a queue that should share it equally: one controller, one round trip, always data to send. Empty if
    those are not all of its greedy flows.
    """
    greedy = [flow for flow in queue.flows if flow.is_greedy]
    alike = {(flow.terms, round(flow.rtt * 1e6)) for flow in greedy}
    controlled = all(not has_trait(flow.cc, "fixed") for flow in greedy)
    return greedy if len(greedy) >= 2 and len(alike) == 1 and controlled else ()
