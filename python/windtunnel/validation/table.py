"""The page: ``docs/validation.md``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.atomic import staged_file
from windtunnel.validation.check import Line
from windtunnel.validation.suite import Outcome

HEAD = """# Validation

Written by `windtunnel validate`, which anyone can run again. Each section says where its *expected* values come from;
*differs* means that the measured value is farther from it than the tolerance. A line without one is for information.
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
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as Markdown."""
    parts = [HEAD]
    lines = [line for outcome in outcomes for line in outcome.lines]
    count = {verdict: sum(line.verdict == verdict for line in lines) for verdict in ("agrees", "differs", "info")}
    parts.append(f"{count['agrees']} lines agree, {count['differs']} differ, {count['info']} are for information.\n")
    section = None
    for outcome in outcomes:
        if outcome.section is not section:
            section = outcome.section
            parts.append(f"## {section.title}\n\n{section.text}\n")
        parts.append(f"### {outcome.check.name}\n")
        parts.append(
            "| what | expected | measured | tolerance | unit | verdict | note |\n|---|---|---|---|---|---|---|"
        )
        parts.append("\n".join(row(line) for line in outcome.lines) + "\n")
    return "\n".join(parts)


def write_page(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write the page, completely or not at all."""
    with staged_file(path, force=True) as stage:
        stage.write_text(page(outcomes), encoding="utf-8")
