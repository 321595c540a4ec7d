"""``windtunnel check``: validate scenarios and show them with every default."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, files_argument, set_option
from windtunnel.cli.streams import message, say, write_text

if TYPE_CHECKING:
    from windtunnel.scenario import Scenario


@click.command
@files_argument
@set_option
@allow_read_option
@plugin_option
def check(
    files: tuple[Path, ...], settings: tuple[str, ...], allow_read: tuple[Path, ...], plugin: tuple[Path, ...]
) -> None:
    """Validate scenarios; print them with every default as TOML, and on stderr what a run will need."""
    from windtunnel.memory import limit
    from windtunnel.scenario import Scenario

    load_plugins(plugin)
    scenarios = [Scenario.from_file(file, overrides=settings, allow_read=allow_read) for file in files]
    # All are checked before anything is printed.
    texts = [scenario.check() for scenario in scenarios]
    for file, scenario, text in zip(files, scenarios, texts, strict=True):
        if len(files) > 1:
            say(f"# {file}")
        write_text(text)
        # If stdout cannot be written to, that must be the only message.
        sys.stdout.flush()
        if len(files) > 1:
            message(f"{file}:")
        _show_needs(scenario, limit(None))


def _show_needs(scenario: Scenario, most: int | None) -> None:
    from windtunnel.estimate import lines

    estimate = scenario.estimate()
    for line in lines(estimate, most):
        message(line)
    show_notes_before(scenario)
    if most is not None and estimate["memory_bytes"] > most:
        message("`run` will refuse it here, unless --memory allows more")
