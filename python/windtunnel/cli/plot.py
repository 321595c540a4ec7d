"""``windtunnel plot``: draw a result folder again, zoomed or in part."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from windtunnel.atomic import staged_file
from windtunnel.cli.consoles import output
from windtunnel.errors import InputError
from windtunnel.folder import load


class Format(StrEnum):
    """Formats of figures."""

    png = "png"
    svg = "svg"


class Panel(StrEnum):
    """Panels of the figure."""

    throughput = "throughput"
    sojourn = "sojourn"
    cwnd = "cwnd"
    mark = "mark"
    rtt = "rtt"
    fct = "fct"
    in_flight = "in_flight"
    rates = "rates"
    one_way_delay = "one_way_delay"
    cdf = "cdf"
    fairness = "fairness"
    phase = "phase"
    sequence = "sequence"


class Scale(StrEnum):
    """Axes of the frequencies of marks."""

    auto = "auto"
    linear = "linear"
    log = "log"


def plot(
    result_dir: Annotated[Path, typer.Argument(help="Result folder of `windtunnel run`.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write.", show_default="<name of RESULT_DIR>.png")
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format of the file.", show_default="by its name, else png")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Start of the time axis, e.g. 90s.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="TIME", help="End of the time axis.")] = None,
    panels: Annotated[list[Panel] | None, typer.Option("--panel", help="Draw only this panel. Repeatable.")] = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="NAME",
            help="Draw this number of the controllers' or queues' state, alone or beside --panel. Repeatable.",
        ),
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option(
            "--choice",
            metavar="PANEL=NAME",
            help="What a panel shows that offers several things, e.g. cdf=throughput. Repeatable.",
        ),
    ] = None,
    flent: Annotated[
        bool, typer.Option("--flent", help="Draw rates and round-trip times on two axes, as Flent does.")
    ] = False,
    average: Annotated[
        str | None,
        typer.Option(
            "--average",
            metavar="TIME",
            help="Average throughput over this time; 0 draws what was recorded.",
            show_default="200ms, less in a short run",
        ),
    ] = None,
    scale: Annotated[Scale, typer.Option("--scale", help="Axis of the frequencies of marks.")] = Scale.auto,
    title: Annotated[str | None, typer.Option("--title", help="Title.", show_default="the scenario's")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Draw the four-panel figure of a result folder, or rates and round-trip times on two axes."""
    if flent and (panels or states):
        raise InputError("--flent is a figure of its own: leave out --panel and --state")
    result = load(result_dir)
    extension = format_.value if format_ else (out.suffix[1:].lower() if out and out.suffix else "png")
    if extension not in Format.__members__:
        raise InputError(f"{out}: `.{extension}` is not a format for figures: {', '.join(Format.__members__)}")
    path = out or Path(f"{result_dir.resolve().name}.{extension}")
    span = (_seconds("--from", from_), _seconds("--to", to))
    from windtunnel.figures import PANELS, flent_style, four_panel, write_figure

    chosen = [p.value for p in panels or ()] if panels or states else PANELS
    figure = (
        flent_style(result, title=title, span=span)
        if flent
        else four_panel(
            result,
            title=title,
            span=span,
            panels=chosen,
            states=states or (),
            choices=dict(map(_choice, choices or ())),
            average_s=_seconds("--average", average),
            scale=scale.value,
        )
    )
    with staged_file(path, force=force) as stage:
        write_figure(figure, stage, extension)
    output().print(str(path), soft_wrap=True)


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
