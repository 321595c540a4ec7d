"""The verdict on a comparison, how it is reached, and the words in which it is read.

There are five verdicts. A measured number *agrees* with what is expected of it, or *differs*. It agrees *weakly* where
the runs spread over so much that other numbers would agree as well. It is *undecided* where the interval of the mean
contains the limit: the runs are too few, or too different, to tell. Otherwise it is for *information*.

People read a verdict in the words of what was compared: a published number agrees, a statement is confirmed, a
requirement is met (``WORDS``).

The mean of several runs has an interval. A statement about the mean agrees where the whole interval is within the
limits, and differs where none of it is. Runs that all give the same value are one draw: they say no more than one
run does, and have no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all

Verdict: TypeAlias = Literal["agrees", "weak", "differs", "undecided", "info"]
#: What a verdict is on: a published number, a statement, a requirement.
Of: TypeAlias = Literal["number", "statement", "requirement"]
#: How verdicts are coloured and filtered: agreement, disagreement, neither.
Kind: TypeAlias = Literal["agrees", "differs", "info"]


@dataclass(frozen=True)
class Word:
    """A verdict as people read it: of one row, of several (``3 agree``), and its colour in a terminal."""

    verdict: Verdict
    of: tuple[Of, ...]
    text: str
    several: str
    colour: str

    @property
    def kind(self) -> Kind:
        """The kind of the verdict."""
        return self.verdict if self.verdict in ("agrees", "differs") else "info"


_ALL: tuple[Of, ...] = get_args(Of)
#: Every word, in the order in which verdicts are counted.
WORDS: tuple[Word, ...] = (
    Word("agrees", ("number",), "agrees", "agree", "green"),
    Word("agrees", ("statement",), "confirmed", "confirmed", "green"),
    Word("agrees", ("requirement",), "met", "met", "green"),
    Word("weak", _ALL, "weak", "agree weakly", "default"),
    Word("differs", ("number",), "differs", "differ", "yellow"),
    Word("differs", ("statement",), "refuted", "refuted", "yellow"),
    Word("differs", ("requirement",), "not met", "not met", "yellow"),
    Word("undecided", _ALL, "undecided", "undecided", "default"),
    Word("info", _ALL, "info", "for information", "dim"),
)
#: The words of paper suites, by what they say about one row.
OF_SUITES: dict[str, Word] = {word.text: word for word in WORDS if word.of != ("requirement",)}


def word(verdict: Verdict, of: Of) -> Word:
    """How the verdict is read. Raises ValueError for what is no verdict."""
    for each in WORDS:
        if each.verdict == verdict and of in each.of:
            return each
    raise ValueError(f"{verdict!r} is no verdict on a {of}: {', '.join(get_args(Verdict))}")


def word_of(text: str) -> Word:
    """The word that is written so. Raises ValueError for what is none."""
    for each in WORDS:
        if each.text == text:
            return each
    raise ValueError(f"{text!r} is none of {', '.join(each.text for each in WORDS)}")


def of_number(expected: float, precision: float, values: Sequence[float]) -> Verdict:
    """It agrees where the expected number, to its precision, is in the range of the measured ones.

    ``values`` come from runs that differ by nothing that the source would know. The expected number is one more draw
    from the same chaotic system, so that only the source's own precision widens the range. The relative 1e-9 absorbs
    nothing but the rounding of decimal fractions (50.0 - 49.95 is not 0.05 in binary).
    """
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return "differs"
    slack = precision + 1e-9 * max(abs(expected), precision)
    return "agrees" if min(finite) - slack <= expected <= max(finite) + slack else "differs"


def of_interval(limits: Limits, interval: tuple[float, float] | None) -> Verdict:
    """Whether the values in ``interval`` are within the limits; the rounding of fractions decides nothing."""
    if interval is None or not all(map(math.isfinite, interval)):
        return "undecided"
    low, high = interval
    if limits.strict:
        if limits.low < low and high < limits.high:
            return "agrees"
        return "differs" if high <= limits.low or low >= limits.high else "undecided"
    slack = 1e-9 * max(abs(low), abs(high))
    if limits.low - slack <= low and high <= limits.high + slack:
        return "agrees"
    return "differs" if high < limits.low - slack or low > limits.high + slack else "undecided"


def judge(limits: Limits, values: Sequence[float], scale: Scale = PLAIN) -> Verdict:
    """The verdict on the statement that the mean of independent runs is within ``limits``."""
    if is_one_draw(values):
        return of_interval(limits, (values[0], values[0]))
    return of_interval(limits, summary_of_all(values, scale).interval)


def is_one_draw(values: Sequence[float]) -> bool:
    """Whether there are several values, all finite and the same."""
    return len(values) > 1 and math.isfinite(values[0]) and all(value == values[0] for value in values)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several that should all agree: it differs where one does, and without any nothing is decided."""
    distinct = set(verdicts)
    if "differs" in distinct:
        return "differs"
    return "agrees" if distinct == {"agrees"} else "undecided"
