"""The suite of the DualQ slides: its data, rows and figures from made-up runs, and one run from end to end."""

import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from paper_suites import assert_complete, assert_nothing_confirmed, assert_valid, flat, made_up
from rich.console import Console

from windtunnel.papers import dualq, reproduce, select
from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.dualq.plan import MEANINGS, TWIN_STARTS_MS, runs
from windtunnel.papers.dualq.probabilities import CURVES, series
from windtunnel.papers.suite import Suite
from windtunnel.papers.time_series import COLUMNS
from windtunnel.result import RunResult


@cache
def whole() -> Suite:
    return dualq.suite(quick=False)


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last start offset, passes the core's own checks."""
    assert_valid(dualq.suite(quick=quick))


def test_the_slides_four_runs() -> None:
    """Every combination of code point and response, once, in the order of the slides."""
    assert [(run["ect"], run["responsive"]) for run in runs()] == [
        ("ect1", True),
        ("ect1", False),
        ("ect0", False),
        ("ect0", True),
    ]
    assert {p.stem for p in (DUALQ.root / "scenarios").glob("*.toml")} == {
        c.template.name for c in whole().setups.values()
    }
    for meaning in MEANINGS:
        assert len({round(o % meaning.base_ms, 6) for o in (0.0, *TWIN_STARTS_MS)}) == len(TWIN_STARTS_MS) + 1


def test_claims_are_complete() -> None:
    """Each run has claims, with a number and a reason; expressions name measured quantities; methods exist."""
    claims = DUALQ.toml("claims.toml")["claim"]
    assert {c["id"][:3] for c in claims} == {"K56", "K57", "K58", "K59", "K60", "P57"}
    assert_complete(claims)


def test_each_claim_is_checked_with_each_meaning() -> None:
    """The claims with the suite's base RTT, with 40 ms and with the queue's parameter; runs are named fully."""
    claims = DUALQ.toml("claims.toml")["claim"]
    listed = select(whole(), ["claims"])
    assert len(listed) == len(MEANINGS) * len(claims)
    assert select(whole(), ["K58"]) == ["K58a", "K58a-40ms", "K58a-typical"]
    by_id = {group.id: group for group in whole().groups}
    assert by_id["K60a-typical"].setups == ["dualpi2-typical-ect1-unresponsive", "pi2-typical-ect1-unresponsive"]
    assert not [name for name in whole().setups if "{" in name]


def test_without_runs_nothing_is_confirmed() -> None:
    """Every group has its rows for any results, under unique ids; no figure is drawn."""
    assert_nothing_confirmed(whole())


def test_the_native_probability_is_a_part_of_packets() -> None:
    """Marks of each interval over what the low-latency queue sent in it: 5 of 100, none of 50; nothing of nothing."""
    tables = {
        "flows": {"time_s": np.array([1.0, 2.0, 3.0]), "flow": np.zeros(3, dtype=np.uint32)},
        "aqm": {
            "time_s": np.array([1.0, 1.0, 2.0, 2.0, 3.0]),
            "native_marks": np.array([5.0, np.nan, 5.0, np.nan, 5.0]),
            "p_c": np.array([np.nan, 0.01, np.nan, 0.02, 0.03]),
        },
        "bands": {
            "time_s": np.array([1.0, 1.0, 2.0, 3.0]),
            "band": np.array([0, 1, 0, 1]),
            "dequeued": np.array([100, 7, 50, 7]),
        },
    }
    tables["flows"] |= {column: np.ones(3) for column in COLUMNS}
    flows = [{"first_packet_s": 0.0, "last_packet_s": 3.0}]
    measured = series(RunResult({"flows": flows}, tables, {}))
    assert measured["native"] == pytest.approx([5.0, 0.0, np.nan], nan_ok=True)
    assert measured["classic"] == pytest.approx([1.0, 2.0, 3.0])
    assert "coupled" not in measured


def test_figures_from_made_up_runs() -> None:
    """One panel for a slide; four for a queue and meaning, with a lower panel where the queue has probabilities."""
    columns = {"delivery_rate_mbps": 20.0, "srtt_ms": 33.0}
    results = made_up(whole(), flat(60.0, columns, 2, **dict.fromkeys(CURVES["dualpi2"], 2.0)))
    groups = {group.id: group for group in whole().groups}
    assert {f"dualpi2-{m.id}" for m in MEANINGS} | {"pi2-40ms", "fq_codel-20ms", "slide3"} < set(groups)
    sizes = {id: len(groups[id].png(results) or b"") for id in ("slide4", "pi2-typical", "fq_codel-40ms")}
    assert min(sizes.values()) > 20_000
    assert groups["K56a"].png(results) is None


def test_a_run_is_reproduced(tmp_path: Path) -> None:
    """Slide 4: the unresponsive flow has its 40 Mbit/s, and CUBIC what is left; the page has the run's report."""
    out = tmp_path / "out"
    console = Console(file=io.StringIO(), width=160)
    assert reproduce("dualq", only=["slide4", "K57a", "K57b"], quick=False, out=out, jobs=2, console=console) == 0
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    # What is left of the link follows from K57a.
    assert (rows["K57a"]["verdict"], rows["K57b"]["verdict"]) == ("confirmed", "info")
    assert rows["K57b"]["limits"][0] < rows["K57b"]["measured"] < rows["K57b"]["limits"][1]
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    run = "dualpi2-20ms-ect1-unresponsive.html"
    assert files == {"report.html", "rows.csv", "rows.json", "slide4.png", f"runs/{run}"}
