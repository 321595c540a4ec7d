"""``windtunnel reproduce``: a document's experiments, published and measured values side by side."""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.consoles import output
from windtunnel.cli.plugins import PluginOption, load_plugins
from windtunnel.cli.reading import AllowReadOption


def reproduce(
    name: Annotated[str, typer.Argument(help="The suite, e.g. mds.")],
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Run only this figure, table or claim. Repeatable.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run only the quick part of the suite.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write.", show_default="results/<NAME>")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of parallel processes.", show_default="one per core")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a suite's existing folder.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change every scenario of the suite, e.g. flow.0.cc=my-controller. Repeatable; the page says so.",
        ),
    ] = None,
    allow_read: AllowReadOption = None,
    plugin: PluginOption = None,
) -> None:
    """Reproduce a published document: run its experiments and compare."""
    from windtunnel.papers import reproduce as run_suite

    load_plugins(plugin)
    place = out or Path("results", name)
    code = run_suite(
        name,
        only=only or (),
        quick=quick,
        out=place,
        force=force,
        jobs=jobs,
        console=output(),
        settings=settings or (),
        allow_read=allow_read or (),
    )
    raise typer.Exit(code)
