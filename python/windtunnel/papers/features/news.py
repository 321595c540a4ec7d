"""How late the news of a loss is: from the first drop in any queue to the time when the sender finds it."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View, flow_numbers

#: The state of a sender that answers a loss, and that of a timeout after it (``tcp_ca_state``).
RECOVERY = 3


def _news(view: View) -> tuple[float, float]:
    """When the first packet is dropped, and when the flow finds its first loss; NaN where neither happens."""
    table = view.run.tables["queues"]
    time, drops = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", "drops"))
    dropped = time[drops > 0]
    (flow,) = flow_numbers(view.flow)
    at, state = matrix(view, "state")
    found = at[state[:, flow] >= RECOVERY]
    return (float(dropped.min()) if len(dropped) else math.nan), (float(found[0]) if len(found) else math.nan)


@method
def news_ms(view: View) -> float:
    """Milliseconds from the first drop to the first loss that the sender finds, to the recording's interval."""
    drop, found = _news(view)
    return 1e3 * (found - drop)


@method
def sent_before_news(view: View) -> float:
    """Packets that the sender sends in that time."""
    drop, found = _news(view)
    (flow,) = flow_numbers(view.flow)
    time, sent = matrix(view, "sent")
    return float(np.nansum(sent[(time > drop) & (time <= found), flow]))


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
def kept_at_losses(view: View, start: float, stop: float) -> float:
    """The median part of its window that a flow keeps when it answers a loss: ssthresh after, over cwnd before it.

    An answer is an interval in which a sender that repairs a loss has another ssthresh than before.
    """
    (flow,) = flow_numbers(view.flow)
    time, ssthresh = matrix(view, "ssthresh_bytes")
    _, highest = matrix(view, "cwnd_max_bytes")
    _, state = matrix(view, "state")
    after, before, repairs = ssthresh[:, flow], highest[:, flow], state[:, flow] >= RECOVERY
    inside = (time > start) & (time <= stop)
    changed = np.flatnonzero(inside[1:] & (after[1:] != after[:-1]) & np.isfinite(after[1:]) & repairs[1:]) + 1
    peaks = np.maximum(before[changed], before[changed - 1])
    return float(np.median(after[changed] / peaks)) if len(changed) else math.nan


@method
def growth_per_round(view: View, start: float, stop: float) -> float:
    """By how many packets of 1448 bytes a flow's window grows in a round trip: the median over half seconds in which
    nothing is lost. The round trip is that of the ACKs.
    """
    (flow,) = flow_numbers(view.flow)
    time, windows = matrix(view, "cwnd_mean_bytes")
    _, rtt = matrix(view, "rtt_mean_ms")
    _, state = matrix(view, "state")
    step = max(1, round(0.5 / float(time[1] - time[0])))
    w, r, s = windows[:, flow] / 1448.0, rtt[:, flow] * 1e-3, state[:, flow]
    growths = []
    for first in range(0, len(time) - step, step):
        part = slice(first, first + step + 1)
        if start < time[first] and time[first + step] <= stop and (s[part] == 0).all() and np.isfinite(r[part]).any():
            growths.append(
                (w[first + step] - w[first]) / (time[first + step] - time[first]) * float(np.nanmean(r[part]))
            )
    return float(np.median(growths)) if growths else math.nan


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
