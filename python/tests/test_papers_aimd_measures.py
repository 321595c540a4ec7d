"""What the suite `aimd` measures in a run: its rates and its queue, on made-up and on simulated runs."""

import math

import numpy as np
import pytest

from windtunnel.papers.aimd import modes
from windtunnel.papers.aimd.plan import fair_mbps
from windtunnel.papers.features import Axis, RunData, View, evaluate
from windtunnel.scenario import Scenario

# --- Rates of runs ---------------------------------------------------------------------------------------------------


def intervals(columns: dict[str, np.ndarray], step: float = 1.0, flow: str = "0") -> View:
    """A run's interval table from matrices of shape (time, flows)."""
    shape = next(iter(columns.values())).shape
    table = {
        "time_s": np.repeat(step * np.arange(1, shape[0] + 1), shape[1]),
        "flow": np.tile(np.arange(shape[1], dtype=np.uint32), shape[0]),
        **{name: matrix.ravel() for name, matrix in columns.items()},
    }
    return View(RunData({"flows": table}, {}), "rates", flow, Axis(0, 1, 0, 1))


def noisy(seconds: int = 370, flows: int = 2, transient: int = 30) -> np.ndarray:
    """Rates around 4 and 6 Mbit/s that start at 10 and 0, and settle within ``transient`` seconds."""
    rng = np.random.default_rng(1)
    level = np.where(np.arange(flows) == 0, 4.0, 6.0)
    away = np.where(np.arange(flows) == 0, 6.0, -6.0)
    decay = np.maximum(0.0, 1.0 - np.arange(seconds) / transient)[:, None]
    return np.asarray(level + away * decay + rng.normal(0, 0.2, (seconds, flows)))


def test_the_transient_is_left_out() -> None:
    """A run that settles within 30 s counts as converged after most of that and well before the limit."""
    start = evaluate(intervals({"goodput_mbps": noisy()}), "steady_from(120)")
    assert 20 <= start <= 45
    mean = evaluate(intervals({"goodput_mbps": noisy()}), "steady_mean(5, 120, 250)")
    assert mean == pytest.approx(0.8, abs=0.01)


def test_normalised_rates() -> None:
    """Mean and quantiles of the window's seconds, over the fair share; several flows are averaged second by second."""
    rates = np.stack([np.arange(1.0, 101.0), np.arange(1.0, 101.0)[::-1], np.full(100, 10.0)], axis=1)
    one, two = (intervals({"goodput_mbps": rates}, flow=f) for f in ("0", "0-1"))
    assert evaluate(one, "rate_mean(10, 0, 100)") == pytest.approx(5.05)
    assert evaluate(one, "rate_mean(10, 50, 100)") == pytest.approx(7.55)
    assert evaluate(one, "rate_quantile(0.01, 10, 0, 100)") == pytest.approx(0.199)
    assert evaluate(two, "rate_quantile(0.99, 10, 0, 100)") == pytest.approx(5.05)
    assert math.isnan(evaluate(one, "rate_mean(10, 100, 200)"))
    assert fair_mbps(40, 2) == pytest.approx(38.256 / 2, abs=1e-3)


def test_ratio_of_groups() -> None:
    """One-second ratios of two groups' means: 2 over the mean of 4 and 12."""
    rates = np.tile([2.0, 4.0, 12.0], (200, 1))
    view = intervals({"goodput_mbps": rates}, flow="0/1-2")
    assert evaluate(view, "steady_ratio_quantile(0.5, 20, 100)") == pytest.approx(0.25)


def cubic_run(rate: str, rtt: str, queue: str) -> View:
    """CUBIC alone over tail drop for 100 s, as the suite records it."""
    run = Scenario(
        duration="100 s",
        bottleneck={"rate": rate, "queue": {"kind": "fifo", "limit": queue}},
        flows=[{"cc": "cubic", "rtt": rtt}],
        record={"interval": "1 s", "points": "0 s"},
    ).run()
    return View(RunData(run.tables, run.summary), "rates", "0", Axis(0, 1, 0, 1))


@pytest.mark.parametrize(
    ("rate", "rtt", "queue", "mode"),
    [
        ("10 Mbit/s", "10 ms", "25 ms", "Reno-friendly"),
        ("20 Mbit/s", "40 ms", "40 ms", "mixed"),
        ("100 Mbit/s", "200 ms", "25 ms", "CUBIC"),
    ],
)
def test_the_mode_shows_in_the_state(rate: str, rtt: str, queue: str, mode: modes.Mode) -> None:
    """A window W regains 0.3 W at alpha per round trip, the function in K = cbrt(0.3 W / 0.4) seconds.

    The estimate leads throughout if that takes it less than K / 3, never if it takes more than K. With W of 28, 133 and
    1875 packets it takes 0.5 s, 5.0 s and 230 s, and K is 2.8 s, 4.6 s and 11.2 s: the second is on the edge, where the
    buffer's share of the round trip decides.
    """
    share = evaluate(cubic_run(rate, rtt, queue), "steady_friendly(20, 80)")
    assert modes.mode_of_share(share) == mode, share


def test_what_counts_for_a_mode() -> None:
    """The function must lead by a packet; without an epoch, and outside of the span, nothing counts."""
    estimate = np.array([[50.0], [50.0], [50.0], [50.0], [50.0]])
    target = np.array([[40.0], [50.5], [51.5], [np.nan], [40.0]])
    view = intervals({"goodput_mbps": np.full((5, 1), 1.0)})
    state = {"w_est_segments": estimate, "target_segments": target}
    cc = intervals(state).run.tables["flows"]
    with_state = View(RunData({**view.run.tables, "cc": cc}, {}), "rates", "0", Axis(0, 1, 0, 1))
    assert evaluate(with_state, "steady_friendly(0, 4)") == 0.5
    without = {**cc, "target_segments": np.full(5, np.nan)}
    nothing = View(RunData({**view.run.tables, "cc": without}, {}), "rates", "0", Axis(0, 1, 0, 1))
    assert math.isnan(evaluate(nothing, "steady_friendly(0, 4)"))


def sawteeth(exponent: float) -> View:
    """Windows that grow from 70 to 100 in 30 intervals, again and again; rates are a power of them."""
    window = np.tile(np.linspace(70, 100, 30), 20)[:, None]
    columns = {"cwnd_mean_bytes": window, "throughput_mbps": 3.0 * window**exponent}
    return intervals(columns, step=0.1)


@pytest.mark.parametrize("exponent", [-0.46, 0.25, 0.0])
def test_elasticity_within_sawteeth(exponent: float) -> None:
    """The power that rates follow within sawteeth; changes from one sawtooth to the next have no effect."""
    assert evaluate(sawteeth(exponent), "rate_elasticity(0, 60)") == pytest.approx(exponent, abs=1e-9)


def test_elasticity_stops_at_every_reduction() -> None:
    """Another flow's reduction raises the rate within a sawtooth; that is not an effect of the flow's own window."""
    window = np.tile(np.linspace(70, 100, 30), 20)
    other = np.roll(np.tile(np.linspace(50, 100, 30), 20), 15)
    boost = 1.0 + 0.5 * (np.arange(600) % 30 >= 15)
    rate = 3.0 * boost * window**-0.4
    columns = {
        "cwnd_mean_bytes": np.stack([window, other], axis=1),
        "throughput_mbps": np.stack([rate, other], axis=1),
    }
    assert evaluate(intervals(columns, step=0.1), "rate_elasticity(0, 60)") == pytest.approx(-0.4, abs=1e-9)


# --- The queue of runs -----------------------------------------------------------------------------------------------


def filling(growth: float, *, rate: float = 1000.0, base: float = 0.1, step: float = 0.02, teeth: int = 6) -> View:
    """A queue that grows by ``growth`` per round trip from 20 to 150 packets, and sets the round trip's length. At the
    end of a sawtooth there is a drop; a second later the loss is found and the queue is 20 again.
    """
    packets, drops, lost, rtt_s = [], [], [], []
    for _ in range(teeth):
        # One round trip earlier the queue was `growth` packets shorter: each packet makes the round trip longer.
        at, ends, heights = 0.0, [0.0], [20.0]
        while heights[-1] < 150.0:
            heights.append(heights[-1] + growth)
            at += base + heights[-1] / rate
            ends.append(at)
        time = np.arange(0.0, at, step)
        q = np.interp(time, ends, heights)
        after = np.full(round(1.0 / step), 150.0)
        packets.append(np.concatenate([q, after, [20.0]]))
        rtt_s.append(base + packets[-1] / rate)
        drops.append(np.concatenate([0.0 * q, 0.0 * after + 1.0, [0.0]]))
        lost.append(np.concatenate([0.0 * q, 0.0 * after, [1.0]]))
    queue, full, losses, rtt = (np.concatenate(x) for x in (packets, drops, lost, rtt_s))
    count = len(queue)
    time = step * np.arange(1, count + 1)
    columns = {
        "lost": losses,
        "retransmits": np.zeros(count),
        "cwnd_bytes": np.full(count, 100.0),
        # The mean over an interval is the value at its middle.
        "rtt_mean_ms": 1e3 * np.interp(time - step / 2, time, rtt),
    }
    flows = {"time_s": time, "flow": np.zeros(count, dtype=np.uint32), **columns}
    tables = {"flows": flows, "queues": {"time_s": time, "backlog_packets": queue, "drops": full}}
    return View(RunData(tables, {}), "rates", "0", Axis(0, 1, 0, 1))


@pytest.mark.parametrize("growth", [1.53, 1.0, 3.0])
def test_growth_between_responses(growth: float) -> None:
    """Packets per round trip, although round trips get longer, and without any effect of drops."""
    assert evaluate(filling(growth), "queue_growth(0, 1000)") == pytest.approx(growth, rel=1e-3)


def test_growth_needs_some_round_trips() -> None:
    """Without stretches between responses there is nothing to measure."""
    assert math.isnan(evaluate(filling(1.53), "queue_growth(900, 1000)"))
    busy = filling(1.53)
    everywhere = np.ones_like(busy.run.tables["queues"]["time_s"])
    tables = {**busy.run.tables, "queues": {**busy.run.tables["queues"], "drops": everywhere}}
    assert math.isnan(evaluate(View(RunData(tables, {}), "rates", "0", busy.axis), "queue_growth(0, 1000)"))


def test_deviation_of_the_delay() -> None:
    """For a straight sawtooth it is the height over the root of 12; an interval without a packet has no delay."""
    time, tooth = 0.01 * np.arange(1, 4001), np.tile(np.linspace(10.0, 30.0, 400), 10)
    tooth[5] = np.nan
    view = View(RunData({"queues": {"time_s": time, "sojourn_mean_ms": tooth}}, {}), "rates", "0", Axis(0, 1, 0, 1))
    assert evaluate(view, "delay_deviation(0, 40)") == pytest.approx(20 / math.sqrt(12), rel=5e-3)
    assert math.isnan(evaluate(view, "delay_deviation(40, 50)"))


def test_flows_hit_by_an_event() -> None:
    """Two drops in one event and one in the next; both flows find a loss in the first, and one in the second."""
    lost = np.zeros((200, 2))
    lost[[55, 58, 153], [0, 1, 1]] = 1
    drops = np.zeros(200)
    drops[[50, 54, 150]] = 1
    view = intervals({"lost": lost}, step=0.02)
    time = 0.02 * np.arange(1, 201)
    tables = {**view.run.tables, "queues": {"time_s": time, "drops": drops}}
    extended = View(RunData(tables, {}), "rates", "0", view.axis)
    assert evaluate(extended, "flows_hit(0, 4, 0.15)") == pytest.approx(0.75)
    assert evaluate(extended, "flows_hit(2, 4, 0.15)") == pytest.approx(0.5)
    assert math.isnan(evaluate(extended, "flows_hit(3.5, 4, 0.15)"))
