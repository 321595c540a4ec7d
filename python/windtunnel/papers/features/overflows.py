"""Buffer overflows, from the interval series: how often the first queue has one, and how late a sender learns of it."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import Tables, View, flow_numbers
from windtunnel.papers.features.windows import RECOVERY

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


def _news(view: View) -> tuple[float, float]:
    """When the first packet is dropped, and when the flow finds its first loss; NaN where neither happens."""
    table = view.run.tables["queues"]
    time, drops = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", "drops"))
    dropped = time[drops > 0]
    (flow,) = flow_numbers(view.flow)
    at, state = matrix(view, "state")
    recovering = at[state[:, flow] >= RECOVERY]
    return (float(dropped.min()) if len(dropped) else math.nan), (float(recovering[0]) if len(recovering) else math.nan)


@method
def news_ms(view: View) -> float:
    """Milliseconds from the first drop to the first loss that the sender finds, to the recording's interval."""
    drop, news = _news(view)
    return 1e3 * (news - drop)


@method
def sent_before_news(view: View) -> float:
    """Packets that the sender sends in that time."""
    drop, news = _news(view)
    (flow,) = flow_numbers(view.flow)
    time, sent = matrix(view, "sent")
    return float(np.nansum(sent[(time > drop) & (time <= news), flow]))
