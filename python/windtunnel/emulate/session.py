"""An emulation from its start to its result: both ends are there, the core moves packets, commands run, and something
ends it: the near command, the time, or a signal.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from windtunnel import _core
from windtunnel.active_runs import counted
from windtunnel.emulate.ends import End, end_both
from windtunnel.emulate.lateness import Lateness
from windtunnel.errors import InputError, RunFailedError
from windtunnel.parts import Place
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario, result_of
from windtunnel.table import NAMES

#: How often the loop looks at the clock and at signals, and how often it shows numbers.
_LOOK_S, _SHOW_S = 0.1, 0.25
#: The near command does not wait longer for one at the far end that listens nowhere.
_LISTENS_S = 2.0
#: What windtunnel itself takes as an end, and so does an emulation.
_ENDS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: What is shown while it goes on: a snapshot as :meth:`windtunnel._core.Emulator.snapshot` tells it.
Show = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Settings:
    """What the command line says. Words are those of commands; ``duration_s``: None until it is ended; ``capture``: the
    descriptor of a file for all packets at both ends.
    """

    serve: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    way: str | None = None
    keep: bool = False
    duration_s: float | None = None
    bound_s: float = 0.0
    memory: int | None = None
    capture: int | None = None


@dataclass
class Session:
    """How it went. ``codes``: of commands that ended by themselves, by the name of their end."""

    lateness: Lateness | None = None
    elapsed_s: float = 0.0
    cpu_s: float = 0.0
    signal: int | None = None
    codes: dict[str, int] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)


def emulate(
    scenario: Scenario,
    ends: tuple[End, End],
    settings: Settings,
    parts: Place,
    *,
    show: Show = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    outputs: Mapping[int, Callable[[bytes], None]] | None = None,
) -> tuple[RunResult, Session]:
    """Run an emulation; returns its result, and how it went. ``outputs``: who gets what can be read from descriptors.

    Raises what a run raises, and InputError for a command that cannot be started.
    """
    near, far = ends
    outputs = outputs or {}
    emulator = _emulator(scenario, ends, settings, parts)
    session = Session()
    with counted(), _caught() as came:
        started, cpu = time.monotonic(), time.process_time()
        try:
            if settings.serve:
                far.run(settings.serve, wait=True)
                _wait_for(far, came, outputs, say, session)
            emulator.start()
            started = time.monotonic()
            if not settings.command:
                _tell_ways_in(ends, say)
            elif not came:
                near.run(settings.command)
            _go_on(emulator, ends, settings, came, outputs, show, session)
        finally:
            # Commands end while packets still pass, so that connections can be closed.
            end_both(ends)
            emulator.stop()
            session.elapsed_s, session.cpu_s = time.monotonic() - started, time.process_time() - cpu
            _read(outputs)
    session.signal = came[0] if came else None
    session.last = json.loads(emulator.snapshot())
    session.lateness = Lateness.of(json.loads(emulator.lateness()))
    if broken := session.last["broken"]:
        raise RunFailedError(f"the emulation ended: {broken}")
    # Names of flows are known when they are over.
    raw, connections = emulator.finish(), emulator.connections()
    return _result(raw, parts, ends, settings, session, connections), session


def _emulator(scenario: Scenario, ends: tuple[End, End], settings: Settings, parts: Place) -> _core.Emulator:
    """The path, which does not carry packets yet. Raises ScenarioError, and InputError for what has no real time."""
    text, file, overrides, allow_read, built = scenario.arguments
    duration = None if settings.duration_s is None else round(settings.duration_s * 1e9)
    try:
        return _core.Emulator(
            text, file, overrides, allow_read, way=settings.way, keep=settings.keep, near=ends[0].fd,
            far=ends[1].fd, duration=duration, parts=(parts.make, NAMES), memory=settings.memory,
            capture=settings.capture, built=built,
        )  # fmt: skip
    except _core.ScenarioError:
        raise
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None


def _wait_for(
    far: End,
    came: list[int],
    outputs: Mapping[int, Callable[[bytes], None]],
    say: Callable[[str], None],
    session: Session,
) -> None:
    """Wait until the far command can be reached."""
    until = time.monotonic() + _LISTENS_S
    while not (far.ready or came):
        if _events([far], outputs, _LOOK_S):
            far.hear(0)
        if far.exit_code is not None:
            session.codes[far.name] = far.exit_code
            if far.exit_code:
                raise RunFailedError(f"the command of the far end failed before it listened: exit code {far.exit_code}")
            return
        if time.monotonic() > until:
            say(f"the command of the far end listens nowhere after {_LISTENS_S:g} s; the emulation starts all the same")
            return


def _tell_ways_in(ends: Sequence[End], say: Callable[[str], None]) -> None:
    for end in ends:
        addresses = ", ".join(each.partition("/")[0] for each in end.addresses)
        say(f"{end.name} end ({addresses}): {end.enter()}")


def _go_on(
    emulator: _core.Emulator,
    ends: Sequence[End],
    settings: Settings,
    came: list[int],
    outputs: Mapping[int, Callable[[bytes], None]],
    show: Show,
    session: Session,
) -> None:
    """Wait for the end of the emulation."""
    shown = time.monotonic()
    while emulator.is_running() and not came:
        for end in _events(ends, outputs, _LOOK_S):
            end.hear(0)
            if end.exit_code is not None:
                session.codes[end.name] = end.exit_code
        if settings.command and ends[0].name in session.codes:
            return
        if time.monotonic() - shown >= _SHOW_S:
            shown = time.monotonic()
            show(json.loads(emulator.snapshot()))


def _events(ends: Sequence[End], outputs: Mapping[int, Callable[[bytes], None]], timeout_s: float) -> list[End]:
    """The ends that have something to say; what commands write goes on its way."""
    channels = {end.channel.fileno(): end for end in ends}
    watched = select.poll()
    for each in (*channels, *outputs):
        watched.register(each, select.POLLIN)
    readable = [each for each, _ in watched.poll(1000 * timeout_s)]
    _read({each: outputs[each] for each in readable if each in outputs})
    return [channels[each] for each in readable if each in channels]


def _read(outputs: Mapping[int, Callable[[bytes], None]]) -> None:
    """Take what can be read at once."""
    for descriptor, take in outputs.items():
        watched = select.poll()
        watched.register(descriptor, select.POLLIN)
        while watched.poll(0):
            try:
                text = os.read(descriptor, 1 << 16)
            except OSError:  # of a terminal whose last program has gone
                break
            if not text:
                break
            take(text)


@contextmanager
def _caught() -> Iterator[list[int]]:
    """Signals that come in the block: an emulation has no end of its own, so one of these is an end like any other.

    Only the main thread gets any.
    """
    came: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    try:
        for number in _ENDS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda number, _: came.append(number))
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _result(
    raw: _core.RunResult,
    parts: Place,
    ends: Sequence[End],
    settings: Settings,
    session: Session,
    connections: Sequence[tuple[str, str]],
) -> RunResult:
    """The result of a run, with what is different about an emulation."""
    lateness = session.lateness
    assert lateness is not None
    plain = result_of(raw, parts, session.cpu_s)
    resolved = plain.meta["scenario"]
    no_verdict = lateness.exceeds(settings.bound_s)
    emulation = {
        "elapsed_s": session.elapsed_s,
        "signal": None if session.signal is None else signal.Signals(session.signal).name,
        "commands": {"near": shlex.join(settings.command), "far": shlex.join(settings.serve)},
        "exit_codes": session.codes,
        "ends": [
            {"name": end.name, "device": end.device, "namespace": end.namespace, "addresses": end.addresses,
             "dropped": end.dropped}
            for end in ends
        ],
        "mtu": resolved["mtu"],
        "connections": [{"name": name, "ends": between} for name, between in connections],
        "not_carried": session.last["not_carried"],
        "refused": session.last["refused"],
        "bound_us": 1e6 * settings.bound_s,
        "lateness": lateness.document(),
        "verdict": lateness.verdict(settings.bound_s),
        "in_time": not no_verdict,
    }  # fmt: skip
    summary = {
        **plain.summary,
        "notes": [_note(lateness, settings.bound_s), *plain.notes],
        "claims": _claims(plain, no_verdict=no_verdict, why=emulation["verdict"]),
    }
    meta = {**plain.meta, "emulation": emulation}
    return RunResult(summary, plain.tables, meta)


def _note(lateness: Lateness, bound_s: float) -> dict[str, Any]:
    numbers = {"p99_us": lateness.p99_us, "bound_us": 1e6 * bound_s} if lateness.packets else {}
    level = "warning" if lateness.exceeds(bound_s) or not lateness.packets else "note"
    text = lateness.verdict(bound_s)
    return {"rule": "lateness", "level": level, "text": text, "flow": None, "queue": None, "numbers": numbers}


def _claims(result: RunResult, *, no_verdict: bool, why: str) -> list[dict[str, Any]]:
    """The claims of the scenario; none is decided by packets that were late."""
    claims = result.claims
    return [{**each, "verdict": "undecided", "value": None, "why": why} for each in claims] if no_verdict else claims
