"""Probes of a rate: a flight that rises for a round trip or two, and falls back without a loss.

BBR sends a quarter more than the path delivers for a round trip, and a quarter less in the next; other models have
their own gains and distances. A window that grows by acknowledgements rises by a segment or two in a round trip and
falls by losses: neither is a probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.evidence.answers import CongestionAnswer
from windtunnel.explain.evidence.published import LAWS
from windtunnel.explain.rounds import Array, Rounds
from windtunnel.explain.spread import spread

#: Round trips around one whose median is the usual flight.
_AROUND = 16
#: A probe rises above this share of it, by more segments than growth does, within two round trips; and falls back soon.
_UP, _SEGMENTS, _BACK = 1.08, 2.0, 1.05
_LONGEST = 12
#: Fewer are accidents; distances are regular if their middle half is no wider than this share of the median.
LEAST, _REGULAR = 4, 0.5
#: They are alike if the middle half of their heights is no wider than this share.
_ALIKE = 0.1


def rate_probes(
    rounds: Rounds, quiet: npt.NDArray[np.bool_], answers: Sequence[CongestionAnswer], controller: str | None
) -> dict[str, Any]:
    """``found``, ``regular``, ``every_s``, ``every_round_trips`` (least ones), ``gain`` of the flight, ``drain``: the
    least that is sent for each segment delivered in the round trips after; all as medians with the middle half.
    """
    usual = _usual(rounds.window)
    window = rounds.window
    up = window > _UP * usual
    up[: int(np.argmax(quiet)) if quiet.any() else len(up)] = False
    starts = np.flatnonzero(up & ~np.concatenate([[False], up[:-1]]))
    lost = np.array([answer.start_s for answer in answers if answer.kept < _BACK / _UP])
    pace = rounds.sent / np.maximum(rounds.delivered, 1)
    tops, troughs, times = [], [], []
    for n in starts.tolist():
        after = np.flatnonzero(window[n : n + _LONGEST + 1] <= _BACK * usual[n : n + _LONGEST + 1])
        base = float(window[max(n - 2, 0) : n].min(initial=np.inf))
        if not len(after) or window[n] - base <= _SEGMENTS:
            continue
        back = n + int(after[0])
        if np.searchsorted(lost, rounds.end[back]) > np.searchsorted(lost, rounds.start[max(n - 1, 0)]):
            continue
        tops.append(float(window[n:back].max() / usual[n]))
        troughs.append(float(pace[n : back + 2].min()))
        times.append(float(rounds.start[n]))
    every = spread(np.diff(times))
    regular = every is not None and every["high"] - every["low"] <= _REGULAR * every["median"]
    tops_spread = spread(tops)
    alike = tops_spread is not None and tops_spread["high"] - tops_spread["low"] <= _ALIKE * tops_spread["median"]
    # Random distances, or probes that losses hide, leave the heights.
    probing = len(times) >= LEAST and (regular or alike)
    law = LAWS.get(controller or "")
    return {
        "found": probing,
        "count": len(times),
        "regular": regular,
        "every_s": every if probing else None,
        "every_round_trips": every["median"] / rounds.least_rtt()
        if probing and every and np.isfinite(rounds.least_rtt())
        else None,
        "gain": tops_spread if probing else None,
        "drain": spread(troughs) if probing else None,
        "law_round_trips": law.probe_round_trips if law else None,
    }


def _usual(window: Array) -> Array:
    """The running median, of a segment at least."""
    padded = np.pad(window, _AROUND, mode="edge")
    median = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _AROUND + 1), axis=1)
    return np.asarray(np.maximum(median, 1.0))
