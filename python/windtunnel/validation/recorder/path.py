"""The path: a bottleneck without a limit, the effects of the medium behind it, and a fixed round trip.

The impairments are those of scenario files: ``scripted-loss``, ``scripted-reordering`` and ``outage`` mean here what
they mean there, so that both stacks send over the same path.
"""

from __future__ import annotations

import heapq
import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from windtunnel.validation.recorder.wire import CE, Segment

MS = 1_000_000

Action: TypeAlias = Callable[[int], None]

#: Takes a packet at a given time.
Pass: TypeAlias = Callable[[Segment, int], None]


class Agenda:
    """Actions by time; those of the same time run in the order in which they were entered."""

    def __init__(self) -> None:
        self._actions: list[tuple[int, int, Action]] = []
        self._numbers = itertools.count()

    def at(self, due_ns: int, action: Action) -> None:
        """Do this at that time."""
        heapq.heappush(self._actions, (due_ns, next(self._numbers), action))

    @property
    def next_due(self) -> int | None:
        """When the next action is due."""
        return self._actions[0][0] if self._actions else None

    def run_next(self) -> None:
        """Do what is due first."""
        due, _, action = heapq.heappop(self._actions)
        action(due)


class Medium:
    """The effects on packets of one direction, in the order of its impairments."""

    def __init__(self, impair: str, agenda: Agenda, deliver: Pass) -> None:
        self._agenda, self._deliver = agenda, deliver
        self._hops = [_hop(table, self) for table in tables(impair)]

    def enter(self, segment: Segment, now_ns: int, hop: int = 0) -> None:
        """A packet arrives at the impairment with this number."""
        if hop == len(self._hops):
            self._deliver(segment, now_ns)
        else:
            self._hops[hop].enter(segment, now_ns, lambda held, at: self.enter(held, at, hop + 1))

    def at(self, due_ns: int, action: Action) -> None:
        """Do this at that time."""
        self._agenda.at(due_ns, action)


def tables(impair: str) -> list[dict[str, Any]]:
    """The impairments of a scenario's ``impair``."""
    value = tomllib.loads(f"impair = {impair or '[]'}")["impair"]
    return value if isinstance(value, list) else [value]


class ScriptedLoss:
    """Listed packets are lost."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._packets, self._count = set(table["packets"]), _counter(table)

    def enter(self, segment: Segment, now_ns: int, pass_on: Pass) -> None:
        """A packet arrives."""
        if self._count(segment) not in self._packets:
            pass_on(segment, now_ns)


class ScriptedReordering:
    """Listed packets are held until a number of others have passed, or for a time."""

    def __init__(self, table: Mapping[str, Any], medium: Medium) -> None:
        self._packets, self._count = set(table["packets"]), _counter(table)
        self._overtaken_by, self._delay = table.get("overtaken_by"), table.get("delay")
        self._medium = medium
        self._held: list[tuple[Segment, Pass, int]] = []
        """Held packets, each with the number of packets that still have to pass."""

    def enter(self, segment: Segment, now_ns: int, pass_on: Pass) -> None:
        """A packet arrives."""
        number = self._count(segment)
        if number in self._packets:
            self._held.append((segment, pass_on, self._overtaken_by or 0))
            if self._delay:
                self._medium.at(now_ns + milliseconds(self._delay) * MS, lambda at: self._release(segment, at))
            return
        pass_on(segment, now_ns)
        if number is not None and self._overtaken_by:
            self._held = [(held, on, left - 1) for held, on, left in self._held]
            for held, _, left in list(self._held):
                if left == 0:
                    self._release(held, now_ns)

    def _release(self, segment: Segment, now_ns: int) -> None:
        for held in [held for held in self._held if held[0] is segment]:
            self._held.remove(held)
            held[1](segment, now_ns)


class Outage:
    """Packets are held, or lost, at certain times."""

    def __init__(self, table: Mapping[str, Any], medium: Medium) -> None:
        self._times = [(milliseconds(time["from"]) * MS, milliseconds(time["to"]) * MS) for time in table["times"]]
        self._hold, self._medium = table.get("hold", False), medium

    def enter(self, segment: Segment, now_ns: int, pass_on: Pass) -> None:
        """A packet arrives."""
        end = next((end for begin, end in self._times if begin <= now_ns < end), None)
        if end is None:
            pass_on(segment, now_ns)
        elif self._hold:
            self._medium.at(end, lambda at: pass_on(segment, at))


Hop = ScriptedLoss | ScriptedReordering | Outage


def _hop(table: Mapping[str, Any], medium: Medium) -> Hop:
    match table["kind"]:
        case "scripted-loss":
            return ScriptedLoss(table)
        case "scripted-reordering":
            return ScriptedReordering(table, medium)
        case "outage":
            return Outage(table, medium)
        case kind:
            msg = f"the recorder's path has no impairment {kind!r}"
            raise ValueError(msg)


def _counter(table: Mapping[str, Any]) -> Callable[[Segment], int | None]:
    """The number of a packet, from 1 on; None for those that are not affected."""
    affects = table.get("affects", "all")
    numbers: Iterator[int] = itertools.count(1)

    def number(segment: Segment) -> int | None:
        affected = affects == "all" or (affects == "data") == (segment.payload > 0)
        return next(numbers) if affected else None

    return number


def milliseconds(text: str) -> int:
    """``700 ms`` as 700; ``2 s`` as 2000."""
    number, unit = text.split()
    return int(number) * {"ms": 1, "s": 1000}[unit]


class Bottleneck:
    """Packets leave one after the other; listed ones leave with CE."""

    def __init__(self, rate_mbps: int, marked: frozenset[int], agenda: Agenda, leave: Pass) -> None:
        self._byte_ns = 8000 // rate_mbps
        self._marked, self._agenda, self._leave = marked, agenda, leave
        self._free_at = 0
        self._data = 0

    def enter(self, segment: Segment, now_ns: int) -> None:
        """A packet arrives."""
        if segment.payload:
            self._data += 1
            if self._data in self._marked and segment.ecn:
                segment.ecn = CE
        self._free_at = max(self._free_at, now_ns) + segment.size * self._byte_ns
        self._agenda.at(self._free_at, lambda at: self._leave(segment, at))
