"""The suite of the mail "SCE ramps": its data, ramps, figures from made-up runs, and one graph from end to end."""

import io
import json
from functools import cache
from pathlib import Path

import pytest
from paper_suites import assert_complete, assert_nothing_confirmed, assert_valid, flat, made_up
from rich.console import Console

from windtunnel.papers import reproduce, sce, select
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.sce import ramp_map
from windtunnel.papers.sce.graphs import SHARE, USED
from windtunnel.papers.sce.plan import RTT_MS, TWIN_STARTS_MS
from windtunnel.papers.suite import Results, Suite


@cache
def whole() -> Suite:
    return sce.suite(quick=False)


def runs(suite: Suite, *, map_only: bool = False) -> Results:
    """Made-up runs of every setup, or of the map's alone."""
    columns = {"throughput_mbps": 20.0, "srtt_ms": 83.0, "rtt_mean_ms": 82.0}
    return made_up(suite, flat(70.0, columns, 3), lambda setup: not map_only or setup.name.startswith("map/"))


# --- The data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last start offset, passes the core's own checks."""
    assert_valid(sce.suite(quick=quick))


def test_no_scenario_file_lies_idle() -> None:
    """Every scenario file of the suite is run by it."""
    used = {setup.template.name for setup in whole().setups.values()}
    assert {p.stem for p in (SCE.root / "scenarios").glob("*.toml")} == used


def test_start_offsets_differ_by_no_round_trip() -> None:
    """No two runs of a setup have the same phase: offsets differ by no multiple of the path's RTT."""
    offsets = (0.0, *TWIN_STARTS_MS)
    assert len({round(o % RTT_MS, 6) for o in offsets}) == len(offsets)


def test_the_published_ramps() -> None:
    """Probability 0 at half of the target of 5 ms, 1/N at it, 1 at twice the target (docs/spec 15.2)."""
    assert {n: (r["lo_ms"], r["hi_ms"], r["knee"]) for n, r in SCE.toml("graphs.toml")["ramp"].items()} == {
        "basic": (2.5, 5.0, 1.0),
        "straddling": (2.5, 10.0, 1 / 20),
        "single": (5.0, 10.0, 0.0),
        "detached": (10.0, 20.0, 0.0),
    }


def test_the_mails_ramps_are_places_of_the_map() -> None:
    """Each of them is exactly the ramp that the map runs at its place."""
    for name, ramp in ramp_map.mails_ramps().items():
        assert ramp in ramp_map.RAMPS
        data = SCE.toml("graphs.toml")["ramp"][name]
        assert (ramp.begin, ramp.end, ramp.knee) == (data["lo_ms"], data["hi_ms"], data["knee"])


def test_claims_are_complete() -> None:
    """Each graph has claims, with a number and a reason; expressions name measured quantities; methods exist."""
    claims = SCE.toml("claims.toml")["claim"]
    assert {c["id"][:3] for c in claims} == {f"K{n}" for n in (*range(46, 54), 54)}
    assert_complete(claims)
    for quantity in (quantity for claim in claims for quantity in claim["quantities"].values()):
        assert quantity["run"].replace("{sender}", "") in whole().setups


def test_names_of_parts() -> None:
    """Graphs, the map, all claims, those about one graph."""
    assert select(whole(), ["K47"]) == [f"K47{letter}{sender}" for sender in ("", "-half") for letter in "abcd"]
    assert select(whole(), ["K54"]) == ["K54", "K54-half"], "a claim without letters has a variant, too"
    assert select(whole(), ["graph4", "map"]) == ["graph4", "map"]
    assert len(select(whole(), ["claims"])) == 2 * len(SCE.toml("claims.toml")["claim"])
    assert "map" not in {group.id for group in sce.suite(quick=True).groups}


# --- Rows and figures -------------------------------------------------------------------------------------------------


def test_without_runs_nothing_is_confirmed() -> None:
    """Every group has its rows for any results, under unique ids."""
    assert_nothing_confirmed(whole())


def test_numbers_follow_from_measurements() -> None:
    """Share and use of two flows with 30 and 10 of 50 Mbit/s."""
    assert SHARE.formula(30.0, 10.0) == 0.75
    assert USED.formula(30.0, 10.0) == 0.8


def test_figures_from_made_up_runs() -> None:
    """Graphs, thresholds and map are drawn where their runs are there; claims have no figure."""
    results = runs(whole())
    groups = {group.id: group for group in whole().groups}
    for id in ("graphs-half", "graph8", "thresholds", "map"):
        png = groups[id].png(results)
        assert png is not None
        assert len(png) > 20_000, id
    assert groups["K46a"].png(results) is None


def test_the_maps_rows() -> None:
    """With equal throughputs all ramps are fair; the first of the lowest delays is named."""
    rows = {r.id: r for g in whole().groups if g.id == "map" for r in g.rows(runs(whole(), map_only=True))}
    assert rows["map/dctcp-sce/fair"].measured == 1.0
    assert rows["map/dctcp-sce/best"].measured == 2.0
    assert "from 0 to 1.25 ms" in rows["map/dctcp-sce/best"].note
    assert rows["map/cubic-sce/straddling/share"].measured == 0.5


@pytest.mark.parametrize(("reno", "part"), [(0.375, 0.0), (0.39, 1.0), (0.61, 1.0), (0.625, 0.0)])
def test_the_fair_part_of_the_map_has_the_bar_of_all_suites(reno: float, part: float) -> None:
    """Fair is 38.5 to 61.5 % (experiment/words.toml), for the map as for the claims."""
    outcomes = []
    for setup in (setup for name, setup in whole().setups.items() if name.startswith("map/")):
        values = [1.0] * len(setup.measurements)
        for each, rate in zip(SHARE.of, (reno, 1.0 - reno), strict=True):
            values[setup.index(each)] = rate
        outcomes.append(JobResult(setup.name, 0, tuple(values), {}, 0.1, 1, ""))
    (group,) = (group for group in whole().groups if group.id == "map")
    rows = {row.id: row for row in group.rows(Results(outcomes))}
    assert rows["map/reno-sce/fair"].measured == part
    assert "38.5 to 61.5 %" in rows["map/reno-sce/fair"].what


# --- From end to end --------------------------------------------------------------------------------------------------


def test_a_graph_is_reproduced(tmp_path: Path) -> None:
    """Graph 5 and its claims: SCE flows alone share one queue equally, near the ramp's equilibrium (docs/spec 15.3)."""
    out = tmp_path / "out"
    console = Console(file=io.StringIO(), width=160)
    assert reproduce("sce", only=["graph5", "K50a", "K50b"], quick=False, out=out, jobs=2, console=console) == 0
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    # The equilibrium is not the mail's, so that it is shown and not judged.
    assert (rows["K50a"]["verdict"], rows["K50b"]["verdict"]) == ("confirmed", "info")
    assert rows["K50b"]["limits"][0] < rows["K50b"]["measured"] < rows["K50b"]["limits"][1]
    assert rows["graph5/ce-1"]["measured"] < 10
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert names == {"report.html", "rows.csv", "rows.json", "graph5.png", "runs/graph5.html"}
