"""The suite of the talk: its data, its commands, its formulas, figures from made-up runs, and parts from end to end."""

import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from windtunnel import _core
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.measures.language import call_of
from windtunnel.flowgrind import Line, read_script
from windtunnel.papers import reproduce, select, talk
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.features import METHODS, Axis, RunData, View, evaluate
from windtunnel.papers.features.probes import find_probes
from windtunnel.papers.features.transients import moving_average
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.suite import Results, Suite
from windtunnel.papers.talk import bbr, bbr_figure, claims, numbers, responses
from windtunnel.papers.talk.controllers import available, catalogue, missing, registered
from windtunnel.papers.talk.plan import BUFFER_PACKETS, KINDS, command


@cache
def whole() -> Suite:
    return talk.suite(quick=False)


def flat_series(flows: int) -> Excerpt:
    """Time series of flows that send 8 Mbit/s each."""
    time = np.arange(0.1, 100.01, 0.1)
    excerpt = {"time_s": time, "queue_packets": np.ones(len(time)), "overflows": np.array([3.0, 30.0])}
    for flow in range(flows):
        for name, value in (("mbps", 8.0), ("cwnd", 80.0), ("ssthresh", 40.0), ("rtt_ms", 110.0)):
            excerpt[f"{name}/{flow}"] = np.full(len(time), value)
    return excerpt


@cache
def made_up() -> Results:
    """Three runs of every setup whose values are 1 to 3, with flat time series."""
    series = flat_series(5)
    outcomes = [
        JobResult(
            setup.name, k, (1.0 + k,) * len(setup.measurements), {}, 0.1, 1, "", excerpt=series if k == 0 else None
        )
        for setup in whole().setups.values()
        for k in range(3)
    ]
    return Results(outcomes)


# --- The data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last seed, passes the core's own checks."""
    for setup in talk.suite(quick=quick).setups.values():
        variants = list(setup.variants())
        for overrides in {variants[0], variants[-1]}:
            _core.check(setup.template.text, f"{setup.template.name}.toml", overrides)


def test_no_scenario_file_lies_idle() -> None:
    """Every scenario file of the suite is run by it or by a claim about a controller that another build has."""
    used = {setup.template.name for setup in whole().setups.values()} | {arm["scenario"] for arm in claims.arms()}
    assert {p.stem for p in (TALK.root / "scenarios").glob("*.toml")} <= used


def test_the_catalogue_names_all_of_the_talks_controllers() -> None:
    """Those of its loops are in it once; what this build lacks is named by a group of its own."""
    listed = [c.name for c in catalogue()]
    assert len(set(listed)) == len(listed)
    loops = {line.command.flows[0].cc for script in ("one", "five", "friendly") for line in lines_of(script)}
    assert loops <= set(listed)
    assert {c.name for c in available()} | {c.name for c in missing()} == set(listed)
    assert {"reno", "cubic", "scalable", "tahoe"} <= {c.name for c in available()}
    assert ("missing" in {g.id for g in whole().groups}) == bool(missing())


def lines_of(script: str) -> list[Line]:
    return read_script(TALK.text(f"flowgrind/{script}.sh"), {"cong": "reno"})


def test_printed_counts_are_of_controllers_of_the_catalogue() -> None:
    """Seven slides print a count of overflows; NewReno's is 3 of 797 thousand packets."""
    counts = {row["controller"]: row for row in TALK.table("collateral.csv")}
    assert set(counts) <= {c.name for c in catalogue()}
    assert len(counts) == 7
    assert (counts["reno"]["overflows"], counts["reno"]["packets_thousands"]) == ("3", "797")


def test_claims_are_complete() -> None:
    """P35 to P48 are there (P47 is a number); expressions name what is measured, methods exist, bounds have reasons."""
    every = [e for theme in claims.THEMES for e in TALK.toml(f"claims/{theme}.toml")["experiment"]]
    assert {e["id"] for e in every} == {f"P{n}" for n in range(35, 49)} - {"P47"}
    arms = {arm["name"] for arm in claims.arms()}
    for experiment in every:
        for check in experiment["check"]:
            assert Expression.of_names(check["value"]).names == set(check["of"]), (experiment["id"], check["id"])
            assert check.get("why") or "word" in check.get("expect", {})
            for arm, _, method in check["of"].values():
                assert "$" in arm or arm in arms
                assert call_of(method)[0] in METHODS


def test_arms_of_missing_controllers_are_valid_scenarios() -> None:
    """Every arm of every claim passes the core's checks, with Reno for controllers that this build does not have."""
    for arm in claims.arms():
        settings = list(arm.get("set", ()))
        for controller in missing():
            settings = [s.replace(f'"{controller.name}"', '"reno"') for s in settings]
        _core.check(TALK.template(arm["scenario"]).text, arm["name"], settings)


def test_claims_about_missing_controllers_are_left_out() -> None:
    """A claim is there exactly if its controllers are; so is a check that needs one."""
    ids = {g.id for g in whole().groups}
    for theme in claims.THEMES:
        for experiment in TALK.toml(f"claims/{theme}.toml")["experiment"]:
            assert (experiment["id"] in ids) == (set(experiment.get("needs", ())) <= registered())


def test_names_of_parts() -> None:
    """All galleries, all claims, one group."""
    assert select(whole(), ["gallery"]) == [f"gallery-{c.slug}" for c in available()]
    assert "P38" in select(whole(), ["claims"])
    assert select(whole(), ["knee"]) == ["knee"]


# --- The talk's commands ----------------------------------------------------------------------------------------------


def test_setups_are_what_the_talks_commands_say() -> None:
    """One stream of 60 s; two of 90 s; five of 90 s; five that start ten seconds apart and end ten seconds apart."""
    one, friendly, five, displaced, loss = (command(kind.script, "scalable") for kind in KINDS)
    assert [(f.cc, f.delay_s, f.duration_s) for f in one.flows] == [("scalable", 0, 60)] and loss == one
    assert [(f.cc, f.duration_s) for f in friendly.flows] == [("scalable", 90), ("reno", 90)]
    assert [(f.cc, f.duration_s) for f in five.flows] == [("scalable", 90)] * 5
    assert [(f.delay_s, f.duration_s) for f in displaced.flows] == [(10 * k, 100 - 20 * k) for k in range(5)]
    assert BUFFER_PACKETS == 240


# --- Formulas ---------------------------------------------------------------------------------------------------------


def test_numbers_of_the_slides() -> None:
    """J06 to J08 and P47 by hand: 8333 packets fill 1 Gbit/s and 100 ms; 12 packets per round trip at 1 % loss."""
    assert numbers.pipe_packets(1e9, 0.1) == pytest.approx(8333.3, abs=0.1)
    assert numbers.reno_loss_for(1e9, 0.1) == pytest.approx((1.2 / 8333.33) ** 2, rel=1e-6)
    assert numbers.reno_rate_mbps(0.01, 0.1) == pytest.approx(12 * 1448 * 8 / 0.1 / 1e6)
    assert numbers.bbr_rate_bps(1, 1500) == pytest.approx(12e9 / 2**24)
    rows = {row.id: row.verdict for row in numbers.numbers_group().rows(Results([]))}
    assert rows.pop("numbers/J07") == "differs", "slip R11"
    assert rows.pop("numbers/P47-high") == "differs", "2.97 is printed as 2.9"
    assert set(rows.values()) == {"agrees"}


def test_response_functions_have_the_specifications_values() -> None:
    """Every vector of docs/spec/congestion-control.md section 3 that the suite lists."""
    rows = responses.responses_groups({}, quick=True)[0].rows(Results([]))
    assert len(rows) == len(TALK.toml("responses.toml")["vector"])
    assert {row.verdict for row in rows} == {"agrees"}


# --- Features ---------------------------------------------------------------------------------------------------------


def test_probes_are_found_in_a_made_up_rate() -> None:
    """A cycle of eight phases with a pause between cycles, noise of 5 %, and no probe where the rate is constant."""
    rng, step, rtt = np.random.default_rng(1), 0.01, 0.1
    gains = np.tile(np.repeat([1.25, 0.75, 1, 1, 1, 1, 1, 1], 10), 8)
    time = step * (1 + np.arange(len(gains)))
    probes = find_probes(time, gains + 0.05 * rng.standard_normal(len(gains)), rtt)
    assert len(probes) == 8
    assert np.abs(probes - 0.8 * np.arange(8)).max() <= 0.03
    assert len(find_probes(time, 1 + 0.05 * rng.standard_normal(len(gains)), rtt)) == 0


def run(columns: dict[str, list[float]], queues: dict[str, list[float]] | None = None) -> View:
    """A view of the first of two flows with these columns."""
    tables = {"flows": {name: np.asarray(values, dtype=float) for name, values in columns.items()}}
    if queues is not None:
        tables["queues"] = {name: np.asarray(values, dtype=float) for name, values in queues.items()}
    return View(RunData(tables, {}), "summary", "0", Axis(0, 1, 0, 1))


def test_overflows_are_counted_in_groups() -> None:
    """Drops half a second apart or less are one overflow; those of other queues and outside the window do not count."""
    time = [0.1, 0.2, 0.6, 1.2, 3.0, 3.1]
    queues = {"time_s": time, "drops": [1, 5, 2, 0, 1, 9], "queue": [0, 0, 0, 0, 0, 1]}
    view = run({"time_s": [], "flow": []}, queues)
    assert evaluate(view, "overflow_count(0, 10)") == 2
    assert evaluate(view, "overflow_count(0.65, 10)") == 1


def test_shares_and_settling() -> None:
    """Three quarters for one of two flows; Jain's index of 3:1 is 0.8; a rate settles when it stays near its goal."""
    time = np.repeat(np.arange(0.5, 20.1, 0.5), 2)
    flow = np.tile([0.0, 1.0], len(time) // 2)
    goodput = np.where(flow == 0, 3.0, 1.0)
    columns = {"time_s": time, "flow": flow, "goodput_mbps": goodput, "throughput_mbps": np.where(time > 5, 4.0, 1.0)}
    view = run({k: list(v) for k, v in columns.items()})
    both = View(view.run, "summary", "0-1", view.axis)
    assert evaluate(view, 'share_percent("0-1", 0, 20)') == pytest.approx(75)
    assert evaluate(both, "jain_mean(0, 20)") == pytest.approx(0.8)
    assert evaluate(both, "goodput_sum(0, 20)") == pytest.approx(4)
    assert evaluate(both, "converged_in(0, 20, 0.95, 3)") == 20
    assert evaluate(both, "converged_in(0, 20, 0.75, 3)") == pytest.approx(1)
    assert evaluate(view, "settled_after(0, 20, 4, 0.1, 3)") == pytest.approx(6)


def test_what_a_loss_leaves() -> None:
    """A window of 100 is answered with an ssthresh of 70 while the sender repairs."""
    columns = {
        "time_s": [1, 2, 3], "flow": [0, 0, 0], "ssthresh_bytes": [1e9, 70, 70], "cwnd_max_bytes": [90, 100, 70],
        "state": [0, 3, 0],
    }  # fmt: skip
    assert evaluate(run({k: [float(x) for x in v] for k, v in columns.items()}), "kept_at_losses(0, 5)") == 0.7


def test_flights_and_news() -> None:
    """Flights of 10 and 40 packets; a drop at 0.2 s is known at 0.5 s, when 40 packets were sent."""
    columns = {
        "time_s": np.arange(0.1, 0.65, 0.1), "flow": np.zeros(6), "sent": [0, 10, 0, 20, 20, 0],
        "state": [0, 0, 0, 0, 3, 3],
    }  # fmt: skip
    view = run({k: [float(x) for x in v] for k, v in columns.items()}, {"time_s": [0.1, 0.2], "drops": [0, 1]})
    assert evaluate(view, "news_ms()") == pytest.approx(300)
    assert evaluate(view, "sent_before_news()") == 40
    assert evaluate(view, "flight_growth(0.2, 0, 1)") == pytest.approx(4)


def test_moving_average_ignores_what_is_missing() -> None:
    """Means of the last two intervals; NaN stays."""
    values = np.array([np.nan, 1.0, 3.0, np.nan, 5.0])
    assert moving_average(np.arange(5.0), values, 2.0).tolist()[1:3] == [1.0, 2.0]


# --- Rows and figures -------------------------------------------------------------------------------------------------


def test_without_runs_nothing_is_confirmed() -> None:
    """Every group has its rows for any results, under unique ids, and no figure needs a run that failed."""
    empty = Results([])
    rows = [row for g in whole().groups for row in g.rows(empty)]
    assert len({row.id for row in rows}) == len(rows)
    assert not {row.word.text for row in rows} & {"confirmed", "refuted"}
    drawn = {g.id for g in whole().groups if g.png(empty) is not None}
    assert drawn == {"catalogue", "responses"}


def test_figures_from_made_up_runs() -> None:
    """Every group that has runs to draw has a figure for them."""
    groups = {group.id: group for group in whole().groups}
    shapes = {setup: JobResult(setup, 0, (1.0,), {}, 0.1, 1, "", excerpt={"flights": 2.0 ** np.arange(7)})
              for setup in groups["shapes"].setups}  # fmt: skip
    assert len(groups["shapes"].png(Results(list(shapes.values()))) or b"") > 10_000
    for id in ("gallery-reno", "collateral", "buffer", "tahoe", "knee", "alternating", "constant", "phases", "charts",
               "rtts", "pairs", "startup", "cheating"):  # fmt: skip
        png = groups[id].png(made_up())
        assert png is not None, id
        assert len(png) > 10_000, id


def test_bbrs_figures_from_made_up_runs() -> None:
    """Also in a build without BBR: states, probes, operating point; losses."""
    series = dict(flat_series(1))
    size = len(series["time_s"])
    for name, value in (("sent", 900.0), ("in_flight", 70.0), ("pacing_gain", 1.0), ("max_bw_bit_per_s", 1e7),
                        ("min_rtt_s", 0.08)):  # fmt: skip
        series[name] = np.full(size, value)
    series["delivered"] = np.cumsum(series["sent"])
    series["mode"] = np.repeat([0.0, 1.0, 2.0, 3.0], size // 4)
    series["true_probes"] = series["found_probes"] = np.array([7.0, 8.0])
    assert len(bbr_figure.draw_states(bbr.PATHS[0], series)) > 30_000
    assert len(bbr_figure.draw_losses({1: series, 20: series})) > 10_000


def test_the_notes_have_the_catalogues_tables() -> None:
    """Three tables: by feedback and control, of a and b, and the talk's comparison of BBR."""
    notes = whole().notes
    assert "| CUBIC | `cubic` | 2008 | loss |" in notes
    assert "| Scalable | 0.01 W | 0.875 |" in notes
    assert "| Loss | reduce cwnd by 30 % on a window with any loss |" in notes


# --- From end to end --------------------------------------------------------------------------------------------------


def test_parts_are_reproduced(tmp_path: Path) -> None:
    """The knee is where the line is full, the window's line bends, and Tahoe uses less of the link than Reno."""
    out = tmp_path / "out"
    console = Console(file=io.StringIO(), width=160)
    assert reproduce("talk", only=["knee", "P38", "tahoe"], quick=False, out=out, jobs=2, console=console) == 0
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    assert rows["knee/knee"]["verdict"] == rows["knee/cliff"]["verdict"] == "agrees"
    assert rows["P38/slope"]["verdict"] == rows["tahoe/less"]["verdict"] == "confirmed"
    assert {p.name for p in out.glob("*.png")} == {"knee.png", "tahoe.png"}
