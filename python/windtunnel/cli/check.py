"""``windtunnel check``: validate a scenario and show it with every default."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.consoles import messages, write_text
from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import PluginOption, load_plugins
from windtunnel.cli.reading import AllowReadOption
from windtunnel.estimate import lines
from windtunnel.memory import limit
from windtunnel.scenario import Scenario


def check(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the scenario first. Repeatable.")
    ] = None,
    allow_read: AllowReadOption = None,
    plugin: PluginOption = None,
) -> None:
    """Validate a scenario; print it with every default as TOML, and on stderr what a run will need."""
    load_plugins(plugin)
    scenario = Scenario.from_file(file, overrides=settings or (), allow_read=allow_read or ())
    text, most = scenario.check(), limit(None)
    estimate = scenario.estimate()
    write_text(text)
    # If stdout cannot be written to, that must be the only message.
    sys.stdout.flush()
    for line in lines(estimate, most):
        messages().print(line, soft_wrap=True)
    show_notes_before(scenario, messages())
    if most is not None and estimate["memory_bytes"] > most:
        messages().print("`run` will refuse it here, unless --memory allows more")
