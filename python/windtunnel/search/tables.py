"""Numbers, tables and intervals, as both kinds of report have them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from windtunnel import _core, escape
from windtunnel.search.dimensions import Point
from windtunnel.search.space import Space
from windtunnel.table import Table, stored


def number(value: float) -> str:
    """A number of a report."""
    return f"{value:.4g}" if math.isfinite(value) else "no value"


def counted(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, of plain text."""
    for row in (map(escape.markdown, head), ["---"] * len(head), *(map(escape.markdown, row) for row in rows)):
        yield "| " + " | ".join(row) + " |"


def share_interval(held: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share: Wilson, "Probable inference", JASA 22, 1927."""
    share, square = held / count, NormalDist().inv_cdf(0.975) ** 2 / count
    middle, half = share + square / 2, math.sqrt(square * (share * (1 - share) + square / 4))
    # The ends of no and of all are what they are, whatever rounding does.
    low = (middle - half) / (1 + square) if held else 0.0
    return low, (middle + half) / (1 + square) if held < count else 1.0


def write_trials(space: Space, points: Sequence[Point], rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """A row for each candidate: its number, its point, and what became of it."""
    records: list[dict[str, Any]] = [{"candidate": number} for number in range(len(points))]
    kinds: dict[str, type] = {"candidate": int}
    for d in space.dimensions:
        kinds[d.name] = str if d.choices else float
        for record, point in zip(records, points, strict=True):
            record[d.name] = point.get(d.name)
    for name in list(rows[0]) if rows else []:
        column = name if name not in kinds else f"{name} (result)"
        kinds[column] = str if name == "error" else bool if isinstance(rows[0][name], bool) else float
        for record, row in zip(records, rows, strict=True):
            value = row[name]
            record[column] = None if isinstance(value, float) and not math.isfinite(value) else value
    _core.write_table(file, stored(Table.from_records(records, kinds)))
