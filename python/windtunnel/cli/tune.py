"""``windtunnel tune``: search for parameters, and prove them on other paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from windtunnel.cli.places import place_options
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.searching import out_option, search


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
    /,
    file: Path,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
    **options: Any,
) -> None:
    """Search for the best parameters under constraints, and compare them with the default on held-out paths.

    A tuning that was interrupted continues when the same command is given again.
    """
    from windtunnel.search import tuned
    from windtunnel.search.carry_out import ready
    from windtunnel.search.file import read_tune
    from windtunnel.search.tune import tuning

    ready()
    load_plugins(plugin)
    made = read_tune(file, settings, allow_read=allow_read)
    search(ctx, made, tuning(made), tuned, file=file, **options)
