"""Loss events: when, how many segments, whether a queue was full, and whether flows lost in the same event.

Losses less than a round trip and a half apart are one event, because a sender answers all losses of a window once (RFC
6582, RFC 6675). Losses from a full queue come when the round-trip time is near its greatest; others do not care.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import FAST, NEEDLESS, TIMEOUT, UNSEEN, Flow, seconds

_SAME_EVENT = 1.5
#: A queue counts as full when the round-trip time has reached this part of the way from its least to its usual
#: greatest.
_FULL = 0.5


def loss_events(flow: Flow, rounds: Rounds) -> list[dict[str, Any]]:
    """Each event: ``time_s`` (of the first retransmission), ``segments``, ``timeouts``, ``queue_full``."""
    if flow.sends is not None:
        kind = flow.sends["kind"]
        lost = np.isin(kind, (FAST, TIMEOUT, UNSEEN))
        times = seconds(flow.sends["t_ns"][lost])
        segments = np.maximum(np.ceil(flow.sends["payload"][lost] / flow.mss), 1)
        timeouts = kind[lost] == TIMEOUT
    else:
        lost = rounds.lost > 0
        times, segments, timeouts = rounds.start[lost], rounds.lost[lost], rounds.timeouts[lost]
    if not len(times):
        return []
    rtt = rounds.usual_rtt()
    first = np.concatenate([[True], np.diff(times) > _SAME_EVENT * rtt])
    number = np.cumsum(first) - 1
    counts = np.bincount(number, segments)
    expired = np.bincount(number, timeouts)
    sampled = np.isfinite(rounds.rtt)
    low, high = rounds.least_rtt(), float(np.percentile(rounds.rtt[sampled], 95)) if sampled.any() else np.nan
    events = []
    for n, time in enumerate(times[first]):
        # The loss happened a round trip before the retransmission, and the round-trip time then was sampled after it.
        before = int(np.clip(np.searchsorted(rounds.start, time, "right") - 1, 0, len(rounds) - 1))
        around = rounds.rtt[max(before - 1, 0) : before + 1]
        level = float(np.nanmax(around)) if np.isfinite(around).any() else np.nan
        full = bool((level - low) > _FULL * (high - low)) if high - low > 0.05 * low else False
        events.append(
            {"time_s": float(time), "segments": int(counts[n]), "timeouts": int(expired[n]), "queue_full": full}
        )
    return events


def mark_events(rounds: Rounds) -> list[dict[str, Any]]:
    """Where echoes of marks start after a round trip without them: answered as a loss is (RFC 3168)."""
    marked = rounds.marked > 0
    starts = np.flatnonzero(marked & ~np.concatenate([[False], marked[:-1]]))
    return [{"time_s": float(rounds.start[n]), "segments": 0, "timeouts": 0, "queue_full": False} for n in starts]


def congestion_events(
    losses: Sequence[Mapping[str, Any]], marks: Sequence[Mapping[str, Any]], rounds: Rounds
) -> list[Mapping[str, Any]]:
    """Losses and marks in order of time; those of one round trip are one event."""
    span = rounds.usual_rtt()
    joined: list[Mapping[str, Any]] = []
    for event in sorted((*losses, *marks), key=lambda event: float(event["time_s"])):
        if not joined or event["time_s"] - joined[-1]["time_s"] > span:
            joined.append(event)
    return joined


def overflow(flow: Flow, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The events in numbers."""
    answer: dict[str, Any] = {
        "events": len(events),
        "segments": sum(event["segments"] for event in events),
        "timeouts": sum(event["timeouts"] for event in events),
        "with_a_full_queue": sum(bool(event["queue_full"]) for event in events),
        "list": [dict(event) for event in events],
    }
    if flow.sends is not None:
        kind = flow.sends["kind"]
        answer["in_front_of_the_capture"] = int(np.sum(kind == UNSEEN))
        answer["needless"] = int(np.sum(kind == NEEDLESS))
    return answer


def synchronisation(
    events: Sequence[Sequence[Mapping[str, Any]]], rounds: Sequence[Rounds | None]
) -> dict[str, Any] | None:
    """How often flows lose together: of the other flows that were active, the mean share that lost in the same event.

    Events of different flows belong together if they are less than the longest usual round-trip time apart. 1: all
    flows lose in each event; 0: each event meets one flow.
    """
    active = [(float(r.start[0]), float(r.end[-1])) if r is not None else None for r in rounds]
    if sum(a is not None for a in active) < 2:
        return None
    span = max(r.usual_rtt() for r in rounds if r is not None)
    all_events = sorted((event["time_s"], flow) for flow, mine in enumerate(events) for event in mine)
    clusters: list[tuple[float, set[int]]] = []
    for time, flow in all_events:
        if clusters and time - clusters[-1][0] <= span:
            clusters[-1][1].add(flow)
        else:
            clusters.append((time, {flow}))
    starts, ends = (np.sort([a[edge] for a in active if a is not None]) for edge in (0, 1))
    shares = []
    for time, members in clusters:
        others = int(np.searchsorted(starts, time, "right") - np.searchsorted(ends, time)) - 1
        if others > 0:
            shares.append((len(members) - 1) / others)
    if not shares:
        return None
    return {"events": len(shares), "index": float(np.mean(shares)), "within_s": span}
