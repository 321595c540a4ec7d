"""The paper suites: the reading of figures, the rule of the verdicts, the data, and a small suite from end to end."""

import csv
import inspect
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from windtunnel import _core
from windtunnel.experiment.measures import Expression, MetricError
from windtunnel.experiment.measures.language import call_of
from windtunnel.experiment.verdict import of_number
from windtunnel.papers import mds, reproduce, select
from windtunnel.papers.data_folder import DEPLOYMENT, MDS
from windtunnel.papers.features import METHODS, Axis, RunData, Series, View, evaluate
from windtunnel.papers.mds.fairness import outside_acceptable, read_lines
from windtunnel.papers.mds.figures import CHOSEN_AXIS, read_features
from windtunnel.papers.mds.tau import rank_correlation
from windtunnel.papers.notes import to_html
from windtunnel.papers.rows import compare, printed_precision
from windtunnel.papers.setups import OFFSETS_US, Setup, Template

DATA = Path(__file__).parent / "data" / "mds-figures"

# --- Reading figures -------------------------------------------------------------------------------------------------


def cwnd_view(time: np.ndarray, value: np.ndarray) -> View:
    """A run that has only the window of flow 0; bins of a tenth of a second."""
    points = {"time_s": time, "flow": np.zeros(len(time), dtype=np.uint32), "bytes": value}
    return View(RunData({"cwnd_points": points}, {}), "cwnd", "0", Axis(0, 56, 0, 1000))


@pytest.fixture
def saw() -> View:
    """Ten linear teeth of 5 s, from 500 to 1000, sampled every 10 ms; the falls are just before 5, 10, ... 45 s."""
    time = np.arange(0, 50, 0.01)
    return cwnd_view(time, 500 + 100 * (time % 5))


@pytest.mark.parametrize(
    ("method", "value", "error"),
    [
        ("peak()", 999, 0.1),
        ("min(0, 50)", 500, 1e-9),
        ("t_max(6, 12)", 9.99, 1e-6),
        ("bin_mean(5, 45)", 750, 1),
        ("upper(5, 45)", 764.5, 6),
        ("value_at(7.55)", 755, 5),
        ("mid_at(7.5)", 750, 5),
        ("first_at_least(6, 800)", 8.0, 0.011 + 0.03),
        ("first_at_least(6, 800, 5)", 3.0, 0.011 + 0.03),
        ("last_before(10)", 999, 0.1),
        ("t_last_above(5, 12, 900, 5, 1000)", 4990, 1),
        ("fall_count(0, 50, 0.3)", 9, 0),
        ("fall_count(0, 50, 0.6)", 0, 0),
        ("fall_peak_mean(0, 50, 0.3)", 999, 0.1),
        ("fall_trough_mean(0, 50, 0.3)", 500, 1e-9),
        ("fall_ratio(0, 50, 0.3)", 0.5005, 1e-4),
        ("fall_period(0, 50, 0.3)", 5, 1e-9),
        ("first_fall_t(6, 50, 0.3)", 9.99, 1e-6),
        ("fall_t(3, 0, 50, 0.3)", 14.99, 1e-6),
        ("relative_range(5, 45)", 100 * 499 / 749.5, 0.5),
        ("t_stays_below(4, 600, 0.3)", 5.05, 0.11),
    ],
)
def test_a_known_saw_is_read_back(saw: View, method: str, value: float, error: float) -> None:
    """Each method gives the value known by construction, to the resolution of samples, bins and pixels."""
    assert evaluate(saw, method) == pytest.approx(value, abs=error + 1e-12)


def test_what_is_not_there_is_nan(saw: View) -> None:
    """If there is nothing to measure, the result is NaN, never a number."""
    for method in ("max(60, 70)", "bin_mean(60, 70)", "fall_t(10, 0, 50, 0.3)", "first_at_least(0, 2000)"):
        assert math.isnan(evaluate(saw, method))


def test_bin_mean_is_a_mean_of_medians() -> None:
    """BINMEAN follows its definition: the median of each non-empty bin, averaged over the bins, so that the density has
    no effect.
    """
    view = cwnd_view(np.array([0.01, 0.02, 0.03, 0.15, 0.35]), np.array([1.0, 2.0, 90.0, 10.0, 30.0]))
    assert evaluate(view, "bin_mean(0, 1)") == pytest.approx((2 + 10 + 30) / 3)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(-1e6, 1e6)), min_size=1, max_size=200), st.floats(0.01, 3))
def test_bins_partition_the_samples(samples: list[tuple[float, float]], width: float) -> None:
    """No sample is lost or counted twice, and the bins' extremes are the series'."""
    samples.sort()
    series = Series(np.array([t for t, _ in samples]), np.array([v for _, v in samples]))
    bins = series.bins(width)
    assert int((bins.stop - bins.start).sum()) == len(series)
    assert series.bin_max(width).value.max() == series.value.max()
    assert series.bin_min(width).value.min() == series.value.min()


@pytest.fixture
def marks() -> View:
    """SCE marks at 10 Hz to 5 s, at 20 Hz to 10 s, and one CE mark at 7 s; a queue that is empty before 4 s."""
    time = np.concatenate([np.arange(0.1, 5.05, 0.1), np.arange(5.05, 10.01, 0.05), [7.001]])
    hz = np.concatenate([np.full(50, 10.0), np.full(100, 20.0), [1 / 7]])
    kind = np.concatenate([np.zeros(150), [1]]).astype(np.uint8)
    order = np.argsort(time)
    dequeues = np.arange(0, 10, 0.01)
    tables = {
        "mark_points": {"time_s": time[order], "hz": hz[order], "kind": kind[order]},
        "sojourn_points": {"time_s": dequeues, "ms": 1 + 4 * (dequeues > 4), "empty": dequeues < 4},
    }
    return View(RunData(tables, {}), "mark", "SCE", Axis(0, 56, 0, 34))


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("mark_count(0, inf)", 150),
        ("mark_count(0, 5.01, 1.5)", 1),
        ("mark_rate(5.01, 10.01)", 20),
        ("quantile(0.5, 0, 5)", 10),
        ("band_count(0, 10.1, 15, inf)", 100),
        ("band_mean(0, 10.1, 0, 15)", 10),
        ("level_near(20.2, 0, 10)", 20),
        ("t_first_level(20)", 5.05),
        ("t_settled(0.5, 20)", 5.05),
        ("mark_t(3, 0, 10)", 0.3),
        ("mark_hz(60, 0, 10)", 20),
        ("first_mark_t(2.05, 10)", 2.1),
    ],
)
def test_marks_are_read_back(marks: View, method: str, value: float) -> None:
    """Times, counts, bands and levels, known by construction."""
    assert evaluate(marks, method) == pytest.approx(value)


def test_symbols_on_one_pixel_count_once() -> None:
    """MARKQ: a hundred marks on one pixel weigh as much as one mark elsewhere."""
    time = np.concatenate([np.full(100, 1.0) + np.arange(100) * 1e-4, [2.0, 3.0]])
    hz = np.concatenate([np.full(100, 10.0), [50.0, 60.0]])
    points = {"time_s": time, "hz": hz, "kind": np.zeros(102, dtype=np.uint8)}
    view = View(RunData({"mark_points": points}, {}), "mark", "SCE", Axis(0, 56, 0, 340))
    assert evaluate(view, "quantile(0.5, 0, 10)") == 50.0


def test_colours_of_the_queue(marks: View) -> None:
    """REDFRAC and WHITEFRAC: share of the bins with a dequeue of that colour."""
    view = View(marks.run, "sojourn", "all", marks.axis)
    assert evaluate(view, "red_fraction(2, 5.999)") == pytest.approx(0.5, abs=0.03)
    assert evaluate(view, "white_fraction(2, 5.999)") == pytest.approx(0.5, abs=0.03)
    assert evaluate(view, "t_first_empty(1)") == pytest.approx(1.0)


def test_spikes_are_told_apart() -> None:
    """There are three spikes of known height; two humps less than a second apart count as one."""
    time = np.arange(0, 30, 0.01)
    value = sum(h * np.exp(-(((time - t) / 0.1) ** 2)) for t, h in ((5, 10), (5.5, 8), (15, 20), (25, 6)))
    tables = {"sojourn_points": {"time_s": time, "ms": value, "empty": np.zeros(len(time), dtype=bool)}}
    view = View(RunData(tables, {}), "sojourn", "all", Axis(0, 30, 0, 20))
    assert evaluate(view, "spike_count(0, 30, 2, 1)") == 3
    assert evaluate(view, "spike(2, 0, 30, 2, 1)") == pytest.approx(20, rel=1e-3)
    assert evaluate(view, "spike_t(3, 0, 30, 2, 1)") == pytest.approx(25, abs=0.011)
    assert evaluate(view, "spike_mean(0, 30, 2, 1, 15)") == pytest.approx(8, rel=1e-2)


def test_flows_cross() -> None:
    """The second of two flows falls below the first at 5 s and they differ by a fifth until 7 s."""
    time = np.tile(np.arange(0, 20, 0.05), 2)
    flow = np.repeat([0, 1], 400).astype(np.uint32)
    value = np.where(flow == 0, 1000.0, 1500 - 100 * np.minimum(time, 7.5))
    order = np.argsort(time, kind="stable")
    tables = {"cwnd_points": {"time_s": time[order], "flow": flow[order], "bytes": value[order]}}
    pair = View(RunData(tables, {}), "cwnd", "0,1", Axis(0, 56, 0, 1))
    assert evaluate(pair, "t_falls_below(1)") == pytest.approx(5.0, abs=0.11)
    assert evaluate(pair, "t_rises_above(1)") == pytest.approx(1.0, abs=0.11)
    ratio = View(pair.run, "cwnd", "1/0", pair.axis)
    assert evaluate(ratio, "ratio_of_means(10, 20)") == pytest.approx(0.75)


def test_summaries_are_read() -> None:
    """Table numbers: received bytes over the time of the last packet; marks of a window per second."""
    summary = {
        "flows": [{"received_bytes": 1_250_000, "last_packet_s": 2.0}],
        "queues": [{"utilization": 0.5}],
        "windows": [
            {"name": "w", "from_s": 1.0, "to_s": 3.0, "queues": [{"sce": 44, "utilization": 0.9}], "flows": []}
        ],
    }
    run = RunData({}, summary)
    assert evaluate(View(run, "summary", "0", Axis(0, 1, 0, 1)), "mean_mbps()") == pytest.approx(5.0)
    queue = View(run, "summary", "queue 0", Axis(0, 1, 0, 1))
    assert evaluate(queue, 'window_rate("w", "sce")') == pytest.approx(22.0)
    assert evaluate(queue, 'window_utilization("w")') == pytest.approx(90.0)


@pytest.mark.parametrize("text", ["", "max", "max(1", "max(a=1)", "max([1])", "__import__('os')", "nothing(1)"])
def test_what_is_no_method_is_refused(saw: View, text: str) -> None:
    """The data can contain calls of methods with numbers, and nothing else."""
    with pytest.raises(MetricError):
        evaluate(saw, text)


# --- An independent simulator's runs, read by the same methods ------------------------------------------------------


def golden(figure: str) -> RunData:
    """Windows and throughputs in bins of 100 ms, as points at the bins' middles."""
    with (DATA / f"{figure}.csv").open() as file:
        rows = list(csv.DictReader(file))
    time = np.array([float(r["t_s"]) + 0.05 for r in rows])
    both = np.tile(time, 2)
    flow = np.repeat([0, 1], len(time)).astype(np.int32)
    order = np.argsort(both, kind="stable")

    def column(name: str) -> np.ndarray:
        return np.concatenate([[float(r[name.format(k)]) for r in rows] for k in (0, 1)])[order]

    return RunData(
        {
            "cwnd_points": {"time_s": both[order], "flow": flow[order], "bytes": column("cwnd{}_bytes")},
            "throughput_points": {"time_s": both[order], "flow": flow[order], "mbps": column("thr{}_mbps")},
        },
        {},
    )


@pytest.mark.parametrize("figure", ["4", "5"])
def test_published_means_agree_with_the_run_that_made_them(figure: str) -> None:
    """The published figures came from this simulator: its means must be within the errors of the published readings."""
    run, checked = golden(f"fig{figure}"), 0
    axes = {f.panel: f.value for f in read_features() if f.figure == figure and f.name == "axis_y_max"}
    for f in read_features():
        if f.figure == figure and f.panel in ("cwnd", "throughput") and f.name.startswith(("mean@", "ratio_mean@")):
            if f.flow == "total":
                continue
            view = View(run, f.panel, f.flow, Axis(0, 30, 0, axes[f.panel]))
            assert evaluate(view, f.method) == pytest.approx(f.value, abs=f.error), f.id
            checked += 1
    assert checked == 5


# --- The rule of the verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("published", "precision", "values", "expected"),
    [
        (49.2, 0.05, [49.24], "agrees"),
        (49.2, 0.05, [49.26], "differs"),
        (49.95, 0.05, [50.0], "agrees"),
        (40.8, 0.05, [34.5, 44.6, 41.9], "agrees"),
        (48.0, 0.05, [34.5, 44.6, 41.9], "differs"),
        (3.0, 0.0, [3.0], "agrees"),
        (3.0, 0.0, [4.0], "differs"),
        (1.0, 0.5, [math.nan], "differs"),
        (1.0, 0.5, [], "differs"),
    ],
)
def test_verdict(published: float, precision: float, values: list[float], expected: str) -> None:
    """A row is within if the published value, to its precision, is in the range of the runs; without a measurement it
    is outside.
    """
    assert of_number(published, precision, values) == expected


@pytest.mark.parametrize(("text", "precision"), [("0.50", 0.005), ("49.2", 0.05), ("436", 0.5), ("400", 0.5)])
def test_printed_precision(text: str, precision: float) -> None:
    """Half a unit of the last printed digit."""
    assert printed_precision(text) == pytest.approx(precision)


def test_a_row_carries_difference_and_interval() -> None:
    """The difference belongs to the unperturbed run, the interval to all runs."""
    row = compare("id", "group", "what", 10.0, 0.5, [11.0, 9.0, 12.0], "ms")
    assert (row.difference, row.interval, row.verdict) == (1.0, (9.0, 12.0), "agrees")


def test_perturbations_are_a_few_microseconds() -> None:
    """Every perturbed run differs from the plain one in every flow, by one to three microseconds."""
    assert all(1 <= abs(us) <= 3 for offsets in OFFSETS_US for us in offsets)
    assert len(set(OFFSETS_US)) == len(OFFSETS_US)
    text = '[bottleneck]\nrate = "1 Gbps"\n[[flow]]\nrtt = "20 ms"\n[[flow]]\nrtt = "80 ms"\n'
    setup = Setup("c", Template("t", 'duration = "30 s"\n' + text), perturbed=3)
    plain, *others = list(setup.variants())
    assert plain == ()
    assert others[0] == ('flow.0.rtt="20001 us"', 'flow.1.rtt="80001 us"')
    assert others[2] == ('flow.0.rtt="20002 us"', 'flow.1.rtt="79997 us"')
    assert setup.packets == pytest.approx(2.5e6)


# --- The data -------------------------------------------------------------------------------------------------------


def test_every_published_feature_is_there_once() -> None:
    """All 1654 readings, under unique ids."""
    features = read_features()
    assert len(features) == 1654
    assert len({f.id for f in features}) == 1654


def test_only_axes_chosen_by_hand_have_no_method() -> None:
    """The 40 ends of axes that a person chose by zooming are the only rows that nothing can measure."""
    bare = [f for f in read_features() if not f.method]
    assert {f.figure for f in bare} == {"3b", "14b", "15b"}
    assert all(f.name.startswith("axis_") for f in bare)
    assert len(bare) == 40


def all_methods() -> list[str]:
    """The names of all methods that the data uses."""
    listed = [f.method for f in read_features() if f.method and f.panel != "curve"]
    listed += [r["method"] for r in MDS.table("tables/table7.csv") + MDS.table("tables/table1.csv")]
    for claim in MDS.toml("claims.toml")["claim"]:
        listed += [q["method"] for q in claim.get("quantities", {}).values() if "method" in q]
    return sorted(set(listed))


@pytest.mark.parametrize("text", all_methods())
def test_every_method_exists_and_takes_these_arguments(text: str) -> None:
    """A misspelt method or a wrong number of arguments in the data is found without a run."""
    name, arguments = call_of(text)
    inspect.signature(METHODS[name]).bind(None, *arguments)


def test_claims_are_complete() -> None:
    """P01 to P29 and P34 each have a number and a reason, or the experiments that try them; expressions name measured
    quantities.
    """
    claims = MDS.toml("claims.toml")["claim"]
    assert {c["id"][:3] for c in claims} == {f"P{n:02d}" for n in (*range(1, 30), 34)}
    assert len({c["id"] for c in claims}) == len(claims)
    assert {c["id"] for c in claims if "checks" in c} == {"P08", "P09", "P10", "P11", "P34"}
    for claim in claims:
        if "checks" not in claim:
            assert Expression.of_names(claim["value"]).names == set(claim["quantities"]), claim["id"]
            assert claim["expected"].get("why") or "word" in claim["expected"]
            assert len({"near", "above", "below", "word"} & set(claim["expected"])) == 1


@pytest.mark.parametrize("number", [2, 3])
def test_footnote_9_is_what_the_models_say(number: int) -> None:
    """In all 30 cells of the table the printed mark agrees with a recovery above one minute."""
    lines = read_lines(number)
    assert len(lines) == 30
    assert [line.outside for line in lines] == [
        outside_acceptable(line.controllers[0], line.rate_mbps, line.rtt_ms) for line in lines
    ]


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last perturbation, passes the core's own checks."""
    for setup in mds.suite(quick=quick).setups.values():
        variants = list(setup.variants())
        assert len(variants) == setup.perturbed + len(setup.twins) + 1
        for overrides in (variants[0], variants[-1]):
            _core.check(setup.template.text, f"{setup.template.name}.toml", overrides)


def test_no_scenario_file_lies_idle() -> None:
    """Every scenario file of the suite is run by it; claims that other suites' experiments try use those of theirs."""
    setups = mds.suite(quick=False).setups.values()
    own = {p.stem: p.read_text() for p in (MDS.root / "scenarios").glob("*.toml")}
    used = {setup.template.name: setup.template.text for setup in setups}
    assert own.items() <= used.items()
    foreign = {p.stem for p in (DEPLOYMENT.root / "scenarios").glob("*.toml")}
    assert used.keys() - own.keys() <= foreign


def test_the_whole_suite_has_a_row_for_each_published_number() -> None:
    """Features, 120 + 60 numbers and marks of tables 2 and 3, 48 of tables 4 to 6, 36 of table 8, for any runs."""
    suite = mds.suite(quick=False)
    from windtunnel.papers.suite import Results

    by_group = {g.id: g.rows(Results([])) for g in suite.groups}
    rows = [row for mine in by_group.values() for row in mine]
    assert len({row.id for row in rows}) == len(rows)
    assert sum(len(mine) for id, mine in by_group.items() if id.startswith("fig")) == 1654
    fairness = [r for r in rows if "/fairness" in r.id or r.id.endswith("/questionable")]
    # Twelve of the cells are run with another response to CE as well.
    assert len(fairness) == 2 * (30 + 6) + 3 * 8 + 5
    numbers = [r.id for r in rows if r not in fairness and not r.id.endswith("/draws")]
    assert sum(id.startswith(("table2/", "table3/")) and "ce0.7" not in id for id in numbers) == 180
    assert sum(id.startswith(("table4/", "table5/", "table6/")) for id in numbers) == 48
    assert sum(r.id.startswith("table8/") and not r.id.endswith("/model") for r in rows) == 36
    # Without runs only the models' numbers can agree.
    assert all(r.verdict != "agrees" or r.measured is not None for r in rows)
    assert sum(r.note == CHOSEN_AXIS for r in rows) == 40


# --- Small parts ----------------------------------------------------------------------------------------------------


def test_expressions() -> None:
    """Arithmetic on named quantities, and nothing else."""
    numbers = {"a": 1.0, "b": 3.0, "c": 12.0}
    assert Expression.of_names("min(b - a, c / b) + -1").of_numbers(numbers) == 1.0
    assert Expression.of_names("min(b - a, 2 * c)").names == {"a", "b", "c"}
    share = Expression.of_names("share(a, b, c)")
    assert (share.of_numbers(numbers), share.kind, Expression.of_names("ratio(a, b)").kind) == (
        1 / 16,
        "share",
        "ratio",
    )
    assert math.isnan(share.of_numbers(dict.fromkeys("abc", 0.0)))
    for text in ("a.b", "open('x')", "a[0]", "a if b else c", "unknown", "share(a)"):
        with pytest.raises(MetricError):
            Expression.of_names(text).of_numbers(numbers)


def test_rank_correlation() -> None:
    """Spearman's coefficient: order, reverse, one swapped pair of five (0.9), ties, nothing to order."""
    assert rank_correlation([1, 2, 4, 8, 9]) == pytest.approx(1.0)
    assert rank_correlation([5, 4, 3, 2, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 3, 2, 4, 5]) == pytest.approx(0.9)
    assert rank_correlation([1, 2, 3, 3, 3]) == pytest.approx(0.894, abs=1e-3)
    assert math.isnan(rank_correlation([2, 2, 2, 2, 2]))


def test_notes_become_html() -> None:
    """Headings, lists, tables and code; markup in the text is text."""
    html = to_html("# A <b>\n\nx `a<b` **c**\n\n- one\n  more\n- two\n\n| h | i |\n|---|---|\n| 1 | 2 |")
    flat = html.replace("\n", " ")
    assert "<h2>A &lt;b&gt;</h2>" in html
    assert "<p>x <code>a&lt;b</code> <strong>c</strong></p>" in html
    assert "<ul> <li>one more</li> <li>two</li> </ul>" in flat
    assert "<td>1</td> <td>2</td>" in flat


def test_names_are_known_or_refused_with_the_nearest() -> None:
    """IDs of groups, kinds of groups, letters left out; for a wrong ID the message names the nearest."""
    suite = mds.suite(quick=False)
    assert select(suite, ["fig3", "P13"]) == ["fig3a", "fig3b", "P13a", "P13b", "P13c"]
    assert len(select(suite, ["tables"])) == 8
    assert select(suite, ["FIG5"]) == ["fig5"]
    with pytest.raises(ValueError, match="fig5"):
        select(suite, ["fig51"])
    with pytest.raises(ValueError, match="mds"):
        reproduce("msd", only=[], quick=True, out=Path("nowhere"), jobs=1, console=Console())


# --- From end to end ------------------------------------------------------------------------------------------------


def test_a_figure_is_reproduced(tmp_path: Path) -> None:
    """Figure 3a and the claim that rests on it: folder, page, picture, report; the steady delay is below 1 ms."""
    out, shown = tmp_path / "out", io.StringIO()
    console = Console(file=shown, width=160)
    assert reproduce("mds", only=["fig3a", "P06", "fig1"], quick=False, out=out, jobs=2, console=console) == 0
    document = json.loads((out / "rows.json").read_text())
    rows = {row["id"]: row for row in document["rows"]}
    assert rows["P06"]["verdict"] == "agrees"
    curve = [r for r in rows.values() if r["group"] == "fig1"]
    assert all(r["verdict"] == "info" and "published value agrees" in r["note"] for r in curve)
    # The start-up is not chaotic: its peak equals the document's, to the resolution of the image.
    assert rows["fig3a/sojourn/all/peak"]["measured"] == pytest.approx(16.393, abs=0.029)
    assert not any(run["error"] for run in document["runs"])
    assert (document["foreign"], document["settings"]) == ([], [])
    assert 'class="facts"' not in (out / "report.html").read_text()
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert names == {"report.html", "rows.csv", "rows.json", "fig1.png", "fig3a.png", "runs/fig3a.html"}
    assert "fig3a" in (out / "report.html").read_text()
    assert "verdict" in shown.getvalue()
    with pytest.raises(ValueError, match="exists"):
        reproduce("mds", only=["fig1"], quick=False, out=out, jobs=1, console=console)


def test_a_failed_run_is_shown_and_does_not_stop_the_others(tmp_path: Path) -> None:
    """If the core refuses a scenario, the exit code is 1, its rows are outside, the message is shown, and the folder is
    complete.
    """
    from windtunnel.papers.reproduction import run_suite

    suite = mds.suite(quick=False)
    broken = suite.setups["fig3a"].template
    suite.setups["fig3a"].template = Template(broken.name, broken.text.replace("deltim", "deltimm"))
    suite.setups["fig3a"].perturbed = 0
    suite.setups["fig2"].perturbed = 0
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    out = tmp_path / "out"
    assert run_suite(suite, ["fig2", "P06"], out=out, jobs=2, console=console, part=True).code == 1
    assert "failed fig3a" in shown.getvalue()
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    assert rows["P06"]["verdict"] == "differs"
    assert rows["fig2/sojourn/all/peak"]["verdict"] == "agrees"
