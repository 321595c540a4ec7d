"""Statistics against values computed by hand, from printed tables, or in a way that shares nothing with the code."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from interval_coverage import RUNS, SYNTHETIC, known_mean

from windtunnel.experiment import scales as sc
from windtunnel.experiment import statistics as st

#: The 97.5 % quantiles of Student's t distribution, as tables print them, for 1 to 30 degrees of freedom.
T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


NAN = math.nan


def test_student_interval() -> None:
    """Of 1 to 5: mean 3, standard deviation sqrt(2.5); Student's t for 4 degrees is 2.776 (any printed table)."""
    low, high = st.mean_interval([1, 2, 3, 4, 5], 0.95, "t") or (0, 0)
    half = 2.776 * math.sqrt(2.5 / 5)
    assert (low, high) == pytest.approx((3 - half, 3 + half), abs=1e-3)
    for n in range(2, 12):
        values = list(range(n))
        low, high = st.mean_interval(values, 0.95, "t") or (0, 0)
        error = np.std(values, ddof=1) / math.sqrt(n)
        assert (high - low) / 2 / error == pytest.approx(T_975[n - 2], abs=6e-4)


def test_intervals_of_few_or_equal_values() -> None:
    assert st.mean_interval([1.0], 0.95, "t") is None
    assert st.mean_interval([], 0.95, "bootstrap") is None
    for kind in ("t", "bootstrap"):
        assert st.mean_interval([2.0, 2.0, NAN], 0.95, kind) == (2.0, 2.0)


@pytest.mark.parametrize("scale", [sc.PLAIN, sc.RATIO, sc.SHARE])
def test_a_mean_is_in_its_interval(scale: sc.Scale) -> None:
    """Rounding puts it on neither side: of three times 0.1 the arithmetic mean is not 0.1."""
    for x in ([0.1] * 3, [0.7] * 10, [1 / 3] * 6, [0.1, 0.1 + 1e-16, 0.1], [0.999999999] * 7):
        low, high = st.mean_interval(x, 0.95, "t", scale) or (1, 0)
        assert low <= st.mean(x, scale) <= high


def test_bootstrap_interval() -> None:
    """The same in every process; near Student's for normal values; skewed where the values are."""
    normal = np.random.default_rng(3).normal(10, 2, 60)
    interval = st.mean_interval(normal, 0.95, "bootstrap")
    assert interval == st.mean_interval(normal, 0.95, "bootstrap")
    assert interval == pytest.approx(st.mean_interval(normal, 0.95, "t"), abs=0.15)
    low, high = st.mean_interval(np.random.default_rng(3).exponential(1, 40), 0.95, "bootstrap") or (0, 0)
    mean = float(np.mean(np.random.default_rng(3).exponential(1, 40)))
    assert high - mean > mean - low


def coverage(n: int, k: int) -> float:
    """The probability that the median is between the k-th value from both ends: fewer than k on neither side."""
    return 1 - 2 * sum(math.comb(n, j) for j in range(k)) / 2**n


def test_median_interval() -> None:
    """Between order statistics: the closest pair that contains the median in 95 % of samples, by counting."""
    for n in range(2, 41):
        ks = [k for k in range(1, n // 2 + 1) if coverage(n, k) >= 0.95]
        expected = (float(max(ks)), float(n + 1 - max(ks))) if ks else None
        shuffled = random.Random(n).sample(range(1, n + 1), n)
        assert st.median_interval([float(x) for x in shuffled], 0.95) == expected, n
    assert st.median_interval([1.0, 2, 3, 4, 5], 0.95) is None


def test_paired_comparison() -> None:
    """Differences 1, 2, 3: mean 2, t = 2 / (1 / sqrt 3) = 3.4641 with 2 degrees; p = 1 - t / sqrt(2 + t^2)."""
    result = st.comparison([11, 22, 33], [10, 20, 30], 0.95, "t")
    t = 2 * math.sqrt(3)
    assert result.difference == 2 and result.count == 3
    assert result.p == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert result.interval == pytest.approx((2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3)), abs=1e-3)
    # A pair one of whose runs failed is no pair; runs beyond those of the other have no partner.
    assert st.comparison([11, NAN, 33, 5], [10, 20, 30], 0.95, "t").count == 2


def test_no_test_without_chance() -> None:
    """All pairs differ by the same: a p value would say how likely chance is, which has no part."""
    result = st.comparison([2, 3, 4], [1, 2, 3], 0.95, "t")
    assert (result.difference, result.interval, result.p) == (1, (1, 1), None)


def test_p_values_are_uniform_without_a_difference() -> None:
    """5 % of comparisons of the same thing are below 0.05."""
    rng = np.random.default_rng(5)
    below = sum((st.comparison(rng.normal(size=8), rng.normal(size=8), 0.95, "t").p or 1) < 0.05 for _ in range(2000))
    assert 70 <= below <= 130  # 100 +- 3 standard deviations of 9.7


def test_effect_sizes() -> None:
    """Cohen's d of (4, 5, 6) and (1, 2, 3) is 3; Hedges' correction for 4 degrees is
    gamma(2) / (sqrt(2) gamma(1.5)).
    """
    a, b = np.array([4.0, 5, 6]), np.array([1.0, 2, 3])
    assert st.hedges_g(a, b) == pytest.approx(3 * math.gamma(2) / (math.sqrt(2) * math.gamma(1.5)))
    assert st.dominance(a, b) == 1 and st.dominance(b, a) == -1
    c = np.array([2.0, 2, 9])
    pairs = [int(x > y) - int(x < y) for x, y in itertools.product(c, b)]
    assert st.dominance(c, b) == pytest.approx(sum(pairs) / 9)
    assert st.hedges_g(np.ones(3), np.ones(3)) is None


def test_corrections() -> None:
    """By hand: Holm multiplies the ordered p values by 4, 3, 2, 1, BH by 4, 2, 4/3, 1; both keep their order."""
    p = [0.01, 0.04, None, 0.03, 0.005]
    assert st.corrected(p, "holm") == pytest.approx([0.03, 0.06, None, 0.06, 0.02])
    assert st.corrected(p, "benjamini-hochberg") == pytest.approx([0.02, 0.04, None, 0.04, 0.02])
    assert st.corrected(p, "none") == p
    assert st.corrected([None], "holm") == [None]


def test_phases() -> None:
    """Offsets that decide everything, nothing, or that are all that differs."""
    locked = st.phases([[1.0, 1.1, 0.9], [9.0, 9.1, 8.9], [1.0, 1.05, 0.95]])
    assert locked is not None and locked.decides and locked.share > 0.99
    rng = np.random.default_rng(1)
    free = st.phases([list(rng.normal(5, 1, 4)) for _ in range(4)])
    assert free is not None and not free.decides
    # Sums of squares by hand: groups (0, 2) and (4, 6): total 20, within 4.
    by_hand = st.phases([[0.0, 2.0], [4.0, 6.0]])
    assert by_hand is not None and by_hand.share == pytest.approx(0.8)
    alone = st.phases([[1.0, 1.0], [2.0, 2.0]])
    assert alone == st.Phases(1.0, True)
    assert st.phases([[1.0, 1.0], [1.001, 1.001]]) == st.Phases(1.0, False)
    assert st.phases([[1.0, 2.0]]) is None


def test_narrow() -> None:
    """An interval of 3 +- 0.1 is narrower than 5 % of 3, one of 3 +- 2 is not; one value has no interval."""
    half = 2.776 * math.sqrt(2.5 / 5)
    assert st.is_narrow([1, 2, 3, 4, 5], half / 3 + 1e-3, 0.95, "t")
    assert not st.is_narrow([1, 2, 3, 4, 5], half / 3 - 1e-3, 0.95, "t")
    assert not st.is_narrow([3.0], 0.5, 0.95, "t")
    assert st.is_narrow([0.0, 0.0], 0.05, 0.95, "t")


@pytest.mark.parametrize("name", SYNTHETIC)
def test_coverage(name: str) -> None:
    """95 % intervals contain the known answer in 93 to 97 % of 1000 campaigns, and never leave their range."""
    draw, scale, _ = SYNTHETIC[name]
    answer = known_mean(name)
    for runs in RUNS:
        campaigns = draw(np.random.default_rng(1), (1000, runs))
        intervals = [st.mean_interval(values, 0.95, "t", scale) or (1.0, 0.0) for values in campaigns]
        assert 930 <= sum(low <= answer <= high for low, high in intervals) <= 970, runs
        means = [scale.mean(values) for values in campaigns]
        assert all(low <= mean <= high for (low, high), mean in zip(intervals, means, strict=True))
        assert all(scale.low <= low and high <= scale.high for low, high in intervals)


def test_ratios_are_added_as_logarithms() -> None:
    """By hand: of 1/2 and 2 the geometric mean is 1; t for one degree of freedom is 12.706, ln 2 the error."""
    assert st.mean([0.5, 2.0], sc.RATIO) == pytest.approx(1)
    half = 12.706 * math.log(2)
    assert st.mean_interval([0.5, 2.0], 0.95, "t", sc.RATIO) == pytest.approx(
        (math.exp(-half), math.exp(half)), rel=1e-3
    )
    # The interval of a over b is that of b over a, inverted.
    low, high = st.mean_interval([0.5, 0.7, 3.0], 0.95, "t", sc.RATIO) or (0, 0)
    assert st.mean_interval([1 / 0.5, 1 / 0.7, 1 / 3.0], 0.95, "t", sc.RATIO) == pytest.approx((1 / high, 1 / low))


def test_ratios_of_zero() -> None:
    """The geometric mean is 0 then, and no more than the arithmetic one, whose interval ends the other's."""
    values = [0.0, 0.1, 0.2, 0.1]
    _, high = st.mean_interval(values, 0.95, "t") or (0, 0)
    assert (st.mean(values, sc.RATIO), st.mean_interval(values, 0.95, "t", sc.RATIO)) == (0.0, (0.0, high))
    # What is negative is no ratio: the plain mean, and the words say so.
    assert st.method([-1.0, 2.0], "t", sc.RATIO) == "mean; Student's t"
    assert st.mean([-1.0, 2.0], sc.RATIO) == 0.5


@pytest.mark.parametrize("kind", ["t", "bootstrap"])
def test_intervals_of_shares_stay_in_their_range(kind: str) -> None:
    for values in ([1.0, 1.0, 1.0, 0.9], [0.0, 0.0, 1.0], [1.0, 1 - 1e-12], [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]):
        low, high = st.mean_interval(values, 0.95, kind, sc.SHARE) or (-1, 2)  # type: ignore[arg-type]
        assert 0 <= low <= np.mean(values) <= high <= 1
    # In the middle of the range nothing is bent: Student's interval.
    middle = [0.5, 0.501, 0.499, 0.502, 0.498]
    assert st.mean_interval(middle, 0.95, "t", sc.SHARE) == pytest.approx(st.mean_interval(middle, 0.95, "t"), abs=1e-6)
    # A percentage is the same, a hundred times.
    share = st.mean_interval([0.9, 0.95, 0.99], 0.95, "t", sc.SHARE) or (0, 0)
    percent = st.mean_interval([90, 95, 99], 0.95, "t", sc.PERCENT) or (0, 0)
    assert percent == pytest.approx((100 * share[0], 100 * share[1]))
    assert st.mean_interval([0.9, 1.1], 0.95, "t", sc.SHARE) == st.mean_interval([0.9, 1.1], 0.95, "t")


def test_paired_comparison_of_ratios() -> None:
    """Each value is about twice its partner's: the factor has the interval, whatever the size of the pair."""
    a, b = [2.0, 42.0, 0.19], [1.0, 20.0, 0.1]
    result = st.comparison(a, b, 0.95, "t", sc.RATIO)
    of = (1.0 * 20.0 * 0.1) ** (1 / 3)
    factors = st.mean_interval([x / y for x, y in zip(a, b, strict=True)], 0.95, "t", sc.RATIO) or (0, 0)
    assert result.difference == pytest.approx(st.mean(a, sc.RATIO) - st.mean(b, sc.RATIO))
    assert result.interval == pytest.approx((of * (factors[0] - 1), of * (factors[1] - 1)))
    assert result.p is not None and result.p < 0.01 < (st.comparison(a, b, 0.95, "t").p or 0)
    # The difference of two shares is between -1 and 1.
    low, high = st.comparison([1.0, 0.0, 1.0], [0.0, 0.0, 0.0], 0.95, "t", sc.SHARE).interval or (-2, 2)
    assert -1 <= low < high <= 1
