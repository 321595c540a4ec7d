"""How flows start: when and why they leave slow start, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.notes.note import Said, Sayings, of_each, rule
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

    def sentence(flow: Flow) -> Said:
        left = flow.measured["slow_start_exit"]
        share, numbers = _share_of_bdp(subject, flow, left["cwnd_bytes"])
        at = f", {times(share)} BDP" if math.isfinite(share) else ""
        return Said(
            f"{flow.name}: {flow.label} left slow start at {time(left['t_s'])} {_HOW[left['reason']]}, with a window "
            f"of {size(left['cwnd_bytes'])}{at}",
            flow=flow,
            numbers={"time_s": left["t_s"], "cwnd_bytes": left["cwnd_bytes"], **numbers},
        )

    yield from of_each((flow for flow in subject.flows if _left(flow) in _HOW), sentence)


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

    def holds(flow: Flow) -> bool:
        seen = flow.measured
        if seen.get("slow_start_exit") or not seen.get("active") or not seen.get("cwnd_bytes"):
            return False
        return flow.by_loss and not flow.lost() and not seen.get("ce_marks") and not flow.limited("cwnd") < _DECIDED

    def sentence(flow: Flow) -> Said:
        active, largest = flow.measured["active"], flow.measured["cwnd_bytes"]["max"]
        lasted = active["to_s"] - active["from_s"]
        return Said(
            f"{flow.name} never left slow start: {time(lasted)}, {count(lasted / flow.rtt, 'round trip')}, and a "
            f"window of {size(largest)} at most say nothing about {flow.label}'s congestion avoidance",
            flow=flow,
            numbers={"lasted_s": lasted, "cwnd_bytes": largest, "rounds": lasted / flow.rtt},
        )

    yield from of_each(filter(holds, subject.flows), sentence)


@rule("slow-start-overshoot", source="RFC 9406 section 1; RFC 3742 section 1")
def slow_start_overshoot(subject: Subject) -> Sayings:
    """Ten packets or more were lost around the end of slow start: it doubles the window once more than fits."""
    around = _lost_around_exits(subject, [flow for flow in subject.flows if _left(flow) == "loss"])

    def sentence(flow: Flow) -> Said:
        lost, left_s = around[flow.index], flow.measured["slow_start_exit"]["t_s"]
        share = lost / max(flow.lost(), 1)
        return Said(
            f"{flow.name}: slow start overshot and lost {count(lost, 'packet')} at {time(left_s)}, "
            f"{percent(share)} of all that the flow lost",
            flow=flow,
            numbers={"lost": lost, "share": share, "time_s": left_s},
        )

    yield from of_each((subject.flows[index] for index, lost in around.items() if lost >= _OVERSHOOT), sentence)


def _share_of_bdp(subject: Subject, flow: Flow, window: float) -> tuple[float, dict[str, float]]:
    """A window as a multiple of the bandwidth-delay product; NaN where that is not known."""
    narrowest = subject.narrowest(flow)
    if narrowest is None:
        return math.nan, {}
    bdp = narrowest.bdp(flow)
    return window / bdp, {"bdp_bytes": bdp, "share": window / bdp}


def _left(flow: Flow) -> str | None:
    """Why a flow left slow start; None if it did not."""
    left = flow.measured.get("slow_start_exit")
    return left["reason"] if left else None


def _lost_around_exits(subject: Subject, flows: Sequence[Flow]) -> dict[int, int]:
    """The packets of these flows that were lost within some round trips of the end of their slow start, queues
    included; by the flows' indices.
    """
    table: Mapping[str, Any] = (subject.tables or {}).get("flows") or {}
    if not flows or "time_s" not in table or "lost" not in table:
        return {}
    import numpy as np

    mine = [flow.index for flow in flows]
    left_s, spans = np.full((2, len(subject.flows)), np.nan)
    left_s[mine] = [flow.measured["slow_start_exit"]["t_s"] for flow in flows]
    longest = [max(flow.rtt, float((flow.measured.get("rtt_ms") or {}).get("max") or 0) / 1e3) for flow in flows]
    spans[mine] = _ROUNDS * np.asarray(longest)
    whose = np.asarray(table["flow"], dtype=np.int64)
    near = np.abs(np.asarray(table["time_s"], dtype=np.float64) - left_s[whose]) <= spans[whose]
    lost = np.bincount(whose[near], np.asarray(table["lost"])[near], minlength=len(subject.flows))
    return dict(zip(mine, lost[mine].astype(int).tolist(), strict=True))
