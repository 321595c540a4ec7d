"""Numbers of cells, as rows: each says what it is and follows from measurements of the cell's runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.verdict import mean
from windtunnel.papers.cells import Cell, Measurement
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.suite import Results


@dataclass(frozen=True)
class Value:
    """A number of a run: what it is, in which unit, and how it follows from measurements."""

    id: str
    what: str
    unit: str
    of: Sequence[Measurement]
    formula: Callable[..., float] = float
    scale: Scale = PLAIN

    def prepare(self, cell: Cell) -> None:
        """Let the cell measure what the number needs."""
        for measurement in self.of:
            cell.index(measurement)

    def values(self, results: Results, cell: Cell) -> list[float]:
        """The number in every run; empty if the first did not run."""
        columns = [results.values(cell.name, cell.index(m)) for m in self.of]
        return [self.formula(*each) for each in zip(*columns, strict=True)]

    def mean(self, results: Results, cell: Cell) -> float | None:
        """The mean over the runs."""
        return mean(self.values(results, cell), self.scale)

    def row(self, results: Results, cell: Cell, id: str, group: str, what: str) -> Row:
        """The row of the number, for information."""
        values = self.values(results, cell)
        return trial_row(f"{id}/{self.id}", group, what, None, None, values, self.unit, scale=self.scale)
