"""The time series of a run's flows, as excerpts that leave the run's process and are drawn on two axes.

A suite records in steps of 200 ms, as Flent does: rates are means over a step; of the round-trip times, the sender's
smoothed one (``srtt_ms``, the "TCP RTT" that ``ss`` shows) is at its end, a probe's is the mean over the step.
"""

from __future__ import annotations

import numpy as np

from windtunnel.metrics import Array, by_flow
from windtunnel.panels.gaps import while_alive
from windtunnel.papers.setups import Excerpt
from windtunnel.result import RunResult

#: The columns of the table ``flows`` that figures draw.
COLUMNS = ("throughput_mbps", "delivery_rate_mbps", "srtt_ms", "rtt_mean_ms")


def flow_series(run: RunResult) -> Excerpt:
    """``time_s``, and each column of each flow as ``srtt_ms/0``; NaN where the flow has no packets yet, or no more."""
    table = run.tables["flows"]
    time, flow = np.asarray(table["time_s"], dtype=np.float64), np.asarray(table["flow"], dtype=np.int64)
    out: dict[str, Array] = {}
    for column in COLUMNS:
        out["time_s"], matrix = by_flow(time, flow, np.asarray(table[column], dtype=np.float64))
        for index, entry in enumerate(run.flows):
            out[f"{column}/{index}"] = while_alive(out["time_s"], matrix[:, index], entry)
    return out
