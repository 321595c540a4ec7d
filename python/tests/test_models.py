"""The closed-form models against the numbers that "Multiplicative Decrease Scaling" and its sources print."""

import numpy as np
import pytest

from windtunnel import models


@pytest.mark.parametrize(("tau", "percent"), [(32, 2.14), (64, 1.08), (1, 50.0)])
def test_reduction_per_signal_is_the_documents(tau: int, percent: float) -> None:
    """The text's numbers for figure 1, to the last printed digit."""
    assert 100 * models.reduction_per_signal(tau) == pytest.approx(percent, abs=0.005)


def test_tau_responses_equal_one_conventional_response() -> None:
    """The signalling relationship: tau SCE marks multiply the window by beta."""
    tau, beta = np.meshgrid([1, 8, 32, 64, 128], [0.5, 0.7])
    assert models.mds_factor(tau, beta) ** tau == pytest.approx(beta)


def test_reno_worst_case_utilization_is_three_quarters() -> None:
    """The document's background section: at worst 75 %."""
    assert models.sawtooth_utilization(0.5) == pytest.approx(0.75)


@pytest.mark.parametrize(("rate", "ms"), [(100e6, 117.902), (1e9, 37.2838), (10e9, 11.7902)])
def test_reno_max_rtt(rate: float, ms: float) -> None:
    """Figure 17's points, to the six digits to which they were recovered from the SVG."""
    assert 1e3 * models.reno_max_rtt(rate) == pytest.approx(ms, rel=4e-6)


def test_cubic_max_rtt() -> None:
    """Figure 17's points: 200.171 ms at 10 Gbit/s, inversely proportional to the rate."""
    assert 1e3 * models.cubic_max_rtt([1e9, 10e9, 1e12]) == pytest.approx([2001.72, 200.171, 2.00171], rel=3e-6)


def test_scalable_max_rtt_is_flat() -> None:
    """Figure 17's two horizontal lines."""
    assert 1e3 * models.scalable_max_rtt(60.0, [0.01, 0.005]) == pytest.approx([861.318, 431.730], rel=2e-6)


def test_scalable_paper_recovery() -> None:
    """Kelly's paper, section 3: about 2.7 s at 200 ms with a = 1/100 and a decrease by an eighth."""
    assert models.scalable_recovery_time(0.2, 0.01, 0.875) == pytest.approx(2.7, abs=0.05)


def test_inverses() -> None:
    """Recovery at the longest acceptable RTT takes the time that defines it."""
    rate = np.logspace(6, 12, 13)
    assert models.reno_recovery_time(rate, models.reno_max_rtt(rate, 60.0)) == pytest.approx(60.0)
    assert models.cubic_recovery_time(rate, models.cubic_max_rtt(rate, 60.0)) == pytest.approx(60.0)
    assert models.scalable_recovery_time(models.scalable_max_rtt(60.0)) == pytest.approx(60.0)


@pytest.mark.parametrize(("before", "after", "seconds"), [(2e9, 10e9, 22.0), (20e9, 100e9, 47.5)])
def test_cubic_mds_recovers_from_a_plateau_in_the_documents_time(before: float, after: float, seconds: float) -> None:
    """Figures 9a and 9b: about 22 s and 47 s; they need fast convergence on every SCE and a negative K."""
    assert models.cubic_mds_recovery_time(before, after, 0.02) == pytest.approx(seconds, abs=0.1)


def test_cubic_k_is_negative_above_w_max() -> None:
    """RFC 9438's K with an epoch that starts above W_max: the real cube root."""
    assert models.cubic_k(100.0, 164.0, 1.0) == pytest.approx(-4.0)
    assert models.cubic_window(models.cubic_k(500.0, 350.0), 500.0, models.cubic_k(500.0, 350.0)) == pytest.approx(
        500.0
    )


@pytest.mark.parametrize(
    ("rate", "ms", "flows", "hz"),
    [
        (100e6, 5, 1, 430),
        (1e9, 5, 1, 93),
        (1e9, 20, 1, 23),
        (1e9, 80, 1, 5.8),
        (500e6, 5, 2, 344),
        (100e6, 20, 2, 107.5),
    ],
)
def test_steady_sce_frequency(rate: float, ms: float, flows: int, hz: float) -> None:
    """Hand-calculated from spec formulas of table 8: Reno region MSS n^2/(rtt BDP d), scalable region a n/(rtt d)."""
    assert models.steady_sce_frequency(rate, ms * 1e-3, flows) == pytest.approx(hz, rel=0.01)


def test_steady_sce_frequency_scales_as_the_text_says() -> None:
    """Reno region: 1/rate, 1/rtt^2, n^2. Scalable region: independent of the rate, 1/rtt, n."""
    f = models.steady_sce_frequency
    assert f(20e6, 0.01) / f(40e6, 0.01) == pytest.approx(2)
    assert f(40e6, 0.01) / f(40e6, 0.02) == pytest.approx(4)
    assert f(40e6, 0.01, 2) / f(40e6, 0.01, 1) == pytest.approx(4)
    assert f(1e9, 0.02) == pytest.approx(f(2e9, 0.02))
    assert f(1e9, 0.02) / f(1e9, 0.04) == pytest.approx(2)
    assert f(1e9, 0.02, 2) / f(1e9, 0.02, 1) == pytest.approx(2)


def test_functions_broadcast() -> None:
    """The docstrings promise the broadcast shape of the arguments."""
    rate, rtt = np.logspace(6, 9, 4)[:, None], np.array([0.001, 0.01, 0.1])
    for function in (models.reno_recovery_time, models.cubic_recovery_time, models.steady_sce_frequency):
        assert function(rate, rtt).shape == (4, 3)
