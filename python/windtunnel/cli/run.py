"""``windtunnel run``: simulate a scenario and write its result folder."""

import itertools
import traceback
from pathlib import Path
from typing import Annotated

import typer

import windtunnel
from windtunnel._core import ScenarioError
from windtunnel.cli.consoles import messages, output, write_json
from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import PluginOption, load_plugins
from windtunnel.cli.reading import AllowReadOption
from windtunnel.errors import InputError, RunFailedError
from windtunnel.estimate import is_large, lines
from windtunnel.folder import check_place, load_libraries, save
from windtunnel.memory import limit
from windtunnel.printable import printable
from windtunnel.progress import progress_bar
from windtunnel.result import RunResult
from windtunnel.scenario import Progress, Scenario


def run(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Result folder.", show_default="results/<name of FILE>")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result folder.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change the scenario, e.g. bottleneck.rate='1 Gbps'. Repeatable."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print summary.json and nothing else; no folder is written without --out.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory that the run may take, e.g. '8 GB'.",
            show_default="half of what is available",
        ),
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Do not write PNG and SVG figures.")] = False,
    allow_read: AllowReadOption = None,
    plugin: PluginOption = None,
) -> None:
    """Simulate a scenario; write summary, tables, report and figures."""
    load_plugins(plugin)
    scenario = Scenario.from_file(file, overrides=settings or (), allow_read=allow_read or ())
    title = scenario.resolve().get("title") or file.stem
    place = out or (None if json else Path("results", file.stem))
    if place is not None:
        check_place(place, force=force)
        load_libraries(figures=not no_figures)
    announce(scenario, memory)
    show_notes_before(scenario, messages(), warnings_only=True)
    with progress_bar(title, messages()) as progress:
        result = _simulate(scenario, file, progress, memory)
    if place is not None:
        save(result, place, force=force, figures=not no_figures)
    if json:
        write_json(result.to_json())
    else:
        from windtunnel.cli.summary import show_summary

        show_summary(result, place, output())


def announce(scenario: Scenario, memory: str | None) -> None:
    """Say what a large run will need before it starts."""
    estimate, most = scenario.estimate(), limit(memory)
    # A run that needs too much is refused with a message of its own.
    if is_large(estimate, most) and (most is None or estimate["memory_bytes"] <= most):
        for line in lines(estimate, most):
            messages().print(line, soft_wrap=True)


def _simulate(scenario: Scenario, file: Path, progress: Progress | None, memory: str | None) -> RunResult:
    try:
        return scenario.run(progress, memory=memory)
    except (ScenarioError, InputError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # The core's panics are not Exceptions, but for a user they are failed runs like any other.
        message = printable(f"{file}: the run failed: {type(error).__name__}: {error}")
        raise RunFailedError(message + _foreign_frames(error)) from error


def _foreign_frames(error: BaseException) -> str:
    """The place in a controller's own code where an exception was raised; empty for a failure of windtunnel itself."""
    ours = str(Path(windtunnel.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    foreign = list(itertools.takewhile(lambda frame: not frame.filename.startswith(ours), reversed(frames)))
    return "\n" + "".join(traceback.format_list(foreign[::-1])).rstrip() if foreign else ""
