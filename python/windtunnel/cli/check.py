"""``windtunnel check``: validate a scenario and show it with every default."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.consoles import messages
from windtunnel.cli.plugins import PluginOption, load_plugins
from windtunnel.estimate import lines
from windtunnel.memory import limit
from windtunnel.scenario import Scenario


def check(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the scenario first. Repeatable.")
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Validate a scenario; print it with every default as TOML, and on stderr what a run will need."""
    load_plugins(plugin)
    scenario = Scenario.from_file(file, overrides=settings or ())
    text, most = scenario.check(), limit(None)
    estimate = scenario.estimate()
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    # What cannot be written is the only message then.
    sys.stdout.flush()
    for line in lines(estimate, most):
        messages().print(line, markup=False, soft_wrap=True)
    if most is not None and estimate["memory_bytes"] > most:
        messages().print("`run` will refuse it here, unless --memory allows more", markup=False)
