"""Probabilities against SciPy's, which the package itself does without."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from windtunnel.experiment import statistics as st
from windtunnel.experiment.distributions import beta_share, f_tail, fewest_heads, student, student_tail
from windtunnel.experiment.scales import RATIO
from windtunnel.search.tables import share_interval


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 29, 100, 999, 99_999, 999_999])
def test_student(freedom: int) -> None:
    """The tail from 0 to where it is 1e-300, and its inverse."""
    digits = 1e-11 if freedom < 1000 else 1e-8
    for t in (0.0, 0.001, 0.01, 0.5, 1.0, 1.96, 3.0, 5.5, 12.0, 30.0, 1e3, 1e8):
        assert student_tail(t, freedom) == pytest.approx(special.stdtr(freedom, -t), rel=digits, abs=1e-300)
    for p in (0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995):
        assert student(p, freedom) == pytest.approx(special.stdtrit(freedom, p), rel=10 * digits, abs=1e-9)


def test_near_the_middle() -> None:
    """For one degree of freedom the tail is 1/2 - atan(t) / pi, to the last digits next to t = 0."""
    for t in (1e-12, 1e-9, 1e-5):
        assert student_tail(t, 1) == pytest.approx(0.5 - math.atan(t) / math.pi, rel=1e-15)


def test_f() -> None:
    for above in (1, 2, 5, 31):
        for below in (1, 3, 28, 5000):
            for ratio in (0.0, 0.2, 1.0, 2.5, 40.0):
                expected = special.fdtrc(above, below, ratio)
                assert f_tail(ratio, above, below) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_incomplete_beta() -> None:
    """Both halves of the function, for parameters that are far apart."""
    for a in (0.5, 1.0, 3.0, 80.0, 4000.0):
        for b in (0.5, 2.0, 17.0, 900.0):
            for x in (0.0, 1e-12, 0.03, 0.4, 0.5, 0.97, 1.0):
                expected = special.betainc(a, b, x)
                assert beta_share(a, b, x, 1 - x) == pytest.approx(expected, rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("p", [0.25, 0.05, 0.025, 0.005])
def test_heads(p: float) -> None:
    """The greatest k for which it is true, by SciPy's probability of at most k - 1 heads."""
    for tosses in (*range(2, 60), 1000, 20_001, 10**6):
        k = fewest_heads(tosses, p)
        assert k == 0 or special.bdtr(k - 1, tosses, 0.5) <= p
        assert special.bdtr(k, tosses, 0.5) > p


@pytest.mark.parametrize("draw", ["normal", "exponential", "lognormal"])
def test_bootstrap(draw: str) -> None:
    """Its BCa interval for the same draws, and that of the logarithms of ratios."""
    for n in (2, 3, 8, 40, 3000):
        x = getattr(np.random.default_rng(n), draw)(size=n)
        expected = stats.bootstrap(
            (x,), np.mean, n_resamples=st.RESAMPLES, confidence_level=0.9, rng=np.random.default_rng(st.SEED)
        ).confidence_interval
        assert st.mean_interval(x, 0.9, "bootstrap") == pytest.approx((expected.low, expected.high), rel=1e-9)
    ratios = np.random.default_rng(7).lognormal(size=9)
    low, high = st.mean_interval(np.log(ratios), 0.95, "bootstrap") or (0, 0)
    assert st.mean_interval(ratios, 0.95, "bootstrap", RATIO) == pytest.approx((math.exp(low), math.exp(high)))


def test_wilson() -> None:
    for held, count in ((0, 1), (1, 1), (0, 30), (30, 30), (7, 20), (999, 1000)):
        expected = stats.binomtest(held, count).proportion_ci(0.95, method="wilson")
        assert share_interval(held, count) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_dominance_is_not_quadratic() -> None:
    """As by each pair where pairs are few, with ties; 100,000 values do not make 10^10 pairs."""
    random = np.random.default_rng(1)
    a, b = random.integers(0, 9, 57).astype(float), random.integers(0, 9, 31).astype(float)
    assert st.dominance(a, b) == np.mean(np.sign(np.subtract.outer(a, b)))
    assert st.dominance(np.arange(100_000.0), np.arange(100_000.0) - 0.5) == pytest.approx(1e-5)
