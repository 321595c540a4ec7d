"""A note, and the rule that makes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

from windtunnel.notes.subject import EACH, Flow, Queue, Subject, number

#: ``warning``: what was measured may not be what was meant. ``note``: how to read it.
Level: TypeAlias = Literal["warning", "note"]


@dataclass(frozen=True)
class Note:
    """What a rule says about a scenario or a run: a sentence, and the numbers in it."""

    rule: str
    level: Level
    text: str
    flow: str | None = None
    queue: str | None = None
    #: The numbers in base units: seconds, bytes, bits per second, shares.
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: For how many equal flows it holds.
    flows: int = 1

    def document(self) -> dict[str, Any]:
        """The note in ``summary.json``; a number that is not finite is null."""
        numbers = {key: value if math.isfinite(value) else None for key, value in self.numbers.items()}
        return {
            "rule": self.rule,
            "level": self.level,
            "text": self.text,
            "flow": self.flow,
            "queue": self.queue,
            "numbers": numbers,
        }


@dataclass(frozen=True)
class Said:
    """What a rule's function yields: a sentence about a flow or a queue, or about all."""

    text: str
    flow: Flow | None = None
    queue: Queue | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: For how many more flows the same holds.
    more: int = 0


Sayings: TypeAlias = Iterator[Said]


def of_each(flows: Iterable[Flow], sentence: Callable[[Flow], Said]) -> Sayings:
    """A sentence about each of these flows, for which a rule holds; of many, how many more they are than the first.

    The others' sentences are not made: no reader would see them.
    """
    flows = iter(flows)
    yield from map(sentence, islice(flows, EACH))
    for last in islice(flows, 1):
        yield replace(sentence(last), more=number(flows))


@dataclass(frozen=True)
class Rule:
    """A rule: a pure function of the subject. Its documentation is what the page of rules shows."""

    name: str
    level: Level
    #: It needs no measurement: it is said before the run too.
    before: bool
    #: Where the rule comes from.
    source: str
    function: Callable[[Subject], Iterable[Said]]

    @property
    def about(self) -> str:
        """When it speaks, in a sentence or two."""
        return " ".join((self.function.__doc__ or "").split())

    def notes(self, subject: Subject) -> Iterator[Note]:
        """What it says about this subject."""
        for said in self.function(subject):
            flow = said.flow.name if said.flow else None
            queue = said.queue.name if said.queue else None
            numbers = {key: float(value) for key, value in said.numbers.items()}
            flows = said.more + (said.flow.count if said.flow else 1)
            yield Note(self.name, self.level, said.text, flow, queue, numbers, flows)


def rule(
    name: str, *, level: Level = "note", before: bool = False, source: str = ""
) -> Callable[[Callable[[Subject], Iterable[Said]]], Rule]:
    """Makes a function a rule."""

    def make(function: Callable[[Subject], Iterable[Said]]) -> Rule:
        return Rule(name, level, before, source, function)

    return make
