"""``windtunnel plot``: draw result folders again, zoomed or in part; and captures and logs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.streams import say
from windtunnel.errors import InputError
from windtunnel.extras import need
from windtunnel.input_file import STDIN

if TYPE_CHECKING:
    from windtunnel.figures.four_panel import Scale
    from windtunnel.panels import Result

#: Formats of figures, and the axes of the frequencies of marks.
_FORMATS = ("png", "svg", "pdf", "rfc-svg")
_SCALES = ("auto", "linear", "log")


class _Panels(click.Choice[str]):
    """The names of all panels. What draws them is imported when the names are needed."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> Sequence[str]:  # type: ignore[override]
        """The names."""
        from windtunnel.panels.catalogue import DRAWN

        return DRAWN


@click.command
@click.argument(
    "result_dirs",
    type=click.Path(path_type=Path),
    metavar="RUN|PCAP|QLOG...",
    nargs=-1,
    required=True,
    help="Result folders of `windtunnel run`, captures (pcap, pcapng), or logs (qlog).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, of one figure.",
    show_default="the folder's or the capture's name, with .png",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="Format of the file; rfc-svg is black on white, as RFC 7996 has it.",
    show_default="by its name, else png",
)
@click.option("--from", "from_", metavar="TIME", help="Start of the time axis, e.g. 90s.")
@click.option("--to", metavar="TIME", help="End of the time axis.")
@click.option("--panel", "panels", multiple=True, type=_Panels(), help="Draw only this panel. Repeatable.")
@click.option(
    "--state",
    "states",
    metavar="NAME",
    multiple=True,
    help="Draw this number of the controllers' or queues' state, alone or with --panel. Repeatable.",
)
@click.option(
    "--choice",
    "choices",
    metavar="PANEL=NAME",
    multiple=True,
    help="What a panel shows that offers several things, e.g. cdf=throughput. Repeatable.",
)
@click.option("--flent", is_flag=True, help="Draw rates and round-trip times on two axes, as Flent does.")
@click.option(
    "--average",
    metavar="TIME",
    help="Average throughput over this time; 0 draws what was recorded.",
    show_default="200ms, less in a short run",
)
@click.option(
    "--scale", type=click.Choice(_SCALES), default="auto", show_default=True, help="Axis of the frequencies of marks."
)
@click.option("--title", help="Title.", show_default="the scenario's")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def plot(
    result_dirs: tuple[Path, ...],
    out: Path | None,
    format_: str | None,
    from_: str | None,
    to: str | None,
    panels: tuple[str, ...],
    states: tuple[str, ...],
    choices: tuple[str, ...],
    flent: bool,
    average: str | None,
    scale: Scale,
    title: str | None,
    force: bool,
) -> None:
    """Draw the four-panel figure of each run, capture or log, or rates and round-trip times of a run on two axes."""
    need("matplotlib", "plot")
    from windtunnel.atomic import staged_file
    from windtunnel.folder import load
    from windtunnel.stored import OF_PACKETS

    captures = [each for each in result_dirs if _is_capture(each)]
    if flent and captures:
        raise InputError(f"--flent draws runs: {captures[0]} is a capture or a log")
    if flent and (panels or states):
        raise InputError("--flent is a figure of its own: leave out --panel and --state")
    extension = format_ if format_ else (out.suffix[1:].lower() if out and out.suffix else "png")
    if extension not in _FORMATS:
        raise InputError(f"{out}: `.{extension}` is not a format for figures: {', '.join(_FORMATS)}")
    files = _places(result_dirs, out, "svg" if extension == "rfc-svg" else extension)
    span = (_seconds("--from", from_), _seconds("--to", to))
    average_s, named = _seconds("--average", average), dict(map(_choice, choices))
    from windtunnel.figures import flent_style, four_panel, write_figure
    from windtunnel.panels.catalogue import FOUR

    chosen = panels if panels or states else FOUR
    # Figures of several folders appear together, so that a folder that cannot be drawn leaves none behind.
    with ExitStack() as stages:
        for folder, file in zip(result_dirs, files, strict=True):
            result: Result
            changes: Mapping[str, Mapping[str, Any]] = {}
            if folder in captures:
                from windtunnel.explain.seen import PANELS as OF_CAPTURES
                from windtunnel.explain.seen import seen_in

                result, changes = seen_in(folder), OF_CAPTURES
            else:
                result = load(folder, lazily=OF_PACKETS)
            figure = (
                flent_style(result, title=title, span=span)
                if flent
                else four_panel(
                    result,
                    title=title,
                    span=span,
                    panels=chosen,
                    states=states,
                    choices=named,
                    average_s=average_s,
                    scale=scale,
                    changes=changes,
                )
            )
            write_figure(figure, stages.enter_context(staged_file(file, force=force)), extension)
    for file in files:
        say(file)


def _places(folders: Sequence[Path], out: Path | None, extension: str) -> list[Path]:
    """The file of each folder's figure. Raises InputError if two would have the same one."""
    if out is not None:
        if len(folders) > 1:
            raise InputError("--out names one file; leave it out where several folders are drawn")
        return [out]
    taken: dict[Path, Path] = {}
    for folder in folders:
        file = Path(f"{_name(folder)}.{extension}")
        if file in taken:
            raise InputError(f"{taken[file]} and {folder} would both be drawn to {file}; draw one of them with --out")
        taken[file] = folder
    return list(taken)


def _is_capture(traced: Path) -> bool:
    """Whether it is a file or a stream. A name that no file can have is neither; what loads the folder says so."""
    try:
        return traced == STDIN or (traced.exists() and not traced.is_dir())
    except OSError:
        return False


def _name(traced: Path) -> str:
    """What a figure is called: as the folder, or as the capture without its extension."""
    if traced == STDIN:
        return "stdin"
    return traced.stem if traced.suffix and _is_capture(traced) else traced.resolve().name


def _choice(text: str) -> tuple[str, str]:
    """A panel and what it shows."""
    panel, equals, name = text.partition("=")
    if not equals:
        raise InputError(f"--choice: {text!r} is not PANEL=NAME, such as cdf=throughput")
    return panel, name


_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}


def _seconds(option: str, text: str | None) -> float | None:
    """A time from the command line; plain numbers are seconds, as on the figure's axis."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text)
    if match is None or match[2] not in _UNITS:
        raise InputError(f"{option}: {text!r} is not a time; write seconds, or a unit: 90, 1.5s, 200ms, 2min")
    return float(match[1]) * _UNITS[match[2]]
