"""The suite of "Friendliness between AIMD Algorithms": numbers, data, and rows and pictures from made-up runs."""

import io
import json
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from windtunnel import _core, models
from windtunnel.papers import aimd, reproduce, select
from windtunnel.papers.aimd import geometry, modes
from windtunnel.papers.aimd.data_files import ROOT, toml
from windtunnel.papers.aimd.linux import read_lines
from windtunnel.papers.aimd.plan import TWIN_STARTS_MS, fair_mbps
from windtunnel.papers.cells import Cell, Measurement
from windtunnel.papers.expression import names
from windtunnel.papers.features import METHODS, Axis, RunData, View, evaluate, parse
from windtunnel.papers.jobs import Outcome, execute, jobs_of
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Results, Suite
from windtunnel.scenario import Scenario


@cache
def whole() -> Suite:
    return aimd.suite(quick=False)


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
    queue, full, found, rtt = (np.concatenate(x) for x in (packets, drops, lost, rtt_s))
    count = len(queue)
    time = step * np.arange(1, count + 1)
    columns = {
        "lost": found,
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
    found = View(RunData(tables, {}), "rates", "0", view.axis)
    assert evaluate(found, "flows_hit(0, 4, 0.15)") == pytest.approx(0.75)
    assert evaluate(found, "flows_hit(2, 4, 0.15)") == pytest.approx(0.5)
    assert math.isnan(evaluate(found, "flows_hit(3.5, 4, 0.15)"))


# --- Figures of the model --------------------------------------------------------------------------------------------


def test_the_modes_are_those_that_the_text_tells() -> None:
    """No cell of figure 3 is Reno-friendly (section 3.1.3); 40 Mbit/s, 10 ms over PIE is (section 3.2.1)."""
    from windtunnel.papers.aimd.paths import GRIDS, RATES, RTTS

    bloated, tuned, pie = GRIDS
    assert {bloated.mode(rate, rtt) for rate in RATES for rtt in RTTS} == {"CUBIC"}
    assert sum(tuned.mode(rate, rtt) != "CUBIC" for rate in RATES for rtt in RTTS) > 12
    assert pie.mode(40, 10) == "Reno-friendly"
    # "It turned out that using any feasible estimate didn't change whether CUBIC was in transition" (footnote 8).
    assert {modes.mode(40, 0.010, q) for q in (0.010, 0.015, 0.020)} == {"Reno-friendly"}


def test_the_mode_of_a_run() -> None:
    """The label follows from the share of time in the Reno-friendly region."""
    assert [modes.mode_of_share(s) for s in (1.0, 0.5, 0.0)] == ["Reno-friendly", "mixed", "CUBIC"]


def rows_of(id: str, results: Results | None = None) -> dict[str, Row]:
    group = next(g for g in whole().groups if g.id == id)
    return {row.id: row for row in group.rows(results or Results(whole().cells, []))}


def test_the_models_rows_need_no_run() -> None:
    """All printed numbers of formulas and figures 1, 2 and 5 agree but one, whose difference the notes explain."""
    rows = [row for id in ("formula", "losses", "fig1", "fig2", "fig5") for row in rows_of(id).values()]
    assert [row.id for row in rows if row.verdict == "outside"] == ["fig5/middle_share"]
    assert rows_of("fig5")["fig5/later_share"].measured == pytest.approx(50.9, abs=0.05)
    assert sum(row.verdict == "within" for row in rows) >= 25


def test_an_11_ms_buffer_is_too_shallow() -> None:
    """Figure 2: the queue is empty for a while; with figure 1's buffer it never is."""
    assert rows_of("fig2")["fig2/empty_percent"].measured == pytest.approx(10.2, abs=0.1)
    assert geometry.cycle("1").empty_share(geometry.path("1")) == 0.0


def test_windows_under_independent_losses() -> None:
    """Reno's mean is 1.3098/sqrt(p) (Ott, Kemperman and Mathis, 1996); C-Reno's as in a simulation of 10^5 cycles."""
    from windtunnel.models.losses import independent_window
    from windtunnel.models.sawteeth import C_RENO, RENO

    assert independent_window(RENO) == pytest.approx(1.3098, abs=5e-5)
    packets, w, rounds = np.random.default_rng(1).exponential(1.0, 100_000), 1.0, 0.0
    for n in packets:
        peak = math.sqrt((C_RENO.b * w) ** 2 + 2.0 * C_RENO.a * n)
        rounds, w = rounds + (peak - C_RENO.b * w) / C_RENO.a, peak
    assert independent_window(C_RENO) == pytest.approx(packets.sum() / rounds, rel=0.01)


def test_windows_with_every_nth_packet_lost() -> None:
    """Reno's is sqrt(3/2) (Mathis et al., 1997); those of the formula's flows are the same."""
    from windtunnel.models.losses import periodic_window
    from windtunnel.models.sawteeth import RENO
    from windtunnel.papers.aimd.numbers import friendly

    assert periodic_window(RENO) == pytest.approx(math.sqrt(1.5))
    assert [periodic_window(friendly(b)) for b in (0.6, 0.7, 0.9)] == pytest.approx([math.sqrt(1.5)] * 3)


@pytest.mark.parametrize(("a", "b", "p"), [(1.0, 0.5, 0.01), (0.2, 0.875, 0.03), (0.158, 0.9, 0.1), (2.0, 0.7, 0.02)])
def test_windows_in_whole_packets(a: float, b: float, p: float) -> None:
    """The model's mean equals that of a packet-by-packet simulation of windows that grow and fall in whole packets."""
    from windtunnel.models.losses import whole_packet_window
    from windtunnel.models.sawteeth import Aimd

    lost = np.random.default_rng(1).random(1_000_000) < p
    packets = rounds = 0.0
    w, credit = 2, 0
    for hit in lost.tolist():
        packets, rounds = packets + 1, rounds + 1 / w
        credit += 1
        if hit:
            w, credit = max(2, math.floor(b * w + 1e-9)), 0
            packets, rounds = packets + w, rounds + 1
        elif credit >= w / a:
            w, credit = w + 1, 0
    assert whole_packet_window(Aimd(a, b), p) == pytest.approx(packets / rounds, rel=0.01)


def test_whole_packets_cost_the_smooth_flow_most() -> None:
    """Rounding hardly matters for windows of hundreds of packets; at 5 % loss it costs the smaller reduction more."""
    from windtunnel.models.losses import independent_window, whole_packet_window
    from windtunnel.models.sawteeth import RENO
    from windtunnel.papers.aimd.numbers import friendly
    from windtunnel.papers.aimd.red import predicted_ratio

    smooth = independent_window(friendly(0.9)) / independent_window(RENO)
    assert predicted_ratio(0.9, 1e-4) == pytest.approx(smooth, rel=0.05)
    assert predicted_ratio(0.9, 0.05) < predicted_ratio(0.7, 0.05) < 0.9
    assert whole_packet_window(RENO, 0.05) < independent_window(RENO) / math.sqrt(0.05)


# --- The data --------------------------------------------------------------------------------------------------------


def test_claims_are_complete() -> None:
    """P49 to P54, and three from other lists, each have a number and a reason; expressions name measured quantities."""
    claims = toml("claims.toml")["claim"]
    ids = set(select(whole(), ["claims"]))
    assert {id[:3] for id in ids} == {f"P{n}" for n in range(49, 55)} | {"J27", "J29", "K84"}
    assert {c["id"] for c in claims} | {"P49a", "P49b"} | {f"P54{x}" for x in "abcdef"} | {"J27", "K84"} == ids
    for claim in claims:
        assert names(claim["value"]) == set(claim["quantities"]), claim["id"]
        assert len({"near", "above", "below"} & set(claim["expected"])) == 1
        assert claim["expected"]["why"]


def test_the_reference_is_complete() -> None:
    """Thirty cells of the Linux reference: two queues, three rates, five RTTs; CUBIC and Reno add up to the link."""
    lines = read_lines()
    assert len({(line.queue, line.rate_mbps, line.rtt_ms) for line in lines}) == len(lines) == 30
    for line in lines:
        assert 1.5 < float(line.printed["f1_norm_mean"]) + float(line.printed["f2_norm_mean"]) < 2.01


def test_no_scenario_file_lies_idle() -> None:
    """Every scenario file of the suite is run by it."""
    assert {p.stem for p in (ROOT / "scenarios").glob("*.toml")} == {c.template.name for c in whole().cells.values()}


@pytest.mark.parametrize("quick", [True, False])
def test_every_measurement_has_a_method(quick: bool) -> None:
    """A misspelt method or a wrong number of arguments is found without a run."""
    import inspect

    for cell in aimd.suite(quick=quick).cells.values():
        assert cell.measurements
        for measurement in cell.measurements:
            name, arguments = parse(measurement.method)
            inspect.signature(METHODS[name]).bind(None, *arguments)


def test_runs_differ_in_their_start() -> None:
    """The twins of a cell start the second group at other times; the cost of the whole suite is bounded."""
    cell = whole().cells["fig4/40Mbps-10ms"]
    plain, *twins = list(cell.variants())
    assert not any("start" in setting for setting in plain)
    assert [t[-1] for t in twins] == [f'flow.1.start="{ms} ms"' for ms in TWIN_STARTS_MS]
    packets = sum(c.packets * (1 + len(c.twins)) for c in whole().cells.values())
    assert packets < 1.65e9
    quick = sum(c.packets * (1 + len(c.twins)) for c in aimd.suite(quick=True).cells.values())
    assert quick < 2.6e8


def test_names_of_groups() -> None:
    """Kinds of groups, and letters left out."""
    assert select(whole(), ["fig7", "P52"]) == ["fig7a", "fig7b", "P52a", "P52b"]
    assert select(whole(), ["models"])[:3] == ["formula", "fig1", "fig2"]


# --- From made-up runs to rows and pictures --------------------------------------------------------------------------


def made_up(suite: Suite, value: Callable[[Cell, Measurement, int], float]) -> Results:
    """Outcomes of every run of the suite, without a run."""
    outcomes = [
        Outcome(cell.name, k, tuple(value(cell, m, k) for m in cell.measurements), {}, 0.0, 0, "")
        for cell in suite.cells.values()
        for k in range(1 + len(cell.twins))
    ]
    return Results(suite.cells, outcomes)


def red_rate(cell: Cell, measurement: Measurement) -> float:
    """Reno's law with n = 1001; with windows in whole packets AIMD gets less, and less than half with b = 0.9."""
    reno = math.sqrt(1.5 * 1001) * models.MSS * 8e-6 / 0.05
    whole = not any("per-ack" in setting for setting in cell.settings) and "doubled" not in cell.name
    short = 0.45 if "-0.9-" in cell.name else 0.8
    return reno * (short if whole and measurement.flow.startswith("0") else 1.0)


def footnote_6(cell: Cell) -> float:
    """The amplitude with n flows over that of one: 1 with tail drop, 1/sqrt(n) with PIE."""
    queue, _, n = cell.name.removeprefix("amplitude/").rpartition("-")
    return 1.0 / math.sqrt(int(n)) if queue == "pie" else 1.0


def plausible(cell: Cell, measurement: Measurement, k: int) -> float:
    """Rates near 1, or 15:1 in figure 3's corner; a little different in each run."""
    name, arguments = parse(measurement.method)
    jitter = ((zlib.crc32(f"{cell.name}{measurement.flow}".encode()) + 7 * k) % 11 - 5) / 100
    if name == "steady_from":
        return 20.0
    if name == "steady_friendly":
        return math.nan
    if name == "loss_share":
        return 0.05
    if cell.name.startswith("red/"):
        return red_rate(cell, measurement)
    if cell.name.startswith("amplitude/"):
        return 5.0 * footnote_6(cell)
    if cell.name.startswith("disturbed/"):
        return (0.98 if measurement.flow == "0" else 0.8) + jitter / 100
    if cell.name.startswith("alone/"):
        return 1.0 if "plain" in cell.name else (0.7 if "reno" in cell.name else 0.9) + jitter / 100
    if name == "queue_growth":
        return 1.53 + jitter / 100
    if name == "rate_elasticity":
        return (-0.4 if measurement.flow == "0" else 0.2) + jitter
    bloated = cell.name.startswith("fig3/") and cell.name.endswith("200Mbps-100ms")
    mean = {"0": 1.875, "1": 0.125}[measurement.flow] if bloated else 1.0 + jitter
    if name.endswith("quantile"):
        return mean * (0.7 if float(arguments[0]) < 0.5 else 1.4)
    return mean


def pictures(suite: Suite, results: Results) -> dict[str, bytes]:
    return {g.id: png for g in suite.groups if (png := g.png(results)) is not None}


@pytest.mark.parametrize("quick", [True, False])
def test_rows_and_pictures(quick: bool, tmp_path: Path) -> None:
    """Each group gives its rows with unique ids and its picture; a page can be made of them."""
    from windtunnel.report.suite_page import write_suite_page

    suite = aimd.suite(quick=quick)
    results = made_up(suite, plausible)
    rows = [row for g in suite.groups for row in g.rows(results)]
    assert len({row.id for row in rows}) == len(rows)
    drawn = pictures(suite, results)
    expected = {g.id for g in suite.groups if g.id.startswith("fig")} | {"markov", "red", "J27"}
    assert set(drawn) == expected
    assert all(png.startswith(b"\x89PNG") for png in drawn.values())
    write_suite_page(tmp_path / "s.html", title=suite.title, notes_html="", rows=rows, figures=[])
    assert (tmp_path / "s.html").stat().st_size > 50_000


def test_verdicts_follow_the_runs() -> None:
    """With rates near 1 and 15:1 in one corner everything that is judged agrees, except for the Linux reference."""
    results = made_up(whole(), plausible)
    judged = [r for g in whole().groups if g.id not in ("linux", "fig5") for r in g.rows(results)]
    bad = {r.id for r in judged if r.verdict == "outside"}
    # A shallow buffer lowers real rates, but not the made-up ones.
    assert {id for id in bad if not id.startswith(("markov/", "P52a"))} == set()
    assert rows_of("P49a", results)["P49a"].measured == pytest.approx(15.0)
    assert "200 Mbit/s, 100 ms" in rows_of("P49a", results)["P49a"].note


@pytest.mark.parametrize(
    ("cubic", "reno", "verdict"),
    [
        ([0.98] * 8, [0.80] * 8, "within"),
        # The mean falls, but not by more than chance explains.
        ([0.98] * 8, [0.80, 1.15, 0.80, 1.15, 0.80, 1.15, 0.80, 1.10], "outside"),
        ([0.80] * 8, [1.00] * 8, "outside"),
    ],
)
def test_a_disturbance_counts_beyond_chance(cubic: list[float], reno: list[float], verdict: str) -> None:
    """Undisturbed rates are 1, disturbed ones differ: Reno's share falls if its mean falls by two standard errors."""

    def value(cell: Cell, measurement: Measurement, k: int) -> float:
        if not cell.name.startswith("disturbed/"):
            return 1.0
        return (cubic if measurement.flow == "0" else reno)[k]

    rows = rows_of("K84", made_up(whole(), value))
    row = rows["K84/40Mbps-100ms/share"]
    assert row.verdict == verdict
    shares = [r / (c + r) for c, r in zip(cubic, reno, strict=True)]
    assert row.measured == pytest.approx(np.mean(shares) - 0.5)
    assert row.interval == pytest.approx((min(shares) - 0.5, max(shares) - 0.5))
    # CUBIC is Reno-friendly throughout: nothing to judge.
    assert rows["K84/40Mbps-5ms/share"].verdict == "info"


def starving_over_red(cell: Cell, measurement: Measurement) -> float:
    """Whole packets: 1.9 : 1 over RED at 0.1 % loss and 1 : 1 over the dropper. Bytes: 1.5 : 1 over both."""
    first = 0.0 if measurement.method == "loss_share()" else 1.0
    if not measurement.flow.startswith("0"):
        return 1e-3 if measurement.flow.startswith("queue") else 1.0
    in_bytes = any("per-ack" in setting for setting in cell.settings)
    return first + (0.5 if in_bytes else 0.0 if "dropper" in cell.name else 0.9)


def starving(cell: Cell, measurement: Measurement, k: int) -> float:
    """Flow 1 gets half of flow 0's rate, and nothing in its worst seconds."""
    name, arguments = parse(measurement.method)
    if cell.name.startswith("red/"):
        return starving_over_red(cell, measurement)
    if cell.name.startswith("amplitude/"):
        # The opposite of the expectation: desynchronized flows add up, and synchronized ones cancel out.
        n = int(cell.name.rpartition("-")[2])
        return 5.0 * n**0.5 if "pie" in cell.name else 5.0 / n**0.5
    if cell.name.startswith("disturbed/"):
        return 1.4 if measurement.flow == "0" else 0.5
    if cell.name.startswith("alone/"):
        return 1.0 if "reno" in cell.name else 0.8
    if name == "rate_elasticity":
        return 0.3 if measurement.flow == "0" else -0.3
    if measurement.flow == "1":
        return 0.0 if name.endswith("quantile") and float(arguments[0]) < 0.5 else 0.5
    return 1.5 if name != "steady_ratio_quantile" else float(arguments[0])


@pytest.mark.parametrize(
    "id",
    [
        *("P49a", "P49b", "P50", "P51", "P52a", "P53a", "P53b", "markov/tail-drop-0.7", "fig4/4Mbps-5ms/reno"),
        *("P54a", "P54b", "P54c", "P54d", "P54e", "P54f"),
        *("J29a", "J29b", "J27/tail-drop-16", "J27/pie-2", "J27/less-4"),
        *("K84/40Mbps-100ms/kept", "K84/40Mbps-100ms/share", "K84/40Mbps-100ms/alone"),
    ],
)
def test_verdicts_can_fail(id: str) -> None:
    """Runs in which Reno starves, rates differ, and slopes are reversed fail each of the checks."""
    results = made_up(whole(), starving)
    found: Sequence[Row] = [r for g in whole().groups for r in g.rows(results) if r.id == id]
    assert [r.verdict for r in found] == ["outside"]


# --- From end to end -------------------------------------------------------------------------------------------------


def test_the_models_are_reproduced(tmp_path: Path) -> None:
    """The part of the suite that needs no run: folder, page and pictures."""
    out, shown = tmp_path / "out", io.StringIO()
    console = Console(file=shown, width=160)
    assert reproduce("aimd", only=["models"], quick=False, out=out, jobs=1, console=console) == 0
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    assert rows["formula/eq6"]["verdict"] == "info"
    assert "published value agrees" in rows["formula/eq6"]["note"]
    names_of = {p.name for p in out.rglob("*") if p.is_file()}
    assert names_of == {"report.html", "rows.csv", "rows.json", "fig1.png", "fig2.png", "fig5.png"}
    assert "Markov chain" in (out / "report.html").read_text()


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every cell, as it is and with its last start offset, passes the core's own checks."""
    for cell in aimd.suite(quick=quick).cells.values():
        variants = list(cell.variants())
        for overrides in (variants[0], variants[-1]):
            _core.check(cell.template.text, f"{cell.template.name}.toml", overrides)


def test_a_short_run_has_what_the_measurements_need() -> None:
    """Every measurement of a cell of each scenario file gives a number after 80 s of simulated time: the sawteeth that
    are seen in detail count from 60 s on.
    """
    seen: set[str] = set()
    for cell in whole().cells.values():
        if cell.template.name in seen or cell.packets > 2e6:
            continue
        seen.add(cell.template.name)
        job = jobs_of(cell, None)[0]
        outcome = execute(replace(job, overrides=(*job.overrides, 'duration="80 s"'), pictures=()))
        assert outcome.error == ""
        assert all(math.isfinite(v) for v in outcome.values), cell.name
    assert seen == {c.template.name for c in whole().cells.values()}
