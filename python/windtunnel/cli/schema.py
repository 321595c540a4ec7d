"""``windtunnel schema``: the JSON Schema of scenario files, for editors."""

import sys

from windtunnel import _core


def schema() -> None:
    """Print the JSON Schema of scenario files."""
    sys.stdout.write(_core.schema().rstrip("\n") + "\n")
