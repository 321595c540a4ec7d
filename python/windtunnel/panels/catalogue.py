"""All panels, in reading order, and which of them the scenario asks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windtunnel.panels import cwnd, marks, sojourn, state, throughput
from windtunnel.panels.model import Panel
from windtunnel.panels.run import Run

#: The panels of the figure, which every page shows too.
MAIN: Mapping[str, Callable[[Run], Panel]] = {
    "throughput": throughput.panel,
    "sojourn": sojourn.panel,
    "cwnd": cwnd.panel,
    "marks": marks.panel,
}


def panels_of(run: Run) -> list[Panel]:
    """The panels that have something to show, and the four of the figure in any case."""
    return [*(make(run) for make in MAIN.values()), *state.panels(run)]
