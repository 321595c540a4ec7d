"""``windtunnel hunt``: search for scenarios with a property."""

from __future__ import annotations

from pathlib import Path

import click

from windtunnel.cli.places import Where, place_options
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.searching import out_option, shown, stopped
from windtunnel.cli.streams import message, say
from windtunnel.scenario_file import STDIN


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="File of the hunt (TOML); - for the standard input.")
@out_option
@click.option("--dry-run", is_flag=True, help="Check the file and say what the hunt needs; run nothing.")
@set_option
@place_options
@allow_read_option
@plugin_option
@click.pass_context
def hunt(
    ctx: click.Context,
    file: Path,
    out: Path | None,
    force: bool,
    dry_run: bool,
    settings: tuple[str, ...],
    where: Where,
    restart: bool,
    no_cache: bool,
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Search for the worst case: scenarios with a property, shrunk and explained.

    A hunt that was interrupted continues when the same command is given again.
    """
    from windtunnel.engine.progress import Count
    from windtunnel.search import found
    from windtunnel.search.carry_out import carry_out, check_place, forecast, ready
    from windtunnel.search.file import read_hunt
    from windtunnel.search.hunt import Findings, hunting

    ready()
    load_plugins(plugin)
    made = read_hunt(file, settings, allow_read=allow_read)
    target = out or Path("results", "stdin" if file == STDIN else file.stem)
    check_place(target, force=force)
    place = where.place()
    for line in forecast(made, place.workers):
        message(line)
    if dry_run:
        return

    def write(findings: Findings, count: Count) -> None:
        found.write(made, findings, count.done, target, force=force)

    try:
        findings, count = carry_out(
            made, hunting(made), target, write, place=place, restart=restart, use_cache=not no_cache, show=shown
        )
    except KeyboardInterrupt:
        stopped(ctx, target)
    for line in found.summary(made, findings):
        say(line)
    say(count.line())
    say(target)
