"""CUBIC's mode, from what its controller recorded.

CUBIC's window is led by the larger of two: the cubic function, a round trip ahead, and the Reno-friendly estimate (RFC
9438, sections 4.2 and 4.3). The controller tells both. Implementations count in whole packets: where the cubic function
leads by less than one, as it does in the first round trip of every epoch, a sample counts for neither. Between the
reduction and the epoch's start there is no function, and no sample counts.
"""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import steady_from
from windtunnel.papers.features.view import View, flow_numbers

#: By how many packets the cubic function has to lead.
LEAD = 1.0


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
