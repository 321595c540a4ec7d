"""CUBIC's mode, from the window that a run recorded.

A run's tables do not hold what the controller decides at each ACK, but it follows from them. CUBIC's window follows the
larger of two: the cubic function, determined by the start of an epoch and the window before its reduction (with fast
convergence), and the Reno-friendly estimate, which grows by ``alpha / cwnd`` per segment acknowledged (RFC 9438,
sections 4.2, 4.3 and 4.7). Both are computed here, epoch by epoch. Implementations count in whole packets: where the
cubic function leads by less than one, as it does in the first round trip of every epoch, a sample counts for neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from windtunnel import models
from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import FALL, matrix, steady_from
from windtunnel.papers.features.view import View, flow_numbers

#: The estimate's increase per round trip in packets; Reno's is 1.
ALPHA = float(models.friendly_increase(models.CUBIC_BETA))
#: The cubic function leads if it is ahead by at least this many packets.
LEAD = 1.0


@dataclass(frozen=True)
class Epoch:
    """From the end of a reduction to the next one: samples ``first`` to ``past``, and the function's plateau."""

    first: int
    past: int
    start: float
    plateau: float


def epochs(window: Array) -> list[Epoch]:
    """The epochs of a window in packets, shape ``(n,)``; the last one, which no reduction ends, is left out.

    A reduction is over when the window has grown by more than a packet from its lowest, and is above what CUBIC keeps:
    during recovery it may dip below that and waver.
    """
    out: list[Epoch] = []
    begun: tuple[int, float, float] | None = None
    w_max = peak = 0.0
    i = 0
    while i < len(window):
        peak = max(peak, float(window[i]))
        if window[i] >= FALL * peak:
            i += 1
            continue
        if begun is not None:
            first, start, plateau = begun
            out.append(Epoch(first, i, start, plateau))
        # Fast convergence: a flow that did not reach its last maximum again gives up more.
        w_max = peak * (1.0 + models.CUBIC_BETA) / 2.0 if peak < w_max else peak
        kept = float(math.floor(models.CUBIC_BETA * peak))
        first, low = i, float(window[i])
        while i < len(window) and window[i] <= max(kept, low + 1.0):
            low = min(low, float(window[i]))
            if window[i] <= max(kept, low):
                first = i
            i += 1
        peak = max(kept, low)
        begun = (first, peak, max(w_max, peak))
    return out


def friendly_share(time_s: Array, window: Array, acked: Array, base_rtt_s: float) -> float:
    """Share of the decided samples (see above) in which the Reno-friendly estimate leads; NaN without any.

    ``window`` in packets; ``acked``, packets acknowledged since the start of the run; shape ``(n,)``.
    """
    friendly = cubic = 0
    for epoch in epochs(window):
        here = slice(epoch.first, epoch.past)
        t, w = time_s[here] - time_s[epoch.first], window[here]
        k = models.cubic_k(epoch.plateau, epoch.start)
        # The function is followed a round trip ahead (RFC 9438 section 4.2).
        target = models.cubic_window(t + base_rtt_s, epoch.plateau, k)
        estimate = epoch.start + ALPHA * np.cumsum(np.diff(acked[here], prepend=acked[epoch.first]) / w)
        friendly += int(np.count_nonzero(estimate > target))
        cubic += int(np.count_nonzero(target > estimate + LEAD))
    return friendly / (friendly + cubic) if friendly + cubic else math.nan


@method
def steady_friendly(view: View, limit: float, span: float) -> float:
    """Share of ``span`` seconds after convergence in which CUBIC is Reno-friendly; NaN if no sample is decided."""
    start = steady_from(view, limit)
    cwnd = view.other(view.flow, "cwnd")
    chosen = (cwnd.time > start) & (cwnd.time <= start + span)
    (flow,) = flow_numbers(view.flow)
    time, delivered = matrix(view, "delivered_bytes")
    _, rtt = matrix(view, "rtt_min_ms")
    if not np.isfinite(rtt[:, flow]).any():
        return math.nan
    at = cwnd.time[chosen]
    acked = np.interp(at, time, np.cumsum(np.nan_to_num(delivered[:, flow]))) / models.MSS
    return friendly_share(at, cwnd.value[chosen] / models.MSS, acked, 1e-3 * float(np.nanmin(rtt[:, flow])))
