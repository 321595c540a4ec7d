"""``windtunnel compare``: runs or campaigns compared with a baseline, and conditions under which that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, say
from windtunnel.errors import InputError

if TYPE_CHECKING:
    from windtunnel.claims.decide import Decided, Decision
    from windtunnel.compare.differences import Difference
    from windtunnel.compare.sides import CampaignSide, RunSide

#: Rows of a table that is printed.
_ROWS = 40


@click.command
@click.argument(
    "paths",
    type=click.Path(path_type=Path),
    metavar="BASELINE CANDIDATE...",
    nargs=-1,
    required=True,
    help="Result folders and scenario files, which are run; or data sets of campaigns. The first is the baseline.",
)
@click.option(
    "--fail-if",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    help="Exit with 1 if it holds, e.g. 'p99(queue.sojourn_ms) > 1.1 * baseline(p99(queue.sojourn_ms))'. Repeatable.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, as GitHub shows it, in place of tables.")
@click.option(
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw the panels of all runs, or the cells of all campaigns, on one page.",
)
@click.option("--force", is_flag=True, help="Replace an existing page.")
@set_option
@allow_read_option
@plugin_option
@click.pass_context
def compare(
    ctx: click.Context,
    paths: tuple[Path, ...],
    conditions: tuple[str, ...],
    markdown: bool,
    page: Path | None,
    force: bool,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Compare runs or campaigns with a baseline: differences with intervals, and the first event that differs.

    Of campaigns, runs with the same axes, seed and start offset are compared in pairs.
    """
    from windtunnel.compare import gate
    from windtunnel.compare.sides import CampaignSide, RunSide, open_sides

    load_plugins(plugin)
    if page is not None:
        _check_page(page, force=force)
    sides = open_sides(paths, settings=settings, allow_read=allow_read)
    compared: list[tuple[str, Sequence[Difference]]] = []
    gates: list[Decided] = []
    firsts: list[str] = []
    baseline = sides[0]
    for candidate in sides[1:]:
        rows: list[Difference]
        if isinstance(baseline, RunSide) and isinstance(candidate, RunSide):
            rows, judged = _runs(baseline, candidate, conditions)
        elif isinstance(baseline, CampaignSide) and isinstance(candidate, CampaignSide):
            rows, judged = _campaigns(baseline, candidate, conditions)
        compared.append((candidate.name, rows))
        gates += judged
    runs = [side for side in sides if isinstance(side, RunSide)]
    if len(runs) == 2:
        firsts.append(_first(*runs))
    failing = gate.failing(gates)
    if markdown:
        from windtunnel.compare.markdown import document

        for line in document(baseline.name, compared, firsts, failing, len(gates)).splitlines():
            say(line)
    else:
        for name, differences in compared:
            _show(baseline.name, name, differences)
        for line in firsts:
            say(line)
        _show_gates(gates, failing)
    if page is not None:
        _write_page(page, sides, compared, firsts, force=force)
        message(str(page)) if markdown else say(page)
    ctx.exit(1 if failing else 0)


def _write_page(
    page: Path,
    sides: list[RunSide] | list[CampaignSide],
    compared: Sequence[tuple[str, Sequence[Difference]]],
    firsts: Sequence[str],
    *,
    force: bool,
) -> None:
    """The overlaid page of runs, or that of campaigns."""
    from windtunnel.compare import cells_page, overlay
    from windtunnel.compare.sides import CampaignSide, RunSide

    runs = [side for side in sides if isinstance(side, RunSide)]
    campaigns = [side for side in sides if isinstance(side, CampaignSide)]
    if runs:
        overlay.write(page, runs, firsts, force=force)
    else:
        cells_page.write(page, campaigns, [rows for _, rows in compared], force=force)


def _check_page(page: Path, *, force: bool) -> None:
    """Refuse a place for the page before anything runs."""
    if page.is_dir():
        raise InputError(f"--page {page}: is a folder; the name of a file is needed")
    if page.exists() and not force:
        raise InputError(f"{page}: exists already; choose another name, or replace it with --force")
    if not page.absolute().parent.is_dir():
        raise InputError(f"--page {page}: there is no folder {page.parent}")


def _runs(baseline: RunSide, candidate: RunSide, texts: Sequence[str]) -> tuple[list[Difference], list[Decided]]:
    from windtunnel.compare import differences, gate

    judged = gate.of_runs(texts, baseline, candidate)
    return differences.of_runs(baseline, candidate), judged


def _campaigns(
    baseline: CampaignSide, candidate: CampaignSide, texts: Sequence[str]
) -> tuple[list[Difference], list[Decided]]:
    from windtunnel.compare import differences, gate

    judged = gate.of_campaigns(texts, baseline, candidate)
    return differences.of_campaigns(baseline, candidate), judged


def _first(baseline: RunSide, candidate: RunSide) -> str:
    """The first event that differs, in a sentence."""
    from windtunnel.compare.first import first_difference

    difference = first_difference(baseline, candidate)
    if isinstance(difference, str):
        return f"first difference: {difference}"
    return (
        f"first difference at {difference.time_s:.9f} s; "
        f"{baseline.name}: {difference.baseline}; {candidate.name}: {difference.candidate}"
    )


def _show(baseline: str, candidate: str, rows: Sequence[Difference]) -> None:
    """The numbers that differ."""
    from rich.table import Table

    from windtunnel.cli.consoles import output
    from windtunnel.compare.columns import columns

    differing = [row for row in rows if row.difference != 0]
    say(f"{candidate} compared with {baseline}")
    table, shown = Table(box=None, pad_edge=False), columns(rows)
    for column in shown:
        if column.numeric:
            table.add_column(column.head, justify="right", no_wrap=True)
        else:
            table.add_column(column.head, overflow="fold")
    for row in differing[:_ROWS]:
        table.add_row(*(column.text(row) for column in shown))
    if differing:
        output().print(table)
    if len(differing) > _ROWS:
        say(f"... and {len(differing) - _ROWS} more rows; --markdown has them")
    if same := len(rows) - len(differing):
        say(f"{same} of {len(rows)} numbers are the same")


def _show_gates(gates: Sequence[Decided], failing: Sequence[tuple[Decided, Decision]]) -> None:
    from windtunnel.compare.gate import words

    for gate, decision in failing:
        say(f"fails: {gate.claim.name}: {gate.claim.condition.text}: {words(decision)}")
    if gates and not failing:
        say(f"no condition of {len(gates)} fails")
