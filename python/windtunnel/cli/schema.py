"""``windtunnel schema``: the JSON Schema of scenario files, for editors."""

import sys

from windtunnel import _core
from windtunnel.cli.plugins import PluginOption, load_plugins


def schema(plugin: PluginOption = None) -> None:
    """Print the JSON Schema of scenario files."""
    load_plugins(plugin)
    sys.stdout.write(_core.schema().rstrip("\n") + "\n")
