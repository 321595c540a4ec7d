"""What kind of quantity values are: it decides what their mean is, and on which scale its interval is made.

| kind | mean | interval |
|---|---|---|
| ``plain`` | arithmetic | Student's t |
| ``ratio`` | geometric | Student's t of the logarithms |
| ``share``, ``percent``, ``jain`` | arithmetic | Student's t on a scale that has no end within the range |

A factor of 2 and one of 1/2 are equally far from 1, so that a ratio is added on a logarithmic scale. A share of 0 to 1
cannot be -0.1: the interval of its mean ``m`` is made on the scale ``g(m) = (1 - m)**(-1/3) - m**(-1/3)``, which runs
from minus to plus infinity, and is brought back. The error of ``m`` counts there by the slope of ``g``, so that values
of exactly 0 or 1 are values like others.

Why this ``g``: Student's ratio of values that crowd at one end is skewed, because mean and deviation depend on each
other. For values of a gamma distribution, as shares near an end are, a power of -1/3 of the mean takes the first term
of that skewness away; the logit, the usual scale of shares, takes three quarters of it (docs/campaigns.md, "Intervals",
has the coverage of each).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from windtunnel.experiment.distributions import student

#: What a metric can be declared as. ``percent`` is a share times 100; ``jain`` is in [1/n, 1] for n flows.
Kind: TypeAlias = Literal["plain", "ratio", "share", "percent", "jain"]
KINDS: tuple[Kind, ...] = ("plain", "ratio", "share", "percent", "jain")

#: Values may leave their range by so much of it through rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Scale:
    """A kind of quantity with its range; for ``jain`` with that of its number of flows."""

    kind: Kind = "plain"
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def of(cls, kind: Kind, flows: float = math.nan) -> Scale:
        """The scale of a kind. ``flows``: how many flows Jain's index is of; NaN if not known, so that it may be 0."""
        match kind:
            case "plain":
                return PLAIN
            case "ratio":
                return RATIO
            case "share":
                return SHARE
            case "percent":
                return PERCENT
            case "jain":
                return cls(kind, 1 / flows if flows > 1 else 0.0, 1.0)

    @property
    def is_bounded(self) -> bool:
        """Whether it has a least and a greatest value."""
        return math.isfinite(self.high)

    @property
    def of_differences(self) -> Scale:
        """That of the difference of two such values, which for ratios is one of logarithms."""
        return Scale("share", self.low - self.high, self.high - self.low) if self.is_bounded else PLAIN

    def fitting(self, values: Sequence[float]) -> Scale:
        """This scale, also where there are no values; the plain one where they are not what they were said to be."""
        slack = _ROUNDING * (self.high - self.low) if self.is_bounded else 0.0
        is_one = self.kind == "plain" or all(self.low - slack <= value <= self.high + slack for value in values)
        return self if is_one else PLAIN

    def mean(self, values: Sequence[float]) -> float:
        """The mean of at least one value: a ratio's is geometric, and 0 if one of them is 0."""
        if self.kind == "ratio" and (least := min(values)) >= 0:
            return math.exp(arithmetic(list(map(math.log, values)))) if least > 0 else 0.0
        return arithmetic(values)

    def interval(self, values: Sequence[float], confidence: float) -> tuple[float, float]:
        """The interval of the mean of at least two values that are not all the same."""
        scale = self.fitting(values)
        if scale.kind == "ratio":
            return _of_logarithms(values, confidence)
        if scale.is_bounded:
            return scale._within(values, confidence)
        mean, half = arithmetic(values), _half(values, confidence)
        return mean - half, mean + half

    def _within(self, values: Sequence[float], confidence: float) -> tuple[float, float]:
        width = self.high - self.low
        mean = min(max((arithmetic(values) - self.low) / width, 0.0), 1.0)
        if mean in (0.0, 1.0):  # values differ by rounding
            return self.low + mean * width, self.low + mean * width
        half = _half(values, confidence) / width * _slope(mean)
        low, high = (_inverse(_unbounded(mean) + step) for step in (-half, half))
        return self.low + low * width, self.low + high * width

    def words(self) -> str:
        """What the mean and its interval are, for pages and terminals."""
        if self.kind == "ratio":
            return "geometric mean; Student's t of the logarithms"
        if self.is_bounded:
            return f"mean; Student's t on a scale that keeps it within {self.low:.3g} and {self.high:.3g}"
        return "mean; Student's t"


PLAIN, RATIO = Scale(), Scale("ratio", 0.0)
SHARE, PERCENT = Scale("share", 0.0, 1.0), Scale("percent", 0.0, 100.0)


def total(values: Iterable[float]) -> float:
    """The sum, rounded once, so that it is the same with every version of Python and every processor."""
    values = list(values)
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond the largest number
        return sum(values)


def arithmetic(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value, in any order: of equal ones, what they are."""
    least = min(values)
    return least + total(value - least for value in values) / len(values)


def squares(values: Sequence[float]) -> float:
    """The sum of the squares of their differences from their mean."""
    mean = arithmetic(values)
    return total((value - mean) * (value - mean) for value in values)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of at least two values."""
    return math.sqrt(squares(values) / (len(values) - 1))


def _of_logarithms(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Where a ratio is 0 its logarithm has no mean. The geometric mean is never above the arithmetic one: the interval
    is then from 0 to where the arithmetic one's ends.
    """
    if not all(values):
        return 0.0, arithmetic(values) + _half(values, confidence)
    logarithms = list(map(math.log, values))
    mean, half = arithmetic(logarithms), _half(logarithms, confidence)
    return _exp(mean - half), _exp(mean + half)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _half(values: Sequence[float], confidence: float) -> float:
    return student((1 + confidence) / 2, len(values) - 1) * deviation(values) / math.sqrt(len(values))


def _unbounded(m: float) -> float:
    return float((1 - m) ** (-1 / 3) - m ** (-1 / 3))


def _slope(m: float) -> float:
    return float(((1 - m) ** (-4 / 3) + m ** (-4 / 3)) / 3)


def _inverse(g: float) -> float:
    """The share whose :func:`_unbounded` is ``g``, by halving: it grows from 0 to 1."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _unbounded(middle) < g:
            low = middle
        else:
            high = middle
    return high if g > 0 else low
