"""The suite of "Friendliness between AIMD Algorithms": numbers, data, and rows and pictures from made-up runs."""

import io
import json
import math
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from windtunnel import _core, models
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.measures.language import call_of
from windtunnel.papers import aimd, reproduce, select
from windtunnel.papers.aimd import geometry, modes
from windtunnel.papers.aimd.linux import read_lines
from windtunnel.papers.aimd.plan import TWIN_STARTS_MS
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.features import METHODS
from windtunnel.papers.jobs import JobResult, execute, jobs_of
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Results, Suite


@cache
def whole() -> Suite:
    return aimd.suite(quick=False)


# --- Figures of the model --------------------------------------------------------------------------------------------


def test_names_of_parts() -> None:
    """A letter belongs to a number: 7a and 7b are figure 7, but RED is no part of something called r."""
    aliases = whole().aliases
    assert aliases["fig7"] == ["fig7a", "fig7b"]
    assert not {"r", "formul"} & aliases.keys()


def test_the_modes_are_those_that_the_text_tells() -> None:
    """No cell of figure 3 is Reno-friendly (section 3.1.3); 40 Mbit/s, 10 ms over PIE is (section 3.2.1)."""
    from windtunnel.papers.aimd.paths import GRIDS, RATES, RTTS

    bloated, tuned, pie = GRIDS
    assert {bloated.mode(rate, rtt) for rate in RATES for rtt in RTTS} == {"CUBIC"}
    assert sum(tuned.mode(rate, rtt) != "CUBIC" for rate in RATES for rtt in RTTS) > 12
    assert pie.mode(40, 10) == "Reno-friendly"
    # "It turned out that using any feasible estimate didn't change whether CUBIC was in transition" (footnote 8).
    assert {modes.mode(40, 0.010, q) for q in (0.010, 0.015, 0.020)} == {"Reno-friendly"}


def test_the_equation_of_the_switch_over_rtt() -> None:
    """At its RTT a straight line from b W to W and the cubic function take equally long, by their definitions.

    (1 - b) W / a round trips of R seconds, and K = cbrt((1 - b) W / C) of RFC 9438 (a = 9/17, b = 0.7, C = 0.4), with
    W = r R. A third of K: RTTs are shorter by 3^(3/5). The text's statements about figure 3 and 40 Mbit/s hold, too.
    """
    from windtunnel.papers.aimd.paths import GRIDS, RATES, RTTS

    for rate in (150.0, 4e3, 1e6):
        rtt = float(models.cubic_switch_rtt(rate))
        window = rate * rtt
        assert 0.3 * window / (9 / 17) * rtt == pytest.approx((0.3 * window / 0.4) ** (1 / 3))
        assert rtt / float(models.cubic_switch_rtt(rate, 1 / 3)) == pytest.approx(3 ** (3 / 5))
    # Of two flows with equal mean rates, 15/32 of the packets at the peak are CUBIC's (equation 8).
    assert modes.switch_rtts(40)[1] == pytest.approx(float(models.cubic_switch_rtt(15 / 32 * 40e6 / 12112)))
    bloated, _, pie = GRIDS
    assert {bloated.mode_by_equation(rate, rtt) for rate in RATES for rtt in RTTS} == {"CUBIC"}
    assert pie.mode_by_equation(40, 10) == "Reno-friendly"
    # The equation's sawtooth is the longer one: its mode is never nearer to Reno's than the formula's.
    order = ("Reno-friendly", "mixed", "CUBIC")
    for grid in GRIDS:
        for path in ((rate, rtt) for rate in RATES for rtt in RTTS):
            assert order.index(grid.mode_by_equation(*path)) >= order.index(grid.mode(*path)), path


def test_the_slip_in_the_list_of_two_losses() -> None:
    """R14: the report prints (15/32)^2 as p_rc; the row says that p_cc is meant, and its number agrees."""
    row = rows_of("losses")["losses/two-c-reno"]
    assert row.verdict == "agrees" and "p_cc" in row.note


def test_the_mode_of_a_run() -> None:
    """The label follows from the share of time in the Reno-friendly region."""
    assert [modes.mode_of_share(s) for s in (1.0, 0.5, 0.0)] == ["Reno-friendly", "mixed", "CUBIC"]


def rows_of(id: str, results: Results | None = None) -> dict[str, Row]:
    group = next(g for g in whole().groups if g.id == id)
    return {row.id: row for row in group.rows(results or Results([]))}


def test_the_models_rows_need_no_run() -> None:
    """All printed numbers of formulas and figures 1, 2 and 5 agree but one, whose difference the notes explain."""
    rows = [row for id in ("formula", "losses", "fig1", "fig2", "fig5") for row in rows_of(id).values()]
    assert [row.id for row in rows if row.verdict == "differs"] == ["fig5/middle_share"]
    assert rows_of("fig5")["fig5/later_share"].measured == pytest.approx(50.9, abs=0.05)
    assert sum(row.verdict == "agrees" for row in rows) >= 25


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
    claims = AIMD.toml("claims.toml")["claim"]
    ids = set(select(whole(), ["claims"]))
    assert {id[:3] for id in ids} == {f"P{n}" for n in range(49, 55)} | {"J27", "J29", "K84"}
    assert {c["id"] for c in claims} | {"P49a", "P49b"} | {f"P54{x}" for x in "abcdef"} | {"J27", "K84"} == ids
    for claim in claims:
        assert Expression.of_names(claim["value"]).names == set(claim["quantities"]), claim["id"]
        assert len({"near", "above", "below", "word"} & set(claim["expected"])) == 1
        assert claim["expected"].get("why") or "word" in claim["expected"]


def test_the_reference_is_complete() -> None:
    """Thirty cells of the Linux reference: two queues, three rates, five RTTs; CUBIC and Reno add up to the link."""
    lines = read_lines()
    assert len({(line.queue, line.rate_mbps, line.rtt_ms) for line in lines}) == len(lines) == 30
    for line in lines:
        assert 1.5 < float(line.printed["f1_norm_mean"]) + float(line.printed["f2_norm_mean"]) < 2.01


def test_the_reference_has_three_decimals() -> None:
    """Each normalised rate has its trailing zeros, so that its precision is half a thousandth. The row's own quotient,
    which was rounded apart from them, confirms it: no row's means, taken to be that exact, contradict it.
    """
    half = 0.0005
    for line in read_lines():
        shown = {k: v for k, v in line.printed.items() if "_norm_" in k or k == "rate_ratio_f1_f2"}
        assert len(shown) == 7
        assert all(len(v.partition(".")[2]) == 3 for v in shown.values())
        cubic, reno = (float(shown[f"{flow}_norm_mean"]) for flow in ("f1", "f2"))
        low, high = (cubic - half) / (reno + half) - half, (cubic + half) / (reno - half) + half
        assert low <= float(shown["rate_ratio_f1_f2"]) <= high, line.id


def test_published_is_what_the_report_prints() -> None:
    """Numbers of the real stack and of this project's own chain are in a column of their own, with their source."""
    results = Results([])
    for group, sources in (("linux", {"Linux 6.12", "chance alone"}), ("markov", {"Markov chain"})):
        rows = [r for g in whole().groups if g.id == group for r in g.rows(results)]
        assert {row.source for row in rows} == sources
        assert all(row.published is None and row.reference is not None for row in rows)
        assert all(row.note.startswith(f"{row.source}: ") for row in rows)
    assert {r.source for g in whole().groups if g.id not in ("linux", "markov") for r in g.rows(results)} == {""}


def test_no_scenario_file_lies_idle() -> None:
    """Every scenario file of the suite is run by it."""
    assert {p.stem for p in (AIMD.root / "scenarios").glob("*.toml")} == {
        c.template.name for c in whole().setups.values()
    }


@pytest.mark.parametrize("quick", [True, False])
def test_every_measurement_has_a_method(quick: bool) -> None:
    """A misspelt method or a wrong number of arguments is found without a run."""
    import inspect

    for setup in aimd.suite(quick=quick).setups.values():
        assert setup.measurements
        for measurement in setup.measurements:
            name, arguments = call_of(measurement.method)
            inspect.signature(METHODS[name]).bind(None, *arguments)


def test_runs_differ_in_their_start() -> None:
    """The twins of a setup start the second group at other times; the cost of the whole suite is bounded."""
    setup = whole().setups["fig4/40Mbps-10ms"]
    plain, *twins = list(setup.variants())
    assert not any("start" in setting for setting in plain)
    assert [t[-1] for t in twins] == [f'flow.1.start="{ms} ms"' for ms in TWIN_STARTS_MS]
    packets = sum(c.packets * (1 + len(c.twins)) for c in whole().setups.values())
    assert packets < 1.65e9
    quick = sum(c.packets * (1 + len(c.twins)) for c in aimd.suite(quick=True).setups.values())
    assert quick < 2.6e8


def test_names_of_groups() -> None:
    """Kinds of groups, and letters left out."""
    assert select(whole(), ["fig7", "P52"]) == ["fig7a", "fig7b", "P52a", "P52b"]
    assert select(whole(), ["models"])[:3] == ["formula", "fig1", "fig2"]


# --- From made-up runs to rows and pictures --------------------------------------------------------------------------


def made_up(suite: Suite, value: Callable[[Setup, Measurement, int], float]) -> Results:
    """Outcomes of every run of the suite, without a run."""
    outcomes = [
        JobResult(setup.name, k, tuple(value(setup, m, k) for m in setup.measurements), {}, 0.0, 0, "")
        for setup in suite.setups.values()
        for k in range(1 + len(setup.twins))
    ]
    return Results(outcomes)


def red_rate(setup: Setup, measurement: Measurement) -> float:
    """Reno's law with n = 1001; with windows in whole packets AIMD gets less, and less than half with b = 0.9."""
    reno = math.sqrt(1.5 * 1001) * models.MSS * 8e-6 / 0.05
    whole = not any("per-ack" in setting for setting in setup.settings) and "doubled" not in setup.name
    short = 0.45 if "-0.9-" in setup.name else 0.8
    return reno * (short if whole and measurement.flow.startswith("0") else 1.0)


def footnote_6(setup: Setup) -> float:
    """The amplitude with n flows over that of one: 1 with tail drop, 1/sqrt(n) with PIE."""
    queue, _, n = setup.name.removeprefix("amplitude/").rpartition("-")
    return 1.0 / math.sqrt(int(n)) if queue == "pie" else 1.0


def plausible(setup: Setup, measurement: Measurement, k: int) -> float:
    """Rates near 1, or 15:1 in figure 3's corner; a little different in each run."""
    name, arguments = call_of(measurement.method)
    jitter = ((zlib.crc32(f"{setup.name}{measurement.flow}".encode()) + 7 * k) % 11 - 5) / 100
    if name == "steady_from":
        return 20.0
    if name == "steady_friendly":
        return math.nan
    if name == "loss_share":
        return 0.05
    if setup.name.startswith("red/"):
        return red_rate(setup, measurement)
    if setup.name.startswith("amplitude/"):
        return 5.0 * footnote_6(setup)
    if setup.name.startswith("disturbed/"):
        return (0.98 if measurement.flow == "0" else 0.8) + jitter / 100
    if setup.name.startswith("alone/"):
        return 1.0 if "plain" in setup.name else (0.7 if "reno" in setup.name else 0.9) + jitter / 100
    if name == "queue_growth":
        return 1.53 + jitter / 100
    if name == "rate_elasticity":
        return (-0.4 if measurement.flow == "0" else 0.2) + jitter
    bloated = setup.name.startswith("fig3/") and setup.name.endswith("200Mbps-100ms")
    mean = {"0": 1.875, "1": 0.125}[measurement.flow] if bloated else 1.0 + jitter
    if name.endswith("quantile"):
        return mean * (0.7 if float(arguments[0]) < 0.5 else 1.4)
    return mean


def pictures(suite: Suite, results: Results) -> dict[str, bytes]:
    return {g.id: png for g in suite.groups if (png := g.png(results)) is not None}


@pytest.mark.parametrize("quick", [True, False])
def test_rows_and_pictures(quick: bool, tmp_path: Path) -> None:
    """Each group gives its rows with unique ids and its picture; a page can be made of them."""
    from windtunnel.papers.suite_page import write_suite_page

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
    bad = {r.id for r in judged if r.verdict == "differs"}
    # A shallow buffer lowers real rates, but not the made-up ones.
    assert {id for id in bad if not id.startswith(("markov/", "P52a"))} == set()
    assert rows_of("P49a", results)["P49a"].measured == pytest.approx(15.0)
    assert "200 Mbit/s, 100 ms" in rows_of("P49a", results)["P49a"].note


@pytest.mark.parametrize(
    ("cubic", "reno", "verdict"),
    [
        ([0.98] * 8, [0.80] * 8, "agrees"),
        # The mean falls, but not by more than chance explains.
        ([0.98] * 8, [0.80, 1.15, 0.80, 1.15, 0.80, 1.15, 0.80, 1.10], "differs"),
        ([0.80] * 8, [1.00] * 8, "differs"),
    ],
)
def test_a_disturbance_counts_beyond_chance(cubic: list[float], reno: list[float], verdict: str) -> None:
    """Undisturbed rates are 1, disturbed ones differ: Reno's share falls if its mean falls by two standard errors."""

    def value(setup: Setup, measurement: Measurement, k: int) -> float:
        if not setup.name.startswith("disturbed/"):
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


def starving_over_red(setup: Setup, measurement: Measurement) -> float:
    """Whole packets: 1.9 : 1 over RED at 0.1 % loss and 1 : 1 over the dropper. Bytes: 1.5 : 1 over both."""
    first = 0.0 if measurement.method == "loss_share()" else 1.0
    if not measurement.flow.startswith("0"):
        return 1e-3 if measurement.flow.startswith("queue") else 1.0
    in_bytes = any("per-ack" in setting for setting in setup.settings)
    return first + (0.5 if in_bytes else 0.0 if "dropper" in setup.name else 0.9)


def starving(setup: Setup, measurement: Measurement, k: int) -> float:
    """Flow 1 gets half of flow 0's rate, and nothing in its worst seconds."""
    name, arguments = call_of(measurement.method)
    if setup.name.startswith("red/"):
        return starving_over_red(setup, measurement)
    if setup.name.startswith("amplitude/"):
        # The opposite of the expectation: desynchronized flows add up, and synchronized ones cancel out.
        n = int(setup.name.rpartition("-")[2])
        return 5.0 * n**0.5 if "pie" in setup.name else 5.0 / n**0.5
    if setup.name.startswith("disturbed/"):
        return 1.4 if measurement.flow == "0" else 0.5
    if setup.name.startswith("alone/"):
        return 1.0 if "reno" in setup.name else 0.8
    if name == "rate_elasticity":
        return 0.3 if measurement.flow == "0" else -0.3
    if measurement.flow == "1":
        return 0.0 if name.endswith("quantile") and float(arguments[0]) < 0.5 else 0.5
    return 1.5 if name != "steady_ratio_quantile" else float(arguments[0])


@cache
def starved() -> list[Row]:
    """All rows where Reno starves, made once."""
    results = made_up(whole(), starving)
    return [row for group in whole().groups for row in group.rows(results)]


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
    assert [row.verdict for row in starved() if row.id == id] == ["differs"]


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
    """Every setup, as it is and with its last start offset, passes the core's own checks."""
    for setup in aimd.suite(quick=quick).setups.values():
        variants = list(setup.variants())
        for overrides in (variants[0], variants[-1]):
            _core.check(setup.template.text, f"{setup.template.name}.toml", overrides)


def test_a_short_run_has_what_the_measurements_need() -> None:
    """Every measurement of a setup of each scenario file gives a number after 80 s of simulated time: the sawteeth that
    are seen in detail count from 60 s on.
    """
    seen: set[str] = set()
    for setup in whole().setups.values():
        if setup.template.name in seen or setup.packets > 2e6:
            continue
        seen.add(setup.template.name)
        job = jobs_of(setup, None)[0]
        outcome = execute(replace(job, overrides=(*job.overrides, 'duration="80 s"'), pictures=()))
        assert outcome.error == ""
        assert all(math.isfinite(v) for v in outcome.values), setup.name
    assert seen == {c.template.name for c in whole().setups.values()}
