"""What a flow adds to its window in a round trip, what it keeps of it at a loss, and CUBIC's mode, as its controller
recorded it.

CUBIC's window is led by the larger of two: the cubic function, a round trip ahead, and the Reno-friendly estimate (RFC
9438, sections 4.2 and 4.3). The controller tells both. Implementations count in whole packets: where the cubic function
leads by less than one, as it does in the first round trip of every epoch, a sample counts for neither. Between the
reduction and the epoch's start there is no function, and no sample counts.
"""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix, steady_from
from windtunnel.papers.features.view import View, flow_numbers

#: The state of a sender that answers a loss, and that of a timeout after it (``tcp_ca_state``).
RECOVERY = 3
#: By how many packets the cubic function has to lead.
LEAD = 1.0


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
def window_slope(view: View, start: float, stop: float) -> float:
    """By how many packets of 1448 bytes a flow's window grows per second: the least-squares line through the window."""
    (flow,) = flow_numbers(view.flow)
    time, windows = matrix(view, "cwnd_mean_bytes")
    chosen = (time > start) & (time <= stop) & np.isfinite(windows[:, flow])
    if np.count_nonzero(chosen) < 2:
        return math.nan
    return float(np.polyfit(time[chosen], windows[chosen, flow] / 1448.0, 1)[0])


@method
def steady_friendly(view: View, limit: float, span: float) -> float:
    """Share of ``span`` seconds after convergence in which CUBIC is Reno-friendly; NaN if no sample is decided."""
    start = steady_from(view, limit)
    (flow,) = flow_numbers(view.flow)
    state = {name: np.asarray(values, dtype=np.float64) for name, values in view.run.tables["cc"].items()}
    chosen = (state["flow"] == flow) & (state["time_s"] > start) & (state["time_s"] <= start + span)
    estimate, target = state["w_est_segments"][chosen], state["target_segments"][chosen]
    friendly, cubic = np.count_nonzero(estimate > target), np.count_nonzero(target > estimate + LEAD)
    return float(friendly / (friendly + cubic)) if friendly + cubic else math.nan
