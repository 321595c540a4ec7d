"""Rows that cannot fail are for information; rows that are kept can fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from paper_suites import anything, perturbed

from windtunnel import Scenario
from windtunnel.experiment.measures.language import call_of
from windtunnel.experiment.verdict import of_number
from windtunnel.papers import NAMES, suite_of
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.features import Axis, RunData, View, evaluate
from windtunnel.papers.features.extremes import GIVEN
from windtunnel.papers.features.view import Tables
from windtunnel.papers.mds.figures import Feature, axes_of, read_features
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.suite import Group, Results, Suite, given, rows_of

#: Flows of a made-up run: as many as the figure with most.
FLOWS = 16
#: Sets of made-up results. Every row with a verdict must fail in at least one of them.
DRAWS = 60
PANELS = ("throughput", "sojourn", "cwnd", "mark")


@cache
def suite(name: str) -> Suite:
    """A whole suite."""
    return suite_of(name, quick=False)


def a_run(seed: int, end_s: float, tops: Mapping[str, float]) -> Tables:
    """A run in which something is sent and marked until its end, with any values around ``tops`` times 10^-``seed``."""
    random = np.random.default_rng(seed + 10)

    def points(panel: str, column: str, per: str, numbers: Sequence[int]) -> dict[str, np.ndarray]:
        time = np.concatenate([np.sort(np.append(random.uniform(0.0, end_s, 300), end_s)) for _ in numbers])
        values = 10.0**-seed * tops[panel] * random.uniform(0.3, 1.0, len(time))
        return {"time_s": time, per: np.repeat(np.asarray(numbers, dtype=np.int64), 301), column: values}

    marks = points("mark", "hz", "flow", [0])
    sojourns = points("sojourn", "ms", "queue", [0])
    return {
        "throughput_points": points("throughput", "mbps", "flow", range(-1, FLOWS)),
        "cwnd_points": points("cwnd", "bytes", "flow", range(FLOWS)),
        "sojourn_points": sojourns | {"empty": random.random(301) < random.random()},
        "mark_points": marks | {"queue": np.zeros(301, dtype=np.int64), "kind": random.integers(0, 3, 301)},
    }


def seen(feature: Feature, axis: Axis, runs: Sequence[RunData]) -> Iterator[float]:
    """A feature in several runs."""
    return (evaluate(View(run, feature.panel, feature.flow, axis), feature.method) for run in runs)


@pytest.fixture(scope="module")
def figures() -> dict[str, tuple[list[Feature], dict[tuple[str, str], Axis], list[RunData]]]:
    """The features of each figure that shows a run, their axes, and made-up runs as long as the figure's."""
    features = read_features()
    axes = axes_of(features)
    by_figure = {}
    for figure in sorted({figure for figure, _ in axes}):
        mine = [f for f in features if f.figure == figure and f.method]
        shown = {panel: axis for (of, panel), axis in axes.items() if of == figure}
        end_s = max(axis.x_max for axis in shown.values())
        tops = dict.fromkeys(PANELS, 1.0) | {panel: axis.y_max for panel, axis in shown.items()}
        runs = [RunData(a_run(seed, end_s, tops), {}) for seed in range(-1, 3)]
        by_figure[figure] = (mine, axes, runs)
    return by_figure


def test_where_axes_end_is_given(figures: dict[str, tuple[list[Feature], dict[tuple[str, str], Axis], list[RunData]]]):
    """An end of the time axis has the same value, whatever is sent, marked and dropped: it cannot be outside."""
    count = 0
    for mine, axes, runs in figures.values():
        for feature in mine:
            if call_of(feature.method)[0] in GIVEN:
                values = seen(feature, axes[feature.figure, feature.panel], runs)
                assert {of_number(feature.value, feature.error, [v]) for v in values} == {"agrees"}, feature.id
                count += 1
    assert count == 192


def test_every_other_reading_can_fail(
    figures: dict[str, tuple[list[Feature], dict[tuple[str, str], Axis], list[RunData]]],
):
    """Every reading that keeps its verdict is outside for one of these runs: no method always gives what was read."""
    for mine, axes, runs in figures.values():
        for feature in mine:
            if call_of(feature.method)[0] not in GIVEN:
                values = seen(feature, axes[feature.figure, feature.panel], runs)
                assert any(of_number(feature.value, feature.error, [v]) == "differs" for v in values), feature.id


def test_a_real_run_ends_where_its_scenario_does():
    """The axis of figure 2 ends at 30 s with any controller and queue, to the precision of the reading."""
    for settings in ([], ['flow.0.cc="cubic"'], ['bottleneck.queue={ kind="fifo", limit="20 packets" }']):
        run = Scenario.from_toml(MDS.template("fig2").text, overrides=settings).run()
        view = View(RunData(run.tables, run.summary), "cwnd", "all", Axis(0.0, 30.0, 0.0, 1.0))
        assert evaluate(view, "axis_x_max()") == pytest.approx(30.0, abs=0.027)
        assert evaluate(view, "axis_x_min()") == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_is_kept_can_fail(name: str):
    """For every row with a verdict there are runs with which it disagrees or is undecided.

    Where a draw has nothing for a group to calculate with (a share of nothing, the logarithm of a negative number),
    that group waits for another.
    """
    chosen = suite(name)
    kept: set[str] = set()
    failed: set[str] = set()
    for seed in range(DRAWS):
        results = anything(chosen, seed)
        for group in chosen.groups:
            with suppress(ZeroDivisionError, ValueError), np.errstate(invalid="ignore"):
                for row in rows_of([group], results)[group.id]:
                    if row.verdict != "info":
                        kept.add(row.id)
                        failed |= set() if row.verdict == "agrees" else {row.id}
        if kept == failed and seed > 1:
            break
    assert kept
    assert kept == failed


def test_what_needs_no_run_is_given():
    """Points of curves, claims about formulas, footnotes and BDPs have one value, and no run to turn it."""
    chosen = suite("mds")
    rows = [row for listed in rows_of(chosen.groups, perturbed(chosen, 1)).values() for row in listed]
    for count, kind in (
        (156, ("fig1/", "fig17/")),
        (60, ("/footnote9",)),
        (12, ("/bdp",)),
        (4, ("P07a", "P07b", "P17c", "P17d")),
    ):
        mine = [row for row in rows if row.id in kind or row.id.startswith(kind) or row.id.endswith(kind)]
        assert len(mine) == count
        assert {row.verdict for row in mine} == {"info"}
        assert all("follows from" in row.note for row in mine)


def test_a_given_row_says_whether_the_document_agrees():
    """What was outside is not hidden: the note says that the published value differs."""
    within, outside = (compare("a", "g", "w", 1.0, 0.1, [value], "") for value in (1.05, 2.0))
    assert given(within, "a formula").note.endswith("agrees")
    assert given(outside, "a formula").note.endswith("differs")
    assert given(within, "a formula").verdict == "info"


def row(id: str, published: float, measured: float, measurement: str = "run: cwnd peak") -> Row:
    return compare(id, "g", "w", published, 0.1, [measured], "ms", measurement=measurement)


@pytest.mark.parametrize(
    ("second", "repeats"),
    [
        (row("b", 1.05, 1.0), True),
        (row("b", 1.5, 1.0), False),  # another published value
        (row("b", 1.0, 1.1), False),  # another measured value: not the same symbol
        (row("b", 1.0, 1.0, "other: cwnd peak"), False),
        (row("b", 1.0, 1.0, ""), False),
        (replace(row("b", 1.0, 1.0), unit="s"), False),
    ],
)
def test_repeats_are_found(second: Row, repeats: bool):
    """A row repeats an earlier one of the same measurement with the same measured and published value, no other."""
    group = Group("g", "G", "", ["run"], lambda _: [row("a", 1.0, 1.0), second])
    first, later = rows_of([group], Results([]))["g"]
    assert first.verdict == "agrees"
    assert (later.verdict == "info") == repeats
    assert ("repeats a" in later.note) == repeats


def test_an_axis_repeats_the_peak_that_it_ends_at():
    """The top of figure 2's window panel is the peak of its only flow, which has a row of its own."""
    chosen = suite("mds")
    (group,) = (group for group in chosen.groups if group.id == "fig2")
    setup = chosen.setups["fig2"]
    index = {m.method: k for k, m in enumerate(setup.measurements) if m.panel == "cwnd"}
    assert setup.identity(index["peak()"]) == setup.identity(index["axis_y_max()"])
    rows = {row.id: row for row in group.rows(perturbed(chosen, 1))}
    assert list(rows).index("fig2/cwnd/0/peak") < list(rows).index("fig2/cwnd/all/axis_y_max")
