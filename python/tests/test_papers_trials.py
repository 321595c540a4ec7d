"""Statements over several runs: the interval of a mean, the three verdicts, and how claims and pages show them."""

import math
from pathlib import Path

import numpy as np
import pytest

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.experiment.verdict import judge
from windtunnel.papers.claims import claims_groups
from windtunnel.papers.features import Axis, RunData, View, evaluate
from windtunnel.papers.jobs import JobResult, execute, jobs_of
from windtunnel.papers.rows import trial_row
from windtunnel.papers.setups import Setup, Template
from windtunnel.papers.suite import Results
from windtunnel.papers.suite_page import write_suite_page
from windtunnel.papers.time_series import flow_series
from windtunnel.scenario import Scenario


def test_the_interval_of_a_mean() -> None:
    """Four values, mean 5, standard deviation sqrt(20/3): 5 +- 3.182 * 1.291 (Student's table, three degrees)."""
    low, high = summary_of_all([2.0, 4.0, 6.0, 8.0]).interval or (0.0, 0.0)
    assert (low, high) == (pytest.approx(0.892, abs=1e-3), pytest.approx(9.108, abs=1e-3))
    assert summary_of_all([3.0, 3.0, 3.0]).interval == (3.0, 3.0)
    for too_few in ([], [1.0], [1.0, math.nan]):
        assert summary_of_all(too_few).interval is None


def test_the_interval_contains_the_mean_as_often_as_it_says() -> None:
    """Of 4000 experiments with eight normal values the interval contains the true mean in 95 %, to three errors."""
    draws = np.random.default_rng(1).normal(10.0, 3.0, (4000, 8))
    intervals = [summary_of_all(list(row)).interval for row in draws]
    hits = sum(low <= 10.0 <= high for low, high in filter(None, intervals))
    assert hits / 4000 == pytest.approx(0.95, abs=3 * math.sqrt(0.05 * 0.95 / 4000))


@pytest.mark.parametrize(
    ("limits", "values", "verdict"),
    [
        (Limits(low=0.9, strict=True), [1.0, 1.01, 0.99, 1.0], "agrees"),
        (Limits(low=1.1, strict=True), [1.0, 1.01, 0.99, 1.0], "differs"),
        (Limits(low=1.0, strict=True), [1.0, 1.01, 0.99, 1.0], "undecided"),
        (Limits(0.35, 0.65), [0.4, 0.5, 0.6, 0.5], "agrees"),
        (Limits(0.35, 0.65), [0.1, 0.9, 0.1, 0.9], "undecided"),
        (Limits(0.35, 0.65), [0.8, 0.81, 0.8, 0.79], "differs"),
        # Equal values are one draw, which agrees or differs.
        (Limits(0.0, 0.0), [0.0, 0.0, 0.0], "agrees"),
        (Limits(0.0, 0.0), [1.0, 1.0, 1.0], "differs"),
        # "More than 0" is wrong where nothing was ever seen.
        (Limits(low=0.0, strict=True), [0.0, 0.0, 0.0], "differs"),
        (Limits(high=0.0, strict=True), [0.0, 0.0, 0.0], "differs"),
        (Limits(low=0.5), [1.0], "undecided"),
        (Limits(low=0.5), [], "undecided"),
        (Limits(low=0.5), [1.0, math.nan], "undecided"),
    ],
)
def test_verdicts(limits: Limits, values: list[float], verdict: str) -> None:
    """It agrees where the whole interval is within the limits, and differs where none of it is."""
    assert judge(limits, values) == verdict


def test_a_row_says_how_many_runs_it_rests_on() -> None:
    """Mean, interval, count and range; without limits it is for information."""
    row = trial_row("a", "g", "what", None, None, [1.0, 2.0, 3.0], "ms", "why")
    assert (row.measured, row.verdict) == (2.0, "info")
    assert row.note == "why; 3 runs, from 1 to 3"
    assert row.interval == pytest.approx((-0.484, 4.484), abs=1e-3)
    assert trial_row("a", "g", "what", None, Limits(0, 1), [], "ms").verdict == "undecided"


def test_runs_that_are_one_draw_are_shown_as_one() -> None:
    """Five runs that give the same number say no more than one: no interval, and a word of its own."""
    row = trial_row("a", "g", "what", None, Limits(20, 30), [24.0] * 5, "")
    assert (row.measured, row.interval, row.verdict) == (24.0, None, "agrees")
    assert row.note == "one draw: 5 runs give the same value"


def test_what_follows_from_elsewhere_is_shown_and_not_judged() -> None:
    """A requirement, or a number that another row implies, has limits and no verdict; the note says why."""
    row = trial_row("a", "g", "what", "> 5", Limits(low=5), [1.0, 2.0], "", "why", not_judged="derived from b")
    assert (row.verdict, row.limits) == ("info", (5, math.inf))
    assert row.note.startswith("not judged: derived from b; why")


TEMPLATE = Template("t", 'duration = "30 s"\n[bottleneck]\nrate = "1 Mbps"\n[[flow]]\nrtt = "20 ms"\n')


@pytest.mark.parametrize(
    ("expected", "verdict", "published"),
    [
        ({"above": 4.0}, "confirmed", "> 4"),
        ({"below": 4.0}, "refuted", "< 4"),
        ({"near": 5.0, "tolerance": 0.001}, "undecided", 5.0),
        ({"near": 5.0, "tolerance": 1.0}, "confirmed", 5.0),
    ],
)
def test_claims_over_an_interval(expected: dict[str, float], verdict: str, published: float | str) -> None:
    """A claim's expectation becomes limits of the mean over all runs of its setups, pair by pair."""
    method = 'window_value("w", "x")'
    claim = {
        "id": "C1",
        "text": "text",
        "measure": "measure",
        "unit": "",
        "over": "interval",
        "value": "a - b",
        "quantities": {n: {"run": n, "panel": "summary", "flow": 0, "method": method} for n in "ab"},
        "expected": {**expected, "why": "why"},
    }
    setups: dict[str, Setup] = {}
    (group,) = claims_groups([claim], setups, lambda name: Setup(name, TEMPLATE), quick=False)
    setups.update({name: Setup(name, TEMPLATE) for name in "ab"})
    values = {"a": (6.0, 6.5, 7.0), "b": (1.0, 1.51, 2.0)}
    outcomes = [JobResult(n, k, (v,), {}, 0, 0, "") for n, seen in values.items() for k, v in enumerate(seen)]
    (row,) = group.rows(Results(outcomes))
    assert (row.word.text, row.published) == (verdict, published)
    assert row.measured == pytest.approx(4.9967, abs=1e-4)


def test_a_page_of_claims_counts_and_filters_them(tmp_path: Path) -> None:
    """The page has a counter for each verdict that occurs; the filter's kinds name them."""
    rows = [
        trial_row(f"r{k}", "g", "what", None, Limits(0, 1), v, "")
        for k, v in enumerate([[0.4, 0.5, 0.6], [2.0, 2.1, 2.2], []])
    ]
    path = tmp_path / "page.html"
    write_suite_page(path, title="T", notes_html="", rows=rows, figures=[])
    text = path.read_text()
    for counter in ("<strong>1</strong> confirmed", "<strong>1</strong> refuted", "<strong>1</strong> undecided"):
        assert counter in text
    assert "tolerance</div>" not in text
    assert 'data-verdict="differs" checked> refuted' in text
    assert '<td class="agrees">confirmed</td>' in text


# --- What the suites read from runs -----------------------------------------------------------------------------------


#: CUBIC from 1 to 3 s, and a probe, over CoDel.
SCENARIO = Template(
    "t",
    """
    duration = "4 s"
    endpoints = "linux"
    [record]
    interval = "200 ms"
    state = "interval"
    [[window]]
    name = "w"
    from = "1 s"
    to = "3 s"
    [bottleneck]
    rate = "10 Mbps"
    queue = "codel"
    [[flow]]
    cc = "cubic"
    rtt = "20 ms"
    start = "1 s"
    stop = "3 s"
    [[flow]]
    app = { kind = "probe", interval = "200 ms" }
    rtt = "20 ms"
    """,
)


def test_numbers_of_a_window_and_of_the_state() -> None:
    """Values and parts of values of flows and queues; NaN where a flow has none; the mean of an AQM's number."""
    result = Scenario.from_toml(SCENARIO.text).run()
    data = RunData(result.tables, result.summary)

    def value(flow: str, method: str) -> float:
        return evaluate(View(data, "summary", flow, Axis(0, 1, 0, 1)), method)

    window = result.summary["windows"][0]
    assert value("0", 'window_value("w", "goodput_mbps")') == window["flows"][0]["goodput_mbps"] > 5
    assert value("queue 0", 'window_value("w", "sojourn_ms.p95")') == window["queues"][0]["sojourn_ms"]["p95"] > 0
    assert math.isnan(value("1", 'window_value("w", "ecn_reductions")'))
    assert value("0", 'state_mean("count", 0, 4)') >= 0
    assert math.isnan(value("0", 'state_mean("count", 100, 200)'))
    assert math.isnan(value("0", 'state_mean("no_such", 0, 4)'))
    table = result.tables["queues"]
    delay = np.asarray(table["sojourn_mean_ms"])
    assert value("0", "delay_within(0, 0.1, 0, 4)") == pytest.approx(np.mean(delay <= 0.1))
    rates = np.asarray(result.tables["flows"]["goodput_mbps"])[0::2]
    assert value("0", "goodput_quantile(1, 0, 4)") == rates.max() > 9


def test_counts_of_the_state() -> None:
    """How much a count rises in a window, and in percent of the packets of a band: 30 of 270."""
    aqm = {"time_s": np.array([1.0, 2.0, 3.0, 4.0]), "marks": np.array([5.0, 10.0, np.nan, 40.0])}
    bands = {
        "time_s": np.array([2.0, 2.0, 3.0, 4.0, 4.0]),
        "band": np.array([0, 1, 0, 0, 1]),
        "dequeued": np.array([70, 500, 50, 150, 500]),
    }
    view = View(RunData({"aqm": aqm, "bands": bands}, {}), "aqm", "queue 0", Axis(0, 1, 0, 1))
    assert evaluate(view, 'state_rise("marks", 1.5, 4)') == 30.0
    assert evaluate(view, 'state_mean("marks", 1.5, 4, 100)') == 2500.0
    assert evaluate(view, 'state_rise_percent("marks", 0, 2.5, 4)') == 0.0
    assert evaluate(view, 'state_rise_percent("marks", 0, 1.5, 4)') == pytest.approx(100 * 30 / 270)
    assert math.isnan(evaluate(view, 'state_rise_percent("marks", 7, 1.5, 4)'))
    assert math.isnan(evaluate(view, 'state_rise("none", 0, 4)'))


def test_time_series_leave_the_process_that_ran() -> None:
    """The excerpt of the first run has every flow's columns, and nothing where the flow does not exist."""
    setup = Setup("c", SCENARIO, excerpt=flow_series, perturbed=1)
    jobs = jobs_of(setup, None)
    assert [job.excerpt for job in jobs] == [flow_series, None]
    outcome = execute(jobs[0])
    assert not outcome.error
    excerpt = Results([outcome]).excerpt("c")
    assert excerpt is not None
    assert {"time_s", "throughput_mbps/0", "delivery_rate_mbps/0", "srtt_ms/0", "rtt_mean_ms/1"} <= set(excerpt)
    assert len(excerpt["time_s"]) == 20
    alive = np.isfinite(excerpt["throughput_mbps/0"])
    assert excerpt["time_s"][alive].min() == pytest.approx(1.2)
    assert excerpt["time_s"][alive].max() == pytest.approx(3.0)
    assert np.nanmin(excerpt["rtt_mean_ms/1"]) >= 20.0
