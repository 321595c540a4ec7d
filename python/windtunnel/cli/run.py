"""``windtunnel run``: simulate a scenario and write its result folder."""

import itertools
import sys
import traceback
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

import windtunnel
from windtunnel._core import ScenarioError
from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, write_json
from windtunnel.errors import InputError, RunFailedError
from windtunnel.estimate import is_large, lines
from windtunnel.memory import limit
from windtunnel.printable import printable
from windtunnel.result import RunResult
from windtunnel.scenario import Progress, Scenario
from windtunnel.scenario_file import STDIN


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Scenario file (TOML); - for the standard input.")
@click.option("--out", type=click.Path(path_type=Path), help="Result folder.", show_default="results/<name of FILE>")
@click.option("--force", is_flag=True, help="Replace an existing result folder.")
@set_option
@click.option("--json", is_flag=True, help="Print summary.json and nothing else; no folder is written without --out.")
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that the run may take, e.g. '8 GB'.",
    show_default="half of what is available",
)
@click.option(
    "--figures", is_flag=True, help="Draw the four-panel figure too, as PNG and SVG; `windtunnel plot` draws it later."
)
@allow_read_option
@plugin_option
def run(
    file: Path,
    out: Path | None,
    force: bool,
    settings: tuple[str, ...],
    json: bool,
    memory: str | None,
    figures: bool,
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Simulate a scenario; write summary, tables and report."""
    from windtunnel.folder import check_place, load_libraries, save

    load_plugins(plugin)
    stem = "stdin" if file == STDIN else file.stem
    scenario = Scenario.from_file(file, overrides=settings, allow_read=allow_read)
    title = scenario.resolve().get("title") or stem
    place = out or (None if json else Path("results", stem))
    if place is not None:
        check_place(place, force=force)
        load_libraries(figures=figures)
    announce(scenario, memory)
    show_notes_before(scenario, warnings_only=True)
    with _progress(title) as progress:
        result = _simulate(scenario, file, progress, memory)
    if place is not None:
        save(result, place, force=force, figures=figures)
    if json:
        write_json(result.to_json())
    else:
        from windtunnel.cli.consoles import output
        from windtunnel.cli.summary import show_summary

        show_summary(result, place, output())


def announce(scenario: Scenario, memory: str | None) -> None:
    """Say what a large run will need before it starts."""
    estimate, most = scenario.estimate(), limit(memory)
    # A run that needs too much is refused with a message of its own.
    if is_large(estimate, most) and (most is None or estimate["memory_bytes"] <= most):
        for line in lines(estimate, most):
            message(line)


def _progress(title: str) -> AbstractContextManager[Progress | None]:
    """A progress bar, if somebody may be looking."""
    if not sys.stderr.isatty():
        return nullcontext()
    from windtunnel.cli.consoles import messages
    from windtunnel.progress import progress_bar

    return progress_bar(title, messages())


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
