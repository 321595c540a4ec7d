"""The suite of "Multiplicative Decrease Scaling": its common settings, tolerances that are derived, fairness, mixes."""

import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from windtunnel import _core
from windtunnel.models import losses
from windtunnel.models.sawteeth import RENO
from windtunnel.papers import mds
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.mds import mixes
from windtunnel.papers.mds.draws import SOURCE, draws_row, other_draws
from windtunnel.papers.mds.fairness import larger_share, read_lines
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Results, Suite

PRESET = Path(__file__).parents[2] / "scenarios" / "mds-2025.toml"


@cache
def whole() -> Suite:
    return mds.suite(quick=False)


def made_up(value: Callable[[Setup, int], float], runs: int = 5) -> Results:
    """Runs of every setup whose measurements are a function of the setup and of the measurement's index."""
    outcomes = [
        JobResult(setup.name, k, tuple(value(setup, i) for i in range(len(setup.measurements))), {}, 0.1, 1, "")
        for setup in whole().setups.values()
        for k in range(max(runs, 1 + len(setup.twins)))
    ]
    return Results(outcomes)


def rows_of(group: str, results: Results) -> dict[str, Row]:
    return {row.id: row for g in whole().groups if g.id == group for row in g.rows(results)}


# --- K01: the common settings ----------------------------------------------------------------------------------------


def settings(flow: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """What the document fixes for all flows, and for those with MDS or Scalable growth."""
    cc = flow["cc"]
    yield from (("pacing", flow["pacing"]), ("iw", flow["iw"]), ("ack", flow["ack"]["policy"]))
    yield from (("slow_start", cc["slow_start"]), ("growth", cc.get("growth", "per-srtt")))
    yield from (
        (f"{cc['kind']}.{key}", cc[key]) for key in ("inv_a", "b", "lwnd", "c", "fast_convergence") if key in cc
    )
    if cc["response"] == "mds":
        yield "tau", cc["tau"]


def common(scenario: dict[str, Any]) -> set[tuple[str, str]]:
    """What the document fixes, of a resolved scenario: names and values."""
    bottleneck = scenario["bottleneck"]
    queue = bottleneck["queue"]
    pairs: list[tuple[str, object]] = [(key, scenario[key]) for key in ("endpoints", "mtu")]
    pairs += [("dequeue_point", bottleneck["dequeue_point"])]
    pairs += [(f"queue.{key}", queue[key]) for key in ("kind", "burst", "tau") if key in queue]
    pairs += [each for flow in scenario["flow"] for each in settings(flow)]
    return {(name, json.dumps(value)) for name, value in pairs}


def test_the_preset_is_the_documents_configuration() -> None:
    """Every number of the section "Test Configuration", and of the list of what the simulation lacks."""
    preset = dict(common(json.loads(_core.resolve(PRESET.read_text(), str(PRESET)))))
    assert {name: json.loads(value) for name, value in preset.items()} == {
        "endpoints": "ideal",
        "mtu": "1500 B",
        "dequeue_point": "end",
        "queue.kind": "deltim",
        "queue.burst": "5 ms",
        "queue.tau": 64,
        "pacing": True,
        "iw": "10 packets",
        "ack": "immediate",
        "slow_start": {"kind": "essp", "delay_factor": 1.25, "exit": "none"},
        "growth": "per-srtt",
        "scalable.inv_a": 200,
        "scalable.b": 0.5,
        "scalable.lwnd": "250 kB",
        "cubic.c": 0.4,
        "cubic.fast_convergence": True,
        "tau": 64,
    }


def test_figures_and_tables_have_the_presets_settings() -> None:
    """Every run of a figure or table has them, but for what the document changes there and says so."""
    preset = common(json.loads(_core.resolve(PRESET.read_text(), str(PRESET))))
    different: dict[str, set[tuple[str, str]]] = {}
    for setup in whole().setups.values():
        if setup.name.startswith(("fig", "table")) and not setup.name.startswith("table1/"):
            scenario = json.loads(_core.resolve(setup.template.text, "x.toml", next(setup.variants())))
            more = common(scenario) - preset
            if more:
                different.setdefault(setup.name.partition("/")[0], set()).update(more)
    wall = {("queue.kind", '"brickwall"')}
    assert different == {"fig13b": {("scalable.lwnd", '"0 B"')}, "table4": wall, "table5": wall, "table6": wall}


# --- P04, P05: how equal the relationship of signals makes two responses ---------------------------------------------


def test_what_the_relationship_leaves_is_derived() -> None:
    """Reno's window rises from W/2 to W in W/2 round trips and has one CE. The window V of Reno-MDS grows by one
    segment per round trip, so that SCE worth s CE must take W/2V from ln V: s ln 2 = W/2V. Marks fall on packets in
    proportion to the windows when they come: s = V/x. If they come at the peak, x = W; if they come evenly, x = 3W/4,
    Reno's mean. The notes have these ratios of the mean windows, and of the responses, as the cause of differences.
    """
    for x, window, response in ((1.0, 1.132, 0.849), (0.75, 0.981, 0.981)):
        v = math.sqrt(x / (2.0 * math.log(2.0)))
        assert v / 0.75 == pytest.approx(window, abs=5e-4)
        assert v / x == pytest.approx(response, abs=5e-4)
    # V^2 ln 2 = 1/p for a small response; Reno's mean with independent losses is the other model's.
    independent = 1.0 / math.sqrt(math.log(2.0)) / losses.independent_window(RENO)
    assert independent == pytest.approx(0.917, abs=5e-4)


@pytest.mark.parametrize(("mds_window", "verdict"), [(1.09, "agrees"), (1.11, "differs"), (0.89, "differs")])
def test_equal_windows_are_equal_within_a_tenth(mds_window: float, verdict: str) -> None:
    """The bar of the word "equal"; the made-up runs are one draw."""

    def value(setup: Setup, index: int) -> float:
        return mds_window if setup.name.startswith("p05") and setup.measurements[index].flow == "1" else 1.0

    assert rows_of("P05b", made_up(value))["P05b"].verdict == verdict


# --- P08 to P11, P34: claims that the suite of deployment tries ------------------------------------------------------


@pytest.mark.parametrize("id", ["P08", "P09", "P10", "P11", "P34"])
def test_claims_have_the_verdict_of_their_checks(id: str) -> None:
    """Confirmed only if all are: runs that are all zero break at least one; each check has a row of its own."""
    rows = rows_of(id, made_up(lambda *_: 0.0))
    judged = [row for row in rows.values() if row.id != id and row.verdict != "info"]
    # A DualPI2 that knows MDS is not the document's; its rows are shown, and decide nothing.
    judged = [row for row in judged if not (id == "P08" and row.id.endswith("-true"))]
    assert judged
    assert rows[id].published == f"all {len(judged)}"
    assert rows[id].measured == sum(row.verdict == "agrees" for row in judged)
    wrong = any(row.verdict == "differs" for row in judged)
    assert rows[id].verdict == ("differs" if wrong else "undecided")


# --- J17: the bar of 90/10 -------------------------------------------------------------------------------------------


def test_printed_numbers_and_the_bar() -> None:
    """Four cells of tables 4 and 5, all at 1 Gbit/s with 120 ms of queue, are worse than 90/10; no other one is."""
    ids = {
        line.id for number in (2, 3, 4, 5, 6) for line in read_lines(number)
        if larger_share(*map(float, line.printed)) > 0.9
    }  # fmt: skip
    assert ids == {f"table{number}/1000Mbps-{rtt}ms-120ms" for number in (4, 5) for rtt in (5, 20)}


@pytest.mark.parametrize(("first", "word", "count"), [(8.9, "not questionable", 0.0), (9.1, "questionable", 8.0)])
def test_fairness_of_each_cell(first: float, word: str, count: float) -> None:
    """A cell's verdict against the bar is in its note; their number is compared with the printed table's."""

    def value(setup: Setup, index: int) -> float:
        return first if setup.measurements[index].flow == "0" else 10.0 - first

    rows = rows_of("table4", made_up(value))
    assert rows["table4/100Mbps-5ms-12ms/fairness"].note.startswith(word)
    assert rows["table4/100Mbps-5ms-12ms/fairness"].measured == pytest.approx(first / 10)
    assert (rows["table4/questionable"].published, rows["table4/questionable"].measured) == (2.0, count)
    assert rows["table4/questionable"].verdict == "differs"
    assert math.isnan(larger_share(0.0, 0.0))


# --- Table 2 at 1 Gbit/s ---------------------------------------------------------------------------------------------


def test_both_simulators_draws_stand_side_by_side() -> None:
    """The printed number and the printing simulator's other draws are one mean; the runs here are the other."""
    lines = {line.id: line for line in read_lines(2)}
    line = lines["table2/1000Mbps-10ms"]
    row = draws_row(line, 0, [340.0, 350.0, 360.0])
    assert row is not None
    assert (row.verdict, row.published, row.source) == ("info", None, SOURCE)
    others = other_draws(line, 0)
    assert row.reference == pytest.approx((334 + sum(others.values())) / (1 + len(others)))
    assert (row.measured, row.interval) == (350.0, (340.0, 360.0))
    assert draws_row(lines["table2/1000Mbps-20ms"], 0, [1.0]) is None


# --- K09, K25 --------------------------------------------------------------------------------------------------------


def test_mixes_are_random_and_repeatable() -> None:
    """Each has flows of both kinds and RTTs in the range; no two are equal; a number always gives the same mix."""
    drawn = [mixes.draw_mix(number) for number in range(mixes.MIXES)]
    assert drawn == [mixes.draw_mix(number) for number in range(mixes.MIXES)]
    assert all(0 < sum(mix.mds) < mixes.FLOWS for mix in drawn)
    assert all(5 <= rtt <= 80 for mix in drawn for rtt in mix.rtts_ms)
    assert len({mix.rtts_ms for mix in drawn}) == mixes.MIXES
    assert {sum(mix.mds) for mix in drawn} == {1, 2, 3, 4, 5}
    assert {mix.rate_mbps for mix in drawn} == set(mixes.RATES_MBPS)


@pytest.mark.parametrize(
    ("early", "late", "verdicts"),
    [(2.0, 1.0, ["agrees", "confirmed", "agrees"]), (1.0, 2.0, ["differs", "refuted", "refuted"])],
)
def test_mixes_can_fail(early: float, late: float, verdicts: list[str]) -> None:
    """Windows of Reno-MDS that are twice Reno's, first or at last."""

    def value(setup: Setup, index: int) -> float:
        if not setup.name.startswith("K09/"):
            return 1.0
        mix = mixes.draw_mix(int(setup.name.rpartition("-")[2]))
        measurement = setup.measurements[index]
        return (early if "early" in measurement.method else late) if mix.mds[int(measurement.flow)] else 1.0

    rows = rows_of("K09", made_up(value))
    assert [rows[f"K09/{id}"].word.text for id in ("ratio", "closer", "spread")] == verdicts


@pytest.mark.parametrize(("share", "verdicts"), [(0.5, ("agrees", "differs")), (0.2, ("differs", "agrees"))])
def test_lwnd_decides(share: float, verdicts: tuple[str, str]) -> None:
    """An equal share is what 250 kB should give, and a small one what lwnd 0 should give."""

    def value(setup: Setup, index: int) -> float:
        return share if setup.measurements[index].flow == "1" else 1.0 - share

    rows = rows_of("K25", made_up(value))
    assert (rows["K25/share-250-100-1"].verdict, rows["K25/share-0-100-1"].verdict) == verdicts
