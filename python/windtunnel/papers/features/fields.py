"""Any number of a run's summary by its path, for the whole run or a measurement window: ``field("rtt_ms.p99")``.

The view names a flow (``0``), a range of flows (``0-3``: the mean), a queue (``queue 0``) or an impairment
(``impairment 0``). A sum of several numbers is written with ``+``: ``field("drops.full+drops.aqm")``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View, flow_numbers

#: Kinds of entries besides flows: the first word of a view's name, and the key of the summary.
KINDS = {"queue": "queues", "impairment": "impairments"}


@method
def field(view: View, path: str) -> float:
    """A number of the whole run."""
    return _mean(view, view.run.summary, path)


@method
def window_field(view: View, window: str, path: str) -> float:
    """A number of a measurement window."""
    windows: list[Mapping[str, Any]] = view.run.summary["windows"]
    return _mean(view, next(w for w in windows if w["name"] == window), path)


def _mean(view: View, within: Mapping[str, Any], path: str) -> float:
    kind, _, number = view.flow.partition(" ")
    entries = [within[KINDS[kind]][int(number)]] if number else [within["flows"][i] for i in flow_numbers(view.flow)]
    return float(np.mean([sum(_number(entry, part) for part in path.split("+")) for entry in entries]))


def _number(entry: Mapping[str, Any], path: str) -> float:
    value: Any = entry
    for key in path.split("."):
        if value is None:
            return math.nan
        value = value[key]
    return math.nan if value is None else float(value)
