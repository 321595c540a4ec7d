"""Numbers of the state of a queue's AQM, from the table ``aqm``."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View


@method
def state_mean(view: View, number: str, start: float, stop: float) -> float:
    """Mean of a number of the AQM's state over the window; NaN if it was not recorded there."""
    table = view.run.tables["aqm"]
    if number not in table:
        return math.nan
    time, values = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", number))
    part = values[(time > start) & (time <= stop) & np.isfinite(values)]
    return float(part.mean()) if len(part) else math.nan
