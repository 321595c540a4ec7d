"""The option ``--allow-read``, which every command has that reads scenarios."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

AllowReadOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-read",
        metavar="PATH",
        help="Let the scenario read files in this folder too, besides its own folder. Repeatable.",
    ),
]
