"""The panels of the lab: those of a run's page, and the tables from which the page draws their lines as they come."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from windtunnel.panels import cwnd, marks, rtt, sojourn, throughput
from windtunnel.panels.looks import flow_look, queue_look
from windtunnel.panels.means import AVERAGES, USUAL_S
from windtunnel.panels.model import Look, Panel, Step
from windtunnel.report.columns import Columns
from windtunnel.report.panels import encoded

# As many looks of flows and of queues as differ clearly.
_FLOWS, _QUEUES = 24, 4


@dataclass(frozen=True)
class Lines:
    """Lines from a table, one for each flow, queue or class of a queue (``web/lab/growing.ts``)."""

    table: str
    #: The column with the number of the flow or queue.
    of: Literal["flow", "queue", "class"]
    y: str
    factor: float = 1.0
    #: The range around it.
    low: str | None = None
    high: str | None = None
    #: What the panel singles out.
    flag: str | None = None
    step: Step = ""
    #: The values are counts of intervals, and what is drawn is their number per second.
    counted: bool = False
    #: Where a panel has lines of several kinds.
    kind: str | None = None
    look: Look | None = None
    threshold: bool = False


def panels() -> list[tuple[Panel, tuple[Lines, ...]]]:
    """Each panel without its lines, and where these come from."""
    return [
        (
            Panel("throughput", throughput.TITLE, "Mbit/s", averages=AVERAGES, average=USUAL_S),
            (Lines("flows", "flow", "throughput_mbps", step="mean"),),
        ),
        (
            Panel("sojourn", sojourn.TITLE, "ms", kind="points", quantity=sojourn.QUANTITY, flag=sojourn.LEFT_EMPTY),
            (
                Lines("sojourn_points", "queue", "ms", flag="empty"),
                # Of queues that have classes, instead.
                Lines("classes", "class", "sojourn_mean_ms", low="sojourn_min_ms", high="sojourn_max_ms", step="mean"),
            ),
        ),
        (
            Panel("cwnd", cwnd.TITLE, "kB", quantity=cwnd.QUANTITY, flag=cwnd.LIMITED, threshold=cwnd.THRESHOLD),
            (
                Lines("cwnd_points", "flow", "bytes", 1e-3, flag="limited", step="hold"),
                Lines("flows", "flow", "ssthresh_bytes", 1e-3, step="hold", threshold=True),
            ),
        ),
        (
            Panel("rtt", rtt.TITLE, "ms"),
            (Lines("flows", "flow", "rtt_mean_ms", low="rtt_min_ms", high="rtt_max_ms", step="mean"),),
        ),
        (
            Panel("marks", "Mark and Drop Frequency", "Hz", kind="points", log=True, quantity="Frequency"),
            tuple(
                Lines("queues", "queue", column, step="mean", counted=True, kind=label, look=look)
                for _, column, label, look in marks.KINDS
            ),
        ),
    ]


def described() -> list[dict[str, Any]]:
    """The same as the page's script reads it."""
    return [
        {"meta": encoded(panel, Columns()), "lines": [_described(lines) for lines in every]}
        for panel, every in panels()
    ]


def _described(lines: Lines) -> dict[str, Any]:
    told = asdict(lines) | {"look": None if lines.look is None else _look(lines.look)}
    return {key: value for key, value in told.items() if value is not None}


def _look(look: Look) -> dict[str, Any]:
    return {"colour": look.colour, "marker": look.marker, "dash": list(look.dash)}


def looks() -> dict[str, Any]:
    """The looks of flows and of queues, by their numbers."""
    return {
        "flows": [_look(flow_look(n)) for n in range(_FLOWS)],
        "queues": [_look(queue_look(n)) for n in range(_QUEUES)],
    }
