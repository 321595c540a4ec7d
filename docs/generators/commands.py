"""The pages of the commands, from the program's own options, and that of the Python interface, from its docstrings."""

from __future__ import annotations

import click

import windtunnel
from generators.stub import classes, described
from windtunnel.cli.app import _COMMANDS, app

#: A command's page. Its module and name are those of the program's own list.
COMMAND = """```{{eval-rst}}
.. click:: windtunnel.cli.{module}:{function}
   :prog: windtunnel {name}
   :nested: full
```
"""


def pages() -> dict[str, str]:
    """A page for each command, the list of these, and the page of the Python interface."""
    made = {
        f"commands/{name}.md": COMMAND.format(name=name, module=module, function=function)
        for name, (module, function) in _COMMANDS.items()
    }
    context = click.Context(app)
    lines = []
    for name in _COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        # The anchor is that of the time when all commands were on this page.
        anchor = f'<span id="windtunnel-{name}"></span>'
        lines.append(f"- {anchor}[`windtunnel {name}`](commands/{name}.md): {command.get_short_help_str(200)}")
    names = "\n".join(f"commands/{name}" for name in _COMMANDS)
    listed = "\n".join(lines)
    made["commands.md"] = f"# Command line\n\n{listed}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return made | {"python.md": _python()}


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
