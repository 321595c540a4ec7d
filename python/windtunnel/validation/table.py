"""The page: ``docs/validation.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from windtunnel.atomic import staged_file
from windtunnel.validation.check import Line
from windtunnel.validation.suite import Outcome

HEAD = """# Validation

Written by `windtunnel validate`, which anyone can run again. Each section says where its *expected* values come from;
*differs* means that the measured value is farther from it than the tolerance. A line without one is for information.
Lines that differ are in a table of their own; all lines of all checks are folded below it.
"""


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


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as Markdown. Lines that differ are in sight; the tables of all checks are long, and folded."""
    parts = [HEAD, f"{_counts([line for outcome in outcomes for line in outcome.lines])}.\n"]
    for section, some in groupby(outcomes, key=lambda outcome: outcome.section):
        mine = list(some)
        parts.append(f"## {section.title}\n\n{section.text}\n")
        parts.append(f"{_counts([line for outcome in mine for line in outcome.lines])}.\n")
        differing = [(o.check.name, line) for o in mine for line in o.lines if line.verdict == "differs"]
        if differing:
            parts.append(f"| check {_HEAD}\n|---{_RULE}")
            parts.append("\n".join(f"| {_cell(name)} {row(line)}" for name, line in differing) + "\n")
        checks = f"{len(mine)} check{'' if len(mine) == 1 else 's'}"
        parts.append(_folded(f"All numbers of {checks}", "\n".join(_table(outcome) for outcome in mine)))
    return "\n".join(parts)


_HEAD = "| what | expected | measured | tolerance | unit | verdict | note |"
_RULE = "|---|---|---|---|---|---|---|"


def _table(outcome: Outcome) -> str:
    lines = "\n".join(row(line) for line in outcome.lines)
    return _folded(f"{outcome.check.name}: {_counts(outcome.lines)}", f"{_HEAD}\n{_RULE}\n{lines}\n")


def _folded(summary: str, content: str) -> str:
    """What a reader opens. Blank lines end the elements, so that the content is Markdown."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n\n{content}\n</details>\n"


def _counts(lines: Sequence[Line]) -> str:
    """How many lines there are of each verdict."""
    count = Counter(line.verdict for line in lines)
    agree = "1 line agrees" if count["agrees"] == 1 else f"{count['agrees']} lines agree"
    differ = f"{count['differs']} differ" + ("s" if count["differs"] == 1 else "")
    return f"{agree}, {differ}, {count['info']} for information"


def write_page(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write the page, completely or not at all."""
    with staged_file(path, force=True) as stage:
        stage.write_text(page(outcomes), encoding="utf-8")
