"""Runs and records that are too short or too coarse for what is read from them."""

from __future__ import annotations

from windtunnel.kinds import has_trait
from windtunnel.notes.note import Said, Sayings, of_each, rule
from windtunnel.notes.subject import Flow, Subject, seconds
from windtunnel.notes.words import count, rate, time

#: A mean over fewer teeth depends on where the run ends.
_TEETH = 5
#: A run of fewer round trips shows how flows start.
_ROUNDS = 50


@rule("few-sawteeth", source="RFC 5166; the length of a tooth by RFC 9438 section 5.1")
def few_sawteeth(subject: Subject) -> Sayings:
    """A flow that always has data to send answered fewer than five signals after slow start: means over the run
    depend on where it ends.
    """
    if subject.ideal:
        return

    def holds(flow: Flow) -> bool:
        left = flow.measured.get("slow_start_exit")
        return bool(left) and flow.is_greedy and flow.by_loss and 0 < _teeth(flow) < _TEETH

    def sentence(flow: Flow) -> Said:
        teeth, lasted = _teeth(flow), subject.duration - flow.measured["slow_start_exit"]["t_s"]
        return Said(
            f"{flow.name}: {'1 sawtooth' if teeth == 1 else f'{teeth} sawteeth'} in {time(lasted)} after "
            f"slow start: means depend on where the run ends; five take about {time(lasted / teeth * _TEETH)}",
            flow=flow,
            numbers={"teeth": teeth, "lasted_s": lasted},
        )

    yield from of_each(filter(holds, subject.flows), sentence)


def _teeth(flow: Flow) -> int:
    """The signals that a flow answered."""
    return int(flow.measured.get("loss_episodes") or 0) + int(flow.measured.get("ecn_reductions") or 0)


@rule("condition-never-met", level="warning", source="docs/how-to/changing-paths.md")
def condition_never_met(subject: Subject) -> Sayings:
    """Something waited for a state of a controller that did not come: it did not happen."""
    for change in (subject.summary or {}).get("changes") or ():
        if change["t_s"] is None:
            yield Said(f"{change['what']}: did not happen, because {change['when']} did not come true in time")


@rule("released-goodput", source="RFC 9293 section 3.10.7.4: data reach the application in order")
def released_goodput(subject: Subject) -> Sayings:
    """In a measurement window more payload was delivered in order than arrived: the window begins while a segment is
    missing, and its retransmission delivers what had arrived above it before.
    """
    for window in (subject.summary or {}).get("windows") or ():
        for flow, record in zip(subject.flows, window["flows"], strict=True):
            goodput, arrived = 1e6 * record["goodput_mbps"], 1e6 * record["throughput_mbps"]
            if goodput > arrived:
                yield Said(
                    f"{flow.name}: the goodput in the window {window['name']}, {rate(goodput)}, counts data that had "
                    f"arrived before and were delivered in order in it; {rate(arrived)} arrived in it",
                    flow=flow,
                    numbers={"goodput_bps": goodput, "throughput_bps": arrived},
                )


@rule("short-run", before=True, source="RFC 5166")
def short_run(subject: Subject) -> Sayings:
    """A flow that always has data to send runs for fewer than fifty of its round trips: what is measured is its
    start.
    """

    def rounds(flow: Flow) -> float:
        return (subject.duration - flow.start) / flow.rtt

    def sentence(flow: Flow) -> Said:
        return Said(
            f"{flow.name} runs for {count(rounds(flow), 'round trip')} of {time(flow.rtt)}: what is measured is its "
            "start",
            flow=flow,
            numbers={"rounds": rounds(flow), "rtt_s": flow.rtt},
        )

    yield from of_each((flow for flow in subject.flows if flow.is_greedy and 0 < rounds(flow) < _ROUNDS), sentence)


@rule("late-start", level="warning", before=True, source="a common slip in scenarios with staggered flows")
def late_start(subject: Subject) -> Sayings:
    """A flow starts when the run has ended or after nine tenths of it."""
    for flow in subject.flows:
        if flow.start > 0.9 * subject.duration:
            yield Said(
                f"{flow.name} starts at {time(flow.start)}, and the run ends at {time(subject.duration)}",
                flow=flow,
                numbers={"start_s": flow.start, "duration_s": subject.duration},
            )


@rule("coarse-record", before=True, source="the sampling theorem: a wave needs two samples")
def coarse_record(subject: Subject) -> Sayings:
    """The recording interval is longer than the shortest round trip: tables show no single round trip, and least and
    greatest values only as extremes of an interval.
    """
    interval = seconds((subject.scenario.get("record") or {}).get("interval"))
    shortest = min(
        (flow for flow in subject.flows if flow.cc and flow.rtt > 0), key=lambda flow: flow.rtt, default=None
    )
    if shortest is not None and interval > shortest.rtt:
        yield Said(
            f"tables have a row each {time(interval)}, longer than the RTT of {shortest.name}, {time(shortest.rtt)} "
            f"(record.interval)",
            flow=shortest,
            numbers={"interval_s": interval, "rtt_s": shortest.rtt},
        )


@rule("not-bottleneck", before=True, source="a common slip in graphs of several links")
def not_bottleneck(subject: Subject) -> Sayings:
    """A link with an AQM is on no flow's slowest place: its queue stays empty, and the AQM is not tested."""
    for queue in subject.data_queues:
        from_flows = [subject.narrowest(flow) for flow in queue.flows]
        managed = queue.kind and not has_trait(queue.kind, "passive")
        narrow = [link for link in from_flows if link is not None]
        if (
            managed
            and len(subject.data_queues) > 1
            and narrow
            and all(link.rate < queue.rate / 1.01 for link in narrow)
        ):
            slowest = min(narrow, key=lambda link: link.rate)
            yield Said(
                f"{queue.name} has {queue.label} at {rate(queue.rate)}, but all of its flows pass a slower link "
                f"({slowest.name}, {rate(slowest.rate)}): its queue stays short",
                queue=queue,
                numbers={"rate_bps": queue.rate, "slowest_bps": slowest.rate},
            )


@rule(
    "unfinished-transfers",
    level="warning",
    source="flow completion times of the completed alone are biased to short ones",
)
def unfinished_transfers(subject: Subject) -> Sayings:
    """More than a twentieth of a flow's transfers were not complete at the end of the run: completion times are of
    the others, which are the short ones.
    """
    for flow in subject.flows:
        transfers = flow.measured.get("transfers") or {}
        arrived, completed = int(transfers.get("arrived") or 0), int(transfers.get("completed") or 0)
        left = arrived - completed - int(transfers.get("rejected") or 0)
        if arrived and left > max(0.05 * arrived, 1 if arrived > 1 else 0):
            yield Said(
                f"{flow.name}: {left} of {count(arrived, 'transfer')} were not complete at the end: completion times "
                "leave "
                f"them out",
                flow=flow,
                numbers={"arrived": arrived, "unfinished": left},
            )
