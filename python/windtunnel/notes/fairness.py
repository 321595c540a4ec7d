"""How equally flows share a queue, and from when on: Jain's index of the flows that always have data to send.

Rates are means over ten round trips, and no less than 0.2 s, because single round trips show bursts; only the time
counts in which all of these flows were active.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.notes.subject import Flow, Subject
from windtunnel.stored import coarse

if TYPE_CHECKING:
    from windtunnel.result import RunResult

_ROUNDS, _LEAST_S = 10, 0.2
#: How long Jain's index must stay at 0.95 or above.
_HOLD_S = 1.0
#: Fewer means say nothing about convergence.
_FEWEST = 5


@dataclass(frozen=True)
class Fairness:
    """Jain's index of flows over the time that they shared, and when it settled; NaN if it did not."""

    flows: int
    jain: float
    #: Seconds after the last one had started.
    converged_s: float
    lasted_s: float


#: From the start of the run to its end, in seconds.
_WHOLE = (0.0, math.inf)


def fairness_of(result: RunResult, span: tuple[float, float] = _WHOLE) -> list[dict[str, Any]]:
    """For each queue that flows share which always have data to send: ``name`` (the queue's), ``flows`` (how many),
    ``jain`` (1 if all rates are equal, 1/n if one flow has everything), ``convergence_s`` (from the last start until
    the index of means stays at 0.95 or above for a second; None if it does not) and ``shared_s`` (how long they
    shared it). With a ``span`` of the run, in seconds, all of these are about that part alone. A queue that was shared
    for less than five means of it is left out.
    """
    subject = Subject(result.meta["scenario"], result.summary, coarse(result.tables))
    rows = []
    for queue in subject.data_queues:
        fairness = shared_fairness(subject, [flow for flow in queue.flows if flow.is_greedy], span)
        if fairness is not None:
            rows.append(
                {
                    "name": queue.name,
                    "flows": fairness.flows,
                    "jain": fairness.jain,
                    "convergence_s": None if math.isnan(fairness.converged_s) else fairness.converged_s,
                    "shared_s": fairness.lasted_s,
                }
            )
    return rows


def shared_fairness(subject: Subject, flows: Sequence[Flow], span: tuple[float, float] = _WHOLE) -> Fairness | None:
    """Of these flows; None where there are fewer than two, or they shared too short a time of the span."""
    lives = [flow.measured.get("active") for flow in flows]
    if len(flows) < 2 or not all(lives) or "flows" not in (subject.tables or {}):
        return None
    start = max(span[0], *(life["from_s"] for life in lives if life))
    end = min(span[1], *(life["to_s"] for life in lives if life))
    width = max(_LEAST_S, _ROUNDS * max(flow.rtt for flow in flows))
    bins = math.floor((end - start) / width) if end > start else 0
    if bins < _FEWEST:
        return None
    import numpy as np

    from windtunnel.metrics import convergence_time, jain_index

    assert subject.tables is not None
    table = subject.tables["flows"]
    # Rows are at the ends of their intervals.
    number = np.ceil((np.asarray(table["time_s"], dtype=np.float64) - start) / width - 1e-9).astype(int) - 1
    columns = np.full(len(subject.flows), -1)
    columns[[flow.index for flow in flows]] = np.arange(len(flows))
    column = columns[np.asarray(table["flow"], dtype=np.int64)]
    kept = (number >= 0) & (number < bins) & (column >= 0)
    cells = number[kept] * len(flows) + column[kept]
    rows = np.bincount(cells, minlength=bins * len(flows))
    rates = np.asarray(table["throughput_mbps"], dtype=np.float64)[kept]
    sums = np.bincount(cells, rates, minlength=bins * len(flows))
    means = (sums / np.maximum(rows, 1)).reshape(bins, len(flows))
    edges = start + width * np.arange(1, bins + 1)
    settled = float(convergence_time(edges, means, hold_s=_HOLD_S)) - start
    return Fairness(len(flows), float(jain_index(means.mean(axis=0))), settled, end - start)
