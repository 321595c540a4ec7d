"""All commands of ``windtunnel``. The module of a command is imported when the command is used, and each imports its
libraries where it needs them, so that a command takes no longer to start than its own work demands.
"""

import os
import sys
from importlib import import_module

import click

from windtunnel.cli.errors import Commands
from windtunnel.cli.signals import end_cleanly, exit_code_of, leave

#: The commands in the order of the help: the module in this package and the function there.
_COMMANDS = {
    "run": ("run", "run"),
    "lab": ("lab", "lab"),
    "sweep": ("sweep", "sweep"),
    "compare": ("compare", "compare"),
    "hunt": ("search", "hunt"),
    "tune": ("search", "tune"),
    "check": ("check", "check"),
    "schema": ("listing", "schema"),
    "list": ("listing", "list_"),
    "plot": ("plot", "plot"),
    "export": ("export", "export"),
    "explain": ("explain", "explain"),
    "reproduce": ("reproduce", "reproduce"),
    "evaluate": ("evaluate", "evaluate"),
    "conform": ("conform", "conform"),
    "flowgrind": ("flowgrind", "flowgrind"),
    "kernel": ("kernel", "kernel"),
    "twin": ("twin", "twin"),
    "emulate": ("emulate", "emulate"),
    "validate": ("validate", "validate"),
    "bench": ("bench", "bench"),
}


class LazyCommands(Commands):
    """The group of commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"windtunnel.cli.{module}"), function)
        return command


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from windtunnel.provenance import build_in_words

        click.echo(f"windtunnel {build_in_words()}")
        ctx.exit()


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and its commit, and exit.",
)
def app() -> None:
    """A laboratory for congestion control.

    Exit codes: 0 done, 1 a run failed or a claim is not confirmed, 2 the input is wrong, or needs more memory than it
    may take.
    """


def main() -> None:
    """Entry point of the ``windtunnel`` command."""
    end_cleanly()
    os.environ.update(_LIBRARIES)
    try:
        code = exit_code_of(lambda: app(prog_name="windtunnel"))
    except Exception:
        import traceback

        from windtunnel.printable import printable_lines

        # A defect: print its traceback, which may contain texts of a scenario.
        sys.stderr.write(printable_lines(traceback.format_exc()))
        code = 1
    leave(code)


#: Settings of libraries that commands and their workers need, but a user's own programs may not.
_LIBRARIES = {
    # Figures go to files, so it does not matter which window system is set up, or whether it works.
    "MPLBACKEND": "agg",
    # Nothing here uses linear algebra; the threads prepared for it cost tens of megabytes each.
    "OPENBLAS_NUM_THREADS": "1",
    # Tables that are read part by part take memory that is free at once, not what another allocator keeps.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
