"""A comparison: scenarios to run, and the lines that their results give."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from windtunnel.experiment.verdict import Verdict, of_number
from windtunnel.result import RunResult

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Line:
    """An expected value and a measured one.

    ``tolerance`` is the largest distance at which they agree, in the unit of the values; the line's section says where
    it comes from. None: for information, no verdict.
    """

    what: str
    expected: float | str
    measured: float | str
    tolerance: float | None
    unit: str = ""
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether they agree."""
        if isinstance(self.expected, str) or isinstance(self.measured, str):
            return "agrees" if self.expected == self.measured else "differs"
        if self.tolerance is None:
            return "info"
        return of_number(self.expected, self.tolerance, [self.measured])


#: The small, picklable values to which the process that ran a comparison's scenario reduces the result.
Values: TypeAlias = "Mapping[str, float | str]"


@dataclass(frozen=True)
class Run:
    """A scenario of a comparison. ``reduce`` extracts what the comparison's lines need from its result."""

    name: str
    toml: str
    reduce: Callable[[RunResult], Values]
    packets: float = 0.0
    """Approximate number of packets that it delivers: the longest runs go first."""


@dataclass(frozen=True)
class Comparison:
    """Runs, and the lines computed from their values (by the name of the run)."""

    name: str
    runs: Sequence[Run]
    lines: Callable[[Mapping[str, Values]], list[Line]]
    quick: bool = True
    """Whether the quick selection includes it."""


def table(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of the data folder."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
