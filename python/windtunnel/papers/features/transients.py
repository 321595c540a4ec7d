"""How soon a flow uses its link: after its start, and after a change of the link's rate."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View, flow_numbers

#: The time over which throughput is averaged.
MEAN_S = 1.0


@method
def time_to_rate(view: View, mbps: float, width: float) -> float:
    """Seconds until a flow's goodput over ``width`` seconds reaches ``mbps``; the run's length if it never does."""
    (flow,) = flow_numbers(view.flow)
    time, goodput = matrix(view, "goodput_mbps")
    count = max(1, round(width / float(time[1] - time[0])))
    means = np.convolve(np.nan_to_num(goodput[:, flow]), np.ones(count) / count)[: len(time)]
    reached = np.flatnonzero(means >= mbps)
    return float(time[reached[0]] if len(reached) else time[-1])


@method
def flight_growth(view: View, rtt_s: float, first: float, last: float) -> float:
    """By what factor the packets that are sent in a round trip grow from one to the next: the geometric mean from the
    ``first`` to the ``last``, counted from the first flight.
    """
    (flow,) = flow_numbers(view.flow)
    time, sent = matrix(view, "sent")
    packets = np.nan_to_num(sent[:, flow])
    step = float(time[1] - time[0])
    start = float(time[np.flatnonzero(packets)[0]])
    number = np.floor((time - start + step / 2) / rtt_s).astype(int)
    flights = np.bincount(number[number >= 0], packets[number >= 0])
    return float((flights[int(last)] / flights[int(first)]) ** (1.0 / (last - first)))


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
    finite = np.isfinite(values)
    sums = np.convolve(np.where(finite, values, 0.0), np.ones(count))[: len(values)]
    counts = np.convolve(finite.astype(float), np.ones(count))[: len(values)]
    with np.errstate(invalid="ignore"):
        return np.where(finite, sums / counts, np.nan)
