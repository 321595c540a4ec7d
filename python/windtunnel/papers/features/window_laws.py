"""The laws that a congestion window follows, fitted to each of its epochs: from a reduction to the next.

Runs need the controller's state at every change (``record.state = "changes"``) with numbers ``cwnd``, in bytes, as real
stacks have it; a shadow's window is ``shadow_cwnd``. The view names one flow. Packets are the largest of the path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.probes import state
from windtunnel.papers.features.view import View, flow_numbers

#: The UDP payload of a full packet, in bytes: 1500 without the headers of IPv4 and UDP.
MSS = 1472.0
#: The same with headers.
MTU = 1500.0
#: A window that falls by more than this share is reduced. Rounding, and what BBR takes back, is less.
REDUCED = 0.1
#: An epoch must be longer than this, in seconds, for a cubic to be fitted.
LEAST_S = 2.0
#: An epoch must have this many windows of data for a growth per window.
LEAST_WINDOWS = 10.0


@dataclass(frozen=True)
class Epoch:
    """From a reduction, at 0 s, to the next: the windows in packets. ``before`` is the window that was reduced."""

    start: float
    before: float
    time: Array
    window: Array
    last: bool


def epochs(view: View, start: float, stop: float, number: str = "cwnd") -> list[Epoch]:
    """The epochs that start within a window of time; the last one may not have ended."""
    time, window = _window(view, number)
    falls = np.flatnonzero(window[1:] < (1.0 - REDUCED) * window[:-1]) + 1
    ends = np.append(falls, len(window))[1:]
    return [
        Epoch(float(time[a]), float(window[a - 1]), time[a:b] - time[a], window[a:b], bool(b == len(window)))
        for a, b in zip(falls, ends, strict=True)
        if start <= time[a] < stop
    ]


def _window(view: View, number: str) -> tuple[Array, Array]:
    (flow,) = flow_numbers(view.flow)
    time, window = state(view.run.tables, flow, number)
    return time, window / MSS


def _median(values: Iterator[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return float(np.median(finite)) if finite else math.nan


@method
def decrease(view: View, start: float, stop: float) -> float:
    """The factor of a reduction: the median."""
    return _median(float(e.window[0]) / e.before for e in epochs(view, start, stop))


@method
def reductions(view: View, start: float, stop: float) -> float:
    """How often the window is reduced."""
    return float(len(epochs(view, start, stop)))


@method
def window_at(view: View, at: float) -> float:
    """The window in packets at a time."""
    time, window = _window(view, "cwnd")
    index = int(np.searchsorted(time, at, side="right")) - 1
    return float(window[index]) if index >= 0 else math.nan


@method
def peak_window(view: View, number: str) -> float:
    """The largest window in packets: ``cwnd`` or ``shadow_cwnd``."""
    return float(np.max(_window(view, number)[1]))


@method
def least_window(view: View, start: float, stop: float) -> float:
    """The smallest window in packets."""
    time, window = _window(view, "cwnd")
    inside = window[(time >= start) & (time < stop)]
    return float(inside.min()) if len(inside) else math.nan


@method
def growth_per_window(view: View, start: float, stop: float) -> float:
    """By how many packets the window grows for each window of data that arrives, without the round trip after a
    reduction: the median of the epochs.
    """
    (flow,) = flow_numbers(view.flow)
    table = view.run.tables["flows"]
    mine = np.asarray(table["flow"]) == flow
    ends = np.asarray(table["time_s"], dtype=np.float64)[mine]
    packets = np.asarray(table["throughput_mbps"], dtype=np.float64)[mine] * np.diff(ends, prepend=0.0) * 1e6 / 8 / MTU
    delivered = np.cumsum(packets)

    def growth(epoch: Epoch) -> float:
        grown = epoch.window > epoch.window[0]
        if not grown.any():
            return math.nan
        since = epoch.time[grown][0]
        at = np.linspace(since, epoch.time[-1], 200)
        window = np.interp(at, epoch.time, epoch.window)
        rate = np.gradient(np.interp(epoch.start + at, ends, delivered), at)
        windows = float(np.trapezoid(rate / window, at))
        return float(window[-1] - window[0]) / windows if windows > LEAST_WINDOWS else math.nan

    return _median(growth(epoch) for epoch in epochs(view, start, stop))


@method
def standstill(view: View, start: float, stop: float) -> float:
    """The longest time from a reduction until the window grows, in seconds."""

    def until(epoch: Epoch) -> float:
        grown = epoch.window > epoch.window[0]
        return float(epoch.time[grown][0]) if grown.any() else math.nan

    times = [until(epoch) for epoch in epochs(view, start, stop) if not epoch.last]
    return max((time for time in times if math.isfinite(time)), default=math.nan)


# --- CUBIC (RFC 9438) ------------------------------------------------------------------------------------------------

C = 0.4
BETA = 0.7


@dataclass(frozen=True)
class Cubic:
    """The curve that fits an epoch, W(t) = C (t - K)^3 + W_max, and what RFC 9438 has for it."""

    c: float
    k: float
    plateau: float
    rfc_k: float
    rfc_plateau: float


def cubics(view: View, start: float, stop: float) -> list[Cubic]:
    """The curves of the epochs that have ended, by least squares.

    RFC 9438 section 4.7: a window that is reduced below the plateau before it has a lower one, (1 + beta) / 2 of it.
    Section 4.2: K = cbrt((W_max - cwnd_epoch) / C).
    """
    out, previous = [], 0.0
    for epoch in epochs(view, 0.0, stop):
        plateau = epoch.before * (1.0 + BETA) / 2.0 if epoch.before < previous else epoch.before
        previous = plateau
        if epoch.start < start or epoch.last or epoch.time[-1] < LEAST_S:
            continue
        k = float(np.cbrt(max(plateau - epoch.window[0], 0.0) / C))
        out.append(Cubic(*_fit(epoch), k, plateau))
    return out


def _fit(epoch: Epoch) -> tuple[float, float, float]:
    """C, K and W_max: for each K the law is linear in the other two."""
    at = np.linspace(0.0, epoch.time[-1], 400)
    window = epoch.window[np.searchsorted(epoch.time, at, side="right") - 1]
    best = (math.inf, math.nan, math.nan, math.nan)
    for k in np.linspace(0.0, 1.5 * epoch.time[-1] + 1.0, 600):
        cube = (at - k) ** 3
        design = np.stack([cube, np.ones_like(cube)], axis=1)
        (c, plateau), *_ = np.linalg.lstsq(design, window, rcond=None)
        error = float(np.sum((design @ (c, plateau) - window) ** 2))
        if error < best[0]:
            best = (error, float(c), float(k), float(plateau))
    return best[1:]


@method
def cubic_c(view: View, start: float, stop: float) -> float:
    """The fitted C in packets per cubed second: the median of the epochs."""
    return _median(cubic.c for cubic in cubics(view, start, stop))


@method
def cubic_k(view: View, quantile: float, start: float, stop: float) -> float:
    """The fitted K over that of RFC 9438 section 4.2: a quantile of the epochs."""
    ratios = [cubic.k / cubic.rfc_k for cubic in cubics(view, start, stop) if cubic.rfc_k > 0.0]
    return float(np.quantile(ratios, quantile)) if ratios else math.nan


@method
def cubic_plateau(view: View, start: float, stop: float) -> float:
    """The fitted W_max over that of RFC 9438 sections 4.6 and 4.7: the median of the epochs."""
    return _median(cubic.plateau / cubic.rfc_plateau for cubic in cubics(view, start, stop))


# --- Next to a shadow ------------------------------------------------------------------------------------------------


def _apart(view: View) -> tuple[Array, Array, Array]:
    """Times, and both windows in packets: the stack's and its shadow's."""
    time, window = _window(view, "cwnd")
    _, shadow = _window(view, "shadow_cwnd")
    return time, window, shadow


def _parting(view: View, share: float) -> int | None:
    """The index of the first change at which the windows are more than ``share``, and a packet, apart."""
    _, window, shadow = _apart(view)
    apart = np.flatnonzero(np.abs(window - shadow) > np.maximum(share * shadow, 1.0))
    return int(apart[0]) if len(apart) else None


@method
def parting_t(view: View, share: float) -> float:
    """When the stack's window leaves its shadow's, in seconds; the end of the run if it never does."""
    time, *_ = _apart(view)
    index = _parting(view, share)
    return float(time[-1 if index is None else index])


@method
def parting_window(view: View, share: float, number: str) -> float:
    """A window in packets where they part: ``cwnd`` or ``shadow_cwnd``."""
    index = _parting(view, share)
    return float(_window(view, number)[1][index]) if index is not None else math.nan


@method
def parting_phase(view: View, share: float) -> float:
    """How many reductions there were until the windows part: 0 in the first slow start."""
    return reductions(view, 0.0, parting_t(view, share))


@method
def apart(view: View, start: float, stop: float) -> float:
    """How far both windows are apart on average, over the shadow's."""
    time, window, shadow = _apart(view)
    inside = (time >= start) & (time < stop)
    return float(np.mean(np.abs(window - shadow)[inside] / shadow[inside])) if inside.any() else math.nan
