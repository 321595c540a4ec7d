"""The model of Linux's CUBIC under periodic loss: against RFC 9438's response function and a kernel's windows."""

from __future__ import annotations

import pytest

from windtunnel.validation.comparison import table
from windtunnel.validation.cubic_cycle import cycle, fixed_points, real_fixed_point
from windtunnel.validation.laws import LAWS, RECORDED, starts
from windtunnel.validation.suite import execute

RTT_S = 0.1


def test_one_window_comes_back_without_rounding() -> None:
    """The mean window is RFC 9438 section 5.1's, (C (3 + beta) / (4 (1 - beta)) (RTT / p)^3)^(1/4) = 187 segments with
    C 0.4, beta 0.7 and p = 1e-4, and Reno's sqrt(3 / (2 p)) = 38.7 at p = 1e-3, where the estimate leads.
    """
    cubic = (0.4 * 3.7 / (4 * 0.3) * (RTT_S * 10_000) ** 3) ** 0.25
    assert real_fixed_point(10_000, RTT_S)[1] == pytest.approx(cubic, rel=0.03)
    assert real_fixed_point(1000, RTT_S)[1] == pytest.approx((1.5 * 1000) ** 0.5, rel=0.03)


@pytest.mark.parametrize(("every", "low", "high"), [(1000, 36, 56), (10_000, 167, 253)])
def test_whole_segments_keep_a_range_of_windows(every: int, low: int, high: int) -> None:
    """Losses from 1.36 s after K to 1.36 s before K: W (0.925 K + s) = every * RTT with 0.4 K^3 = 0.3 W and s = 1.36 s
    or -1.36 s gives 167 and 253 at p = 1e-4; at p = 1e-3 at most 56, and at least the window of the curve, 36.
    """
    back = fixed_points(every, RTT_S)
    assert len(back) > 10
    assert low <= min(back)
    assert max(back) <= high + 3
    # Without rounding the lowest one rises and the highest one falls.
    assert cycle(min(back), every, RTT_S, whole=False).window > min(back)
    assert cycle(max(back), every, RTT_S, whole=False).window < max(back)


def test_windows_of_a_kernel_come_back() -> None:
    """Linux 7.3.4 from five initial windows kept four windows; three of them come back here. From an initial window of
    20 it keeps 48: there one packet of each round trip travels 28 ms behind the burst of the others.
    """
    rows = [row for row in table(RECORDED) if row["initial_window"] != "20"]
    back = fixed_points(1000, RTT_S)
    assert {int(row["w_max"]) for row in rows} == {51, 52, 56}
    for row in rows:
        assert back[int(row["w_max"])] == pytest.approx(float(row["mean_window"]), rel=0.03)


def test_each_start_keeps_a_window_that_comes_back() -> None:
    """Ours settles at windows of the model, with its mean windows, from four starts."""
    (law,) = (law for law in LAWS if law.periodic is None and law.p == 1e-3)
    comparison = starts(law)
    lines = comparison.lines({run.name: execute(run) for run in comparison.runs})
    assert len(lines) == 9
    assert {line.verdict for line in lines} == {"agrees"}
    assert len({line.measured for line in lines if line.what.endswith("loss")}) > 1
