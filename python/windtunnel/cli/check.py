"""``windtunnel check``: validate a scenario and show it with every default."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.scenario import Scenario


def check(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the scenario first. Repeatable.")
    ] = None,
) -> None:
    """Validate a scenario; print it with every default as TOML."""
    text = Scenario.from_file(file, overrides=settings or ()).check()
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
