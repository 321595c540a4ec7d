"""``windtunnel emulate``: the path of a scenario in real time, for real programs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, write_json
from windtunnel.emulate.lateness import BOUND
from windtunnel.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from windtunnel.emulate.session import Session, Settings
    from windtunnel.parts import Place
    from windtunnel.result import RunResult
    from windtunnel.scenario import Scenario

#: A time with its unit: what else is a quantity (data, rates) is none here.
_TIME = re.compile(r"[\d.]+ ?(?:ns|us|ms|s|min|h)")


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Scenario file (TOML); - for the standard input.")
@click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]", help="The command at the near end."
)
@click.option("--serve", metavar="COMMAND", help="The command at the far end, such as 'iperf3 -s'; no shell reads it.")
@click.option("--way", metavar="FLOW", help="The flow whose path real packets take.", show_default="the first one")
@click.option("--keep", is_flag=True, help="Let the flows of the scenario run next to it, simulated.")
@click.option("--duration", metavar="TIME", help="End it after this time.", show_default="the near command, or Ctrl-C")
@click.option(
    "--bound", metavar="TIME", default=BOUND, show_default=True, help="Lateness above which there is no verdict."
)
@click.option("--in", "near_in", metavar="NAME", help="A network namespace for the near end.", show_default="a new one")
@click.option("--far-in", metavar="NAME", help="The same for the far end.", show_default="a new one")
@click.option("--capture", is_flag=True, help="Write all packets at both ends to capture.pcapng in the folder.")
@click.option("--no-live", is_flag=True, help="Show no numbers meanwhile; the commands have the terminal.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Result folder.", show_default="results/<name of FILE>-emulated"
)
@click.option("--force", is_flag=True, help="Replace an existing result folder.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print summary.json and nothing else; no folder is written without --out. Commands write to stderr.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that the run may take, e.g. '8 GB'.",
    show_default="half of what is available",
)
@set_option
@allow_read_option
@click.pass_context
def emulate(
    ctx: click.Context,
    file: Path,
    command: tuple[str, ...],
    serve: str | None,
    way: str | None,
    keep: bool,
    duration: str | None,
    bound: str,
    near_in: str | None,
    far_in: str | None,
    capture: bool,
    no_live: bool,
    out: Path | None,
    force: bool,
    as_json: bool,
    memory: str | None,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
) -> None:
    """Run real programs over the path of a scenario, in real time.

    The path connects two network namespaces, 10.0.0.1 and 10.0.0.2 (fd00::1 and fd00::2): packets from the near end
    pass the bottleneck, those from the far end go back the other way. It needs no root where users may make namespaces,
    and nothing leaves the machine. Without a command, it prints how to get to both ends. The lateness of packets is
    measured: where 1 % is later than the bound, there is no verdict. The exit code is the near command's if that fails.
    """
    from windtunnel.cli.run import failures_in_words
    from windtunnel.emulate.files import capture_for, write_files
    from windtunnel.emulate.session import Settings
    from windtunnel.folder import check_writable, load_libraries, save
    from windtunnel.incomplete import Incomplete
    from windtunnel.memory import limit
    from windtunnel.parts import Temporary
    from windtunnel.scenario import Scenario

    scenario = Scenario.from_file(file, overrides=settings, allow_read=allow_read)
    resolved = scenario.resolve()
    _check_way(resolved, way)
    how = Settings(
        serve=_words(serve), command=command, way=way, keep=keep, memory=limit(memory), bound_s=_time("--bound", bound),
        duration_s=None if duration is None else _time("--duration", duration),
    )  # fmt: skip
    folder = _place(file, out, as_json=as_json)
    if capture and folder is None:
        raise InputError("--capture writes into the result folder, and --json writes none: give --out, too")
    if folder is not None:
        check_writable(folder, force=force)
        load_libraries(figures=False)
    parts: Place = Temporary() if folder is None else Incomplete(folder, scenario)
    namespaces = (_name("--in", near_in), _name("--far-in", far_in))
    with capture_for(folder if capture else None) as packets:
        how = replace(how, capture=None if packets is None else packets.fileno())
        with failures_in_words(file, parts):
            result, session = _emulate(scenario, how, namespaces, parts, as_json=as_json, live=not no_live)
        if folder is not None:
            save(result, folder, force=force, more=lambda stage: write_files(result, stage, packets))
    _tell(result, folder, as_json=as_json)
    parts.remove()
    ctx.exit(_exit_code(result, session, how))


def _emulate(
    scenario: Scenario,
    how: Settings,
    namespaces: tuple[str | None, str | None],
    parts: Place,
    *,
    as_json: bool,
    live: bool,
) -> tuple[RunResult, Session]:
    """The emulation, with what is seen of it meanwhile."""
    from windtunnel import _core
    from windtunnel.emulate.ends import open_ends
    from windtunnel.emulate.session import emulate as carry_out

    mtu = round(_core.quantity(scenario.resolve()["mtu"]))
    with (
        _display(scenario.resolve().get("title") or "", live=live, as_json=as_json) as display,
        open_ends(namespaces, mtu, display.outputs, stdin=bool(how.command)) as ends,
    ):
        result, session = carry_out(scenario, ends, how, parts, show=display.show, say=message, outputs=display.readers)
    return result, session


class _Display(Protocol):
    """What is seen meanwhile. ``outputs``: the descriptors to which the commands write, or None for ours; ``readers``:
    what becomes of it, by the descriptor from which it is read.
    """

    outputs: tuple[int | None, int | None]
    readers: dict[int, Callable[[bytes], None]]

    def show(self, snapshot: Mapping[str, Any]) -> None:
        """Show a snapshot of the emulator."""
        ...


class _NoDisplay:
    """Nothing is seen of the emulation, and the commands write by themselves."""

    def __init__(self, outputs: tuple[int | None, int | None]) -> None:
        self.outputs = outputs
        self.readers: dict[int, Callable[[bytes], None]] = {}

    def show(self, snapshot: Mapping[str, Any]) -> None:
        """Nothing."""


@contextmanager
def _display(title: str, *, live: bool, as_json: bool) -> Iterator[_Display]:
    """Numbers, if a user may be looking."""
    outputs = (2, 2) if as_json else (None, None)
    if not (live and sys.stderr.isatty()):
        yield _NoDisplay(outputs)
        return
    from windtunnel.cli.live import LiveDisplay

    with LiveDisplay(title, outputs) as display:
        yield display


def _tell(result: RunResult, folder: Path | None, *, as_json: bool) -> None:
    if as_json:
        write_json(result.to_json())
        return
    from windtunnel.cli.consoles import output
    from windtunnel.cli.summary import show_summary

    show_summary(result, folder, output())


def _exit_code(result: RunResult, session: Session, how: Settings) -> int:
    """That of the near command, if it failed by itself; else of the signal that ended it, or of the verdict."""
    for end in ("near", "far"):
        if session.codes.get(end):
            message(f"the command of the {end} end failed: exit code {session.codes[end]}")
            return session.codes[end]
    if session.signal is not None and how.command:
        return 128 + session.signal
    return 0 if result.meta["emulation"]["in_time"] else 1


def _place(file: Path, out: Path | None, *, as_json: bool) -> Path | None:
    from windtunnel.cli.run import name_of

    return out if out is not None or as_json else Path("results") / f"{name_of(file)}-emulated"


def _check_way(resolved: Mapping[str, Any], way: str | None) -> None:
    names = [str(flow.get("name")) for flow in resolved.get("flow") or ()]
    if way is not None and way not in names:
        raise InputError(f"--way: `{way}` is none of {', '.join(names)}{did_you_mean(way, names)}")


def _words(serve: str | None) -> tuple[str, ...]:
    if serve is None:
        return ()
    try:
        words = tuple(shlex.split(serve))
    except ValueError as error:
        raise InputError(f"--serve: {serve!r} is not a command: {error}") from None
    if not words:
        raise InputError("--serve: the command is empty")
    return words


def _time(option: str, text: str) -> float:
    from windtunnel import _core

    seconds = _core.quantity(text) if _TIME.fullmatch(text) else 0.0
    if not seconds > 0:
        raise InputError(f'{option}: {text!r} is not allowed: a time above 0, such as "10 s" or "500 us"')
    return seconds


def _name(option: str, name: str | None) -> str | None:
    if name is not None and (not name or "/" in name or name in (".", "..")):
        raise InputError(f"{option}: {name!r} is not the name of a network namespace (`ip netns list`)")
    return name
