"""Values of several runs to intervals, comparisons and effects; all of it deterministic.

Values are one for each independent run. NaN stands for a run without this value, and is left out. What the mean of
values is, and on which scale its interval is made, is their ``Scale`` (``scales.py``).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from windtunnel.experiment.distributions import f_tail, fewest_heads, student_tail
from windtunnel.experiment.scales import PLAIN, Scale, arithmetic, deviation, squares, total
from windtunnel.metrics import Array

#: How the interval of a mean is made: Student's t, or the bootstrap.
Interval: TypeAlias = Literal["t", "bootstrap"]
#: How p values are corrected for how many there are.
Correction: TypeAlias = Literal["holm", "benjamini-hochberg", "none"]

#: Resamples of a bootstrap interval, and the seed of their draws.
RESAMPLES = 9999
SEED = 1
#: Values that are drawn at a time.
_DRAWN = 1 << 20
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Summary:
    """The statistics of the values of a cell. An interval is None where there are too few values for it."""

    count: int
    mean: float | None = None
    interval: tuple[float, float] | None = None
    """Of the mean."""
    median: float | None = None
    median_interval: tuple[float, float] | None = None
    std: float | None = None
    least: float | None = None
    most: float | None = None
    method: str = ""
    """What the mean and its interval are, in words."""


@dataclass(frozen=True)
class Contrast:
    """The mean of a cell minus that of its baseline, from the values run by run.

    Of ratios, the factor between the means has the interval, and ``difference`` is what it adds to the baseline's mean;
    ``effect`` is of their logarithms. ``p``: how likely such a mean is without a difference.
    """

    count: int
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    effect: float | None = None
    """Hedges' g: the difference of the means in standard deviations, corrected for few values."""
    dominance: float | None = None
    """Cliff's delta: how much more often a value is above one of the baseline than below it, from -1 to 1."""


def summary(values: Sequence[float] | Array, confidence: float, interval: Interval, scale: Scale = PLAIN) -> Summary:
    """Mean and median with intervals."""
    x = sorted(_finite(values))
    if not x:
        return Summary(0)
    half = len(x) // 2
    median = arithmetic(x[len(x) - half - 1 : half + 1])
    return Summary(
        len(x), scale.mean(x), mean_interval(x, confidence, interval, scale), median,
        median_interval(x, confidence), deviation(x) if len(x) > 1 else None, x[0], x[-1], method(x, interval, scale),
    )  # fmt: skip


def summary_of_all(values: Sequence[float], scale: Scale = PLAIN) -> Summary:
    """Mean and median with 95 % intervals, Student's of the mean, for a verdict on runs that all have a value; without
    numbers where one has none.
    """
    return summary(values if all(map(math.isfinite, values)) else (), 0.95, "t", scale)


def mean(values: Sequence[float] | Array, scale: Scale = PLAIN) -> float:
    """The mean as its scale has it; NaN without a value."""
    x = _finite(values)
    return scale.mean(x) if x else math.nan


def method(values: Sequence[float] | Array, interval: Interval, scale: Scale = PLAIN) -> str:
    """What the mean of these values and its interval are, in words."""
    words = scale.fitting(_finite(values)).words()
    return words if interval == "t" else f"{words.partition(';')[0]}; bootstrap"


def mean_interval(
    values: Sequence[float] | Array, confidence: float, kind: Interval, scale: Scale = PLAIN
) -> tuple[float, float] | None:
    """The interval of the mean: Student's on the scale, or the bias-corrected and accelerated bootstrap; None below two
    values.
    """
    x = _finite(values)
    if len(x) < 2:
        return None
    middle = scale.mean(x)
    if min(x) == max(x):
        return middle, middle
    if kind == "bootstrap":
        return _bootstrap(x, confidence, scale)
    low, high = scale.interval(x, confidence)
    return min(low, middle), max(high, middle)  # whatever rounding does


def _bootstrap(x: Sequence[float], confidence: float, scale: Scale) -> tuple[float, float] | None:
    """Between means of resamples, which no range is left by; of ratios, between the geometric ones.

    Which quantiles of the resamples are the ends of BCa: Efron, "Better bootstrap confidence intervals", JASA 82, 1987.
    """
    logarithms = scale.kind == "ratio" and min(x) > 0
    values = np.log(x) if logarithms else np.asarray(x)
    mean, drawn = float(np.mean(values)), _means_of_resamples(values)
    bias = _quantile((np.count_nonzero(drawn < mean) + np.count_nonzero(drawn <= mean)) / (2 * RESAMPLES))
    # The acceleration, by the means that leave one value out: what each of them has above their mean.
    left_out = (values - mean) / (len(values) - 1)
    acceleration = float(np.sum(left_out**3) / (6 * np.sum(left_out**2) ** 1.5))
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + _quantile(tail)
        ends.append(_NORMAL.cdf(bias + z / (1 - acceleration * z)) if math.isfinite(z) else math.nan)
    if not all(map(math.isfinite, ends)):
        return None
    low, high = (float(end) for end in np.quantile(drawn, ends))
    if logarithms:
        return math.exp(low), math.exp(high)
    # The geometric mean is 0, and in no case above the arithmetic one.
    return (0.0 if scale.kind == "ratio" and min(x) == 0 else low), high


def _means_of_resamples(values: Array) -> Array:
    """The means of resamples; few resamples are in memory at a time."""
    random, means = np.random.default_rng(SEED), []
    rows = max(1, _DRAWN // len(values))
    for first in range(0, RESAMPLES, rows):
        places = random.integers(0, len(values), (min(rows, RESAMPLES - first), len(values)))
        means.append(np.mean(values[places], axis=-1))
    return np.concatenate(means)


def _quantile(p: float) -> float:
    """That of the normal distribution."""
    return _NORMAL.inv_cdf(p) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def median_interval(values: Sequence[float] | Array, confidence: float) -> tuple[float, float] | None:
    """The interval of the median between two of the ordered values, which needs no assumption on how values are
    distributed; None where even the least and the greatest value contain it too rarely (below 6 values for 95 %).
    """
    x = sorted(_finite(values))
    if len(x) < 2:
        return None
    # The k-th values from both ends contain the median unless fewer than k values are on one side of it.
    k = fewest_heads(len(x), (1 - confidence) / 2)
    return (x[k - 1], x[len(x) - k]) if k >= 1 else None


def comparison(
    values: Sequence[float] | Array,
    baseline: Sequence[float] | Array,
    confidence: float,
    interval: Interval,
    scale: Scale = PLAIN,
) -> Contrast:
    """The paired comparison: values of the same run (seed, offset) are at the same place in both."""
    both_finite = [
        (one, other)
        for one, other in zip(_plain(values), _plain(baseline), strict=False)
        if math.isfinite(one) and math.isfinite(other)
    ]
    if not both_finite:
        return Contrast(0)
    a, b = map(list, zip(*both_finite, strict=True))
    above = dominance(a, b)
    if scale.kind == "ratio" and min(a) > 0 and min(b) > 0:
        a, b = list(map(math.log, a)), list(map(math.log, b))
        difference, of = [one - other for one, other in zip(a, b, strict=True)], math.exp(arithmetic(b))
        between = mean_interval(difference, confidence, interval)
        return Contrast(
            len(a), of * math.expm1(arithmetic(difference)),
            None if between is None else (of * math.expm1(between[0]), of * math.expm1(between[1])),
            _p(difference), hedges_g(a, b), above,
        )  # fmt: skip
    difference = [one - other for one, other in zip(a, b, strict=True)]
    both = scale if scale.fitting(a).is_bounded and scale.fitting(b).is_bounded else PLAIN
    return Contrast(
        len(a), arithmetic(difference), mean_interval(difference, confidence, interval, both.of_differences),
        _p(difference), hedges_g(a, b), above,
    )  # fmt: skip


def _p(difference: Sequence[float]) -> float | None:
    """The p value of the paired t test; None below two pairs, and where chance has no part: all pairs differ by the
    same.
    """
    if len(difference) < 2 or min(difference) == max(difference):
        return None
    t = arithmetic(difference) / (deviation(difference) / math.sqrt(len(difference)))
    return 2 * student_tail(abs(t), len(difference) - 1)


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Hedges' g with the pooled standard deviation; None where that is 0, or there are too few values."""
    if len(a) < 2 or len(b) < 2:
        return None
    freedom = len(a) + len(b) - 2
    pooled = math.sqrt((squares(a) + squares(b)) / freedom)
    if pooled == 0:
        return None
    # J(m) = gamma(m / 2) / (sqrt(m / 2) gamma((m - 1) / 2)): Hedges, 1981.
    correction = math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(freedom / 2)
    return (arithmetic(a) - arithmetic(b)) / pooled * correction


def dominance(a: Sequence[float], b: Sequence[float]) -> float:
    """Cliff's delta, from the places that the values of ``a`` have among those of ``b``."""
    ordered = sorted(b)
    above = sum(bisect_left(ordered, value) for value in a)
    below = sum(len(ordered) - bisect_right(ordered, value) for value in a)
    return (above - below) / (len(a) * len(b))


def corrected(p_values: Sequence[float | None], method: Correction) -> list[float | None]:
    """P values corrected for how many there are: by Holm (no false finding among all) or by Benjamini and Hochberg (few
    false ones among the findings). None stays None, and counts for nothing.
    """
    tested = [(p, index) for index, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    if method == "benjamini-hochberg":
        most = 1.0
        for rank, (p, index) in reversed(list(enumerate(sorted(tested), 1))):
            most = adjusted[index] = min(most, p * len(tested) / rank)
        return adjusted
    least = 0.0
    for rank, (p, index) in enumerate(sorted(tested)):
        least = p if method == "none" else max(least, min(1.0, (len(tested) - rank) * p))
        adjusted[index] = least
    return adjusted


@dataclass(frozen=True)
class Phases:
    """How much of a metric's variance the start offsets explain: eta squared; and whether flows' phases decide it."""

    share: float
    decides: bool


#: The phases decide where the offsets explain at least half of the variance, and chance would do so in 1 % of cells.
_SHARE, _SIGNIFICANT = 0.5, 0.01
#: Where nothing but the offsets differs between runs: the phases decide if the values differ by more of their mean.
_SPREAD = 0.05


def phases(groups: Sequence[Sequence[float]]) -> Phases | None:
    """``groups`` are the values of each offset, one for each seed; None where there are too few to tell."""
    kept = [x for x in map(_finite, groups) if x]
    if len(kept) < 2:
        return None
    everything = [value for x in kept for value in x]
    mean, whole = arithmetic(everything), squares(everything)
    if whole == 0:
        return Phases(0.0, False)
    within = total(map(squares, kept))
    if within <= 1e-12 * whole:  # the seeds change nothing
        return Phases(1.0, max(everything) - min(everything) > _SPREAD * abs(mean))
    freedom = len(everything) - len(kept)
    share = 1 - within / whole
    ratio = (whole - within) / (len(kept) - 1) / (within / freedom)
    return Phases(share, share >= _SHARE and f_tail(ratio, len(kept) - 1, freedom) < _SIGNIFICANT)


def is_narrow(
    values: Sequence[float] | Array, share: float, confidence: float, kind: Interval, scale: Scale = PLAIN
) -> bool:
    """Whether the interval of the mean is at most ``share`` of the mean to either side."""
    interval = mean_interval(values, confidence, kind, scale)
    if interval is None:
        return False
    middle = mean(values, scale)
    return max(interval[1] - middle, middle - interval[0]) <= share * abs(middle)


def _finite(values: Sequence[float] | Array) -> list[float]:
    return list(filter(math.isfinite, _plain(values)))


def _plain(values: Sequence[float] | Array) -> Sequence[float]:
    """Python's numbers: most cells have few runs, where NumPy's functions take ten times as long."""
    plain: Sequence[float] = values.tolist() if isinstance(values, np.ndarray) else values
    return plain
