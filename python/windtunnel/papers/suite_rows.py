"""A row of a suite's page: its numbers as text, and the strip that shows how far off it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.experiment.verdict import Kind
from windtunnel.papers.rows import Row
from windtunnel.report.text import NOTHING, number, setting, signed

# The strip in a row: half its width in pixels; the part of it that two limits occupy, and how far values are from one.
_HALF = 40
_BETWEEN_LIMITS = 0.5
_BESIDE_A_LIMIT = 0.8


@dataclass(frozen=True)
class Strip:
    """Pixels from the middle, which is the published value or the limit: the value, the interval, what is allowed."""

    at: float
    interval: tuple[float, float] | None
    allowed: tuple[float, float]


@dataclass(frozen=True)
class ShownRow:
    """A row as the page shows it. ``off`` sorts: the size of the difference, in tolerances where there are any."""

    row: Row
    kind: Kind
    published: str
    measured: str
    interval: str
    difference: str
    tolerance: str
    off: float | str
    strip: Strip | None


def shown(row: Row) -> ShownRow:
    """The row as text. Raises ValueError for an unknown verdict."""
    return ShownRow(
        row,
        row.word.kind,
        f"{setting(row.expected)} ({row.source})" if row.source else setting(row.expected),
        number(row.measured),
        f"{number(row.interval[0])} to {number(row.interval[1])}" if row.interval else "",
        _difference(row),
        NOTHING if row.tolerance is None else f"\N{PLUS-MINUS SIGN}{setting(row.tolerance)}",
        _off(row),
        _strip(row),
    )


def _difference(row: Row) -> str:
    text = signed(row.difference)
    if row.difference is not None and isinstance(row.expected, float) and row.expected and row.unit != "%":
        text += f" ({signed(100 * row.difference / abs(row.expected), 2)} %)"
    return text


def _off(row: Row) -> float | str:
    if row.difference is None or not math.isfinite(row.difference):
        return ""
    return abs(row.difference) / row.tolerance if row.tolerance else abs(row.difference)


def _strip(row: Row) -> Strip | None:
    scale, measured = _scale(row), row.measured
    if scale is None or measured is None or not math.isfinite(measured):
        return None
    middle, unit, allowed = scale

    def position(value: float) -> float:
        return _HALF * max(-1.0, min(1.0, (value - middle) / unit))

    interval = (position(row.interval[0]), position(row.interval[1])) if row.interval is not None else None
    return Strip(position(measured), interval, (position(allowed[0]), position(allowed[1])))


def _scale(row: Row) -> tuple[float, float, tuple[float, float]] | None:
    """What is in the middle, what takes half of the strip, and the limits; None where there is nothing to show."""
    if isinstance(row.expected, float):
        if not row.tolerance:
            return None
        limits = (row.expected - row.tolerance, row.expected + row.tolerance)
        return row.expected, row.tolerance / _BETWEEN_LIMITS, limits
    if row.limits is None or row.limits[0] == row.limits[1]:
        return None
    low, high = row.limits
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2, (high - low) / 2 / _BETWEEN_LIMITS, row.limits
    limit = low if math.isfinite(low) else high
    farthest = max((abs(v - limit) for v in (row.measured, *(row.interval or ())) if v is not None), default=0.0)
    return (limit, farthest / _BESIDE_A_LIMIT, row.limits) if 0.0 < farthest < math.inf else None
