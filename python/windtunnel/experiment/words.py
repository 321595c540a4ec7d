"""What words mean as numbers: one bar for each word, in every suite (``words.toml``).

"Equal" in one suite is "equal" in another. A check names the word and says what its value is: a ratio to what it is
compared with, a part of a whole, the share of one of two flows, Jain's index, or one of these in percent.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

from windtunnel.experiment.expectation import Limits

#: What the value of a check is. A ``share`` is a / (a + b), where the word speaks of the ratio a / b.
Of: TypeAlias = Literal["ratio", "part", "share", "jain"]


@dataclass(frozen=True)
class Word:
    """A word, the phrases that have its bar, the bar, and where it comes from."""

    name: str
    says: tuple[str, ...]
    bars: Mapping[str, Limits]
    reason: str
    source: str

    def limits(self, of: Of, percent: bool = False) -> Limits:
        """The bar for a value of this kind. Raises ValueError where the word has none."""
        bar = self.bars.get(of)
        if bar is None and of == "share" and "ratio" in self.bars:
            bar = _shared(self.bars["ratio"])
        elif bar is None and of == "share":
            bar = self.bars.get("part")
        if bar is None:
            raise ValueError(f"{self.name!r} says nothing about a {of}; it does about: {', '.join(self.bars)}")
        return Limits(100 * bar.low, 100 * bar.high, bar.strict) if percent else bar

    @property
    def around_one(self) -> float:
        """How far a ratio may be above 1: the tolerance of a number that should be 1."""
        return round(self.limits("ratio").high - 1.0, 12)

    @property
    def why(self) -> str:
        """The bar's reason and source, for a row's note."""
        return f"{self.name.replace('-', ' ')}: {self.reason} ({self.source})"


def _shared(ratio: Limits) -> Limits:
    """The bar of a / b for a / (a + b), which rises from 0 to 1 with it."""

    def share(r: float) -> float:
        return r / (1 + r) if math.isfinite(r) else r

    return Limits(share(ratio.low), share(ratio.high), ratio.strict)


def word(name: str) -> Word:
    """The word of that name. Raises ValueError for one that the table does not have."""
    entry = words().get(name)
    if entry is None:
        raise ValueError(f"{name!r} is no word of words.toml, which has: {', '.join(words())}")
    return entry


@cache
def words() -> Mapping[str, Word]:
    """All words by name, in the order of the table."""
    text = files("windtunnel.experiment").joinpath("words.toml").read_text(encoding="utf-8")
    return {name: _word(name, data) for name, data in tomllib.loads(text).items()}


def _word(name: str, data: Mapping[str, Any]) -> Word:
    bars = {of: _bar(data[of]) for of in get_args(Of) if of in data}
    return Word(name, tuple(data["says"]), bars, data["reason"], data["source"])


def _bar(data: Mapping[str, Any] | float) -> Limits:
    if not isinstance(data, Mapping):
        return Limits(float(data))
    return Limits(data.get("low", -math.inf), data.get("high", math.inf), strict=not data.get("inclusive", False))
