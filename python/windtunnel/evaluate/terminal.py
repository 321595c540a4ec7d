"""What the terminal shows of a pack: the plan before it starts, the verdicts, the failures."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from windtunnel.evaluate.judge import State, read
from windtunnel.evaluate.results import ClauseResult, Measured, Row
from windtunnel.evaluate.writer import Evidence
from windtunnel.printable import printable
from windtunnel.report.text import number

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.evaluate.pack import Pack
    from windtunnel.evaluate.runs import Plan
    from windtunnel.evaluate.subject import Subject


def _text(state: State | None) -> Text:
    """A state, coloured."""
    return Text("none") if state is None else Text(read(state).text, read(state).colour)


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
        f"{subject.name} by {pack.document}, compared with {baselines}: {plan.distinct} runs, "
        f"about {took} in {processes}",
        soft_wrap=True,
    )


def show(console: Console, evidence: Evidence, out: Path) -> None:
    """A line for each clause, and where the page is."""
    relative = any(result.absolute is not None for result in evidence.results)
    table = Table(title=f"{evidence.subject.name}: {evidence.pack.title}", title_justify="left", box=box.SIMPLE_HEAD,
                  pad_edge=False)  # fmt: skip
    table.add_column("clause", no_wrap=True)
    table.add_column("")
    table.add_column("than baselines" if relative else "verdict", no_wrap=not relative)
    if relative:
        table.add_column("absolute")
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("what decides")
    for result in evidence.results:
        table.add_row(
            result.clause.id,
            result.clause.title,
            *map(_text, [result.verdict, *([result.absolute] if relative else [])]),
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
    if row.verdict in ("n/a", "unseen"):
        return row.note
    limit = f"; {needs(row)}" if row.limit_text else ""
    return f"{_subject(row)}: {measured(row.subject, row.unit)}{limit}"


def absolute_reason(result: ClauseResult) -> str:
    """The row that decides the verdict on the absolute limits, in a few words."""
    row = foremost(result)
    if row is None or row.absolute is None:
        return ""
    return f"{_subject(row)}: {measured(row.subject, row.unit)}; the limit is {row.absolute.text} {row.unit}".rstrip()


def foremost(result: ClauseResult) -> Row | None:
    """The row with the verdict of the absolute limits that is farthest on the bad side of its own."""
    rows = [row for row in result.rows if row.absolute is not None and row.absolute.verdict == result.absolute]
    return max(rows, key=_excess) if rows else None


def _excess(row: Row) -> float:
    """How far a row is on the bad side of its absolute limit, as a multiple of it."""
    absolute, mean = row.absolute, row.subject.mean
    if absolute is None or mean is None or not absolute.limit:
        return 0.0
    return absolute.limit / mean if absolute.larger and mean > 0 else mean / absolute.limit


def _subject(row: Row) -> str:
    return f"{row.text} ({row.cell})" if row.cell else row.text


def measured(of: Measured, unit: str) -> str:
    """A mean with its interval, in words that cannot be taken for a limit: ``9.655 ms (95 % interval 7.1 to 12.2)``."""
    value = f"{number(of.mean)} {unit}".strip()
    if of.interval is None or of.mean is None:
        return value
    low, high = of.interval
    return f"{value} (95 % interval {number(low)} to {number(high)})" if high > low else f"{value} (no spread)"


def needs(row: Row) -> str:
    """What is asked for: ``needs at least 7.966 ms, which is 0.8 times cubic's``."""
    if not row.limit_text:
        return ""
    match = re.fullmatch(r"(at (?:least|most)) (.+)", row.limit_text)
    if match is None or row.limit is None or match[2] == f"{row.limit:g}":
        return f"needs {row.limit_text} {row.unit}".rstrip()
    limit = f"{match[1]} {number(row.limit)} {row.unit}".rstrip()
    return f"needs {limit}, which is {match[2]}"


def deciding(result: ClauseResult) -> Row | None:
    """The row with the verdict of the clause that is farthest on the bad side."""
    rows = [row for row in result.rows if row.verdict == result.verdict]
    if not rows or result.verdict == "info":
        return None
    return min(rows, key=lambda row: row.margin[0] if row.margin is not None else 0.0)
