"""What ``windtunnel explain`` says about traces whose controller is known, counted.

A *case* is such a trace: of a kernel (``kernel_answers.py``), of QUIC stacks (``quic_answers.py``) or of the machine
that runs the tests (``local_answers.py``). Each of these writes a page of its own with the tables of this file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from windtunnel.explain import explain
from windtunnel.explain.overflow import congestion_events, loss_events, mark_events

#: A trace has many losses or marks from this number on.
MANY = 10
#: A probability that is taken for certainty.
SURE = 0.7


class Case(Protocol):
    """A trace whose controller is known."""

    @property
    def name(self) -> str:
        """What it is of."""

    @property
    def truth(self) -> tuple[str, ...]:
        """The right answers."""


C = TypeVar("C", bound=Case)


@dataclass(frozen=True)
class Answer(Generic[C]):
    """What is said about a case. ``events``: losses and marks. ``rank``: the right answer's, from 0, or None.
    ``unknown``: it is said to be no controller that the model knows.
    """

    of: C
    events: int
    first: str
    probability: float
    rank: int | None
    accused: tuple[str, ...]
    unknown: bool = False

    @property
    def right(self) -> bool:
        """The first answer is right."""
        return self.rank == 0

    @property
    def sure_and_wrong(self) -> bool:
        """The first answer is believed, and is not right."""
        return self.probability > SURE and not self.right

    @property
    def many(self) -> bool:
        """There are enough events to tell."""
        return self.events >= MANY


@dataclass(frozen=True)
class Counted:
    """Answers in numbers."""

    traces: int
    right: int
    in_three: int
    sure_and_wrong: int
    accused: int
    unknown: int = 0

    @classmethod
    def of(cls, answers: Sequence[Answer[C]]) -> Counted:
        """Count them."""
        return cls(
            len(answers),
            sum(each.right for each in answers),
            sum(each.rank is not None for each in answers),
            sum(each.sure_and_wrong for each in answers),
            sum(bool(each.accused) for each in answers),
            sum(each.unknown for each in answers),
        )


def answer(case: C, file: Path) -> Answer[C]:
    """Explain a trace with one connection."""
    explanation = explain(file)
    [flow], [traced], [rounds] = explanation.document["flows"], explanation.trace.flows, explanation.rounds
    if rounds is None:
        return Answer(case, 0, "", 0.0, None, ())
    events = congestion_events(loss_events(traced, rounds), mark_events(rounds), rounds)
    fits = flow["controller"]["fits"]
    # Controllers that did the same are one answer.
    names = [{fit["controller"], *fit["same"]} for fit in fits]
    return Answer(
        case,
        len(events),
        fits[0]["controller"] if fits else "",
        float(fits[0]["probability"]) if fits else 0.0,
        next((rank for rank, group in enumerate(names) if group & set(case.truth)), None),
        tuple(sign["sign"] for sign in flow["misbehaviour"] or () if sign["found"]),
        flow["controller"]["known"] is False,
    )


def table(what: str, groups: Sequence[tuple[str, Sequence[Answer[C]]]]) -> Iterator[str]:
    """A row for each group: all, and of those with many events."""
    yield (
        f"| {what} | number | first right | in three | sure and wrong | accused "
        f"| with {MANY} events or more | of these first right | in three | sure and wrong |"
    )
    yield "|---|" + 9 * "---:|"
    for name, told in groups:
        every, many = Counted.of(told), Counted.of([each for each in told if each.many])
        yield (
            f"| {name} | {every.traces} | {_share(every, _right)} | {_share(every, _in_three)} "
            f"| {every.sure_and_wrong} | {every.accused} | {many.traces} | {_share(many, _right)} "
            f"| {_share(many, _in_three)} | {many.sure_and_wrong} |"
        )
    yield ""


def short_table(what: str, groups: Sequence[tuple[str, Sequence[Answer[C]]]]) -> Iterator[str]:
    """A row for each group, with the answers *none that the model knows*."""
    yield f"| {what} | number | first right | in three | none is known | sure and wrong | accused |"
    yield "|---|" + 6 * "---:|"
    for name, told in groups:
        every = Counted.of(told)
        yield (
            f"| {name} | {every.traces} | {_share(every, _right)} | {_share(every, _in_three)} "
            f"| {every.unknown} | {every.sure_and_wrong} | {every.accused} |"
        )
    yield ""


def by(told: Sequence[Answer[C]], group: Callable[[C], str]) -> list[tuple[str, list[Answer[C]]]]:
    """The answers in groups, in the order in which these come first."""
    names = dict.fromkeys(group(each.of) for each in told)
    return [(name, [each for each in told if group(each.of) == name]) for name in names]


def lists(told: Sequence[Answer[C]]) -> Iterator[str]:
    """Who is sure and wrong, and who is accused."""
    yield from _list(
        "Sure and wrong",
        [
            f"{each.of.name}: {each.first} {100 * each.probability:.0f} %, {each.events} events"
            for each in told
            if each.sure_and_wrong
        ],
    )
    yield from _list("Accused", [f"{each.of.name}: {', '.join(each.accused)}" for each in told if each.accused])


def taken_for_others(told: Sequence[Answer[C]], controller: Callable[[C], str]) -> Iterator[str]:
    """First answers that are wrong, by controller."""
    yield "First answers that are wrong, by controller."
    yield ""
    yield "| controller | taken for |"
    yield "|---|---|"
    for name, mine in by(told, controller):
        wrong = [each.first or "none" for each in mine if not each.right]
        if wrong:
            counts = sorted(((wrong.count(name), name) for name in set(wrong)), key=lambda pair: (-pair[0], pair[1]))
            yield f"| {name} | {', '.join(f'{name} {count}' for count, name in counts)} |"


def paragraph(text: str) -> Iterator[str]:
    """Lines of a page."""
    yield from textwrap.wrap(" ".join(text.split()), 116, break_long_words=False, break_on_hyphens=False)
    yield ""


def _right(counted: Counted) -> int:
    return counted.right


def _in_three(counted: Counted) -> int:
    return counted.in_three


def _share(counted: Counted, number: Callable[[Counted], int]) -> str:
    return f"{number(counted)} ({100 * number(counted) / counted.traces:.0f} %)" if counted.traces else ""


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"## {heading}"
    yield ""
    yield from [f"- {line}" for line in lines] or ["None."]
    yield ""
