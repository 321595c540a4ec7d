"""Numbers of setups, as rows: each says what it is, and follows from measurements of the setup's runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Measurement, Setup
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

    def prepare(self, setup: Setup) -> None:
        """Let the setup measure what the number needs."""
        for measurement in self.of:
            setup.index(measurement)

    def values(self, results: Results, setup: Setup) -> list[float]:
        """The number in every run; empty if the first did not run."""
        columns = [results.values(setup.name, setup.index(m)) for m in self.of]
        return [self.formula(*each) for each in zip(*columns, strict=True)]

    def mean(self, results: Results, setup: Setup) -> float | None:
        """The mean over the runs."""
        return summary_of_all(self.values(results, setup), self.scale).mean

    def row(self, results: Results, setup: Setup, id: str, group: str, what: str) -> Row:
        """The row of the number, for information."""
        values = self.values(results, setup)
        return trial_row(f"{id}/{self.id}", group, what, None, None, values, self.unit, scale=self.scale)
