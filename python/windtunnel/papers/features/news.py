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
