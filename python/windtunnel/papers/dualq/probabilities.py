"""The probabilities of marks that the slides' lower panel shows, from the state that the queues report."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windtunnel.metrics import Array
from windtunnel.papers.dualq.plan import FROM_S, TO_S
from windtunnel.papers.setups import Excerpt, Measurement
from windtunnel.papers.time_series import flow_series
from windtunnel.result import RunResult
from windtunnel.table import Table

#: What each queue has, by the column of the table ``aqm`` that it follows from. The native probability of DualPI2's
#: step is the part of the low-latency queue's packets that the step marked, from the count of these marks.
CURVES = {
    "dualpi2": {"coupled": "p_cl", "classic": "p_c", "native": "native_marks"},
    "pi2": {"classic": "p_classic"},
}
NAMES = {
    "native": "CE mark probability (L native)",
    "coupled": "CE mark probability (L coupled)",
    "classic": "CE mark probability (C)",
}
LOW_LATENCY = 0


def mean_percent(queue: str, curve: str) -> Measurement:
    """The mean of a probability over the measured window, in percent; of the native one, the part of packets."""
    column = CURVES[queue][curve]
    if curve == "native":
        return Measurement("aqm", "queue 0", f'state_rise_percent("{column}", {LOW_LATENCY}, {FROM_S}, {TO_S})')
    return Measurement("aqm", "queue 0", f'state_mean("{column}", {FROM_S}, {TO_S}, 100)')


def series(run: RunResult) -> Excerpt:
    """The flows' time series, and in percent each probability that the run has."""
    excerpt = dict(flow_series(run))
    table, time = run.tables["aqm"], excerpt["time_s"]
    for columns in CURVES.values():
        for curve, column in columns.items():
            if column in table:
                state = _at(time, table["time_s"], table[column])
                excerpt[curve] = _part(time, state, run.tables["bands"]) if curve == "native" else 100.0 * state
    return excerpt


def _at(time: Array, moments: npt.ArrayLike, values: npt.ArrayLike) -> Array:
    """The state holds until the next one is recorded."""
    some = np.isfinite(np.asarray(values, dtype=np.float64))
    at, state = (np.asarray(each, dtype=np.float64)[some] for each in (moments, values))
    if not len(at):
        return np.full(len(time), np.nan)
    last = np.searchsorted(at, time, side="right") - 1
    return np.where(last >= 0, state[np.maximum(last, 0)], np.nan)


def _part(time: Array, marks: Array, bands: Table) -> Array:
    """Marks of each interval over the packets that the low-latency queue sent in it; NaN where it sent none."""
    mine = np.asarray(bands["band"], dtype=np.int64) == LOW_LATENCY
    at, sent = (np.asarray(bands[c], dtype=np.float64)[mine] for c in ("time_s", "dequeued"))
    packets = np.zeros(len(time))
    packets[np.searchsorted(time, at - 1e-9)] = sent
    new = np.diff(np.nan_to_num(marks), prepend=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(packets > 0, 100.0 * new / packets, np.nan)
