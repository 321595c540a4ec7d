"""What the terminal shows for a suite: the side-by-side table, the counts, the failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from windtunnel.experiment.verdict import OF_SUITES
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Group
from windtunnel.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

#: A terminal with at least this many columns gets all columns of the table.
WIDE = 110


def is_claim(group: Group) -> bool:
    """One of many groups of a single row, shown together."""
    return group.statement and group.title.startswith("Claim ")


def heading(group: Group) -> str:
    """The title over a group's rows."""
    return "Claims of the text" if is_claim(group) else f"{group.title}: {group.caption}"


def show_rows(console: Console, groups: Sequence[Group], rows: Mapping[str, Sequence[Row]]) -> None:
    """Published and measured values side by side: a table for each figure and table, one for all claims."""
    titles: dict[str, list[Row]] = {}
    for group in groups:
        titles.setdefault(heading(group), []).extend(rows[group.id])
    for title, listed in titles.items():
        # 80 columns hold what matters; the page and a wider terminal show the difference and the spread, too.
        wide = console.width >= WIDE
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("what", overflow="fold", min_width=24)
        for name in ("published", "measured", "difference", "tolerance") if wide else ("published", "measured"):
            table.add_column(name, justify="right", no_wrap=True)
        if wide:
            table.add_column("interval", justify="right", no_wrap=True)
        table.add_column("unit", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for row in listed:
            more = (
                number(row.difference),
                f"±{number(row.tolerance)}" if row.tolerance is not None else "",
                f"{number(row.interval[0])} to {number(row.interval[1])}" if row.interval else "",
            )
            table.add_row(
                row.what,
                row.expected if isinstance(row.expected, str) else number(row.expected),
                number(row.measured),
                *(more if wide else ()),
                row.unit,
                Text(row.word.text, row.word.colour),
            )
        console.print(table)


def show_totals(console: Console, groups: Sequence[Group], rows: Mapping[str, Sequence[Row]]) -> None:
    """Counts of the verdicts: one line for each figure and table, one for all claims, and the sum."""
    used = {row.word.text for group in groups for row in rows[group.id]}
    shown = [text for text in OF_SUITES if text in used]
    table = Table(title="Rows by verdict", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in shown:
        table.add_column(name, justify="right")
    sums: dict[str, dict[str, int]] = {}
    for group in groups:
        label = "Claims" if is_claim(group) else group.title
        counts = sums.setdefault(label, dict.fromkeys(OF_SUITES, 0))
        for row in rows[group.id]:
            counts[row.word.text] += 1
    for label, counts in sums.items():
        table.add_row(label, *(str(counts[name]) for name in shown))
    table.add_section()
    table.add_row("all", *(str(sum(c[name] for c in sums.values())) for name in shown))
    console.print(table)


def show_failures(console: Console, failed: Sequence[JobResult]) -> None:
    """The runs that ended with an error."""
    for outcome in failed:
        what = f" {outcome.setup} (run {outcome.variant}): {printable(outcome.error)}"
        console.print(Text.assemble(("failed", "red"), what), soft_wrap=True)


def number(value: float | None) -> str:
    """Four significant digits; whole numbers in full."""
    if value is None or not math.isfinite(value):
        return ""
    if value == 0 or abs(value) >= 1e4:
        return f"{value:.0f}"
    return f"{value:.4g}"
