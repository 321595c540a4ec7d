"""The suite of deployment: seeds, repeated tables, order of arrival, lists, the data; an experiment from end to end."""

import math
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from windtunnel.experiment.expectation import Expected, Limits
from windtunnel.experiment.measures.language import call_of
from windtunnel.papers import deployment, reproduce, select
from windtunnel.papers.arms import add_seeds, expanded, overrides
from windtunnel.papers.data_folder import DEPLOYMENT
from windtunnel.papers.deployment.checklists import together
from windtunnel.papers.experiment_figure import PanelSpec, Point, draw, filled
from windtunnel.papers.features import METHODS, Axis, RunData, View, evaluate
from windtunnel.papers.features.captures import extents
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Results, Suite
from windtunnel.scenario import Scenario


@cache
def whole() -> Suite:
    return deployment.suite(quick=False)


# --- Seeds and repeated tables --------------------------------------------------------------------------------------


def test_seeds_fill_one_round_trip() -> None:
    """Each run has its own seed and starts; each flow starts in the first round trip after its own start time."""
    path = DEPLOYMENT.template("path")
    settings = ('flow.0.rtt="80 ms"', 'flow.1.start="5 s"')
    first, zero = (overrides(path, chosen, 1) for chosen in (settings, ()))
    assert first[0] == "seed=1"
    starts = [int(s.partition('="')[2].removesuffix(' us"')) for s in first[1:]]
    assert 0 < starts[0] < 80_000
    assert 5_000_000 < starts[1] < 5_020_000
    assert [s.partition("=")[0] for s in first[1:]] == [f"flow.{i}.start" for i in range(3)]
    assert first[3] == zero[3]
    runs = [*add_seeds(Setup("x", path), 8).variants()]
    # Later overrides win: the last four are the seed and the three starts.
    assert len({run[-4] for run in runs}) == len({run[-3] for run in runs}) == 8
    # A Kronecker sequence leaves no large part of the round trip without a start.
    firsts = sorted(int(run[-3].partition('="')[2].removesuffix(' us"')) for run in runs)
    assert max(np.diff([0, *firsts, 20_000])) < 6_000


def test_tables_are_repeated() -> None:
    """Every combination of the values, in keys as well; a table without ``for`` stays as it is."""
    table = {"for": {"a": [1, 2], "b": ["x"]}, "id": "$a-$b", "of": {"q$a": ["$b", "{ $a }"]}, "n": 3}
    assert [*expanded([table, {"id": "$5"}])] == [
        {"id": "1-x", "of": {"q1": ["x", "{ 1 }"]}, "n": 3},
        {"id": "2-x", "of": {"q2": ["x", "{ 2 }"]}, "n": 3},
        {"id": "$5"},
    ]
    table["quick_for"] = {"a": [2]}
    assert [each["id"] for each in expanded([table], quick=True)] == ["2-x"]
    assert [each["id"] for each in expanded([table])] == ["1-x", "2-x"]


@pytest.mark.parametrize(
    ("data", "limits", "text"),
    [
        ({"above": 1}, Limits(1, math.inf, strict=True), "> 1"),
        ({"below": 0.5}, Limits(-math.inf, 0.5, strict=True), "< 0.5"),
        ({"within": [0.9, 1.1]}, Limits(0.9, 1.1), "0.9 to 1.1"),
        ({"exactly": 0}, Limits(0, 0), "0"),
        ({"near": 24, "tolerance": 0.5}, Limits(23.5, 24.5), "24"),
    ],
)
def test_expectations(data: dict[str, Any], limits: Limits, text: str) -> None:
    """Bounds and numbers, and nothing else."""
    expected = Expected.of(data)
    assert (expected.limits, expected.text) == (limits, text)
    with pytest.raises(ValueError, match="not an expectation"):
        Expected.of({"near": 1})


# --- Captured packets -----------------------------------------------------------------------------------------------


def naive_extents(ids: list[int]) -> list[int]:
    """RFC 4737 section 4.2.1 word by word: the distance to the earliest arrival with a larger number."""
    return [next((i - j for j in range(i) if ids[j] > ids[i]), 0) for i in range(len(ids))]


@given(st.permutations(range(12)))
def test_reordering_extent(ids: list[int]) -> None:
    """As the RFC defines it, for any order of arrival."""
    assert extents(ids).tolist() == naive_extents(ids)


def test_the_rfcs_example() -> None:
    """RFC 4737 section 4.2.3: of 1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11 the packets 4, 5, 6 have extents 4, 5 and 6."""
    assert extents([1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]).tolist() == [0, 0, 0, 0, 0, 0, 0, 4, 5, 6, 0]


def captured(rows: list[dict[str, int]]) -> View:
    """A table of packets of flow 0 with these columns; others are zero."""
    names = ("t_ns", "tap", "dir", "flow", "id", "seq", "ack", "payload", "flags", "ecn")
    table = {name: np.array([row.get(name, 0) for row in rows]) for name in names}
    return View(RunData({"packets": table}, {}), "summary", "0", Axis(0, 1, 0, 1))


def test_acks_and_marks_of_captured_packets() -> None:
    """Four segments of 100 bytes, the second and third marked, three ACKs, the last with ESCE; SYNs do not count."""
    syn = {"tap": 3, "flags": 0x002}
    data = [
        {"tap": 3, "t_ns": 10**9 + i, "id": i, "payload": 100, "ecn": 1 if i in (1, 2) else 2, "flags": 16}
        for i in range(4)
    ]
    acks = [
        {"tap": 3, "dir": 1, "t_ns": 10**9 + i, "ack": ack, "flags": 16 | flags}
        for i, (ack, flags) in enumerate([(100, 0), (200, 0), (400, 0x100)])
    ]
    view = captured([syn, *data, *acks, {**data[0], "t_ns": 5 * 10**9}])
    assert evaluate(view, "acks_per_segment(1, 2)") == 3 / 4
    assert evaluate(view, "marked_share(1, 2)") == 1 / 2
    assert evaluate(view, "mark_flips(1, 2)") == pytest.approx(2 / 3)
    assert evaluate(view, "echoed_share(1, 2)") == 1.0
    assert evaluate(view, "reordered_share(1, 2)") == 0.0
    assert evaluate(view, "reordering_extent(0.5, 1, 2)") == 0.0
    assert math.isnan(evaluate(view, "marked_share(3, 4)"))


def test_a_number_by_its_path() -> None:
    """Of a flow, a queue or an impairment; what a flow does not have is no number."""
    summary = {
        "flows": [{"drops": {"aqm": 3}, "slow_start_exit": None}],
        "queues": [{"sce": 7}],
        "impairments": [{"lost": 5}],
    }
    data = RunData({}, summary)
    take = {("0", "drops.aqm"): 3.0, ("queue 0", "sce"): 7.0, ("impairment 0", "lost"): 5.0}
    for (flow, path), value in take.items():
        assert evaluate(View(data, "summary", flow, Axis(0, 1, 0, 1)), f'field("{path}")') == value
    assert math.isnan(evaluate(View(data, "summary", "0", Axis(0, 1, 0, 1)), 'field("slow_start_exit.t_s")'))


def test_recovery_time() -> None:
    """The link is idle up to 45 s and nine tenths full from there on: 5 s after 40 s; never full enough for 95 %."""
    time = np.arange(0.1, 60.05, 0.1)
    table = {"time_s": time, "queue": np.zeros(len(time)), "utilization": np.where(time > 45.0 + 1e-9, 0.9, 0.0)}
    view = View(RunData({"queues": table}, {}), "summary", "queue 0", Axis(0, 1, 0, 1))
    assert evaluate(view, "recovery_time(40, 0.85)") == pytest.approx(5.0, abs=0.11)
    assert math.isnan(evaluate(view, "recovery_time(40, 0.95)"))


# --- Lists and figures ----------------------------------------------------------------------------------------------


def test_what_checks_say_together() -> None:
    """A line holds if all of its checks do; one that is refuted refutes it; without any nothing is decided."""
    assert together(["agrees", "agrees"]) == "agrees"
    assert together(["agrees", "differs"]) == "differs"
    assert together(["agrees", "undecided"]) == "undecided"
    assert together(["undecided", "differs", "agrees"]) == "differs"
    assert together([]) == "undecided"


def test_figures_are_drawn() -> None:
    """Numbers on a logarithmic axis, names, and places that were measured, with a curve next to them."""
    points = [Point(0.1, 0.6, 0.55, 0.65), Point(0.4, 0.7, 0.68, 0.72)]
    measured = {"a": "m-$x"}
    specs = [
        PanelSpec("log", [1, 10], "x", "y", {"a": "$x"}, limits=[0.5], log=True, ylim=[0, 1]),
        PanelSpec("names", ["reno", "cubic"], "x", "y", {"a": "$x", "b": "$x"}),
        PanelSpec("measured", ["1", "2"], "x", "y", {"a": "$x"}, measured_x=measured, curve="0.5 + x", curve_label="c"),
    ]
    lines = [{"a": points}, {"a": points, "b": points}, {"a": points}]
    assert draw("title", [*zip(specs, lines, strict=True)]).startswith(b"\x89PNG")


def test_no_panel_is_empty() -> None:
    """A panel without a point is left out, and so is a line; the others keep their order."""
    panels = [
        PanelSpec("run", ["reno"], "x", "y", {"a": "a-$x", "b": "b-$x"}),
        PanelSpec("not run", ["reno"], "x", "y", {"a": "c-$x"}),
    ]
    drawn = filled(panels, {"b-reno": [0.4, 0.5, 0.6]})
    assert [(spec.title, list(lines)) for spec, lines in drawn] == [("run", ["b"])]


# --- The data -------------------------------------------------------------------------------------------------------


def test_every_run_of_the_suite_is_a_valid_scenario() -> None:
    """All arms, as their first seed changes them, are accepted; the quick suite's are a part of them."""
    for setup in whole().setups.values():
        Scenario.from_toml(setup.template.text, file=setup.name, overrides=next(setup.variants())).check()
    assert set(deployment.suite(quick=True).setups) <= set(whole().setups)


def test_every_method_exists() -> None:
    """A measurement's method is registered, and its window is one of the scenario's."""
    for setup in whole().setups.values():
        windows = setup.template.data["window"]
        assert isinstance(windows, list)
        for measurement in setup.measurements:
            name, arguments = call_of(measurement.method)
            assert name in METHODS, measurement.method
            if name in ("window_value", "window_rate"):
                assert arguments[0] in {w["name"] for w in windows}, measurement.method


def test_no_scenario_file_and_no_arm_lies_idle() -> None:
    """Every scenario file is some arm's, and every arm is in some check."""
    used = {setup.template.name for setup in whole().setups.values()}
    assert used == {path.stem for path in (DEPLOYMENT.root / "scenarios").glob("*.toml")}
    for topic in deployment.TOPICS:
        for arm in DEPLOYMENT.toml(f"experiments/{topic}.toml")["arm"]:
            names = {each["name"] for each in expanded([arm])}
            assert names & set(whole().setups), (topic, arm["name"])


def test_every_expectation_says_why_or_is_exact() -> None:
    """Bounds come with the source of their size, except where the claim itself compares with 0, 1 or one half."""
    for topic in deployment.TOPICS:
        for experiment in DEPLOYMENT.toml(f"experiments/{topic}.toml")["experiment"]:
            assert experiment["claim"], experiment["id"]
            assert experiment["place"], experiment["id"]
            for check in experiment["check"]:
                expect = check.get("expect", {})
                exact = all(bound in (0, 1, 0.5) for bound in expect.values())
                assert check.get("why") or "word" in expect or exact, (experiment["id"], check["id"])


def test_groups_are_found_by_topic() -> None:
    """A topic names all of its experiments, and so does ``checklists``."""
    suite = whole()
    assert select(suite, ["fall-back"])[:2] == ["E06", "E07"]
    assert select(suite, ["checklists"]) == ["L23", "L24"]
    ids = [group.id for group in suite.groups]
    assert len(ids) == len(set(ids))


def test_the_documents_lists_are_whole() -> None:
    """Seven bullets on MDS and L4S; MDS requires five things and does not require two; AQMs should do three; CCAs must
    do two, should do three and may do three. Each line has checks, or says why there is nothing to try.
    """
    lists = {each["id"]: each["line"] for each in DEPLOYMENT.toml("checklists.toml")["list"]}
    kinds = Counter(line["id"].partition("-")[0] for line in lists["L24"])
    assert len(lists["L23"]) == 7
    assert kinds == {"requires": 5, "not": 2, "aqm": 3, "cca": 8}
    assert Counter(line["text"].split()[2] for line in lists["L24"] if line["id"].startswith("cca")) == {
        "must": 2,
        "should": 3,
        "may": 3,
    }
    for line in (line for each in lists.values() for line in each):
        tried = line.get("checks") or line.get("about")
        assert tried or "claim" in line["note"] or "permission" in line["note"], line["id"]


def test_a_list_has_every_judged_check_on_its_subject() -> None:
    """No refuted row on a subject can be missing from its line: the line has all checks, less those it names."""
    suite, lines = whole(), DEPLOYMENT.toml("checklists.toml")["list"][0]["line"]
    subjects = {line["about"] for line in lines if "about" in line}
    experiments = deployment.experiments({}, quick=False)
    assert subjects == {subject for e in experiments for check in e.checks for subject in check.about}
    rows = {row.id: row for row in suite.groups[0].rows(Results([]))}
    for line in (line for line in lines if "about" in line):
        about = [
            c for e in experiments for c in e.checks if line["about"] in c.about and c.expected and not c.not_judged
        ]
        out = [c for c in about if any(fnmatchcase(c.id, p) for p in line.get("left_out", ()))]
        assert rows[f"L23/{line['id']}"].published == f"all {len(about) - len(out)}"


def test_a_requirement_is_shown_and_not_judged() -> None:
    """The list of requirements counts what is kept, and has no verdict."""
    suite = whole()
    assert {row.verdict for row in suite.groups[1].rows(Results([]))} == {"info"}


def test_an_experiment_from_end_to_end(tmp_path: Path) -> None:
    """Rows, page and figures of one experiment, run for a few seconds: bleaching behind the queue changes nothing."""
    out = tmp_path / "out"
    settings = ['duration="4 s"', 'window.0.from="2 s"', 'window.0.to="4 s"']
    console = Console(record=True, width=140)
    code = reproduce("mds-deployment", only=["E08"], quick=False, out=out, jobs=2, console=console, settings=settings)
    assert code == 0
    text = console.export_text()
    assert "agrees" in text
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "E08" in page
    rows = (out / "rows.csv").read_text(encoding="utf-8")
    assert "E08/bytes" in rows


def test_time_above() -> None:
    """Of 100 intervals of 10 ms, 30 are above: 0.3 s; only those of the window count."""
    time = np.arange(1, 101) * 0.01
    delays = np.where(np.arange(100) < 30, 30.0, 5.0)
    view = View(RunData({"queues": {"time_s": time, "sojourn_mean_ms": delays}}, {}), "s", "queue 0", Axis(0, 1, 0, 1))
    assert evaluate(view, "time_above(25, 0, 1)") == pytest.approx(0.3)
    assert evaluate(view, "time_above(25, 0.2, 1)") == pytest.approx(0.1)
