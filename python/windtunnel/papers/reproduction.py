"""Turns a suite into its folder: runs the setups, forms the rows, writes the tables, the page and the pictures."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.atomic import staged
from windtunnel.engine import cache
from windtunnel.escape import csv_cell
from windtunnel.papers.jobs import Job, JobResult, jobs_of, run_all
from windtunnel.papers.notes import Mentions, Notes, filled, placed
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Group, Results, Suite, rows_of
from windtunnel.papers.terminal import show_failures, show_rows, show_totals
from windtunnel.progress import progress_bar
from windtunnel.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.papers.suite_page import SuiteFigure

#: Version of the layout of rows.json.
SCHEMA = 3

#: Cost of a run besides its packets (starting, reading the tables, drawing), expressed in packets.
OVERHEAD = 2e6

#: Columns of rows.csv.
COLUMNS = (
    "id",
    "group",
    "what",
    "published",
    "reference",
    "source",
    "measured",
    "difference",
    "tolerance",
    "low",
    "high",
    "unit",
    "verdict",
    "note",
)


@dataclass(frozen=True)
class Reproduced:
    """What came of a suite: its rows, and how many runs failed."""

    rows: list[Row]
    failed: int

    @property
    def code(self) -> int:
        """The exit code: 1 if a run failed. What rows say does not matter: a document may be wrong."""
        return 1 if self.failed else 0


def run_suite(
    suite: Suite,
    ids: Sequence[str],
    *,
    out: Path,
    jobs: int | None,
    console: Console,
    part: bool,
    settings: Sequence[str] = (),
    force: bool = False,
    allow_read: Sequence[Path] = (),
    use_cache: bool = True,
) -> Reproduced:
    """Run the groups ``ids`` of ``suite`` with ``settings`` into the folder ``out``.

    ``part`` says that these are not all rows of the suite: they are printed, and notes may refer to others.
    ``force`` replaces the folder of a suite. With ``use_cache`` numbers are taken from earlier runs of this or another
    suite, also from those of one that was interrupted.
    """
    groups = [g for g in suite.groups if g.id in ids]
    names = sorted({name for group in groups for name in group.setups})
    with staged(out, force=force, ours=lambda folder: (folder / "rows.json").is_file()) as folder:
        reports = folder / "runs"
        reports.mkdir()
        work: list[Job] = []
        for name in names:
            setup = suite.setups[name]
            setup.pictures[:] = [p for p in setup.pictures if p.id in ids]
            if settings:
                # A wrong change concerns every run: it is refused before any of them.
                changes = (*next(setup.variants()), *settings)
                Scenario.from_toml(setup.template.text, overrides=changes, allow_read=allow_read).check()
            work.extend(jobs_of(setup, reports, settings, allow_read))
        outcomes = _run(work, jobs, console, use_cache=use_cache)
        results = Results(outcomes)
        rows = rows_of(groups, results)
        foreign = sorted({what for outcome in outcomes for what in outcome.foreign})
        _write(folder, suite, groups, rows, results, outcomes, settings, foreign, part=part)
    every = [row for group in groups for row in rows[group.id]]
    if part:
        show_rows(console, groups, rows)
    show_totals(console, groups, rows)
    for fact in _facts(settings, foreign):
        console.print(fact, style="bold", soft_wrap=True)
    failed = [o for o in outcomes if o.error]
    show_failures(console, failed)
    console.print(f"{len(every)} rows, {len(outcomes)} runs. Report: {out / 'report.html'}", soft_wrap=True)
    return Reproduced(every, len(failed))


def _run(work: Sequence[Job], jobs: int | None, console: Console, *, use_cache: bool) -> list[JobResult]:
    """Run everything, with a progress bar in proportion to what the runs cost."""
    kept = cache.shared() if use_cache else None
    cost = {(job.setup, job.variant): job.packets + OVERHEAD for job in work}
    total, spent = sum(cost.values()), 0.0
    with progress_bar(f"{len(work)} runs", console) as update:

        def done(outcome: JobResult) -> None:
            nonlocal spent
            spent += cost[outcome.setup, outcome.variant]
            if update is not None:
                update(spent / total)

        try:
            return run_all(work, jobs, done, kept)
        finally:
            if kept is not None:
                with suppress(OSError):  # a cache that cannot be written costs only time
                    kept.close()


def _write(
    folder: Path,
    suite: Suite,
    groups: Sequence[Group],
    rows: dict[str, list[Row]],
    results: Results,
    outcomes: Sequence[JobResult],
    settings: Sequence[str],
    foreign: Sequence[str],
    *,
    part: bool,
) -> None:
    from windtunnel.papers.suite_page import write_suite_page

    every = [row for group in groups for row in rows[group.id]]
    _write_csv(folder / "rows.csv", every)
    _write_json(folder / "rows.json", suite, every, outcomes, settings, foreign)
    notes = placed(filled(suite.notes, every, whole=not part), Mentions(groups, suite.aliases))
    figures = [_figure(folder, group, groups, rows[group.id], results, notes) for group in groups]
    page, facts = folder / "report.html", _facts(settings, foreign)
    write_suite_page(page, title=suite.title, notes_html=notes.rest, rows=every, figures=figures, facts=facts)


def _figure(
    folder: Path, group: Group, groups: Sequence[Group], rows: Sequence[Row], results: Results, notes: Notes
) -> SuiteFigure:
    """A group as the page shows it; its picture is also a file."""
    from windtunnel.papers.comparison_figure import comparison
    from windtunnel.papers.suite_page import SuiteFigure

    png = group.png(results) or (None if group.statement else comparison(rows))
    if png is not None:
        (folder / f"{group.id}.png").write_bytes(png)
    report = f"runs/{group.report}.html"
    return SuiteFigure(
        group.id,
        group.title,
        group.caption,
        [row.id for row in rows],
        png,
        [("interactive report of the run", report)] if (folder / report).exists() else [],
        notes.by_group.get(group.id, ""),
        group.remark if png is not None else "",
        group.statement,
        _seen_in(group, groups),
    )


def _seen_in(group: Group, groups: Sequence[Group]) -> str:
    """The figure or table that shows the runs of a statement: the one with fewest others."""
    mine = set(group.setups)
    showing = [g for g in groups if not g.statement and mine & set(g.setups)]
    return min(showing, key=lambda g: (len(g.setups), len(mine - set(g.setups)))).id if showing else ""


def _facts(settings: Sequence[str], foreign: Sequence[str]) -> list[str]:
    """How the runs differ from those that the suite is made of."""
    changes = [f"changed in every scenario: {setting}" for setting in settings]
    return [*(f"foreign code: {what}" for what in foreign), *changes]


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            low, high = row.interval or (None, None)
            values = {**asdict(row), "verdict": row.word.text, "difference": row.difference, "low": low, "high": high}
            writer.writerow([csv_cell(values[name]) for name in COLUMNS])


def _write_json(
    path: Path,
    suite: Suite,
    rows: Sequence[Row],
    outcomes: Sequence[JobResult],
    settings: Sequence[str],
    foreign: Sequence[str],
) -> None:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "suite": suite.name,
        "title": suite.title,
        "settings": list(settings),
        "foreign": list(foreign),
        "verdicts": Counter(row.word.text for row in rows),
        "rows": [
            {
                **_plain(row),
                "measured": _finite(row.measured),
                "difference": _finite(row.difference),
                "limits": [_finite(limit) for limit in row.limits] if row.limits else None,
            }
            for row in rows
        ],
        "runs": [
            {
                "cell": o.setup,
                "variant": o.variant,
                "packets": o.packets,
                "digest": o.digest,
                "seconds": round(o.seconds, 3),
                "foreign": list(o.foreign),
                "error": o.error,
            }
            for o in sorted(outcomes, key=lambda o: (o.setup, o.variant))
        ],
    }
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _plain(row: Row) -> dict[str, Any]:
    """A row as plain data, its verdict as people read it."""
    plain = {**asdict(row), "verdict": row.word.text}
    del plain["of"]
    return plain


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
