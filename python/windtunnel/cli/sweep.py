"""``windtunnel sweep``: carry a campaign out, and write its data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.cli.claims import check_junit, claim_options, report, show
from windtunnel.cli.places import Where, place_options, shown, stopped
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, say
from windtunnel.errors import InputError
from windtunnel.printable import printable
from windtunnel.scenario_file import STDIN

if TYPE_CHECKING:
    from rich.text import Text

    from windtunnel.campaign.conduct import Conductor
    from windtunnel.campaign.model import Campaign
    from windtunnel.campaign.plan import Plan
    from windtunnel.campaign.summarise import Findings


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Campaign file (TOML); - for the standard input.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the data set.", show_default="results/<name of FILE>"
)
@click.option("--force", is_flag=True, help="Replace an existing data set.")
@click.option(
    "--dry-run", is_flag=True, help="Check the campaign and say what it needs; run nothing but its first run."
)
@click.option(
    "--only", metavar="AXIS=VALUE", multiple=True, help="Leave out cells with another value of this axis. Repeatable."
)
@click.option("--quick", is_flag=True, help="Run the part that the campaign calls quick: fewer seeds and cells.")
@click.option(
    "--page",
    metavar="CELL.RUN",
    help="Simulate a run of the data set again and write its page there; sweep nothing. 12.0 is the first of cell 12.",
)
@click.option("--pages", metavar="N", type=click.IntRange(0, 1000), default=0, help="Write pages of N runs: those of "
              "cells with the greatest and least means first.")  # fmt: skip
@click.option("--rows", metavar="N", type=click.IntRange(0), default=20, show_default=True,
              help="Print this number of rows of the table; 0 for all. The data set has all.")  # fmt: skip
@set_option
@place_options
@claim_options
@allow_read_option
@plugin_option
@click.pass_context
def sweep(
    ctx: click.Context,
    file: Path,
    out: Path | None,
    force: bool,
    dry_run: bool,
    only: tuple[str, ...],
    quick: bool,
    page: str | None,
    pages: int,
    rows: int,
    settings: tuple[str, ...],
    where: Where,
    restart: bool,
    no_cache: bool,
    junit: Path | None,
    undecided: str,
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Run a campaign: variants of a scenario, several runs of each, statistics.

    A sweep that was interrupted continues when the same command is given again.
    """
    from windtunnel.campaign.conduct import check_cells
    from windtunnel.campaign.forecast import forecast
    from windtunnel.campaign.model import Campaign
    from windtunnel.campaign.plan import Plan
    from windtunnel.campaign.sweep import check_writable
    from windtunnel.campaign.sweep import sweep as carry_out

    load_plugins(plugin)
    campaign = Campaign.from_file(file, allow_read=allow_read).override(*settings)
    kept: Mapping[str, Sequence[str]] = _only(only)
    if quick:
        with campaign.located():
            campaign, part = campaign.quickly()
        kept = {**part, **kept}
    plan = Plan(campaign, kept)
    stem = "stdin" if file == STDIN else file.stem
    target = out or Path("results", stem)
    if page is not None:
        _write_page(plan, target, page)
        return
    check_writable(target, force=force)
    check_junit(junit)
    check_cells(plan)
    backend = where.backend()
    expected = forecast(plan)
    for line in expected.lines(backend.workers):
        message(line)
    if dry_run:
        _try_first(plan)
        return
    try:
        conductor, findings = carry_out(
            plan, target, backend=backend, force=force, restart=restart, use_cache=not no_cache, show=shown,
            pages=pages, page=_page_command(ctx, file),
        )  # fmt: skip
    except KeyboardInterrupt:
        stopped(ctx, target)
    _report(campaign, conductor, findings, rows or len(findings.rows), target)
    show(findings.claims)
    say(target)
    passed = report([(stem, findings.claims)], junit, undecided)
    ctx.exit(1 if conductor.count.failed or not passed else 0)


def _write_page(plan: Plan, target: Path, page: str) -> None:
    """The page of one run."""
    from windtunnel.campaign.page.runs import Address, add_page

    written, warning = add_page(plan, target, Address.of(page))
    if warning:
        message(f"warning: {warning}")
    say(written)


#: Options that decide what a run is.
_OF_RUNS = {"settings": "--set", "allow_read": "--allow-read", "plugin": "--plugin"}


def _page_command(ctx: click.Context, file: Path) -> str:
    """The command that the report names for the page of a run: this one's file and settings."""
    from windtunnel.campaign.page.runs import command

    pairs = [(option, value) for name, option in _OF_RUNS.items() for value in ctx.params[name]]
    return command(str(file), [str(word) for pair in pairs for word in pair])


def _only(texts: tuple[str, ...]) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    for text in texts:
        axis, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--only {text}: write AXIS=VALUE, such as bottleneck.rate='10 Mbit/s'")
        wanted.setdefault(axis.strip(), []).append(value.strip())
    return wanted


def _try_first(plan: Plan) -> None:
    """Do the first run: it shows whether there is what the metrics ask for."""
    from windtunnel.campaign.conduct import first_run

    seconds = first_run(plan)
    message(f"the first run took {seconds:.2g} s; all metrics are known")


#: Names of axes that are longer are broken before their dots.
_LONG = 12


def _report(campaign: Campaign, conductor: Conductor, findings: Findings, most: int, target: Path) -> None:
    """The first rows and the notes on the whole."""
    from rich.table import Table

    from windtunnel.cli.consoles import output

    compared = bool(campaign.baselines)
    table = Table(box=None, pad_edge=False)
    for axis in conductor.plan.axes:
        table.add_column(_heading(axis), overflow="fold")
    table.add_column("metric", overflow="fold")
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column(f"{100 * campaign.statistics.confidence:g} % interval", justify="right", no_wrap=True)
    if compared:
        table.add_column("difference", justify="right", overflow="fold")
        table.add_column("corrected p", justify="right", overflow="fold")
    last = None
    for v in findings.rows.rows(0, most):
        first, last = v["cell"] != last, v["cell"]
        cells = [value.label if first else "" for value in conductor.plan.wanted_cell(last).values]
        metric = f"{v['metric']} ({v['unit']})" if v["unit"] else v["metric"]
        cells += [metric, _number(v["mean"]), _span(v["mean_low"], v["mean_high"])]
        if compared:
            cells += [_number(v["difference"]), _number(v["p_corrected"])]
        table.add_row(*cells)
    console = output()
    if len(findings.rows):
        console.print(table)
    if len(findings.rows) > most:
        hidden = len(findings.rows) - most
        say(f"{hidden} of {len(findings.rows)} rows are not shown: {target / 'cells.csv'} has all, --rows 0 prints all")
    for line in _methods(findings):
        say(line)
    for note in findings.notes:
        say(f"note: {note}")
    say(conductor.count.line())


def _heading(axis: str) -> Text:
    from rich.text import Text

    name = printable(axis)
    return Text(name.replace(".", "\n.") if len(name) > _LONG else name)


def _methods(findings: Findings) -> Iterator[str]:
    """What means and intervals are, where not all are plain ones."""
    rows = findings.rows
    by_method: dict[str, dict[str, None]] = {}
    for method, metric in rows.pairs("method", "metric"):
        if method:
            by_method.setdefault(method, {})[metric] = None
    if len(by_method) > 1 or any(kind != "plain" for _, kind in rows.pairs("metric", "kind")):
        yield from (f"{', '.join(metrics)}: {method}" for method, metrics in by_method.items())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4g} to {high:.4g}"
