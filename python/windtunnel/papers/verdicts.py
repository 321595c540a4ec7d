"""The words for what a row says, how readers are told, and which of them are good or bad news."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: A number is within its tolerance or outside, or for information. A statement about the mean of several runs is
#: confirmed or refuted, or undecided where the interval of that mean contains the limit (``trials.py``).
Verdict = Literal["within", "outside", "info", "confirmed", "refuted", "undecided"]

#: How verdicts are coloured and filtered: agreement, disagreement, neither.
Kind = Literal["within", "outside", "info"]


@dataclass(frozen=True)
class Word:
    """A verdict in a sentence, its kind, and its colour in a terminal."""

    text: str
    kind: Kind
    colour: str


#: In the order in which they are counted.
WORDS: dict[Verdict, Word] = {
    "within": Word("within tolerance", "within", "green"),
    "confirmed": Word("confirmed", "within", "green"),
    "outside": Word("outside tolerance", "outside", "yellow"),
    "refuted": Word("refuted", "outside", "yellow"),
    "undecided": Word("undecided", "info", "default"),
    "info": Word("for information", "info", "dim"),
}

#: What stands beside a measured value that the runs determine badly (``Row.weak``).
WEAK = "weak"


def agrees(verdict: Verdict) -> bool:
    """Whether measured and published value agree."""
    return WORDS[verdict].kind == "within"
