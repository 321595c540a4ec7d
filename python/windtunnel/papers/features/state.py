"""Numbers of the state of a queue's AQM, from the table ``aqm``."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View


def _number(view: View, number: str, start: float, stop: float) -> Array:
    """The values of a number within the window, in the order of time; none if it was not recorded there."""
    table = view.run.tables["aqm"]
    if number not in table:
        return np.empty(0)
    time, values = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", number))
    return values[(time > start) & (time <= stop) & np.isfinite(values)]


@method
def state_mean(view: View, number: str, start: float, stop: float, factor: float = 1.0) -> float:
    """Mean of a number of the AQM's state over the window, times ``factor``."""
    values = _number(view, number, start, stop)
    return factor * float(values.mean()) if len(values) else math.nan


@method
def state_rise(view: View, number: str, start: float, stop: float) -> float:
    """By how much a count in the AQM's state rises in the window."""
    values = _number(view, number, start, stop)
    return float(values[-1] - values[0]) if len(values) else math.nan


@method
def state_rise_percent(view: View, number: str, band: float, start: float, stop: float) -> float:
    """The rise of a count, in percent of the packets that a band of the queue sends in the window."""
    bands = view.run.tables["bands"]
    time, sent = (np.asarray(bands[c], dtype=np.float64) for c in ("time_s", "dequeued"))
    mine = (np.asarray(bands["band"], dtype=np.int64) == int(band)) & (time > start) & (time <= stop)
    packets = float(sent[mine].sum())
    return 100.0 * state_rise(view, number, start, stop) / packets if packets else math.nan
