"""``windtunnel check``: validate a scenario and show it with every default."""

import sys
from pathlib import Path

import click

from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, write_text


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Scenario file (TOML); - for the standard input.")
@set_option
@allow_read_option
@plugin_option
def check(file: Path, settings: tuple[str, ...], allow_read: tuple[Path, ...], plugin: tuple[Path, ...]) -> None:
    """Validate a scenario; print it with every default as TOML, and on stderr what a run will need."""
    from windtunnel.estimate import lines
    from windtunnel.memory import limit
    from windtunnel.scenario import Scenario

    load_plugins(plugin)
    scenario = Scenario.from_file(file, overrides=settings, allow_read=allow_read)
    text, most = scenario.check(), limit(None)
    estimate = scenario.estimate()
    write_text(text)
    # If stdout cannot be written to, that must be the only message.
    sys.stdout.flush()
    for line in lines(estimate, most):
        message(line)
    show_notes_before(scenario)
    if most is not None and estimate["memory_bytes"] > most:
        message("`run` will refuse it here, unless --memory allows more")
