"""Figures of a clause, as files that can be saved: what it measured in each cell, and a run over time.

The run is that of the row that decides, with the first seed, next to the same run of each baseline. It is simulated
again, and is the same: its scenario is in the folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel._core import MemoryLimitError, ScenarioError
from windtunnel.evaluate.pack import MOMENT
from windtunnel.evaluate.results import ClauseResult, Measured, Row
from windtunnel.evaluate.runs import SUBJECT, Run
from windtunnel.evaluate.terminal import deciding, foremost
from windtunnel.experiment.measures import Expression, NotToldError
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from windtunnel.papers.experiment_figure import PanelSpec, Point

#: Where they are in the folder of a pack.
FOLDER = "figures"
#: Panels of a figure of values, and letters of names on an axis: longer ones are numbered as in the table.
_MOST_PANELS, _LONGEST = 3, 14
_PANELS = ("throughput", "sojourn")
_NUMBER = re.compile(r"[\d.]+( \S+)?")


def write_figures(folder: Path, result: ClauseResult, runs: Mapping[str, Run], subject: str) -> dict[str, list[str]]:
    """Write the figures of a clause into the pack ``folder``, and return their files by what they show. ``runs`` are
    by their files.
    """
    from windtunnel.figures import write_figure

    files: dict[str, list[str]] = {}
    for what, figure, formats in (
        ("values", values(result, subject), ("png", "svg")),
        ("over time", over_time(result, runs, subject), ("png",)),
    ):
        for extension in formats if figure is not None else ():
            file = f"{FOLDER}/{result.clause.id}-{what.replace(' ', '-')}.{extension}"
            (folder / FOLDER).mkdir(exist_ok=True)
            assert figure is not None
            write_figure(figure, folder / file)
            files.setdefault(what, []).append(file)
    return files


def over_time(result: ClauseResult, runs: Mapping[str, Run], subject: str) -> Figure | None:
    """The run that decides, with those of the baselines; None where nothing is simulated. Where a moment decides, it
    is shown in the state machine.
    """
    from windtunnel.evaluate.state_machine import Arm, figure
    from windtunnel.figures import side_by_side

    row = foremost(result) or deciding(result) or next((row for row in result.rows if row.files), None)
    if row is None or not row.files:
        return None
    results: dict[str, RunResult] = {}
    for arm, file in row.files.items():
        scenario = Scenario.from_toml(runs[file].text)
        name = subject if arm == SUBJECT else f"{arm} (baseline)" if arm == subject else arm
        with suppress(ScenarioError, MemoryLimitError):
            results[name] = scenario.run()
    where = f", {row.cell}" if row.cell else ""
    title = f"{result.clause.id}: {row.text}{where}, seed 1"
    moment = runs[row.files[SUBJECT]].metrics.get(MOMENT)
    if moment is not None:
        arms = [Arm(name, run, _value(moment, run)) for name, run in results.items()]
        return figure(arms, title) if arms else None
    return side_by_side(results, _PANELS, title) if results else None


def _value(moment: str, run: RunResult) -> float:
    """The moment; NaN where the run does not tell it."""
    try:
        return Expression.parse(moment).value(run)
    except NotToldError:
        return math.nan


def values(result: ClauseResult, subject: str) -> Figure | None:
    """The means of judged checks in their cells, with intervals and limits; None where no check has two cells."""
    from windtunnel.papers.experiment_figure import figure

    checks: dict[str, list[Row]] = {}
    for row in result.rows:
        if row.limit_text and row.subject.mean is not None:
            checks.setdefault(row.id.partition(" [")[0], []).append(row)
    panels = [_panel(rows, subject) for rows in checks.values() if len(rows) > 1]
    return figure(f"{result.clause.id}: {result.clause.title}", panels[:_MOST_PANELS]) if panels else None


def _panel(rows: Sequence[Row], subject: str) -> tuple[PanelSpec, dict[str, list[Point]]]:
    from windtunnel.papers.experiment_figure import PanelSpec

    axis, labels = _labels(rows)
    lines = {subject: list(_points([row.subject for row in rows]))}
    for arm in rows[0].baselines:
        name = f"{arm} (baseline)" if arm == subject else arm
        lines[name] = list(_points([row.baselines.get(arm, Measured(None, None, 0)) for row in rows]))
    relative = [Measured(row.limit, None, 0) for row in rows]
    if any(limit.mean is not None for limit in relative):
        lines["limit"] = list(_points(relative))
    absolute = {row.absolute.limit for row in rows if row.absolute is not None and row.absolute.limit is not None}
    spec = PanelSpec(
        rows[0].text, labels, axis, rows[0].unit, dict.fromkeys(lines, ""), sorted(absolute),
        connected=all(_NUMBER.fullmatch(label) for label in labels) and axis != _NUMBERED,
    )  # fmt: skip
    return spec, {name: points for name, points in lines.items() if points}


_NUMBERED = "row of the table"


def _labels(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The name of the x axis, and a label for each row."""
    cells = [row.cell.partition("=") for row in rows]
    if all("=" not in label and len(label) <= _LONGEST for _, _, label in cells):
        return cells[0][0], [label for _, _, label in cells]
    return _NUMBERED, [str(index + 1) for index in range(len(rows))]


def _points(measured: Sequence[Measured]) -> Iterator[Point]:
    from windtunnel.papers.experiment_figure import Point

    for index, each in enumerate(measured):
        if each.mean is not None:
            yield Point(float(index), each.mean, *(each.interval or (each.mean, each.mean)))
