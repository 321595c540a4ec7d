"""The option ``--plugin``, which several commands have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

PluginOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="Run a Python file that registers controllers first. Repeatable."),
]


def load_plugins(files: Sequence[Path] | None) -> None:
    """Load each plugin that was given."""
    for file in files or ():
        from windtunnel.plugins import load_plugin

        load_plugin(file)
