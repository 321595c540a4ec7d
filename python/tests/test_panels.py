"""Panels: what figures and pages show adds up to what the tables hold, and has their extremes.

Series are random: bursts, silences, one sample or thousands. What is drawn is taken from the axes and from the bytes of
the page, not from the panel.
"""

import base64
import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headless import drive
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from rich.console import Console

from windtunnel import InputError, RunResult, Scenario
from windtunnel.cli.summary import show_summary
from windtunnel.figures import four_panel
from windtunnel.figures.draw import Window, draw
from windtunnel.figures.log_axis import text, ticks
from windtunnel.panels import CATALOGUE, Panel, Run, cdf, fairness, fct, gaps, panels_of, rtt, thin, throughput
from windtunnel.panels.catalogue import DRAWN
from windtunnel.panels.groups import NAMED, Group, median_and_band, named
from windtunnel.panels.looks import TOTAL
from windtunnel.panels.many import means_of_flows, rates_of_flows
from windtunnel.panels.means import AVERAGES, average, average_columns, usual_average
from windtunnel.panels.model import Series, Ticks
from windtunnel.panels.thinning import thin_ticks
from windtunnel.panels.units import FACTORS, RATES, SIZES, greatest, suited
from windtunnel.report import write_report
from windtunnel.report.columns import Columns
from windtunnel.report.grouped import together
from windtunnel.report.panels import encoded

_TYPES = {"f32": "<f4", "u8": "u1", "u16": "<u2", "u32": "<u4"}


@dataclass(frozen=True)
class Result:
    """The parts of a result that panels need."""

    summary: dict[str, Any]
    tables: dict[str, dict[str, np.ndarray]]


def series_of_means(seed: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of means, bursty in both; the first one lasts from 0 s."""
    rng = np.random.default_rng(seed)
    gaps_s = np.exp(rng.normal(-4, 1.5, samples)) + 1e-4
    values = np.where(rng.random(samples) < 0.1, 0.0, np.exp(rng.normal(3, 1.5, samples)))
    # A panel of nothing but zeros is empty.
    values[0] += 1.0
    return np.cumsum(gaps_s), values


def synthetic(seed: int, samples: int) -> Result:
    """Two flows and all, a queue with sojourn times, and drops."""
    flows = [series_of_means(seed + i, max(1, samples // (i + 1))) for i in range(3)]
    rng = np.random.default_rng(seed)
    t, cwnd = series_of_means(seed + 7, samples)
    tm, hz = series_of_means(seed + 8, samples)
    tables = {
        "throughput_points": {
            "time_s": np.concatenate([time for time, _ in flows]),
            "flow": np.repeat([0, 1, -1], [len(time) for time, _ in flows]),
            "mbps": np.concatenate([values for _, values in flows]),
        },
        "cwnd_points": {
            "time_s": t, "flow": np.zeros(samples, int), "bytes": 1e3 * cwnd + 1, "limited": rng.random(samples) < 0.5,
        },
        "sojourn_points": {
            "time_s": t, "queue": np.zeros(samples, int), "ms": cwnd, "empty": rng.random(samples) < 0.3,
        },
        "mark_points": {
            "time_s": tm, "queue": np.zeros(samples, int), "flow": np.zeros(samples, int),
            "kind": np.full(samples, 2), "hz": hz + 1e-3,
        },
    }  # fmt: skip
    names = [{"name": "a"}, {"name": "b"}]
    return Result({"duration_s": float(max(t[-1], tm[-1])), "flows": names, "queues": [{"name": "q"}]}, tables)


def on_page(panel: Panel) -> dict[str, dict[str, np.ndarray]]:
    """The columns of each series of a panel, decoded as the page does."""
    columns = Columns()
    sent = encoded(panel, columns)
    raw = base64.b64decode(columns.base64())

    def column(ref: dict[str, Any]) -> np.ndarray:
        values = np.frombuffer(raw, _TYPES[ref["type"]], ref["n"], ref["at"])
        return ref["from"] + values * ref["step"] if "step" in ref else values

    return {s["key"]: {name: column(ref) for name, ref in s["columns"].items()} for s in sent["series"]}


def integral(x: np.ndarray, y: np.ndarray) -> float:
    """Of means, each since the sample before; the first from 0 s, or from a NaN before it."""
    start = x[0] if np.isnan(y[0]) else 0.0
    return float(np.nansum(np.asarray(y, dtype=np.float64) * np.diff(x, prepend=start)))


@settings(max_examples=40, deadline=None)
@example(seed=5472, samples=1, limit=60)
@given(seed=st.integers(0, 10**6), samples=st.sampled_from([1, 2, 30, 700, 9000]), limit=st.integers(60, 3000))
def test_pages_add_up_and_have_the_extremes(seed: int, samples: int, limit: int) -> None:
    """However few points a page has, integrals of means are those of the tables, and so are all extremes."""
    run = synthetic(seed, samples)
    panels = {panel.id: thin(panel, limit) for panel in panels_of(Run(run))}
    table = run.tables["throughput_points"]
    rates = on_page(panels["throughput"])
    factor = FACTORS[panels["throughput"].unit]
    assert set(rates) == {"flow0", "flow1", "total"}
    for key, flow in (("flow0", 0), ("flow1", 1), ("total", -1)):
        t, v = (table[name][table["flow"] == flow] for name in ("time_s", "mbps"))
        shown = rates[key]
        assert integral(shown["t"], shown["v"]) * factor == pytest.approx(integral(t, v), rel=1e-4, abs=1e-6)
        assert (np.nanmin(shown["v"]) * factor, np.nanmax(shown["v"]) * factor) == pytest.approx(
            (v.min(), v.max()), rel=1e-5
        )
    for name, key, value, unit in (
        ("sojourn", "queue0", run.tables["sojourn_points"]["ms"], 1.0),
        ("cwnd", "flow0", run.tables["cwnd_points"]["bytes"], FACTORS[panels["cwnd"].unit]),
    ):
        shown = on_page(panels[name])[key]["v"] * unit
        assert (np.nanmin(shown), np.nanmax(shown)) == pytest.approx((value.min(), value.max()), rel=1e-5)
    empty = run.tables["sojourn_points"]["empty"]
    if empty.any():
        shown = on_page(panels["sojourn"])["queue0"]
        assert shown["v"][shown["flag"] == 1].max() == pytest.approx(run.tables["sojourn_points"]["ms"][empty].max())
    marks = run.tables["mark_points"]
    shown = on_page(panels["marks"])["drops0"]
    assert integral(shown["t"], shown["v"]) == pytest.approx(integral(marks["time_s"], marks["hz"]), rel=1e-4)
    assert shown["v"].max() == pytest.approx(marks["hz"].max(), rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), samples=st.sampled_from([1, 2, 30, 700, 30_000]), step=st.sampled_from([0.0, 0.2]))
def test_figures_add_up_and_have_the_extremes(seed: int, samples: int, step: float) -> None:
    """The same of what Matplotlib is told to draw, averaged or not."""
    run = synthetic(seed, samples)
    panels = {panel.id: replace(panel, average=step) for panel in panels_of(Run(run))[:4]}
    window = Window(0.0, float(run.summary["duration_s"]) + 1e3)
    table = run.tables["throughput_points"]
    axes = Figure().add_subplot()
    draw(axes, panels["throughput"], window)
    factor = FACTORS[panels["throughput"].unit]
    for index, name in enumerate("ab"):
        t, v = (table[column][table["flow"] == index] for column in ("time_s", "mbps"))
        (line,) = [line for line in axes.lines if line.get_label() == name]
        x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
        if line.get_drawstyle() == "steps-pre":
            drawn = float(np.sum(y[1:] * np.diff(x)))
        else:
            # Means over equal cells, whose middles are given.
            drawn = float(np.mean(y) * (x[-1] - x[0]) * len(x) / (len(x) - 1))
        assert drawn * factor == pytest.approx(integral(t, v), rel=1e-6, abs=1e-6)
    axes = Figure().add_subplot()
    draw(axes, panels["sojourn"], window)
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    ms = run.tables["sojourn_points"]["ms"]
    assert (drawn.min(), drawn.max()) == (ms.min(), ms.max())
    axes = Figure().add_subplot()
    draw(axes, panels["cwnd"], window)
    (line,) = [line for line in axes.lines if line.get_label() == "a"]
    drawn = np.asarray(line.get_ydata(), dtype=float) * FACTORS[panels["cwnd"].unit]
    size = run.tables["cwnd_points"]["bytes"]
    assert (np.nanmin(drawn), np.nanmax(drawn)) == pytest.approx((size.min(), size.max()))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(2, 400),
    late=st.booleans(),
    step=st.sampled_from(AVERAGES) | st.floats(1e-3, 50),
)
def test_averages_keep_the_sum(seed: int, samples: int, late: bool, step: float) -> None:
    """Whatever the step, and wherever a series starts, its integral remains; steps end at multiples of their length."""
    x, y = series_of_means(seed, samples)
    if late:
        y[0] = np.nan
    series = Series("a", "a", TOTAL, x, y, step="mean")
    mean = average(series, step)
    assert integral(mean.x, mean.y) == pytest.approx(integral(x, y), rel=1e-9, abs=1e-9)
    assert (np.diff(mean.x) > 0).all()
    assert mean.x[-1] == x[-1]
    if step:
        assert np.nanmax(mean.y) <= np.nanmax(y) * (1 + 1e-9)
        inner = mean.x[1 if late else 0 : -1] / step
        np.testing.assert_allclose(inner, np.round(inner), atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(1, 400),
    step=st.sampled_from(AVERAGES) | st.floats(1e-3, 50),
)
def test_many_series_are_averaged_like_one(seed: int, samples: int, step: float) -> None:
    """To the last bit, whatever the step: pages of many flows show the numbers of pages of few."""
    x, _ = series_of_means(seed, samples)
    values = np.random.default_rng(seed).exponential(size=(samples, 3))
    at, means = average_columns(x, values, step)
    for column in range(3):
        alone = average(Series("a", "a", TOTAL, x, values[:, column], step="mean"), step)
        np.testing.assert_array_equal(at, alone.x)
        np.testing.assert_array_equal(means[:, column], alone.y)


def test_the_usual_average() -> None:
    """200 ms as in Flent; longer where samples (one per round trip) are far apart; less in short runs."""
    assert usual_average(60, 0.02) == 0.2
    assert usual_average(60, 0.3) == 1.0
    assert usual_average(2, 0.02) == 0.05
    assert usual_average(0.5, 0.02) == 0.0


def test_a_few_samples_in_a_long_time_are_not_cut_into_steps() -> None:
    """Two samples that are years apart, as a damaged capture has them, do not become 10^9 steps."""
    series = Series("a", "a", TOTAL, np.array([1.0, 1e9]), np.array([1.0, 2.0]), step="mean")
    assert average(series, 0.2) is series


def test_gaps_and_thinning() -> None:
    """A silence is a gap, however long the run, and remains one where most samples are left out."""
    x = np.concatenate([np.arange(0, 10, 0.001), np.arange(13, 300, 0.001)])
    gap = gaps.longest_step(x)
    assert gap is not None
    assert gap <= 1.0
    panel = Panel("p", "p", "", (Series("a", "a", TOTAL, x, np.sin(x), step="hold", gap=gap),))
    (few,) = thin(panel, 100).series
    assert len(few) < 150
    assert few.gap is None
    (at,) = np.flatnonzero(np.isnan(few.y))
    assert few.x[at] == pytest.approx(13)


@given(seed=st.integers(0, 10**6), samples=st.integers(1, 3000), limit=st.integers(40, 400))
def test_ticks_add_up(seed: int, samples: int, limit: int) -> None:
    """However few ticks there are, they stand for all retransmissions and timeouts."""
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.01, 1, samples))
    counts = rng.integers(0, 5, (2, samples))
    ticks_of = Ticks("flow0", "a", TOTAL, 0, 0, x, counts[0], counts[1])
    few = thin_ticks(ticks_of, limit)
    assert len(few.x) <= limit
    assert (few.retransmits.sum(), few.rtos.sum()) == tuple(counts.sum(axis=1))
    assert few.x[-1] == x[-1]
    assert (np.diff(few.x) > 0).all()


#: A run has its controllers' windows themselves; what other laws would have done is shown of captures.
OF_CAPTURES = ("laws", "reductions", "delay")
OF_RUNS = [name for name in CATALOGUE if name not in OF_CAPTURES]


@pytest.fixture(scope="module")
def mixed() -> RunResult:
    """Two CUBIC flows, a late Reno, a probe and transfers, with packets."""
    flows = [
        {"name": "cubic", "cc": "cubic", "rtt": "30 ms", "count": 2},
        {"name": "late", "cc": "reno", "rtt": "30 ms", "start": "2 s"},
        {"name": "ping", "rtt": "20 ms", "app": "probe"},
        {"name": "web", "cc": "reno", "rtt": "20 ms", "app": {"kind": "poisson", "load": "1 Mbit/s"}},
    ]
    bottleneck = {"rate": "20 Mbit/s", "queue": {"kind": "fifo", "limit": "40 packets"}}
    return Scenario(duration="6 s", flows=flows, bottleneck=bottleneck, record={"packets": True}).run()


def test_a_page_shows_what_the_scenario_asks_about(mixed: RunResult) -> None:
    """There is a panel for each thing that the tables hold; the probe's delay and the transfers are shown at once."""
    panels = {panel.id: panel for panel in panels_of(Run(mixed))}
    assert list(panels) == [*OF_RUNS, "cc"]
    assert [name for name, panel in panels.items() if panel.shown] == [
        *("throughput", "sojourn", "cwnd", "marks"), "rtt", "fct",
    ]  # fmt: skip
    plain = Scenario(duration="1 s", flows=[{"cc": "reno", "rtt": "20 ms"}], bottleneck={"rate": "10 Mbit/s"}).run()
    few = {panel.id: panel.shown for panel in panels_of(Run(plain))}
    assert {name for name, shown in few.items() if shown} == {"throughput", "sojourn", "cwnd", "marks"}
    assert not {"fct", "fairness", "phase", "sequence", "one_way_delay"} & set(few)
    with pytest.raises(InputError, match=r"nothing for the panel 'sequence', which needs recorded packets"):
        four_panel(plain, panels=["sequence"])


def test_numbers_of_the_derived_panels(mixed: RunResult) -> None:
    """What is derived agrees with what the run measured by itself."""
    run = Run(mixed)
    panels = {panel.id: panel for panel in panels_of(run)}
    for s in rtt.samples(run):
        assert s.low is not None
        assert np.nanmin(s.low) == mixed.flows[s.index]["rtt_ms"]["min"]
    whole, queueing = panels["rtt"].choices[:2]
    for a, b in zip(whole.series, queueing.series, strict=True):
        assert a.flow is not None
        finite = np.isfinite(a.y)
        np.testing.assert_allclose((a.y - b.y)[finite], run.record(a.flow)["path_rtt_ms"])
        assert np.nanmin(b.y) >= -1e-9
    one_way = {s.flow: s.y for s in panels["one_way_delay"].series}
    ping = mixed.flows[3]["datagrams"]["one_way_ms"]
    assert (one_way[3].min(), one_way[3].max()) == pytest.approx((ping["min"], ping["max"]))
    assert one_way[3].mean() == pytest.approx(ping["mean"])
    times = np.concatenate([s.y for s in panels["fct"].series])
    assert sorted(times) == sorted(mixed.tables["transfers"]["time_ms"])
    late = next(s for s in panels["throughput"].series if s.label == "late")
    assert late.x[0] == pytest.approx(2.0, abs=0.05)
    assert np.isnan(late.y[0])
    flight = next(s for s in panels["in_flight"].series if s.label == "late")
    assert np.isnan(flight.y[flight.x < 1.9]).all()
    sent = {s.key: s for s in panels["sequence"].series}
    assert len(sent["again"]) == mixed.flows[0]["retransmits"]
    assert sent["acked"].y.max() <= max(sent["sent"].y.max(), sent["again"].y.max())
    table = mixed.tables["packets"]
    here, there = table["tap"] == 0, table["tap"] == 3
    data = (table["dir"] == 0) & ((table["payload"] > 0) | (table["proto"] != 6))
    counted = {s.key: round(s.y.sum() * (s.x[1] - s.x[0])) for s in panels["io"].series}
    assert counted["again"] == np.sum(here & data & table["retransmission"])
    assert counted["data"] == np.sum(here & data) - counted["again"]
    assert counted["acks"] == np.sum(here & (table["dir"] == 1))
    assert counted.get("ce", 0) == np.sum(there & data & (table["ecn"] == 3))
    (jain,) = panels["fairness"].series
    assert np.nanmin(jain.y) >= 1 / 3
    assert np.nanmax(jain.y) <= 1 + 1e-12


def test_every_panel_is_drawn(mixed: RunResult) -> None:
    """Each panel fits its axes, and says which scale and which average it has."""
    drawn = [name for name in DRAWN if name not in OF_CAPTURES]
    axes = {str(a.get_label()): a for a in four_panel(mixed, panels=drawn).axes}
    assert set(axes) == set(drawn)
    assert all(a.lines for a in axes.values())
    assert axes["fct"].get_ylabel() == "Completion time (ms, log scale)"
    assert axes["cdf"].get_xlabel() == "RTT (ms)"
    rates = four_panel(mixed, panels=["cdf"], choices={"cdf": "throughput"}).axes[0]
    assert rates.get_xlabel() == "Throughput (Mbit/s)"
    with pytest.raises(InputError, match="'cdf' has no 'rate': it offers 'round-trip time', 'sojourn time'"):
        four_panel(mixed, panels=["cdf"], choices={"cdf": "rate"})
    with pytest.raises(InputError, match="no panel 'cdf'"):
        four_panel(mixed, choices={"cdf": "throughput"})
    linear = four_panel(mixed, panels=["mark"], scale="linear").axes[0]
    assert (linear.get_yscale(), linear.get_ylabel()) == ("linear", "Frequency (Hz)")


def test_distributions() -> None:
    """By hand: of 1, 2, 2 and 4 a quarter is at most 1, three quarters at most 2."""
    x, y = cdf.curve(np.array([2.0, 4.0, np.nan, 1.0, 2.0]))
    assert list(x) == [1, 1, 2, 2, 4]
    assert list(y) == [0, 25, 50, 75, 100]


def test_units() -> None:
    """The greatest value has two digits before its point, in units that are written one way."""
    assert suited(RATES, 9_999) == ("Mbit/s", 1.0)
    assert suited(RATES, 10_000) == ("Gbit/s", 1e3)
    assert suited(RATES, 0.05) == ("kbit/s", 1e-3)
    assert [suited(SIZES, size)[0] for size in (5, 5e3, 5e4, 5e7, 5e10)] == ["bytes", "bytes", "kB", "MB", "GB"]


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1, 1000, ["1", "10", "100", "1000"]),
        (3, 400, ["3", "10", "30", "100", "300"]),
        (6, 30, ["6", "8", "10", "20", "30"]),
        (8, 90, ["10", "20", "50"]),
        (101, 135, ["110", "120", "130"]),
        (0.5, 30, ["1", "3", "10", "30"]),
    ],
)
def test_labels_of_log_axes(low: float, high: float, labels: list[str]) -> None:
    """Plain numbers, enough of them, within the axis; the page has the same (web/test/pure.test.ts)."""
    labelled, others = ticks(low, high)
    assert [text(v) for v in labelled] == labels
    assert all(low <= v <= high for v in [*labelled, *others])


# --- a thousand flows ---------------------------------------------------------------------------------------------


def test_groups_by_hand() -> None:
    """The median and the percentiles of each row, and five flows from the least to the greatest."""
    values = np.vstack([np.arange(11.0), np.full(11, np.nan)])
    middle, low, high = median_and_band(values)
    assert (middle[0], low[0], high[0]) == (5, 1, 9)
    assert np.isnan([middle[1], low[1], high[1]]).all()
    assert named(Group("x", tuple(range(11))), np.arange(11.0)[::-1]) == [0, 2, 5, 8, 10]
    assert together([1.0, 2.0, 3.0]) == "2.000 (1.200\N{EN DASH}2.800)"
    assert together([1, 2, 3]).endswith("6")
    assert together([20.0, 20.0]) == "20.00"


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), flows=st.integers(1, 60), gaps=st.sampled_from([0.0, 0.3, 0.95, 1.0]))
def test_bands_are_numpys_percentiles(seed: int, flows: int, gaps: float) -> None:
    """To the last bit, where flows have no value too; `np.nanpercentile`, row by row, is the expectation."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((12, flows)) < gaps, np.nan, rng.exponential(size=(12, flows)))
    bands = np.array(median_and_band(values))
    for row, mine in enumerate(values):
        expected = np.nanpercentile(mine, (50, 10, 90)) if np.isfinite(mine).any() else [np.nan] * 3
        np.testing.assert_array_equal(bands[:, row], expected)


def test_the_work_for_a_flow_does_not_grow_with_the_flows(tmp_path: Path) -> None:
    """Notes, page and summary of four times the flows take at most 4.4 times the steps: there is no loop over all flows
    for each of them.

    Steps are the calls of functions, those of C included, which are the same in every run.
    """

    def steps(count: int) -> int:
        flows = [{"cc": cc, "name": cc, "rtt": "20 ms", "count": count // 2} for cc in ("cubic", "reno")]
        bottleneck = {"rate": f"{count} Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}}
        run = Scenario(duration="2 s", flows=flows, bottleneck=bottleneck, record={"interval": "100 ms"}).run()
        calls = 0

        def count_calls(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_calls)
        try:
            write_report(run, tmp_path / "report.html")
            run.to_json()
        finally:
            sys.setprofile(None)
        return calls

    steps(60)  # imports, and what is made once
    assert steps(400) < 4.4 * steps(100)


def test_many_flows_make_a_small_page(tmp_path: Any) -> None:
    """300 flows: sums, medians and named flows instead of lines; a row for each group; the single flows on demand."""
    flows = [
        {"name": "cubic", "cc": "cubic", "rtt": "20 ms", "count": 200},
        {"cc": "reno", "rtt": "20 ms", "count": 100},
    ]
    bottleneck = {"rate": "1 Gbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}}
    result = Scenario(duration="1 s", flows=flows, bottleneck=bottleneck).run()
    run = Run(result)
    panels = {panel.id: panel for panel in panels_of(run)}
    sums, each, some = panels["throughput"].choices
    assert [s.label for s in sums.series] == [
        "all flows", "cubic \N{MULTIPLICATION SIGN} 200", "reno \N{MULTIPLICATION SIGN} 100",
    ]  # fmt: skip
    total = sum(integral(s.x, s.y) for s in sums.series[1:]) * FACTORS[sums.unit]
    assert total == pytest.approx(sum(flow["throughput_mbps"] for flow in result.flows), rel=1e-9)
    assert all(s.low is not None and s.high is not None for s in each.series)
    assert len(some.series) == 10
    assert len(panels["fairness"].series) == 3
    write_report(result, tmp_path / "x.html")
    html = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert len(html) < 1_500_000
    assert len(html.split("<script")[0].split("<tr")) < 20
    seen = drive(
        tmp_path / "x.html",
        """
        (async () => {
          await settle();
          const nodes = document.querySelectorAll("*").length;
          $("#show-members").click(); await settle();
          const rows = [...document.querySelectorAll("#members table")].map((t) => t.tBodies[0].rows.length);
          leave({ nodes, rows, drawn: each((id) => chart(id).dataset.drawn) });
        })();
        """,
    )
    assert seen["nodes"] < 1500
    assert seen["rows"] == [300, 300]
    assert set(seen["drawn"].values()) == {"true"}


def test_a_page_of_very_many_flows_names_some(tmp_path: Path) -> None:
    """3000 flows and 300 queues: the page has the greatest queues, of flows those that its panels show, and says where
    the rest is. Dots still say whose they are.
    """
    count, queues = 3000, 300
    rng = np.random.default_rng(7)
    flows = [
        {"name": f"f-{i + 1}", "cc": "cubic", "throughput_mbps": float(i), "first_packet_s": 0.0, "last_packet_s": 2.0,
         "drops": {"full": 0}, "corrupted": 0, "sent": 1, "loss_episodes": 0}
        for i in range(count)
    ]  # fmt: skip
    times = np.repeat([1.0, 2.0], queues)
    tables = {
        "flows": {
            "time_s": np.repeat([1.0, 2.0], count), "flow": np.tile(np.arange(count), 2),
            "throughput_mbps": np.tile(np.arange(float(count)), 2), "cwnd_bytes": np.full(2 * count, 3e3),
        },
        "queues": {
            "time_s": times, "queue": np.tile(np.arange(queues), 2), "emptied": np.zeros(2 * queues, int),
            "sojourn_mean_ms": np.tile(np.arange(queues), 2) + 1.0,
        },
        "transfers": {
            "end_s": np.full(500, 1.5), "flow": rng.integers(0, count, 500), "size_bytes": rng.integers(1, 10**6, 500),
            "time_ms": rng.exponential(size=500), "slowdown": 1 + rng.exponential(size=500),
        },
    }  # fmt: skip
    summary = {
        "duration_s": 2.0, "flows": flows, "windows": [], "impairments": [],
        "queues": [{"name": f"q{i}", "sojourn_ms": {"mean": float(i)}, "drops": {}} for i in range(queues)],
    }  # fmt: skip
    write_report(RunResult(summary, tables, {}), tmp_path / "x.html")
    html = (tmp_path / "x.html").read_text(encoding="utf-8")
    meta = re.search(r'id="report-meta">(.*?)</script>', html, re.DOTALL)
    data = re.search(r'id="report-data">(.*?)</script>', html, re.DOTALL)
    assert meta and data
    page, block = json.loads(meta[1]), base64.b64decode(data[1])
    panels = {panel["id"]: panel for panel in page["panels"]}
    assert len(page["flows"]) <= 500 + 4 * NAMED
    (dots,) = panels["fct"]["choices"][0]["series"]
    who = np.frombuffer(block, "<u2", dots["columns"]["who"]["n"], dots["columns"]["who"]["at"])
    order = np.argsort(tables["transfers"]["size_bytes"] / 1e3, kind="stable")
    assert [page["flows"][i] for i in who] == [f"f-{i + 1}" for i in tables["transfers"]["flow"][order]]
    named_here = {s["label"]: s["flow"] for s in panels["throughput"]["choices"][-1]["series"]}
    assert {"f-1", "f-3000"} <= set(named_here)
    assert all(page["flows"][number] == name for name, number in named_here.items())
    assert [each["label"] for each in page["switches"]] == ["f \N{MULTIPLICATION SIGN} 3000"]
    sojourn = panels["sojourn"]
    assert [s["label"] for s in sojourn["series"]] == [f"q{i}" for i in range(100, 300)]
    assert "200 of 300 series are here, those with the greatest values" in sojourn["note"]
    assert "200 of 300 rows are here, those with the longest sojourn times" in html
    assert html.count("summary.json and the tables of the result have all") >= 3
    assert "Show some of the 3000 flows" in html


@pytest.mark.parametrize("points", [True, False])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_many_flows_at_once_are_as_one_after_the_other(points: bool, seed: int) -> None:
    """Rates and their means of flows that start late, fall silent, have one sample or some, with gaps and without: to
    the last bit those of ``throughput.of_flows`` and ``average``.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    ends = np.cumsum(rng.exponential(0.1, int(rng.integers(1, 40))))
    records, time, flow, rate = [], [], [], []
    for index in range(count):
        first = float(rng.choice([0.0, 0.02, rng.uniform(0, ends[-1])]))
        records.append({"name": f"f{index}", "first_packet_s": first if rng.random() < 0.9 else None,
                        "path_rtt_ms": 20.0, "last_packet_s": float(ends[-1])})  # fmt: skip
        own = np.sort(rng.choice(ends, int(rng.integers(1, len(ends) + 1)), replace=False)) if points else ends
        values = rng.exponential(1e-3 if seed % 3 == 0 else 10.0, len(own))
        if rng.random() < 0.7:
            values[own < first] = 0.0
        if rng.random() < 0.2:
            values[rng.integers(0, len(own))] = np.nan
        time.append(own), flow.append(np.full(len(own), index)), rate.append(values)
    flat = {"time_s": np.concatenate(time), "flow": np.concatenate(flow)}
    rates = np.concatenate(rate)
    every = {
        "time_s": np.repeat(ends, count), "flow": np.tile(np.arange(count), len(ends)),
        "throughput_mbps": rng.exponential(1.0, len(ends) * count),
    }  # fmt: skip
    tables = (
        {"throughput_points": {**flat, "mbps": rates}, "flows": every}
        if points
        else {"flows": {**flat, "throughput_mbps": rates}}
    )
    run = Run(Result({"duration_s": float(ends[-1]), "flows": records}, tables))
    expected = throughput.of_flows(run)
    many, most = rates_of_flows(run)
    assert most == greatest(s.y for s in expected)
    flows, means = means_of_flows(many, 0.2)
    for s in expected:
        if s.index >= 0:
            mean = average(Series("", "", TOTAL, s.t, s.y, step="mean"), 0.2).y
            mean = mean if len(mean) < 3 else mean[:-1]
            mine = means[flows == s.index]
            np.testing.assert_array_equal(mine[np.isfinite(mine)], mean[np.isfinite(mean)])


def test_fairness_counts_active_flows_only() -> None:
    """Two flows with equal rates are fair, also before a third one starts."""
    t = np.arange(1.0, 11.0) * 0.2
    rates = [np.full(10, 4.0), np.full(10, 4.0), np.where(t > 1, 4.0, 0.0)]
    table = {
        "time_s": np.repeat(t, 3), "flow": np.tile([0, 1, 2], 10), "throughput_mbps": np.array(rates).T.ravel(),
    }  # fmt: skip
    spans = [(0.0, 2.0), (0.0, 2.0), (1.05, 2.0)]
    flows = [{"name": n, "first_packet_s": a, "last_packet_s": b} for n, (a, b) in zip("abc", spans, strict=True)]
    panel = fairness.panel(Run(Result({"duration_s": 2.0, "flows": flows, "queues": []}, {"flows": table})))
    assert panel is not None
    np.testing.assert_allclose(panel.series[0].y, 1.0)


def test_transfers_of_a_flow_have_its_look(mixed: RunResult) -> None:
    """The panel of completion times has a log axis of sizes, and a choice for the slowdown."""
    panel = fct.panel(Run(mixed))
    assert panel is not None
    assert panel.x.log
    assert [choice.name for choice in panel.choices][:2] == ["completion time", "slowdown"]
    assert min(np.min(s.y) for s in panel.choices[1].series) >= 1 - 1e-9


def test_classes_of_a_queue_are_lines_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over DualPI2 each class has its line with its range, in the figure's panel, in the distribution, in the page's
    table and in the terminal; a queue without classes in the same run is one line next to them.
    """
    result = two_queues("dualpi2").run()
    run, table = Run(result), result.tables["classes"]
    panel = CATALOGUE["sojourn"].make(run)
    assert panel is not None
    assert panel.kind == "line"
    assert [s.label for s in panel.series] == ["first: L", "first: C", "second", "back"]
    assert len({(s.look.colour, s.look.marker) for s in panel.series}) == 4
    for index, s in enumerate(panel.series[:2]):
        mine = (np.asarray(table["class"]) == index) & (np.asarray(table["queue"]) == 0)
        assert s.y == pytest.approx(np.asarray(table["sojourn_mean_ms"])[mine])
        assert s.high == pytest.approx(np.asarray(table["sojourn_max_ms"])[mine])
    distribution = cdf.panel(run)
    assert distribution is not None
    shown = next(choice for choice in distribution.choices if choice.name == "sojourn time")
    assert [s.label for s in shown.series] == ["first: L", "first: C", "second", "back"]
    write_report(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ">first: L</td>" in page
    assert ">second: " not in page
    show_summary(result, None, Console(width=120))
    printed = capsys.readouterr().out
    assert re.search(r"^first: L +\d", printed, re.MULTILINE)
    assert "second: " not in printed


def test_without_classes_single_dequeues_are_shown() -> None:
    """Where no queue has classes the panel is a cloud of dequeues, as it was."""
    panel = CATALOGUE["sojourn"].make(Run(two_queues("codel").run()))
    assert panel is not None
    assert panel.kind == "points"
    assert [s.label for s in panel.series] == ["first", "second", "back"]


def two_queues(first: str) -> Scenario:
    """Two links in a row, the second with a FIFO; Prague and CUBIC pass both."""
    nodes = [{"name": name} for name in "abc"]
    links = [
        {"name": "first", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "queue": first},
        {"name": "second", "from": "b", "to": "c", "rate": "10 Mbit/s", "delay": "5 ms"},
        {"name": "back", "from": "c", "to": "a", "rate": "1 Gbit/s", "delay": "10 ms"},
    ]
    way = {"path": ["first", "second"], "reverse": ["back"]}
    flows = [{"cc": "prague", **way}, {"cc": "cubic", **way}]
    return Scenario(duration="2 s", nodes=nodes, links=links, flows=flows)
