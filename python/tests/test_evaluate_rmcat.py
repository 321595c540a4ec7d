"""The pack rmcat: RFC 8867's cases for controllers that set the rate of media, and for others over TCP."""

from __future__ import annotations

import pytest

from windtunnel.evaluate import examine
from windtunnel.evaluate.pack import read
from windtunnel.evaluate.results import Row
from windtunnel.evaluate.runs import plan
from windtunnel.evaluate.subject import placeholders, subject
from windtunnel.kinds import listing

PACK = read("rmcat")


def test_the_cases_of_section_5() -> None:
    """The eight basic cases, by their sections; each tells the loss and how a call fares."""
    assert [clause.id for clause in PACK.clauses] == [f"5.{n}" for n in range(1, 9)]
    for clause in PACK.clauses:
        assert {"lost", "late", "freezes", "frozen", "bitrate"} <= {check.id for check in clause.checks}, clause.id


def test_capacities_over_time() -> None:
    """Tables of RFC 8867: 5.1 from 1 Mbit/s times 1, 2.5, 0.6, 1; 5.2 from 2 Mbit/s times 2, 1, 1.75, 0.5, 1; 5.3 from
    2 Mbit/s times 1, 0.5, 0.25, 1 there and 1, 0.4, 1 back.
    """
    trials = {clause.id: clause.trials[0].scenario for clause in PACK.clauses}
    links = [trials["5.1"]["bottleneck"], trials["5.2"]["bottleneck"], *trials["5.3"]["link"]]
    steps = [[(0, link["rate"])] + [(int(c["at"].split()[0]), c["rate"]) for c in link["changes"]] for link in links]
    assert steps == [
        [(0, "1 Mbit/s"), (40, "2.5 Mbit/s"), (60, "600 kbit/s"), (80, "1 Mbit/s")],
        [(0, "4 Mbit/s"), (25, "2 Mbit/s"), (50, "3.5 Mbit/s"), (75, "1 Mbit/s"), (100, "2 Mbit/s")],
        [(0, "2 Mbit/s"), (20, "1 Mbit/s"), (40, "500 kbit/s"), (60, "2 Mbit/s")],
        [(0, "2 Mbit/s"), (35, "800 kbit/s"), (70, "2 Mbit/s")],
    ]


def test_what_carries_media() -> None:
    """RTP under a controller that sets their rate, by its trait; TCP under all others."""
    of_media = {kind["name"] for kind in listing()["controllers"] if "media" in kind["traits"]}
    assert "scream" in of_media
    for kind in listing()["controllers"]:
        protocol = placeholders("cc", kind["name"])["protocol"]
        assert protocol == ("rtp" if kind["name"] in of_media else "tcp"), kind["name"]
    assert placeholders("cc", {"kind": "scream", "is_l4s": True})["protocol"] == "rtp"


def test_a_stack_takes_part() -> None:
    """A QUIC stack carries frames in its streams, so that no case excludes it."""
    made = plan(PACK, PACK.clauses, subject('{ stack = "quinn", cc = "cubic" }', "cc"), quick=True)
    assert not made.excluded
    assert {run.clause for run in made.runs} == {clause.id for clause in PACK.clauses}


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """The rows of a case with steps and of one with TCP, for SCReAM."""
    evidence = examine("rmcat", "scream", only=["5.1", "5.6"], quick=True, jobs=1, use_cache=False)
    return {row.id: row for result in evidence.results for row in result.rows}


def test_steps_of_the_capacity(rows: dict[str, Row]) -> None:
    """SCReAM follows the capacity and loses less than 2 %; a call over TCP, whose source does not follow, has frames
    that wait longer and longer.
    """
    assert {rows[f"5.1/{check}"].verdict for check in ("first", "up", "again", "lost")} == {"agrees"}
    late = rows["5.1/late"]
    assert late.subject.mean is not None and late.subject.mean < 2
    over_tcp = late.baselines["cubic over TCP"].mean
    assert over_tcp is not None and over_tcp > 95


def test_next_to_tcp(rows: dict[str, Row]) -> None:
    """Next to TCP that fills the queue, a controller that answers delay has less than its share; the row notices."""
    assert rows["5.6/media [queue=300 ms]"].verdict == "differs"
    assert rows["5.6/tcp [queue=300 ms]"].verdict == "agrees"
    # 1000 ms of queue are more than the 400 ms after which a frame is late.
    late = rows["5.6/late [queue=1000 ms]"].subject.mean
    assert late is not None and late > 95
