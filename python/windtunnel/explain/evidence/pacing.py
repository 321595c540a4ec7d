"""Pacing: how the departures of a round trip are spread over it.

At the sender a departure that an acknowledgement let go follows it at once; one that a timer let go does not. Segments
that leave together, closer than a tenth of the mean distance, are one burst. What leaves between two bursts gives the
pace, which is compared with cwnd/srtt: Linux paces at 200 % of that in slow start and at 120 % later. Farther away the
bottleneck spaces segments, and none of this can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.limits import CWND, PACING, RECEIVER, Codes, limited_by
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import NEW, UNKNOWN, Columns, Flow, place, stretches

#: A departure follows an acknowledgement at once within this part of the mean distance between departures, and a
#: burst's segments are this near.
_CLOCKED, _TOGETHER = 0.2, 0.1
#: A busy host answers within this time, where departures are farther apart than four times that.
_PROMPT_S = 0.3e-3
#: Fewer departures show nothing.
_LEAST = 20
#: Of departures that follow no acknowledgement: from this share on the sender paces.
_PACED = 0.5
#: Classes of the pace relative to cwnd/srtt: 2 % wide.
_STEP, _LOWEST, _CLASSES = np.log(1.02), np.log(0.05), 350
_LONGEST = 1024
#: Departures are examined in stretches: of many, in about this number, evenly apart. More would not tell more.
_LENGTH, _STRETCHES = 1 << 15, 16

Shows = npt.NDArray[np.bool_]


def paced(document: dict[str, Any] | None) -> bool | None:
    """Whether most departures wait for a clock of the sender's; None where it cannot be seen."""
    return None if document is None or "why_not" in document else bool(document["at_once"] < 1 - _PACED)


def pacing(flow: Flow, rounds: Rounds, codes: Codes | None, started: int) -> dict[str, Any] | None:
    """``at_once``: the share of departures that follow an acknowledgement; ``burst_segments``: median and 90th
    percentile; ``pace``: relative to cwnd/srtt, in slow start and later. None without packets.
    """
    sends = flow.sends
    if sends is None or flow.acks is None:
        return None
    if not flow.at_sender and not flow.logged:
        return {"why_not": "the path spaces segments, too, and the capture was not made at the sender"}
    # The application's times of writing are no pace; repairs of losses have an order of their own.
    shows = limited_by(codes, rounds, (CWND, PACING, RECEIVER)) & (rounds.lost == 0) & (rounds.sent >= 2)
    return _of(flow, rounds, shows, sends, started)


@dataclass
class _Tally:
    """What is counted of the departures in some rounds."""

    departures: int = 0
    at_once: int = 0
    bursts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_LONGEST + 1, np.int64))
    paces: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_CLASSES, np.int64))


def _of(flow: Flow, rounds: Rounds, shows: Shows, sends: Columns, started: int) -> dict[str, Any]:
    begins = int(1e9 * rounds.start[min(started, len(rounds) - 1)])
    slow, later = _Tally(), _Tally()
    split = place(sends["t_ns"], begins)
    for tally, rows in ((slow, slice(0, split)), (later, slice(split, len(sends["t_ns"])))):
        parts = list(stretches(rows.stop - rows.start, _LENGTH))
        for part in parts[:: max(len(parts) // _STRETCHES, 1)]:
            _count(flow, rounds, shows, sends, slice(rows.start + part.start, rows.start + part.stop), tally)
    whole = slow.departures + later.departures
    if whole < _LEAST:
        return {"why_not": f"{whole} departures of new data in round trips that no application limits are too few"}
    bursts = slow.bursts + later.bursts
    document: dict[str, Any] = {
        "departures": whole,
        "at_once": (slow.at_once + later.at_once) / whole,
        "at_once_in_slow_start": slow.at_once / slow.departures if slow.departures >= _LEAST // 2 else None,
        "burst_segments": {"median": _quantile(bursts, 0.5), "p90": _quantile(bursts, 0.9)},
        "pace": None,
        "pace_in_slow_start": None,
    }
    for name, tally in (("pace", later), ("pace_in_slow_start", slow)):
        if tally.paces.sum() >= _LEAST and tally.at_once < (1 - _PACED) * tally.departures:
            document[name] = float(np.exp(_LOWEST + _STEP * (_quantile(tally.paces, 0.5) + 0.5)))
    return document


def _quantile(counts: npt.NDArray[np.int64], share: float) -> int:
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))


def _count(flow: Flow, rounds: Rounds, shows: Shows, sends: Columns, part: slice, tally: _Tally) -> None:
    """Of a stretch of departures, in the round trips that show it."""
    if part.stop - part.start < 2:
        return
    time = sends["t_ns"][part]
    at = np.clip(np.searchsorted(rounds.start, time / 1e9, "right") - 1, 0, len(rounds) - 1)
    length, sent = np.maximum(rounds.end - rounds.start, 1e-9), np.maximum(rounds.sent, 1)
    distance = (1e9 * length / sent)[at]
    good = (sends["kind"][part] == NEW) & shows[at]
    since = sends["since_ack_ns"][part]
    heard = good & (since != UNKNOWN)
    prompt = np.maximum(_CLOCKED * distance, np.where(distance > 4e9 * _PROMPT_S, 1e9 * _PROMPT_S, 0))
    tally.departures += int(heard.sum())
    tally.at_once += int((since[heard] <= prompt[heard]).sum())
    gaps = np.diff(time)
    # A burst begins where the departure before is far enough away.
    first = np.flatnonzero(np.concatenate([[True], gaps > _TOGETHER * distance[1:]]))
    lengths = np.diff(first)
    begins = first[:-1]
    # The last burst of a stretch goes on in the next.
    use = good[begins]
    segments = np.add.reduceat(np.maximum(sends["payload"][part] / flow.mss, 1e-9), first)[:-1]
    tally.bursts += np.bincount(np.clip(np.rint(segments[use]), 1, _LONGEST).astype(int), minlength=_LONGEST + 1)
    after = first[1:]
    apart = (time[after] - time[begins]) / 1e9
    window, rtt = sends["in_flight"][part][begins] / flow.mss, rounds.rtt[at[begins]]
    use &= good[after] & (lengths > 0) & (apart > 0) & np.isfinite(rtt) & (window > 0)
    pace = segments[use] / apart[use] * rtt[use] / window[use]
    classes = np.clip((np.log(np.maximum(pace, 1e-9)) - _LOWEST) / _STEP, 0, _CLASSES - 1)
    tally.paces += np.bincount(classes.astype(int), minlength=_CLASSES)
