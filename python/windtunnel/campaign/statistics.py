"""Values of several runs to intervals, comparisons and effects. All by scipy, and all of it deterministic.

Values are one for each independent run. NaN stands for a run without this value, and is left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.campaign.model import Correction, Interval
from windtunnel.metrics import Array

#: Resamples of a bootstrap interval, and the seed of their draws.
RESAMPLES = 9999
SEED = 1


@dataclass(frozen=True)
class Summary:
    """What is said of the values of a cell. An interval is None where there are too few values for it."""

    count: int
    mean: float | None = None
    interval: tuple[float, float] | None = None
    """Of the mean."""
    median: float | None = None
    median_interval: tuple[float, float] | None = None
    std: float | None = None
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The values of a cell minus those of its baseline, run by run.

    ``p``: how likely such a mean is without a difference.
    """

    count: int
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    effect: float | None = None
    """Hedges' g: the difference of the means in standard deviations, corrected for few values."""
    dominance: float | None = None
    """Cliff's delta: how much more often a value is above one of the baseline than below it, from -1 to 1."""


def summary(values: Sequence[float], confidence: float, interval: Interval) -> Summary:
    """Mean and median with intervals."""
    x = _finite(values)
    if not len(x):
        return Summary(0)
    return Summary(
        len(x), float(np.mean(x)), mean_interval(x, confidence, interval), float(np.median(x)),
        median_interval(x, confidence), float(np.std(x, ddof=1)) if len(x) > 1 else None,
        float(np.min(x)), float(np.max(x)),
    )  # fmt: skip


def mean_interval(values: Sequence[float] | Array, confidence: float, kind: Interval) -> tuple[float, float] | None:
    """The interval of the mean: Student's, or the bias-corrected and accelerated bootstrap; None below two values."""
    x = _finite(values)
    if len(x) < 2:
        return None
    mean = float(np.mean(x))
    if np.ptp(x) == 0:
        return mean, mean
    from scipy import stats

    if kind == "bootstrap":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = stats.bootstrap(
                (x,), np.mean, confidence_level=confidence, n_resamples=RESAMPLES, rng=np.random.default_rng(SEED)
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 1)) * float(np.std(x, ddof=1)) / math.sqrt(len(x))
    return mean - half, mean + half


def median_interval(values: Sequence[float] | Array, confidence: float) -> tuple[float, float] | None:
    """The interval of the median between two of the ordered values, which needs no assumption on how values are
    distributed; None where even the least and the greatest value contain it too rarely (below 6 values for 95 %).
    """
    x = np.sort(_finite(values))
    if len(x) < 2:
        return None
    from scipy import stats

    # The k-th values from both ends contain the median unless fewer than k values are on one side of it.
    k = int(stats.binom.ppf((1 - confidence) / 2, len(x), 0.5))
    if 2 * stats.binom.cdf(k - 1, len(x), 0.5) > 1 - confidence:
        k -= 1
    return (float(x[k - 1]), float(x[len(x) - k])) if k >= 1 else None


def comparison(values: Sequence[float], baseline: Sequence[float], confidence: float, interval: Interval) -> Comparison:
    """The paired comparison: values of the same run (seed, offset) are at the same place in both."""
    pairs = min(len(values), len(baseline))
    a, b = np.asarray(values[:pairs], dtype=np.float64), np.asarray(baseline[:pairs], dtype=np.float64)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if not len(a):
        return Comparison(0)
    difference = a - b
    return Comparison(
        len(a), float(np.mean(difference)), mean_interval(difference, confidence, interval), _p(difference),
        hedges_g(a, b), dominance(a, b),
    )  # fmt: skip


def _p(difference: Array) -> float | None:
    """The p value of the paired t test; None below two pairs, and where chance has no part: all pairs differ by the
    same.
    """
    if len(difference) < 2 or np.ptp(difference) == 0:
        return None
    from scipy import stats

    return float(stats.ttest_1samp(difference, 0.0).pvalue)


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
    """Cliff's delta."""
    return float(np.mean(np.sign(np.subtract.outer(a, b))))


def corrected(p_values: Sequence[float | None], method: Correction) -> list[float | None]:
    """P values corrected for how many there are: by Holm (no false finding among all) or by Benjamini and Hochberg (few
    false ones among the findings). None stays None, and counts for nothing.
    """
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    found: list[float | None] = [None] * len(p_values)
    if method == "benjamini-hochberg" and known:
        from scipy import stats

        for (_, place), q in zip(known, stats.false_discovery_control([p for p, _ in known], method="bh"), strict=True):
            found[place] = float(q)
        return found
    least = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        least = p if method == "none" else max(least, min(1.0, (len(known) - rank) * p))
        found[place] = least
    return found


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
    from scipy import stats

    ratio = (total - within) / (len(kept) - 1) / (within / freedom)
    return Phases(share, bool(share >= _SHARE and stats.f.sf(ratio, len(kept) - 1, freedom) < _SIGNIFICANT))


def is_narrow(values: Sequence[float], share: float, confidence: float, kind: Interval) -> bool:
    """Whether the interval of the mean is at most ``share`` of the mean to either side."""
    found = mean_interval(values, confidence, kind)
    if found is None:
        return False
    mean = float(np.mean(_finite(values)))
    return max(found[1] - mean, mean - found[0]) <= share * abs(mean)


def _finite(values: Sequence[float] | Array) -> Array:
    x = np.asarray(values, dtype=np.float64)
    return x[np.isfinite(x)]
