"""``windtunnel reproduce``: a document's experiments, published and measured values side by side."""

from pathlib import Path

import click

from windtunnel.cli.completion import suite_ids, suites
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option

# Options of the commands that run a suite.
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of parallel processes.", show_default="one per core"
)
force_option = click.option("--force", is_flag=True, help="Replace a suite's existing folder.")
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Run again what was run before, and keep nothing for later."
)


@click.command
@click.argument("name", help="The suite, e.g. mds.", shell_complete=suites)
@click.option(
    "--only",
    metavar="ID",
    multiple=True,
    shell_complete=suite_ids,
    help="Run only this figure, table or claim. Repeatable.",
)
@click.option("--quick", is_flag=True, help="Run only the quick part of the suite.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write.", show_default="results/<NAME>")
@jobs_option
@force_option
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change every scenario of the suite, e.g. flow.0.cc=my-controller. Repeatable; the page says so.",
)
@no_cache_option
@allow_read_option
@plugin_option
@click.pass_context
def reproduce(
    ctx: click.Context,
    name: str,
    only: tuple[str, ...],
    quick: bool,
    out: Path | None,
    jobs: int | None,
    force: bool,
    settings: tuple[str, ...],
    no_cache: bool,
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Reproduce a published document: run its experiments and compare."""
    from windtunnel.cli.consoles import output
    from windtunnel.papers import reproduce as run_suite

    load_plugins(plugin)
    target = out or Path("results", name)
    code = run_suite(
        name,
        only=only,
        quick=quick,
        out=target,
        force=force,
        jobs=jobs,
        console=output(),
        settings=settings,
        allow_read=allow_read,
        use_cache=not no_cache,
    )
    ctx.exit(code)
