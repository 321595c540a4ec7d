"""Any number of a whole run's summary by its path: ``field("rtt_ms.p99")``; ``window_value`` is that of a window.

The view names a flow (``0``), a queue (``queue 0``) or an impairment (``impairment 0``).
"""

from __future__ import annotations

import math
from typing import Any

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View

#: Kinds of entries besides flows: the first word of a view's name, and the key of the summary.
KINDS = {"queue": "queues", "impairment": "impairments"}


@method
def field(view: View, path: str) -> float:
    """A number of the whole run; NaN where the flow has none."""
    kind, _, number = view.flow.rpartition(" ")
    value: Any = view.run.summary[KINDS.get(kind, "flows")][int(number)]
    for key in path.split("."):
        if value is None:
            return math.nan
        value = value[key]
    return math.nan if value is None else float(value)
