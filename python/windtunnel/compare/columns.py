"""The columns of the table of differences, in the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.compare.differences import Difference


@dataclass(frozen=True)
class Column:
    """A column: its heading, and the text of a difference in it."""

    head: str
    text: Callable[[Difference], str]
    numeric: bool = True


def columns(rows: Sequence[Difference]) -> list[Column]:
    """The columns that rows need: of campaigns the cell; of several runs the interval and the number of pairs."""
    cells = any(row.cell for row in rows)
    several = any(row.pairs > 1 for row in rows)
    return [*([_CELL] if cells else []), *_NUMBER, CHANGE, *(_MEANS if several else [])]


def _change(row: Difference) -> str:
    """The difference, and what share of the baseline it is: ``+1.2 (+30 %)``."""
    share = "" if row.share is None or not row.difference else f" ({100 * row.share:+.3g} %)"
    return f"{row.difference:+.4g}{share}" if row.difference else "0"


def _interval(row: Difference) -> str:
    return "-" if row.interval is None else f"{row.interval[0]:+.4g} to {row.interval[1]:+.4g}"


#: The difference itself.
CHANGE = Column("difference", _change)

_CELL = Column("cell", lambda row: row.cell, numeric=False)
_NUMBER = (
    Column("number", lambda row: row.what, numeric=False),
    Column("baseline", lambda row: f"{row.baseline:.4g}"),
    Column("candidate", lambda row: f"{row.candidate:.4g}"),
)
_MEANS = (Column("interval", _interval), Column("pairs", lambda row: str(row.pairs)))
