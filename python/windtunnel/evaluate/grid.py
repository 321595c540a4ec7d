"""The verdicts of a clause as tables, for packs whose trials share two axes: a column for each value of the first axis
and a row for each of the second, such as rates and round trips.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from windtunnel.evaluate.judge import State, overall
from windtunnel.evaluate.pack import Pack, label_of
from windtunnel.evaluate.results import Row


@dataclass(frozen=True)
class Cell:
    """The verdict in one place of the grid, and the checks that decide it unless it is met."""

    verdict: State
    checks: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Cell:
        """The verdict on these rows together."""
        verdict = overall([row.verdict for row in rows])
        deciding = (row.check for row in rows if row.verdict == verdict)
        return cls(verdict, () if verdict in ("agrees", "info") else tuple(deciding))


@dataclass(frozen=True)
class Grid:
    """One trial, with one value of each further axis. A cell is None where the clause leaves it out."""

    trial: str
    further: str
    """The values of further axes, as in ``bucket=24 ms``."""
    axes: tuple[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


def grids(rows: Sequence[Row], pack: Pack) -> list[Grid]:
    """The grids of a clause, with those values of the axes that occur; none for a pack without two shared axes."""
    if len(pack.axes) != 2:
        return []
    across, down = pack.axes
    made = []
    key = partial(_group, shared=pack.axes)
    for (trial, further), group in groupby(sorted(rows, key=key), key):
        cells: dict[tuple[str, str], list[Row]] = {}
        for row in group:
            cells.setdefault((row.labels[across], row.labels[down]), []).append(row)
        columns, names = (
            tuple(each for value in pack.axes[axis] if (each := label_of(value)) in {cell[i] for cell in cells})
            for i, axis in enumerate(pack.axes)
        )
        lines = ((y, tuple(Cell.of(cells[x, y]) if (x, y) in cells else None for x in columns)) for y in names)
        made.append(Grid(trial, further, (across, down), columns, tuple(lines)))
    return made


def _group(row: Row, shared: Collection[str]) -> tuple[str, str]:
    return row.trial, ", ".join(f"{axis}={value}" for axis, value in row.labels.items() if axis not in shared)
