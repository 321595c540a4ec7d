"""The parts of every paper suite: cells to run, and groups of rows that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.papers.cells import Cell, Excerpt
from windtunnel.papers.jobs import Outcome
from windtunnel.papers.rows import Row


class Results:
    """The measured values of every cell that was run."""

    def __init__(self, cells: Mapping[str, Cell], outcomes: Sequence[Outcome]) -> None:
        self._cells = cells
        self._by_cell: dict[str, list[Outcome]] = {}
        for outcome in sorted(outcomes, key=lambda o: (o.cell, o.variant)):
            if not outcome.error:
                self._by_cell.setdefault(outcome.cell, []).append(outcome)

    def values(self, cell: str, index: int) -> list[float]:
        """A measurement of a cell: the unperturbed run first, then the perturbed ones; empty if it did not run."""
        runs = self._by_cell.get(cell, [])
        if not runs or runs[0].variant != 0:
            return []
        return [run.values[index] for run in runs]

    def picture(self, cell: str, picture: str) -> bytes | None:
        """A PNG drawn from the unperturbed run."""
        for outcome in self._by_cell.get(cell, []):
            if picture in outcome.pictures:
                return outcome.pictures[picture]
        return None

    def excerpt(self, cell: str) -> Excerpt | None:
        """What the cell's function took from the unperturbed run."""
        return next((o.excerpt for o in self._by_cell.get(cell, []) if o.excerpt is not None), None)


@dataclass
class Group:
    """A figure, a table or the claims: the cells it needs, and how their results become its rows."""

    id: str
    title: str
    caption: str
    cells: list[str]
    rows: Callable[[Results], list[Row]]
    png: Callable[[Results], bytes | None] = lambda _: None
    report: str | None = None
    """Name of the cell whose interactive report belongs to the group."""
    statement: bool = False
    """Whether it is something that the document states, rather than a figure or a table."""
    remark: str = ""
    """What a reader must know of the picture."""


@dataclass
class Suite:
    """A document's suite. ``aliases`` are names for several groups at once (``fig3`` is 3a and 3b)."""

    name: str
    title: str
    cells: dict[str, Cell]
    groups: list[Group]
    notes: str
    aliases: dict[str, list[str]] = field(default_factory=dict)
