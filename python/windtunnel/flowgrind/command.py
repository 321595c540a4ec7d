"""The arguments of flowgrind's controller (version 0.8.0): the flows they start, when, and with which controller.

An option of a flow holds for all flows until ``-F`` names one; what follows holds for that flow alone. Most take
``x=VALUE`` where x is ``s`` (the source), ``d`` (the destination) or ``b`` (both), several of them separated by commas.
Hosts, ports and the size of the application's buffer have no counterpart in a simulation and are read without effect;
what would change the traffic and is not simulated is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from windtunnel.errors import InputError

#: Options of the controller that say how it prints, with the number of their arguments.
_PRINTING = {"-c": 1, "-e": 1, "-l": 1, "-w": 0, "-o": 0, "-m": 0, "-p": 0, "-q": 0}
#: Options of a flow that name what a simulation does not have: addresses, buffers and blocks of the application.
_WITHOUT_EFFECT = ("-H", "-U", "-S", "-J")
#: Options that this module reads.
_KNOWN = ("-n", "-i", "-F", "-O", "-T", "-Y", "-M", "-W")
#: The socket option that is read; ROUTE_RECORD and the like do not change what a flow does.
_CONGESTION = "TCP_CONGESTION"
_HARMLESS = ("SO_DEBUG", "ROUTE_RECORD", "IP_MTU_DISCOVER", "TCP_MTCP", "TCP_ELCN", "TCP_LCD")


@dataclass(frozen=True)
class Stream:
    """One flow: its controller, when it starts and for how long it sends, its receive buffer."""

    cc: str = "cubic"
    delay_s: float = 0.0
    duration_s: float = 10.0
    receive_window: int | None = None


@dataclass(frozen=True)
class Command:
    """What a command line asks for. ``dump`` are the sides (``s``, ``d``) that capture packets."""

    flows: tuple[Stream, ...]
    interval_s: float = 0.05
    dump: frozenset[str] = frozenset()

    @property
    def end_s(self) -> float:
        """When the last flow ends."""
        return max(flow.delay_s + flow.duration_s for flow in self.flows)


def read_command(arguments: Sequence[str]) -> Command:
    """The command of these arguments, with or without the program's name. Raises InputError, which names the option."""
    words = list(arguments[1:] if arguments[:1] == ["flowgrind"] else arguments)
    count, interval, dump = 1, 0.05, set[str]()
    changes: list[tuple[int | None, str, str]] = []
    flow: int | None = None
    for option, value in _options(words):
        if option == "-n":
            count = _whole(option, value, 1)
        elif option == "-i":
            interval = _seconds(option, value, positive=True)
        elif option == "-F":
            chosen = _whole(option, value, -1)
            flow = None if chosen < 0 else chosen
        elif option == "-M":
            dump |= set("sd") if (sides := {part.partition("=")[0] for part in value.split(",")}) & {"b"} else sides
        elif option in _KNOWN:
            changes.append((flow, option, value))
    flows = [Stream()] * count
    for number, option, value in changes:
        if number is not None and number >= count:
            raise InputError(f"flowgrind: -F {number}: there are {count} flows (-n), numbered from 0")
        for index in range(count) if number is None else (number,):
            flows[index] = _changed(flows[index], option, value)
    return Command(tuple(flows), interval, frozenset(dump & {"s", "d"}))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option with its argument; ``-n5`` is ``-n 5``."""
    rest = iter(words)
    for word in rest:
        option, attached = word[:2], word[2:]
        if not word.startswith("-") or len(word) < 2:
            raise InputError(f"flowgrind: {word!r} is not an option; its options start with a hyphen")
        if option not in (*_KNOWN, *_WITHOUT_EFFECT, *_PRINTING):
            options = " ".join(sorted((*_KNOWN, *_WITHOUT_EFFECT, *_PRINTING)))
            raise InputError(f"flowgrind: the option {word} is not simulated; those that are read: {options}")
        if not _PRINTING.get(option, 1):
            yield option, ""
            continue
        value = attached or next(rest, None)
        if value is None:
            raise InputError(f"flowgrind: {option} needs an argument")
        yield option, value


def _changed(flow: Stream, option: str, value: str) -> Stream:
    source, destination = _sides(option, value)
    if option == "-T":
        if destination is not None and _seconds(option, destination):
            raise InputError(f"flowgrind: -T {value}: data from the destination (d) to the source are not simulated")
        return replace(flow, duration_s=_seconds(option, source, positive=True)) if source is not None else flow
    if option == "-Y":
        return replace(flow, delay_s=_seconds(option, source)) if source is not None else flow
    if option == "-W":
        return flow if destination is None else replace(flow, receive_window=_whole(option, destination, 1))
    if source is None:
        return flow
    name, _, chosen = source.partition("=")
    if name == _CONGESTION and chosen:
        return replace(flow, cc=chosen)
    if name in _HARMLESS:
        return flow
    raise InputError(f"flowgrind: -O {value}: is not {_CONGESTION}=NAME, the socket option that is simulated")


def _sides(option: str, value: str) -> tuple[str | None, str | None]:
    """What ``s=A,d=B`` or ``b=C`` says about the source and the destination."""
    sides: dict[str, str] = {}
    for part in value.split(","):
        side, equals, text = part.partition("=")
        if not equals or side not in ("s", "d", "b"):
            raise InputError(f"flowgrind: {option} {value}: {part!r} is not s=..., d=... or b=...")
        sides.update({"s": text, "d": text} if side == "b" else {side: text})
    return sides.get("s"), sides.get("d")


def _seconds(option: str, text: str, *, positive: bool = False) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and (seconds > 0 if positive else seconds >= 0)):
        raise InputError(f"flowgrind: {option}: {text!r} is not a time in seconds{' above 0' if positive else ''}")
    return seconds


def _whole(option: str, text: str, least: int) -> int:
    if not text.removeprefix("-").isdigit() or int(text) < least:
        raise InputError(f"flowgrind: {option}: {text!r} is not a whole number from {least}")
    return int(text)
