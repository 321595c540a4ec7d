"""``windtunnel schema``: the JSON Schema of scenario files, for editors."""

from pathlib import Path

import click

from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.streams import write_json


@click.command
@plugin_option
def schema(plugin: tuple[Path, ...]) -> None:
    """Print the JSON Schema of scenario files."""
    from windtunnel import _core

    load_plugins(plugin)
    write_json(_core.schema())
