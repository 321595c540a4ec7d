"""How a flow starts: how soon it uses the link, and by what its flights grow."""

from __future__ import annotations

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View, flow_numbers


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
