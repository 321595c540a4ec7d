"""``windtunnel hunt``: search for scenarios with a property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from windtunnel.cli.places import place_options
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.searching import out_option, search


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
    /,
    file: Path,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
    **options: Any,
) -> None:
    """Search for the worst case: scenarios with a property, shrunk and explained.

    A hunt that was interrupted continues when the same command is given again.
    """
    from windtunnel.search import found
    from windtunnel.search.carry_out import ready
    from windtunnel.search.file import read_hunt
    from windtunnel.search.hunt import hunting

    ready()
    load_plugins(plugin)
    made = read_hunt(file, settings, allow_read=allow_read)
    search(ctx, made, hunting(made), found, file=file, **options)
