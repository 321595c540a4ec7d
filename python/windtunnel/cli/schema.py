"""``windtunnel schema``: the JSON Schema of scenario files, for editors."""

from windtunnel import _core
from windtunnel.cli.consoles import write_json
from windtunnel.cli.plugins import PluginOption, load_plugins


def schema(plugin: PluginOption = None) -> None:
    """Print the JSON Schema of scenario files."""
    load_plugins(plugin)
    write_json(_core.schema())
