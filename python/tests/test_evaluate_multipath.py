"""The pack multipath: the goals of RFC 6356 for a connection over two paths."""

from __future__ import annotations

import pytest

from windtunnel.evaluate import examine
from windtunnel.evaluate.pack import read
from windtunnel.evaluate.results import Row

PACK = read("multipath")


def test_the_goals_of_section_2() -> None:
    """The three goals and the pooling that follows; each trial has one connection with two subflows."""
    assert [clause.title for clause in PACK.clauses] == [
        "Improve Throughput",
        "Do no Harm",
        "Balance Congestion",
        "Resource Pooling",
    ]
    for trial in (trial for clause in PACK.clauses for trial in clause.trials):
        subflows = [flow["name"] for flow in trial.scenario["flow"] if flow.get("connection") == "both"]
        assert subflows == ["first", "second"], trial.id


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """The rows of the shared link and of the congested path, for LIA next to uncoupled Reno."""
    evidence = examine("multipath", "lia", only=["2.2", "2.3"], quick=True, jobs=1, use_cache=False)
    return {row.id: row for result in evidence.results for row in result.rows}


def test_a_shared_link(rows: dict[str, Row]) -> None:
    """LIA has the share of one flow; two uncoupled subflows have 4/3 of it, two thirds of the link."""
    row = rows["2.2/share [queue=PIE]"]
    assert row.subject.mean == pytest.approx(100, rel=0.15)
    assert row.baselines["uncoupled"].mean == pytest.approx(133.3, rel=0.03)


def test_a_congested_path(rows: dict[str, Row]) -> None:
    """With windows as 1/p, LIA keeps 36 % of a Reno flow's rate there; an uncoupled subflow keeps all of it."""
    row = rows["2.3/left [others=4 flows]"]
    assert row.verdict == "agrees"
    assert row.subject.mean == pytest.approx(36, rel=0.25)
    assert row.baselines["uncoupled"].mean == pytest.approx(100, rel=0.15)
