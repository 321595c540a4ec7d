"""The page ``docs/validation.md``, and the table of all lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from windtunnel.atomic import staged_file
from windtunnel.experiment.verdict import Verdict
from windtunnel.validation.comparison import Line
from windtunnel.validation.suite import ComparisonResult

HEAD = """# Validation

Written by `windtunnel validate`, which anyone can run again. Each section says where its *expected* values come from;
*differs* means that the measured value is farther from it than the tolerance. A line without one is for information.
Lines that differ are in a table of their own. `windtunnel validate --csv FILE` writes every line of every check, with
the expected and the measured value.
"""

#: The columns of a line, in both files.
COLUMNS = ("what", "expected", "measured", "tolerance", "unit", "verdict", "note")


def number(value: float | str) -> str:
    """Four significant digits, without an exponent where that is readable."""
    if isinstance(value, str):
        # A vertical bar would end the cell.
        return f"`{value.replace('|', '/')}`"
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"


def row(line: Line) -> str:
    """A line as a row of a Markdown table."""
    tolerance = "" if line.tolerance is None else f"{line.tolerance:.3g}"
    cells = [line.what, number(line.expected), number(line.measured), tolerance, line.unit, line.verdict, line.note]
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "/")


def page(outcomes: Sequence[ComparisonResult]) -> str:
    """The page as Markdown: the lines that differ, and how many lines of each comparison agree."""
    parts = [HEAD, f"{_counts([line for outcome in outcomes for line in outcome.lines])}.\n"]
    for section, some in groupby(outcomes, key=lambda outcome: outcome.section):
        mine = list(some)
        parts.append(f"## {section.title}\n\n{section.text}\n")
        parts.append(f"{_counts([line for outcome in mine for line in outcome.lines])}.\n")
        differing = [(o.comparison.name, line) for o in mine for line in o.lines if line.verdict == "differs"]
        if differing:
            parts.append(_table(("check", *COLUMNS), [f"| {_cell(name)} {row(line)}" for name, line in differing]))
        parts.append(_table(("check", *_COUNTED), [_counted(outcome) for outcome in mine]))
    return "\n".join(parts)


_COUNTED: tuple[Verdict, ...] = ("agrees", "differs", "info")


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows, ""])


def _counted(outcome: ComparisonResult) -> str:
    count = Counter(line.verdict for line in outcome.lines)
    return f"| {_cell(outcome.comparison.name)} | " + " | ".join(str(count[verdict]) for verdict in _COUNTED) + " |"


def _counts(lines: Sequence[Line]) -> str:
    """How many lines there are of each verdict."""
    count = Counter(line.verdict for line in lines)
    agree = "1 line agrees" if count["agrees"] == 1 else f"{count['agrees']} lines agree"
    differ = f"{count['differs']} differ" + ("s" if count["differs"] == 1 else "")
    return f"{agree}, {differ}, {count['info']} for information"


def write_page(outcomes: Sequence[ComparisonResult], path: Path) -> None:
    """Write the page, completely or not at all."""
    with staged_file(path, force=True) as stage:
        stage.write_text(page(outcomes), encoding="utf-8")


def write_lines(outcomes: Sequence[ComparisonResult], path: Path) -> None:
    """Write all lines as CSV, completely or not at all. Numbers have all digits."""
    with staged_file(path, force=True) as stage, stage.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("section", "check", *COLUMNS))
        for outcome in outcomes:
            where = (outcome.section.name, outcome.comparison.name)
            writer.writerows((*where, *(getattr(line, name) for name in COLUMNS)) for line in outcome.lines)
