"""Notes that explain a scenario and its results: what surprises, and why a number is what it is.

A rule is a pure function of a scenario and, after the run, of its summary and tables (:class:`Subject`). Rules that
need no measurement are said before the run too. One file has the rules of one subject; ``RULES`` has all, in the
order in which a reader wants them: what makes the run another one than was meant, then what limited it, then how to
read it. Within a file, that is the order of its functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from windtunnel.notes import aqm, buffers, ecn, limits, losses, mds, measuring, sharing, starting
from windtunnel.notes.note import Note, Rule
from windtunnel.notes.subject import EACH, Subject

if TYPE_CHECKING:
    from windtunnel.result import Tables

__all__ = ["RULES", "Note", "Rule", "Subject", "notes_after", "notes_before"]

#: What the rules are about, in reading order.
_SUBJECTS = (buffers, aqm, ecn, mds, limits, losses, sharing, starting, measuring)
#: All rules.
RULES = tuple(rule for module in _SUBJECTS for rule in vars(module).values() if isinstance(rule, Rule))


def notes_before(scenario: Mapping[str, Any]) -> list[Note]:
    """The notes on a scenario before it runs; ``scenario`` is what ``Scenario.resolve`` returns."""
    subject = Subject(scenario)
    return _notes((rule for rule in RULES if rule.before), subject)


def notes_after(scenario: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables) -> list[Note]:
    """The notes on a run."""
    return _notes(RULES, Subject(scenario, summary, tables))


def _notes(rules: Iterable[Rule], subject: Subject) -> list[Note]:
    """Warnings first, each level in reading order."""
    notes = [note for rule in rules for note in _shortened(rule.notes(subject))]
    return sorted(notes, key=lambda note: note.level != "warning")


def _shortened(notes: Iterable[Note]) -> Iterator[Note]:
    """A thousand flows do not make a thousand notes: after the first ones of a rule, how many more it holds for."""
    for of_a_flow, some in groupby(notes, key=lambda note: note.flow is not None):
        shorter = _first if of_a_flow else iter
        yield from shorter(some)


def _first(notes: Iterator[Note]) -> Iterator[Note]:
    """The first of these notes about flows, and how many more there are."""
    shown = list(islice(notes, EACH))
    yield from shown
    for last in islice(notes, 1):
        more, first = last.flows + sum(note.flows for note in notes), shown[0]
        text = f"{first.rule.replace('-', ' ')}: the same holds for {more} more flows"
        yield last if more == 1 else Note(first.rule, first.level, text, numbers={"flows": more})
