"""``windtunnel twin``: a scenario on the real Linux kernel in virtual time."""

from pathlib import Path

import click

from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import write_json


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Scenario file (TOML); - for the standard input.")
@click.option("--only", type=click.Choice(["linux"]), required=True, help="What runs: the kernel.")
@click.option("--kernel", metavar="VERSION", help="A kernel, as `kernel status` names it.", show_default="the newest")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Result folder.", show_default="results/<name of FILE>-linux"
)
@click.option("--force", is_flag=True, help="Replace an existing result folder.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print summary.json and nothing else; no folder is written without --out."
)
@set_option
@allow_read_option
def twin(
    file: Path,
    only: str,
    kernel: str | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
) -> None:
    """Run a scenario on the unmodified Linux, in virtual time; write summary, tables and report as `run` does.

    What Linux cannot do is refused by name, before the kernel starts. `kernel build` makes a kernel.
    """
    from windtunnel.cli.run import name_of
    from windtunnel.folder import check_writable, load_libraries, save
    from windtunnel.kernel.kept import choose
    from windtunnel.scenario import Scenario
    from windtunnel.twin import run_linux

    del only  # the one value that there is
    scenario = Scenario.from_file(file, overrides=settings, allow_read=allow_read)
    scenario.resolve()
    folder = out if out is not None or as_json else Path("results") / f"{name_of(file)}-linux"
    if folder is not None:
        check_writable(folder, force=force)
        load_libraries(figures=False)
    result = run_linux(scenario, choose(kernel))
    if folder is not None:
        save(result, folder, force=force)
    if as_json:
        write_json(result.to_json())
        return
    from windtunnel.cli.consoles import output
    from windtunnel.cli.summary import show_summary

    show_summary(result, folder, output())
