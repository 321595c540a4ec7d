"""``windtunnel tune``: search for parameters, and prove them on other paths."""

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
@click.argument("file", type=click.Path(path_type=Path), help="File of the tuning (TOML); - for the standard input.")
@out_option
@click.option("--dry-run", is_flag=True, help="Check the file and say what the tuning needs; run nothing.")
@set_option
@place_options
@allow_read_option
@plugin_option
@click.pass_context
def tune(
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
    """Search for the best parameters under constraints, and compare them with the default on held-out paths.

    A tuning that was interrupted continues when the same command is given again.
    """
    from windtunnel.engine.progress import Count
    from windtunnel.search import tuned
    from windtunnel.search.carry_out import carry_out, check_place, forecast, ready
    from windtunnel.search.file import read_tune
    from windtunnel.search.tune import Tuned, tuning

    ready()
    load_plugins(plugin)
    made = read_tune(file, settings, allow_read=allow_read)
    target = out or Path("results", "stdin" if file == STDIN else file.stem)
    check_place(target, force=force)
    place = where.place()
    for line in forecast(made, place.workers):
        message(line)
    if dry_run:
        return

    def write(result: Tuned, count: Count) -> None:
        tuned.write(made, result, count.done, target, force=force)

    try:
        result, count = carry_out(
            made, tuning(made), target, write, place=place, restart=restart, use_cache=not no_cache, show=shown
        )
    except KeyboardInterrupt:
        stopped(ctx, target)
    for line in tuned.summary(made, result):
        say(line)
    say(count.line())
    say(target)
