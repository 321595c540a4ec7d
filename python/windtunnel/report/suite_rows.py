"""A row of a suite's page: its numbers as text, and the strip that shows how far off it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.papers.rows import Row
from windtunnel.papers.verdicts import WEAK, WORDS, Kind
from windtunnel.report.text import NOTHING, number, setting, signed

# The strip in a row: half its width in pixels, and the share of it that the tolerance occupies.
_STRIP_HALF = 40
_STRIP_TOLERANCE = 0.5


@dataclass(frozen=True)
class Strip:
    """Where the difference and the interval lie on a strip whose inner part, ``half`` wide, is the tolerance."""

    at: float
    half: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class ShownRow:
    """A row as the page shows it. ``off`` sorts: the size of the difference, in tolerances where there are any."""

    row: Row
    kind: Kind
    published: str
    measured: str
    interval: str
    weak: str
    difference: str
    tolerance: str
    off: float | str
    strip: Strip | None


def shown(row: Row) -> ShownRow:
    """The row as text. Raises ValueError for an unknown verdict."""
    if row.verdict not in WORDS:
        raise ValueError(f"row {row.id}: verdict {row.verdict!r} is none of {', '.join(WORDS)}")
    return ShownRow(
        row,
        WORDS[row.verdict].kind,
        setting(row.published),
        number(row.measured),
        f"{number(row.interval[0])} to {number(row.interval[1])}" if row.interval else "",
        WEAK if row.weak else "",
        _difference(row),
        NOTHING if row.tolerance is None else f"\N{PLUS-MINUS SIGN}{setting(row.tolerance)}",
        _off(row),
        _strip(row),
    )


def _difference(row: Row) -> str:
    text = signed(row.difference)
    if row.difference is not None and isinstance(row.published, float) and row.published and row.unit != "%":
        text += f" ({signed(100 * row.difference / abs(row.published), 2)} %)"
    return text


def _off(row: Row) -> float | str:
    if row.difference is None or not math.isfinite(row.difference):
        return ""
    return abs(row.difference) / row.tolerance if row.tolerance else abs(row.difference)


def _strip(row: Row) -> Strip | None:
    if row.difference is None or not row.tolerance or not math.isfinite(row.difference):
        return None
    tolerance, difference, measured = row.tolerance, row.difference, row.measured

    def place(value: float) -> float:
        return _STRIP_HALF * max(-1.0, min(1.0, value / tolerance * _STRIP_TOLERANCE))

    interval = None
    if row.interval is not None and measured is not None:
        low, high = (place(difference + end - measured) for end in row.interval)
        interval = (low, high)
    return Strip(place(difference), _STRIP_HALF * _STRIP_TOLERANCE, interval)
