"""What the suite's figures take from a run: the flows' and the queue's time series, and the overflows."""

from __future__ import annotations

import numpy as np

from windtunnel.metrics import Array, by_flow
from windtunnel.papers.features.overflows import overflow_times
from windtunnel.papers.setups import Excerpt
from windtunnel.plugins import quantity
from windtunnel.result import RunResult

#: Columns of the table ``flows`` that figures draw, by the name in the excerpt.
_FLOWS = {
    "mbps": "throughput_mbps",
    "cwnd_bytes": "cwnd_bytes",
    "ssthresh_bytes": "ssthresh_bytes",
    "rtt_ms": "rtt_mean_ms",
}
#: An ACK-clocked window in segments of the usual size.
MSS = 1448.0


def flow_series(run: RunResult) -> Excerpt:
    """``time_s``; ``mbps/0``, ``cwnd/0`` and ``ssthresh/0`` in segments, ``rtt_ms/0`` of each flow; ``queue_packets``;
    ``overflows`` in seconds. A flow has NaN before its start and after its end.
    """
    table = run.tables["flows"]
    out: dict[str, Array] = {}
    for name, column in _FLOWS.items():
        time, matrix = by_flow(table["time_s"], table["flow"], table[column])
        out["time_s"] = time
        for index, flow in enumerate(run.meta["scenario"]["flow"]):
            values = np.where(_alive(time, flow), matrix[:, index], np.nan)
            short = name.removesuffix("_bytes")
            out[f"{short}/{index}"] = values / MSS if name.endswith("_bytes") else values
    queues = run.tables["queues"]
    first = np.asarray(queues["queue"]) == 0
    out["queue_packets"] = np.asarray(queues["backlog_max_packets"], dtype=np.float64)[first]
    out["overflows"] = overflow_times(run.tables)
    return out


def _alive(time: Array, flow: dict[str, object]) -> Array:
    start, stop = (_seconds(flow.get(key)) for key in ("start", "stop"))
    return np.asarray((time > (start or 0.0)) & (time <= (stop if stop is not None else np.inf)))


def _seconds(value: object) -> float | None:
    return None if value is None else float(quantity(str(value)))
