"""Measures of fairness and convergence, and thinning, against closed forms and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from windtunnel.metrics import (
    by_flow,
    convergence_time,
    jain_index,
    mser_truncation,
    normalised_rates,
    settling_time,
    time_mean,
    utilization,
)
from windtunnel.panels.thinning import thin_cloud, thin_line

RATES = arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1e5, allow_subnormal=False))


def test_jain_index_of_known_shares() -> None:
    """If k of n users are equal and the others idle, the index is k/n (Jain et al. 1984, its defining example)."""
    assert jain_index([5, 5, 5, 5]) == 1
    assert jain_index([9, 0, 0, 0]) == 0.25
    assert jain_index([3, 3, 0, 0]) == 0.5
    assert jain_index([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    assert np.isnan(jain_index([0, 0]))
    np.testing.assert_allclose(jain_index([[1, 1], [1, 0]]), [1, 0.5])
    np.testing.assert_allclose(jain_index([[1, 1], [1, 0]], axis=0), [1, 0.5])


@given(RATES.filter(lambda x: x.max() > 1e-3), st.floats(0.1, 10))
def test_jain_index_is_bounded_and_has_no_scale(rates: np.ndarray, scale: float) -> None:
    """The index is between 1/n and 1 for any rates, and the same in any unit (its two design properties)."""
    index = float(jain_index(rates))
    assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9
    assert float(jain_index(scale * rates)) == pytest.approx(index)


def test_utilization_and_shares() -> None:
    np.testing.assert_allclose(utilization([50, 100], [100, 100]), [0.5, 1])
    assert np.isnan(utilization(1, 0))
    np.testing.assert_allclose(normalised_rates([1, 3]), [0.5, 1.5])


def test_matrix_from_interval_rows() -> None:
    """Rows come by time, then flow; a flow that has no row yet is NaN."""
    times, matrix = by_flow([1, 1, 2, 2, 3], [0, 1, 0, 1, 1], [10, 20, 30, 40, 50])
    np.testing.assert_array_equal(times, [1, 2, 3])
    np.testing.assert_array_equal(matrix, [[10, 20], [30, 40], [np.nan, 50]])


def test_time_mean_weighs_by_length() -> None:
    """Values hold over (0, 1], (1, 3], (3, 4]: the mean of 10 for one second and 40 for two is 30."""
    t, x = [1, 3, 4], [10, 40, np.nan]
    assert time_mean(t, x) == pytest.approx(30)
    assert time_mean(t, x, start=1) == pytest.approx(40)
    assert np.isnan(time_mean(t, x, start=3))


def test_settling_needs_the_whole_stretch() -> None:
    """One second within the band does not count as settling for two; "to the end" includes the end."""
    t, x = [0, 1, 2, 3, 4, 5, 6], [0, 1, 1, 9, 1, 1, 1]
    assert settling_time(t, x, 0.5, 1.5) == 1
    assert settling_time(t, x, 0.5, 1.5, hold_s=2) == 4
    assert settling_time(t, x, 0.5, 1.5, hold_s=np.inf) == 4
    assert np.isnan(settling_time(t, x, 0.5, 1.5, hold_s=3))
    assert np.isnan(settling_time(t, x, 20, 30))


def test_convergence_of_two_flows() -> None:
    """Shares close in linearly from 100:0 to 50:50 within 10 s; Jain's index passes 0.95 at the closed form's time."""
    t = np.linspace(0, 20, 2001)
    low = np.minimum(5 * t, 50)
    # (a + b)^2 / (2 (a^2 + b^2)) = 0.95 with a + b = 100 gives a = 50 (1 - sqrt(1/0.95 - 1)).
    expected = 10 * (1 - np.sqrt(1 / 0.95 - 1))
    assert convergence_time(t, np.stack([low, 100 - low], axis=1)) == pytest.approx(expected, abs=0.02)


SERIES = arrays(np.float64, st.integers(1, 3000), elements=st.floats(-1e6, 1e6) | st.just(np.nan))


@given(SERIES, st.integers(8, 200))
def test_thin_line_keeps_extremes_ends_and_gaps(y: np.ndarray, limit: int) -> None:
    """Thinning leaves few points, ascending, with both ends and the extremes; gaps stay gaps."""
    kept = thin_line(np.arange(len(y), dtype=float), y, limit)
    gaps = np.isnan(y)
    assert np.all(np.diff(kept) > 0)
    assert len(kept) <= max(len(y) if len(y) <= limit else 0, limit + np.count_nonzero(gaps))
    assert kept[0] == 0
    assert kept[-1] == len(y) - 1
    if not gaps.all():
        assert np.nanmax(y[kept]) == np.nanmax(y)
        assert np.nanmin(y[kept]) == np.nanmin(y)
    starts = np.flatnonzero(gaps & ~np.concatenate([[False], gaps[:-1]]))
    assert np.isin(starts, kept).all()


@given(arrays(np.float64, st.integers(1, 4000), elements=st.floats(1e-3, 1e6)), st.booleans())
def test_thin_cloud_keeps_extremes(y: np.ndarray, log: bool) -> None:
    """The extremes stay, indices ascend without repetition, and no more is kept than cells and columns allow."""
    kept = thin_cloud(np.arange(len(y), dtype=float), y, 500, (100, 50), log=log)
    assert np.all(np.diff(kept) > 0)
    assert y[kept].max() == y.max()
    assert y[kept].min() == y.min()
    assert len(kept) <= 500 + 2 * 100


def test_thin_cloud_leaves_no_hole() -> None:
    """Every cell that had a point still has one: the cloud looks the same (here: all 100 x 50 cells are full)."""
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.uniform(0, 1, 200_000)), rng.uniform(0, 1, 200_000)
    kept = thin_cloud(x, y, 10_000, (100, 50))
    counts, _, _ = np.histogram2d(x[kept], y[kept], bins=(100, 50), range=((x[0], x[-1]), (y.min(), y.max())))
    assert counts.min() >= 1
    assert len(kept) < 6000


def test_mser_finds_the_end_of_a_step() -> None:
    """A step of 40 values before a steady series: the truncation point is its end, in whole batches of five."""
    rng = np.random.default_rng(3)
    series = np.where(np.arange(400) < 40, 5.0, 1.0) + rng.normal(0, 0.1, 400)
    assert mser_truncation(series, 120) == 40
    assert mser_truncation(series, 20) == 20
    assert mser_truncation(np.ones(3), 120) == 0
