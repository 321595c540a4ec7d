"""Buffer overflows: how often, from the interval series of the first queue."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import Tables, View

#: Drops further apart than this belong to different overflows. An overflow lasts about a round trip, the time until
#: senders learn of it; the talk's longest is 175 ms (100 ms and a full buffer), and nothing recovers in twice that.
APART_S = 0.5


def overflow_times(tables: Tables, start: float = 0.0, stop: float = math.inf) -> Array:
    """When each overflow of the first queue starts, in seconds."""
    table = tables["queues"]
    time, drops, queue = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", "drops", "queue"))
    full = time[(queue == 0) & (drops > 0) & (time > start) & (time <= stop)]
    first = np.diff(full, prepend=-math.inf) > APART_S
    return np.asarray(full[first])


@method
def overflow_count(view: View, start: float, stop: float) -> float:
    """How often the buffer overflows in the window."""
    return float(len(overflow_times(view.run.tables, start, stop)))
