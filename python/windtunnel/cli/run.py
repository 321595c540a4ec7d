"""``windtunnel run``: simulate scenarios and write a result folder for each."""

import itertools
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import click

import windtunnel
from windtunnel._core import ControllerError, ScenarioError
from windtunnel.cli.claims import check_junit, claim_options, decided, report
from windtunnel.cli.notes import show_notes_before
from windtunnel.cli.plugins import load_plugins, plugin_option
from windtunnel.cli.qlog import qlog_options, tell_left_out
from windtunnel.cli.reading import allow_read_option, files_argument, set_option
from windtunnel.cli.streams import message, say, write_json
from windtunnel.errors import InputError, RunFailedError, StoppedError, failed_in_words, reason
from windtunnel.estimate import is_large, lines
from windtunnel.incomplete import Incomplete
from windtunnel.memory import limit
from windtunnel.parts import Place, Temporary
from windtunnel.printable import printable
from windtunnel.result import RunResult
from windtunnel.scenario import Progress, Scenario
from windtunnel.scenario_file import STDIN

#: More are a mistake: each has a copy of what the recorder keeps of every flow.
MOST_THREADS = 256


@click.command
@files_argument
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Result folder; of several files, the folder that holds theirs.",
    show_default="results/<name of FILE>",
)
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
    "--threads",
    type=click.IntRange(min=1, max=MOST_THREADS),
    default=1,
    metavar="N",
    help="Share each run between N threads, where delays separate its links and that pays; the result is the same.",
    show_default=True,
)
@click.option(
    "--figures", is_flag=True, help="Draw the four-panel figure too, as PNG and SVG; `windtunnel plot` draws it later."
)
@click.option("--qlog", is_flag=True, help="Record packets, and write each TCP flow as qlog in the folder's `qlog`.")
@qlog_options
@claim_options
@allow_read_option
@plugin_option
@click.pass_context
def run(
    ctx: click.Context,
    files: tuple[Path, ...],
    out: Path | None,
    force: bool,
    settings: tuple[str, ...],
    json: bool,
    memory: str | None,
    threads: int,
    figures: bool,
    qlog: bool,
    qlog_version: str,
    qlog_gzip: bool,
    junit: Path | None,
    undecided: str,
    allow_read: tuple[Path, ...],
    plugin: tuple[Path, ...],
) -> None:
    """Simulate scenarios; write summary, tables and report of each."""
    from windtunnel.folder import check_writable, load_libraries, save

    load_plugins(plugin)
    logs = {"version": qlog_version, "compress": qlog_gzip} if qlog else None
    if qlog:
        if json and out is None:
            raise InputError("--qlog writes into the result folder, and --json writes none: give --out, too")
        settings = (*settings, "record.packets=true")
    jobs = [
        Job(file, Scenario.from_file(file, overrides=settings, allow_read=allow_read), folder)
        for file, folder in zip(files, places(files, out, stored=out is not None or not json), strict=True)
    ]
    check_junit(junit)
    for job in jobs:
        job.scenario.check_claims()
        job.title = job.scenario.resolve().get("title") or name_of(job.file)
        if job.folder is not None:
            check_writable(job.folder, force=force)
    if out is not None or not json:
        load_libraries(figures=figures)
    # One alone is refused by the run itself.
    if len(jobs) > 1:
        refuse_too_large(jobs, memory)
    for job in jobs:
        announce(job.scenario, memory)
        show_notes_before(job.scenario, warnings_only=True)
    claims = []
    for number, job in enumerate(jobs):
        with _told_what_is_written([str(job.folder) for job in jobs[:number] if job.folder]):
            notes: list[str] = []
            with _progress(job.title) as progress:
                result = _simulate(job, progress, memory, threads, parts := _parts(job), notes)
            for note in notes:
                message(note)
            if job.folder is not None:
                save(result, job.folder, force=force, figures=figures, qlog=logs)
            if logs is not None:
                tell_left_out(result)
        claims.append((name_of(job.file), decided(result)))
        if json:
            write_json(result.to_json())
        else:
            from windtunnel.cli.consoles import output
            from windtunnel.cli.summary import show_summary

            if number > 0:
                say("")
            show_summary(result, job.folder, output())
        parts.remove()
    if not report(claims, junit, undecided):
        ctx.exit(1)


@dataclass
class Job:
    """A scenario, and the folder for its result, if there is to be one."""

    file: Path
    scenario: Scenario
    folder: Path | None
    title: str = ""


def name_of(file: Path) -> str:
    """What a file's result is called."""
    return "stdin" if file == STDIN else file.stem


def places(files: Sequence[Path], out: Path | None, *, stored: bool) -> list[Path | None]:
    """The result folder of each file. Raises InputError if two would have the same one."""
    if not stored:
        return [None] * len(files)
    if out is not None and len(files) == 1:
        return [out]
    taken: dict[Path, Path] = {}
    for file in files:
        folder = (out or Path("results")) / name_of(file)
        if folder in taken:
            raise InputError(
                f"{taken[folder]} and {file} would both be written to {folder}; run one of them with --out"
            )
        taken[folder] = file
    return list(taken)


@contextmanager
def _told_what_is_written(written: Sequence[str]) -> Iterator[None]:
    """Say with an interrupt which results of several are complete."""
    try:
        yield
    except KeyboardInterrupt:
        if not written:
            raise
        raise StoppedError(f"stopped; complete are {', '.join(written)}") from None


def refuse_too_large(jobs: Sequence[Job], memory: str | None) -> None:
    """Refuse several runs if one of them needs too much memory, before any of them starts."""
    most = limit(memory)
    for job in jobs:
        needed = job.scenario.estimate()["memory_bytes"]
        if most is not None and needed > most:
            raise InputError(
                f"{job.file}: needs {needed / 2**30:.1f} GiB of memory, and may take {most / 2**30:.1f} GiB; "
                "leave it out, or allow more with --memory"
            )


def announce(scenario: Scenario, memory: str | None) -> None:
    """Say what a large run will need before it starts."""
    estimate, most = scenario.estimate(), limit(memory)
    # A run that needs too much is refused with a message of its own.
    if is_large(estimate, most) and (most is None or estimate["memory_bytes"] <= most):
        for line in lines(estimate, most):
            message(line)


def _progress(title: str) -> AbstractContextManager[Progress | None]:
    """A progress bar, if a user may be looking."""
    if not sys.stderr.isatty():
        return nullcontext()
    from windtunnel.cli.consoles import messages
    from windtunnel.progress import progress_bar

    return progress_bar(title, messages())


def _parts(job: Job) -> Place:
    """Where rows go that are too many for memory: next to the result, so that what ends the run leaves them there."""
    if job.folder is None:
        return Temporary()
    return Incomplete(job.folder, job.scenario)


@contextmanager
def failures_in_words(file: Path, parts: Place) -> Iterator[None]:
    """Let what goes wrong in a run be said in a line, also where the rows are that had left memory by then."""
    try:
        yield
    except BaseException as error:
        if isinstance(parts, Incomplete) and parts.folder is not None:
            message(f"what was recorded until then is in {parts.folder}")
        if isinstance(
            error, ScenarioError | InputError | RunFailedError | MemoryError | KeyboardInterrupt | SystemExit
        ):
            raise
        if isinstance(error, OSError):
            raise InputError(f"{parts.folder or file}: cannot be written: {reason(error)}") from None
        # The core's panics are not Exceptions, but for a user they are failed runs like any other.
        raised = error.__cause__ if isinstance(error, ControllerError) and error.__cause__ else error
        said = printable(f"{file}: the run failed: {failed_in_words(error)}")
        raise RunFailedError(said + _foreign_frames(raised)) from error


def _simulate(
    job: Job, progress: Progress | None, memory: str | None, threads: int, parts: Place, notes: list[str]
) -> RunResult:
    with failures_in_words(job.file, parts):
        return job.scenario.run(progress, memory=memory, parts=parts, threads=threads, tell=notes.append)


def _foreign_frames(error: BaseException) -> str:
    """The place in a controller's own code where an exception was raised; empty for a failure of windtunnel itself."""
    ours = str(Path(windtunnel.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    foreign = list(itertools.takewhile(lambda frame: not frame.filename.startswith(ours), reversed(frames)))
    return "\n" + "".join(traceback.format_list(foreign[::-1])).rstrip() if foreign else ""
