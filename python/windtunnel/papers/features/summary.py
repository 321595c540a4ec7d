"""Numbers of the run's summary, for tables: totals rather than plotted symbols.

Any number has a path: ``field("rtt_ms.p99")`` is of the whole run; ``window_value`` is that of a window. The view names
a flow (``0``), a queue (``queue 0``) or an impairment (``impairment 0``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View

#: Kinds of entries besides flows: the first word of a view's name, and the key of the summary.
KINDS = {"queue": "queues", "impairment": "impairments"}


def _entry(view: View, within: Mapping[str, Any]) -> Mapping[str, Any]:
    """The summary of what the view names."""
    kind, _, number = view.flow.rpartition(" ")
    entry: Mapping[str, Any] = within[KINDS.get(kind, "flows")][int(number)]
    return entry


def _number(entry: Mapping[str, Any], path: str) -> float:
    value: Any = entry
    for key in path.split("."):
        if value is None:
            return math.nan
        value = value[key]
    return math.nan if value is None else float(value)


def _window(view: View, name: str) -> Mapping[str, Any]:
    windows: list[Mapping[str, Any]] = view.run.summary["windows"]
    return next(w for w in windows if w["name"] == name)


@method
def mean_mbps(view: View) -> float:
    """IP bytes received, start-up included, over the time of the last packet received; Mbit/s."""
    flow = _entry(view, view.run.summary)
    last = flow["last_packet_s"]
    return float(flow["received_bytes"]) * 8.0 / float(last) / 1e6 if last else math.nan


@method
def window_rate(view: View, window: str, field: str) -> float:
    """A count of a measurement window, per second."""
    chosen = _window(view, window)
    return float(_entry(view, chosen)[field]) / (float(chosen["to_s"]) - float(chosen["from_s"]))


@method
def window_value(view: View, window: str, field: str) -> float:
    """A number of a measurement window: ``goodput_mbps``; of a part of it: ``rtt_ms.p95``. NaN where there is none."""
    return _number(_entry(view, _window(view, window)), field)


@method
def window_utilization(view: View, window: str) -> float:
    """Share of a measurement window in which a queue's link was busy, in percent."""
    return 100.0 * float(_entry(view, _window(view, window))["utilization"])


@method
def events(view: View, table: str) -> float:
    """Number of recorded events, such as ``events("ack_events")``."""
    column = view.run.tables[table]["flow"]
    return float(len(column))


@method
def utilization_percent(view: View) -> float:
    """Share of the run's time in which a queue's link was busy, in percent."""
    return 100.0 * float(_entry(view, view.run.summary)["utilization"])


@method
def loss_share(view: View) -> float:
    """Share of the packets offered to a queue that it lost, start-up included."""
    queue = _entry(view, view.run.summary)
    lost = float(sum(queue["drops"].values()))
    offered = float(queue["dequeued"]) + lost
    return lost / offered if offered else math.nan


@method
def field(view: View, path: str) -> float:
    """A number of the whole run; NaN where the flow has none."""
    return _number(_entry(view, view.run.summary), path)
