"""The suite of C4's tests: its data, its verdicts on the worst run, and runs from end to end."""

import io
import json
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from paper_suites import assert_valid
from rich.console import Console

from windtunnel import Scenario
from windtunnel.papers import c4, reproduce, select
from windtunnel.papers.c4.trials import QUICK_SEEDS, SEEDS, read_trials
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.suite import Results, Suite


@cache
def whole() -> Suite:
    return c4.suite(quick=False)


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last seed, passes the core's own checks."""
    assert_valid(c4.suite(quick=quick))


def test_all_31_tests_are_there() -> None:
    """By hand from doc/c4-tests.md: 7 of network events, 3 of jitter, 6 next to C4, 4 each next to CUBIC and BBR, 7 of
    media, 100 runs each.
    """
    trials = read_trials()
    assert Counter(t.group for t in trials) == {"network": 7, "wifi": 3, "self": 6, "cubic": 4, "bbr": 4, "media": 7}
    assert len({t.id for t in trials}) == 31
    assert {len(setup.twins) + 1 for setup in whole().setups.values()} == {SEEDS} == {100}
    assert {len(setup.twins) + 1 for setup in c4.suite(quick=True).setups.values()} == {QUICK_SEEDS}
    assert len(select(whole(), ["competition"])) == 3


def test_both_directions_of_a_path_are_one() -> None:
    """The tests' simulator gives rate, delay, queue and jitter to both links; a round trip is twice the delay."""
    for trial in read_trials():
        setup = whole().setups[trial.id]
        resolved = Scenario.from_toml(setup.template.text, overrides=next(setup.variants())).resolve()
        assert resolved["bottleneck"] == resolved["reverse"], trial.id
        delay = float(resolved["bottleneck"]["delay"].split()[0])
        assert {flow["rtt"] for flow in resolved["flow"]} == {f"{2 * delay:g} ms"}, trial.id


def test_limits_can_be_met() -> None:
    """The sizes that were corrected take less than the limit at the rate; the text's 10 MB over bad Wi-Fi take more."""
    sizes = {"wifi-bad": 4, "vs-c4-long": 30, "vs-c4-last": 15}
    for trial in read_trials():
        if trial.id in sizes:
            setup = whole().setups[trial.id]
            resolved = Scenario.from_toml(setup.template.text, overrides=next(setup.variants())).resolve()
            assert resolved["flow"][0]["app"]["size"] == f"{sizes[trial.id]} MB"
            rate = float(resolved["bottleneck"]["rate"].split()[0])
            assert 8 * sizes[trial.id] / rate < trial.limits[0].most, trial.id
    assert 8 * 10 / 10 > 4.3


def _made(suite: Suite, id: str, runs: list[tuple[float, ...]]) -> Results:
    return Results([JobResult(id, k, values, {}, 0.1, 1, "") for k, values in enumerate(runs)])


@pytest.mark.parametrize(
    ("runs", "verdict", "measured"),
    [
        # From 0.5 to 4 s, and half of 80 ms.
        ([(0.5, 4.0, 1.0), (0.0, 4.0, 1.0)], "agrees", 4.04),
        ([(0.0, 4.0, 1.0), (0.0, 4.97, 1.0)], "differs", 5.01),
        ([(0.0, 4.0, 1.0), (0.0, 4.0, 0.0)], "differs", None),
        ([], "undecided", None),
    ],
)
def test_the_worst_run_decides(runs: list[tuple[float, ...]], verdict: str, measured: float | None) -> None:
    """Of two runs the slower one is judged (limit 5 s); one that did not end refutes; without runs nothing is."""
    suite = replace(whole(), setups={"alone": whole().setups["alone"]})
    group = next(group for group in whole().groups if group.id == "network")
    row = next(row for row in group.rows(_made(suite, "alone", runs)) if row.id == "network/alone-time")
    assert row.verdict == verdict
    assert row.measured == (None if measured is None else pytest.approx(measured))
    assert row.word.text in ("confirmed", "refuted", "undecided")


def test_calls_are_judged_by_their_worse_stream() -> None:
    """The larger of audio's and the video's numbers counts, for the mean (31 ms) and for the largest delay (79 ms). A
    miss decides nothing, because delays here contain more than those of the tests.
    """
    group = next(group for group in whole().groups if group.id == "media")
    rows = {
        row.id: row for row in group.rows(_made(whole(), "media", [(30.0, 30.5, 60.0, 80.0), (30.0, 30.2, 1.0, 2.0)]))
    }
    assert (rows["media/media-mean"].verdict, rows["media/media-mean"].measured) == ("agrees", 30.5)
    assert (rows["media/media-max"].verdict, rows["media/media-max"].measured) == ("undecided", 80.0)
    assert "nothing is decided" in rows["media/media-max"].note
    assert rows["media/media-max-later"].measured == pytest.approx(2.0 + 0.9 * 78.0)


def test_misprints_are_named_in_their_rows() -> None:
    """A test whose text cannot be meant is checked with the corrected value, and says so."""
    notes = {row.id: row.note for group in whole().groups for row in group.rows(Results([]))}
    for trial in read_trials():
        note = notes[f"{trial.group}/{trial.id}-{trial.limits[0].id}"]
        assert ("corrected:" in note) == bool(trial.misprint)
    assert "10 MB, which take 8 s" in notes["wifi/wifi-bad-time"]
    assert all(math.isfinite(limit.most) for trial in read_trials() for limit in trial.limits)


def test_rows_are_reproduced(tmp_path: Path) -> None:
    """Another controller runs the tests, too: alone at 20 Mbit/s, CUBIC needs 4.5 s (the author's runs: 4.47)."""
    out, console = tmp_path / "out", Console(file=io.StringIO(), width=160)
    settings = ['flow.0.cc="cubic"', 'duration="10 s"']
    code = reproduce("c4", only=["network"], quick=True, out=out, jobs=2, console=console, settings=settings)
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    assert code == 0
    assert rows["network/alone-time"]["verdict"] == "confirmed"
    assert rows["network/alone-time-later"]["measured"] == pytest.approx(4.47, rel=0.05)
