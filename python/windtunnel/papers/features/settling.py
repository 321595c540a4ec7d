"""Whether a flow's throughput follows its link, seen through a moving average as Wireshark draws it."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View

#: The time over which throughput is averaged.
MEAN_S = 1.0


@method
def settled_after(view: View, start: float, stop: float, mbps: float, near: float, hold: float) -> float:
    """Seconds from ``start`` until a flow's throughput, as a mean over a second, is within ``near`` of ``mbps`` for
    ``hold`` seconds; NaN if that does not happen before ``stop``.
    """
    time, throughput = matrix(view, "throughput_mbps")
    rate = moving_average(time, throughput[:, int(view.flow)], MEAN_S)
    inside = np.abs(rate - mbps) <= near * mbps
    chosen = np.flatnonzero((time > start) & (time <= stop))
    width = max(1, round(hold / float(time[1] - time[0])))
    for first in chosen:
        if first + width <= chosen[-1] + 1 and inside[first : first + width].all():
            return float(time[first] - start)
    return math.nan


def moving_average(time: Array, values: Array, seconds: float) -> Array:
    """Moving average over ``seconds``, as Wireshark's throughput graph has it; NaN where all is NaN."""
    count = max(1, round(seconds / (time[1] - time[0]))) if len(time) > 1 else 1
    known = np.isfinite(values)
    sums = np.convolve(np.where(known, values, 0.0), np.ones(count))[: len(values)]
    counts = np.convolve(known.astype(float), np.ones(count))[: len(values)]
    with np.errstate(invalid="ignore"):
        return np.where(known, sums / counts, np.nan)
