"""``windtunnel check``: validate a scenario and show it with every default."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.consoles import write_text
from windtunnel.cli.plugins import PluginOption, load_plugins
from windtunnel.cli.reading import AllowReadOption
from windtunnel.scenario import Scenario


def check(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the scenario first. Repeatable.")
    ] = None,
    allow_read: AllowReadOption = None,
    plugin: PluginOption = None,
) -> None:
    """Validate a scenario; print it with every default as TOML."""
    load_plugins(plugin)
    write_text(Scenario.from_file(file, overrides=settings or (), allow_read=allow_read or ()).check())
