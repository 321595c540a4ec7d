"""The words for what a comparison says, in paper suites, the validation and claims; and which of them are good news."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: A number agrees with the one that is expected, to its tolerance, or differs from it, or is for information. It agrees
#: weakly where the runs spread over more than a fifth of its value, so that other numbers would agree, too. A statement
#: is confirmed or refuted, or undecided where the interval of a mean over several runs contains the limit.
Statement: TypeAlias = Literal["confirmed", "refuted", "undecided"]
Verdict: TypeAlias = Literal["agrees", "weak", "differs", "info", "confirmed", "refuted", "undecided"]

#: How verdicts are coloured and filtered: agreement, disagreement, neither.
Kind = Literal["agrees", "differs", "info"]


@dataclass(frozen=True)
class Word:
    """A verdict in a sentence, its kind, and its colour in a terminal."""

    text: str
    kind: Kind
    colour: str


#: In the order in which they are counted.
WORDS: dict[Verdict, Word] = {
    "agrees": Word("agree", "agrees", "green"),
    "confirmed": Word("confirmed", "agrees", "green"),
    "weak": Word("agree weakly", "info", "default"),
    "differs": Word("differ", "differs", "yellow"),
    "refuted": Word("refuted", "differs", "yellow"),
    "undecided": Word("undecided", "info", "default"),
    "info": Word("for information", "info", "dim"),
}


def agrees(verdict: Verdict) -> bool:
    """Whether measured and published value agree."""
    return WORDS[verdict].kind == "agrees"
