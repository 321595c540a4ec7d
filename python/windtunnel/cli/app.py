"""All commands of ``windtunnel``."""

import os
import sys
import traceback
from typing import Annotated

import typer

from windtunnel.cli.bench import bench
from windtunnel.cli.check import check
from windtunnel.cli.errors import Commands
from windtunnel.cli.explain import explain
from windtunnel.cli.export import export
from windtunnel.cli.flowgrind import flowgrind
from windtunnel.cli.listing import list_
from windtunnel.cli.plot import plot
from windtunnel.cli.reproduce import reproduce
from windtunnel.cli.run import run
from windtunnel.cli.schema import schema
from windtunnel.cli.signals import end_cleanly
from windtunnel.cli.validate import validate
from windtunnel.printable import printable_lines

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run)
app.command("check")(check)
app.command("schema")(schema)
app.command("list")(list_)
app.command("plot")(plot)
app.command("export")(export)
app.command("explain")(explain)
app.command("reproduce")(reproduce)
app.command("flowgrind", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(flowgrind)
app.command("validate")(validate)
app.command("bench")(bench)


def _version(wanted: bool) -> None:
    if wanted:
        from windtunnel import __version__

        typer.echo(f"windtunnel {__version__}")
        raise typer.Exit


@app.callback()
def windtunnel(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A laboratory for congestion control.

    Exit codes: 0 done, 1 a run failed, 2 the input is wrong, or needs more memory than it may take.
    """


def main() -> None:
    """Entry point of the ``windtunnel`` command."""
    end_cleanly()
    os.environ.update(_LIBRARIES)
    try:
        app(prog_name="windtunnel")
    except Exception:
        # A defect: print its traceback, which may contain texts of a scenario.
        sys.stderr.write(printable_lines(traceback.format_exc()))
        sys.exit(1)


#: Settings of libraries that commands and their workers need, but a user's own programs may not.
_LIBRARIES = {
    # Figures go to files, so it does not matter which window system is set up, or whether it works.
    "MPLBACKEND": "agg",
    # Nothing here uses linear algebra; the threads prepared for it cost tens of megabytes each.
    "OPENBLAS_NUM_THREADS": "1",
}
