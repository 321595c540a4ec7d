"""The files and options that every command has that reads scenarios."""

from pathlib import Path

import click

allow_read_option = click.option(
    "--allow-read",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Let the file name others in this folder too, besides its own folder. Repeatable.",
)


files_argument = click.argument(
    "files",
    type=click.Path(path_type=Path),
    metavar="FILE...",
    nargs=-1,
    required=True,
    help="Scenario files (TOML); - for the standard input.",
)


set_option = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change the scenario first, e.g. bottleneck.rate='1 Gbps'. Repeatable.",
)
