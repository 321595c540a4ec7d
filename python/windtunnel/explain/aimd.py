"""The increase a and the decrease b of a window that follows AIMD(a, b), and how well it does.

Between two decreases the window of AIMD grows by a segments per round trip (RFC 5681 section 3.1 has a = 1), and a
decrease leaves 1 - b of it. a is the median slope of the growing stretches (Theil-Sen, which a few odd rounds do not
move); b the median decrease. The exponent k of growth ~ window^k tells families apart: 0 is AIMD, 1 is Scalable, -1 is
IIAD (the binomial algorithms of Bansal and Balakrishnan, INFOCOM 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.explain.limits import CWND, Codes, limited_by
from windtunnel.explain.rounds import Array, Rounds
from windtunnel.explain.spread import spread

_LEAST_ROUNDS = 5
#: Rounds after a retransmission in which the window settles.
_SETTLE = 2


@dataclass(frozen=True)
class Epoch:
    """The rounds between two decreases."""

    #: The window before the decrease that starts it, in segments; NaN at the start of the connection.
    before: float
    #: The window after it.
    after: float
    #: Since its start, in seconds.
    time: Array
    window: Array
    rtt: Array
    #: It ended with a loss, not with the trace.
    whole: bool


def epochs(rounds: Rounds, codes: Codes | None, events: Sequence[Mapping[str, Any]]) -> Iterator[Epoch]:
    """The stretches between congestion events in which the window alone limited the sender."""
    good = limited_by(codes, rounds, (CWND,)) & (rounds.lost == 0) & (rounds.sent > 0)
    edges = [event["time_s"] for event in events]
    for n, edge in enumerate(edges):
        end = edges[n + 1] if n + 1 < len(edges) else np.inf
        inside = np.flatnonzero((rounds.start > edge) & (rounds.end <= end) & good)[_SETTLE - 1 :]
        if len(inside) < 2:
            continue
        ahead = np.flatnonzero(rounds.start <= edge)[-3:]
        before = float(rounds.window[ahead].max()) if len(ahead) else np.nan
        after = float(rounds.window[inside[:2]].min())
        yield Epoch(
            before,
            after,
            rounds.start[inside] - rounds.start[inside[0]],
            rounds.window[inside],
            rounds.rtt[inside],
            np.isfinite(end),
        )


def aimd(rounds: Rounds, codes: Codes | None, events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """a, b and k with their spread (the middle half); None without a decrease and growth after it."""
    sawteeth = list(epochs(rounds, codes, events))
    decreases = [1 - epoch.after / epoch.before for epoch in sawteeth if epoch.before > 0]
    growing = [epoch for epoch in sawteeth if len(epoch.window) >= _LEAST_ROUNDS]
    slopes = [_slope(np.arange(len(epoch.window), dtype=float), epoch.window) for epoch in growing]
    if not decreases or not slopes:
        return None
    windows = np.concatenate([_middle(epoch.window) for epoch in growing])
    growth = np.concatenate([_growth(epoch.window) for epoch in growing])
    return {
        "epochs": len(sawteeth),
        "a_segments_per_round_trip": spread(slopes),
        "b": spread(decreases),
        "k": _exponent(windows, growth),
        "fit": _fit(growing),
    }


def _slope(x: Array, y: Array) -> float:
    first, second = np.triu_indices(len(x), 1)
    return float(np.median((y[second] - y[first]) / (x[second] - x[first])))


def _growth(window: Array, over: int = 4) -> Array:
    """Per round trip, over several."""
    over = min(over, len(window) - 1)
    return (window[over:] - window[:-over]) / over


def _middle(window: Array, over: int = 4) -> Array:
    over = min(over, len(window) - 1)
    return (window[over:] + window[:-over]) / 2


def _exponent(window: Array, growth: Array) -> float | None:
    """The slope of the logarithms; None where the window varies too little to tell."""
    good = (growth > 0) & (window > 0)
    if good.sum() < 2 * _LEAST_ROUNDS:
        return None
    x, y = np.log(window[good]), np.log(growth[good])
    return float(np.polyfit(x, y, 1)[0]) if np.ptp(x) > 0.3 else None


def _fit(growing: Sequence[Epoch]) -> float:
    """The part of the windows' variance within epochs that straight lines explain (R squared)."""
    rest = whole = 0.0
    for epoch in growing:
        x = np.arange(len(epoch.window), dtype=float)
        rest += float(np.sum((epoch.window - np.polyval(np.polyfit(x, epoch.window, 1), x)) ** 2))
        whole += float(np.sum((epoch.window - epoch.window.mean()) ** 2))
    return 1 - rest / whole if whole > 0 else 1.0
