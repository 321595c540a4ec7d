"""The receiver's acknowledgements: how many segments each is for, how long it waits, whether it reports holes.

RFC 5681 section 4.2 asks for one at least every second full segment, and within half a second. More segments in one are
the receiver's choice (offload, QUIC), or acknowledgements that the path has thinned: only a capture at the receiver
tells which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.trace import AHEAD, DSACK, DUPLICATE, Flow, stretches

#: Whose choice it is that an acknowledgement is for many segments.
RECEIVER, EITHER = "receiver", "receiver or path"
#: The longest that is counted by itself.
_MOST = 64
#: Fewer acknowledgements show nothing; a timer that is shorter is a host's haste.
_LEAST, _SHORTEST_S = 10, 4e-3
#: Waits for a timer are the same: their middle half is no wider than this part of the median.
_LEAST_WAITS, _STEADY = 3, 0.3
#: Of acknowledgements, the share that makes a habit.
_HABIT = 0.6
#: A stretched one has more segments than this.
_DELAYED = 2


def acknowledgements(flow: Flow) -> dict[str, Any] | None:
    """``segments``: the share of acknowledgements for one, two and more; ``policy``, ``quick`` (the first ones that
    are each for one segment), ``timer_ms``, and SACK. None without packets.
    """
    acks = flow.acks
    if acks is None or flow.sends is None or not len(acks["t_ns"]):
        return None
    counts, waits = _counts(flow)
    whole = int(counts.sum())
    if whole < _LEAST:
        return {"why_not": f"{whole} acknowledgements of new data in order are too few"}
    shares = {"one": counts[1], "two": counts[2], "more": counts[_DELAYED + 1 :].sum()}
    sacked = int(np.count_nonzero(acks["delivered"] > acks["acked"]))
    return {
        "acknowledgements": whole,
        "segments": {name: float(count) / whole for name, count in shares.items()},
        "mean_segments": float((counts * np.arange(len(counts))).sum()) / whole,
        "p99_segments": int(np.searchsorted(np.cumsum(counts), 0.99 * whole)),
        "policy": _policy(counts, whole),
        "thinned_by": EITHER if flow.at_sender else RECEIVER,
        "quick": _quick(flow),
        "timer_ms": waits,
        # In a log acknowledgements name packets.
        "sack": None if flow.logged else True if sacked else _offered(flow),
        "sack_reports": sacked,
        "dsack_reports": int(np.count_nonzero(acks["kind"] & DSACK)),
    }


def _counts(flow: Flow) -> tuple[npt.NDArray[np.int64], float | None]:
    """Acknowledgements by their segments, and how long those wait that a timer sends."""
    acks: Any = flow.acks
    counts = np.zeros(_MOST + 1, np.int64)
    late: list[npt.NDArray[np.float64]] = []
    for part in stretches(len(acks["t_ns"])):
        in_order = (acks["acked"][part] > 0) & (acks["delivered"][part] == acks["acked"][part])
        in_order &= (acks["kind"][part] & (DUPLICATE | AHEAD)) == 0
        segments = np.rint(acks["acked"][part][in_order] / flow.mss)
        counts += np.bincount(np.clip(segments, 1, _MOST).astype(int), minlength=_MOST + 1)
        alone = in_order & (acks["rtt_ns"][part] > 0) & (acks["acked"][part] <= flow.mss)
        # Far from the receiver an acknowledgement comes late for other reasons, too, if anything else is under way.
        if flow.at_sender:
            alone &= acks["in_flight"][part] == 0
        late.append(acks["rtt_ns"][part][alone].astype(float))
    times = np.concatenate(late) if late else np.empty(0)
    return counts, _timer(times)


def _timer(times: npt.NDArray[np.float64]) -> float | None:
    """How long a receiver waits for a second segment: the usual excess of those that take longer than the shortest;
    None where it is not the same.
    """
    excess = (times - times.min(initial=np.inf)) / 1e6
    excess = excess[excess > 1e3 * _SHORTEST_S]
    if len(excess) < _LEAST_WAITS:
        return None
    low, middle, high = np.percentile(excess, (25, 50, 75))
    return float(middle) if high - low <= _STEADY * middle else None


def _policy(counts: npt.NDArray[np.int64], whole: int) -> str | None:
    """How many segments an acknowledgement usually is for."""
    if counts[1] >= _HABIT * whole:
        return "every segment"
    if counts[2] >= _HABIT * whole:
        return "every second segment"
    if counts[_DELAYED + 1 :].sum() >= _HABIT * whole:
        return "fewer"
    return None


def _quick(flow: Flow) -> int:
    """The acknowledgements at the start that are each for one segment (Linux's quick ones)."""
    acks: Any = flow.acks
    head = slice(0, 1024)
    new = acks["acked"][head] > 0
    segments = np.rint(acks["acked"][head][new] / flow.mss)
    more = np.flatnonzero(segments > 1)
    return int(more[0]) if len(more) else len(segments)


def _offered(flow: Flow) -> bool | None:
    """Both ends offered it in the handshake; None where that is not known."""
    sides = [(flow.ends.get(side) or {}).get("syn") for side in ("sender", "receiver")]
    syns = [syn for syn in sides if syn]
    return all(syn["sack"] for syn in syns) if len(syns) == len(sides) else None
