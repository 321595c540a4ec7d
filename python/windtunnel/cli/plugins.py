"""The option ``--plugin``, which several commands have."""

from collections.abc import Sequence
from pathlib import Path

import click

plugin_option = click.option(
    "--plugin",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Run a Python file that registers controllers first, or allow a shared library as a stack. Repeatable.",
)


def load_plugins(files: Sequence[Path]) -> None:
    """Load each plugin that was given."""
    for file in files:
        from windtunnel.plugins import load_plugin

        load_plugin(file)
