"""The page of the commands, from the program's own options, and that of the Python interface, from its docstrings."""

from __future__ import annotations

import windtunnel
from generators.stub import classes, described

COMMANDS = """# Command line

```{eval-rst}
.. click:: windtunnel.cli.app:app
   :prog: windtunnel
   :nested: full
```
"""


def pages() -> dict[str, str]:
    """Both pages."""
    return {"commands.md": COMMANDS, "python.md": _python()}


def _python() -> str:
    lines = ["# Python", "```{eval-rst}", ".. automodule:: windtunnel", "   :no-members:", ""]
    for name in windtunnel.__all__:
        if name == "__version__":
            continue
        what = getattr(windtunnel, name)
        if name in classes():
            lines += [described(name), ""]
        elif isinstance(what, type):
            kind = "exception" if issubclass(what, Exception) else "class"
            lines += [f".. auto{kind}:: windtunnel.{name}", "   :members:", ""]
        else:
            lines += [f".. autofunction:: windtunnel.{name}", ""]
    return "\n".join([*lines, "```", ""])
