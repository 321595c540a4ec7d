"""What the terminal shows of a pack: the plan before it starts, the verdicts, the failures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from windtunnel.evaluate.results import ClauseResult, Row
from windtunnel.evaluate.writer import Evidence
from windtunnel.printable import printable
from windtunnel.report.text import number

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.evaluate.pack import Pack
    from windtunnel.evaluate.runs import Plan
    from windtunnel.evaluate.subject import Subject

COLOURS = {"met": "green", "not met": "yellow", "failed": "red", "n/a": "dim", "info": "dim"}

#: Rows of a clause that say why it is not met.
SHOWN = 3


def announce(console: Console, plan: Plan, pack: Pack, subject: Subject, jobs: int | None) -> None:
    """Say how many runs there will be, and about how long they take."""
    workers = max(1, min(jobs or os.cpu_count() or 1, plan.distinct or 1))
    seconds = plan.seconds / workers
    took = f"{seconds / 60:.0f} minutes" if seconds > 90 else f"{max(1, round(seconds))} s"
    processes = f"{workers} process{'es' if workers > 1 else ''}"
    baselines = " and ".join(pack.baselines)
    console.print(
        f"{subject.name} by {pack.document}, beside {baselines}: {plan.distinct} runs, about {took} in {processes}",
        soft_wrap=True,
    )


def show(console: Console, evidence: Evidence, out: Path) -> None:
    """A line for each clause, and where the page is."""
    table = Table(title=f"{evidence.subject.name}: {evidence.pack.title}", title_justify="left", box=box.SIMPLE_HEAD,
                  pad_edge=False)  # fmt: skip
    table.add_column("clause", no_wrap=True)
    table.add_column("")
    table.add_column("verdict", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("what decides")
    for result in evidence.results:
        table.add_row(
            result.clause.id,
            result.clause.title,
            Text(result.verdict, COLOURS.get(result.verdict, "default")),
            str(len(result.rows)),
            reason(result),
        )
    console.print(table)
    for outcome in evidence.outcomes:
        if outcome.error:
            console.print(Text.assemble(("failed", "red"), f" {printable(outcome.error)}"), soft_wrap=True)
    for fact in evidence.foreign:
        console.print(f"foreign code: {fact}", style="bold", soft_wrap=True)
    console.print(f"{len(evidence.runs)} runs. Report: {out / 'report.html'}", soft_wrap=True)


def reason(result: ClauseResult) -> str:
    """The row that decides the verdict, in a few words."""
    row = deciding(result)
    if row is None:
        return "" if result.clause.checks else "not simulated"
    if row.verdict == "n/a":
        return row.note
    value = f"{number(row.subject.mean)} {row.unit}".strip()
    limit = f", {row.limit_text}" if row.limit_text else ""
    if row.limit is not None and not row.limit_text.endswith(f" {row.limit:g}"):
        limit += f" = {number(row.limit)}"
    limit += f" {row.unit}" if limit and row.unit else ""
    where = f" ({row.cell})" if row.cell else ""
    return f"{row.text}{where}: {value}{limit}"


def deciding(result: ClauseResult) -> Row | None:
    """The row with the verdict of the clause that is farthest on the bad side."""
    rows = [row for row in result.rows if row.verdict == result.verdict]
    if not rows or result.verdict == "info":
        return None
    return min(rows, key=lambda row: row.margin[0] if row.margin is not None else 0.0)
