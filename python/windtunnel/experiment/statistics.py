"""Values of several runs to intervals, comparisons and effects; all of it deterministic.

Values are one for each independent run. NaN stands for a run without this value, and is left out. What the mean of
values is, and on which scale its interval is made, is their ``Scale`` (``scales.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from windtunnel.experiment.distributions import f_tail, fewest_heads, student_tail
from windtunnel.experiment.scales import PLAIN, Scale
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


def summary(values: Sequence[float], confidence: float, interval: Interval, scale: Scale = PLAIN) -> Summary:
    """Mean and median with intervals."""
    x = _finite(values)
    if not len(x):
        return Summary(0)
    return Summary(
        len(x), scale.mean(x), mean_interval(x, confidence, interval, scale), float(np.median(x)),
        median_interval(x, confidence), float(np.std(x, ddof=1)) if len(x) > 1 else None,
        float(np.min(x)), float(np.max(x)), method(x, interval, scale),
    )  # fmt: skip


def summary_of_all(values: Sequence[float], scale: Scale = PLAIN) -> Summary:
    """Mean and median with 95 % intervals, Student's of the mean, for a verdict on runs that all have a value; without
    numbers where one has none.
    """
    return summary(values if all(map(math.isfinite, values)) else (), 0.95, "t", scale)


def mean(values: Sequence[float] | Array, scale: Scale = PLAIN) -> float:
    """The mean as its scale has it; NaN without a value."""
    x = _finite(values)
    return scale.mean(x) if len(x) else math.nan


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
    if np.ptp(x) == 0:
        return middle, middle
    if kind == "bootstrap":
        return _bootstrap(x, confidence, scale)
    low, high = scale.interval(x, confidence)
    return min(low, middle), max(high, middle)  # whatever rounding does


def _bootstrap(x: Array, confidence: float, scale: Scale) -> tuple[float, float] | None:
    """Between means of resamples, which no range is left by; of ratios, between the geometric ones.

    Which quantiles of the resamples are the ends of BCa: Efron, "Better bootstrap confidence intervals", JASA 82, 1987.
    """
    logarithms = scale.kind == "ratio" and bool(np.all(x > 0))
    values = np.log(x) if logarithms else x
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
    return (0.0 if scale.kind == "ratio" and float(np.min(x)) == 0 else low), high


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
    x = np.sort(_finite(values))
    if len(x) < 2:
        return None
    # The k-th values from both ends contain the median unless fewer than k values are on one side of it.
    k = fewest_heads(len(x), (1 - confidence) / 2)
    return (float(x[k - 1]), float(x[len(x) - k])) if k >= 1 else None


def comparison(
    values: Sequence[float], baseline: Sequence[float], confidence: float, interval: Interval, scale: Scale = PLAIN
) -> Contrast:
    """The paired comparison: values of the same run (seed, offset) are at the same place in both."""
    pairs = min(len(values), len(baseline))
    a, b = np.asarray(values[:pairs], dtype=np.float64), np.asarray(baseline[:pairs], dtype=np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    if not len(a):
        return Contrast(0)
    above = dominance(a, b)
    if scale.kind == "ratio" and np.all(a > 0) and np.all(b > 0):
        a, b = np.log(a), np.log(b)
        of = math.exp(float(np.mean(b)))
        between = mean_interval(a - b, confidence, interval)
        return Contrast(
            len(a), of * math.expm1(float(np.mean(a - b))),
            None if between is None else (of * math.expm1(between[0]), of * math.expm1(between[1])),
            _p(a - b), hedges_g(a, b), above,
        )  # fmt: skip
    difference = a - b
    both = scale if scale.fitting(a).is_bounded and scale.fitting(b).is_bounded else PLAIN
    return Contrast(
        len(a), float(np.mean(difference)), mean_interval(difference, confidence, interval, both.of_differences),
        _p(difference), hedges_g(a, b), above,
    )  # fmt: skip


def _p(difference: Array) -> float | None:
    """The p value of the paired t test; None below two pairs, and where chance has no part: all pairs differ by the
    same.
    """
    if len(difference) < 2 or np.ptp(difference) == 0:
        return None
    t = float(np.mean(difference)) / (float(np.std(difference, ddof=1)) / math.sqrt(len(difference)))
    return 2 * student_tail(abs(t), len(difference) - 1)


def hedges_g(a: Array, b: Array) -> float | None:
    """Hedges' g with the pooled standard deviation; None where that is 0, or there are too few values."""
    if len(a) < 2 or len(b) < 2:
        return None
    freedom = len(a) + len(b) - 2
    pooled = math.sqrt(((len(a) - 1) * np.var(a, ddof=1) + (len(b) - 1) * np.var(b, ddof=1)) / freedom)
    if pooled == 0:
        return None
    # J(m) = gamma(m / 2) / (sqrt(m / 2) gamma((m - 1) / 2)): Hedges, 1981.
    correction = math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(freedom / 2)
    return float(np.mean(a) - np.mean(b)) / pooled * correction


def dominance(a: Array, b: Array) -> float:
    """Cliff's delta, from the places that the values of ``a`` have among those of ``b``."""
    ordered = np.sort(b)
    above = int(np.sum(np.searchsorted(ordered, a, "left")))
    below = len(a) * len(b) - int(np.sum(np.searchsorted(ordered, a, "right")))
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
    kept = [x for x in map(_finite, groups) if len(x)]
    if len(kept) < 2:
        return None
    everything = np.concatenate(kept)
    mean, total = float(np.mean(everything)), float(np.sum(np.square(everything - np.mean(everything))))
    if total == 0:
        return Phases(0.0, False)
    within = float(sum(np.sum(np.square(x - np.mean(x))) for x in kept))
    if within <= 1e-12 * total:  # the seeds change nothing
        return Phases(1.0, bool(np.ptp(everything) > _SPREAD * abs(mean)))
    freedom = len(everything) - len(kept)
    share = 1 - within / total
    ratio = (total - within) / (len(kept) - 1) / (within / freedom)
    return Phases(share, bool(share >= _SHARE and f_tail(ratio, len(kept) - 1, freedom) < _SIGNIFICANT))


def is_narrow(values: Sequence[float], share: float, confidence: float, kind: Interval, scale: Scale = PLAIN) -> bool:
    """Whether the interval of the mean is at most ``share`` of the mean to either side."""
    interval = mean_interval(values, confidence, kind, scale)
    if interval is None:
        return False
    middle = mean(values, scale)
    return max(interval[1] - middle, middle - interval[0]) <= share * abs(middle)


def _finite(values: Sequence[float] | Array) -> Array:
    x = np.asarray(values, dtype=np.float64)
    return x[np.isfinite(x)]
