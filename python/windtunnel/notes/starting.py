"""How flows start: when and why they leave slow start, and what it costs."""

from __future__ import annotations

import math

from windtunnel.notes.note import Said, Sayings, rule
from windtunnel.notes.subject import Flow, Subject
from windtunnel.notes.words import count, percent, size, time, times

#: Reasons for which a slow start ends before anything is lost or marked.
_EARLY = ("ACK train", "delay")
_HOW = {
    "ACK train": "by its ACK train",
    "delay": "because the delay rose",
    "loss": "by a loss",
    "CE": "by a CE mark",
    "SCE": "by SCE marks",
    "ssthresh": "at ssthresh",
}
#: Losses that count as an overshoot, and how many round trips around the exit they belong to it: they are found one
#: round trip later, and lost in one.
_OVERSHOOT = 10
_ROUNDS = 3
#: From this share of time on, a flow's window decided.
_DECIDED = 0.5


@rule("slow-start-left", source="RFC 9406; the reasons are those of the slow start's own documents")
def slow_start_left(subject: Subject) -> Sayings:
    """When, why and with which window a flow left slow start."""
    for flow in subject.flows:
        left = flow.measured.get("slow_start_exit")
        if not left or left["reason"] not in _HOW:
            continue
        share, numbers = _share_of_bdp(subject, flow, left["cwnd_bytes"])
        at = f", {times(share)} BDP" if math.isfinite(share) else ""
        yield Said(
            f"{flow.name}: {flow.label} left slow start at {time(left['t_s'])} {_HOW[left['reason']]}, with a window "
            "of "
            f"{size(left['cwnd_bytes'])}{at}",
            flow=flow,
            numbers={"time_s": left["t_s"], "cwnd_bytes": left["cwnd_bytes"], **numbers},
        )


@rule("slow-start-left-early", level="warning", source="Ha, Rhee, Taming the Elephants, 2011; RFC 9406 section 1")
def slow_start_left_early(subject: Subject) -> Sayings:
    """HyStart ended the slow start of a flow that is alone on its bottleneck at less than half a bandwidth-delay
    product: congestion avoidance has to grow the rest.
    """
    for flow in subject.flows:
        left = flow.measured.get("slow_start_exit")
        narrowest = subject.narrowest(flow)
        if not left or left["reason"] not in _EARLY or narrowest is None:
            continue
        share, numbers = _share_of_bdp(subject, flow, left["cwnd_bytes"])
        if share < 0.5 and flow.is_greedy and narrowest.fair_rate == narrowest.rate:
            yield Said(
                f"{flow.name} left slow start at {times(share)} BDP, {_HOW[left['reason']]}, before it had filled the "
                f"path: it grows to {size(narrowest.bdp(flow))} by congestion avoidance",
                flow=flow,
                numbers={**numbers, "time_s": left["t_s"]},
            )


@rule("slow-start-only", source="Cardwell, Savage, Anderson, Modeling TCP Latency, 2000")
def slow_start_only(subject: Subject) -> Sayings:
    """A flow with a window-based controller sent all that it had, or until the run ended, in slow start: it is no
    test of its congestion avoidance.
    """
    for flow in subject.flows:
        active = flow.measured.get("active")
        if flow.measured.get("slow_start_exit") or not active or not flow.measured.get("cwnd_bytes"):
            continue
        if not flow.by_loss or flow.lost() or flow.measured.get("ce_marks") or flow.limited("cwnd") < _DECIDED:
            continue
        lasted = active["to_s"] - active["from_s"]
        largest = flow.measured["cwnd_bytes"]["max"]
        numbers = {"lasted_s": lasted, "cwnd_bytes": largest, "rounds": lasted / flow.rtt}
        yield Said(
            f"{flow.name} never left slow start: {time(lasted)}, {count(lasted / flow.rtt, 'round trip')}, and a "
            "window "
            f"of {size(largest)} at most say nothing about {flow.label}'s congestion avoidance",
            flow=flow,
            numbers=numbers,
        )


@rule("slow-start-overshoot", source="RFC 9406 section 1; RFC 3742 section 1")
def slow_start_overshoot(subject: Subject) -> Sayings:
    """Ten packets or more were lost around the end of slow start: it doubles the window once more than fits."""
    for flow in subject.flows:
        left = flow.measured.get("slow_start_exit")
        if not left or left["reason"] != "loss":
            continue
        lost = _lost_around(subject, flow, left["t_s"])
        if lost >= _OVERSHOOT:
            share = lost / max(flow.lost(), 1)
            yield Said(
                f"{flow.name}: slow start overshot and lost {count(lost, 'packet')} at {time(left['t_s'])}, "
                f"{percent(share)} of all that the flow lost",
                flow=flow,
                numbers={"lost": lost, "share": share, "time_s": left["t_s"]},
            )


def _share_of_bdp(subject: Subject, flow: Flow, window: float) -> tuple[float, dict[str, float]]:
    """A window as a multiple of the bandwidth-delay product; NaN where that is not known."""
    narrowest = subject.narrowest(flow)
    if narrowest is None:
        return math.nan, {}
    bdp = narrowest.bdp(flow)
    return window / bdp, {"bdp_bytes": bdp, "share": window / bdp}


def _lost_around(subject: Subject, flow: Flow, t_s: float) -> int:
    """The flow's packets that were lost within some round trips of a moment, queues included."""
    times, lost = subject.series(flow, "time_s"), subject.series(flow, "lost")
    if times is None or lost is None:
        return 0
    span = _ROUNDS * max(flow.rtt, float((flow.measured.get("rtt_ms") or {}).get("max") or 0) / 1e3)
    return int(lost[abs(times - t_s) <= span].sum())
