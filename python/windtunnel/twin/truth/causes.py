"""Why measures are outside the kernel's own spread (``causes.toml``)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from windtunnel.twin.measures import Measure
from windtunnel.twin.truth.cells import Cell


@dataclass(frozen=True)
class Cause:
    """A cause with what it concerns. ``text`` says what differs, and by which evidence that is known."""

    name: str
    text: str
    cells: tuple[str, ...]
    measures: tuple[str, ...]

    def has(self, cell: Cell, measure: Measure) -> bool:
        """Whether it concerns a measure of a cell."""
        return any(fnmatchcase(cell.name, pattern) for pattern in self.cells) and (
            not self.measures or measure.name in self.measures
        )


@cache
def causes() -> tuple[Cause, ...]:
    """All causes, in the order of the file."""
    text = files(__package__).joinpath("causes.toml").read_text(encoding="utf-8")
    return tuple(
        Cause(each["name"], each["text"], tuple(each["cells"]), tuple(each.get("measures", ())))
        for each in tomllib.loads(text).get("cause", ())
    )


def cause_of(cell: Cell, measure: Measure) -> Cause | None:
    """The first cause that concerns a measure; None if none is known."""
    return next((cause for cause in causes() if cause.has(cell, measure)), None)
