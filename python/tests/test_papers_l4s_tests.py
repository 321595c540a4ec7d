"""The suite of heistp/l4s-tests: its data, testbed and rows, and one run from end to end."""

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from paper_suites import assert_valid, made_up
from rich.console import Console

from windtunnel import Scenario
from windtunnel.metrics import jain_index
from windtunnel.papers import l4s_tests, reproduce, select
from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.l4s_tests import fairness, rfc3168
from windtunnel.papers.l4s_tests.plan import SEEDS, Sender, flow
from windtunnel.papers.l4s_tests.queues import FAIRNESS, RFC3168
from windtunnel.papers.suite import Results, Suite


@cache
def whole() -> Suite:
    return l4s_tests.suite(quick=False)


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_of_the_suite_is_a_valid_scenario(quick: bool) -> None:
    """Every setup, as it is and with its last seed, passes the core's own checks."""
    assert_valid(l4s_tests.suite(quick=quick))


def test_the_tables_are_whole() -> None:
    """192 rows of scenario 1: 2 rates, 4 queues, 6 pairs of round trips, 4 pairs of senders. 24 of scenario 6: 6
    queues, 2 senders, with and without ECN. Each is there once, and the queues are those of the tables.
    """
    lines = fairness.read_lines()
    assert len(lines) == len({line.id for line in lines}) == 2 * 4 * 6 * 4
    assert {line.queue for line in lines} == set(FAIRNESS)
    assert {tuple(s.rtt_ms for s in line.senders) for line in lines} == {
        (10, 10), (20, 10), (20, 20), (80, 20), (80, 80), (160, 10),
    }  # fmt: skip
    others = rfc3168.read_lines()
    assert len(others) == len({line.id for line in others}) == 6 * 2 * 2
    assert {line.queue for line in others} == set(RFC3168)
    assert {p.stem for p in (L4S_TESTS.root / "scenarios").glob("*.toml")} == {
        c.template.name for c in whole().setups.values()
    }


def test_the_published_numbers_fit_each_other() -> None:
    """Jain's index and the ratio of the tables follow from their rates, to their rounding; both rates fill the link to
    less than its payload: 1448 of 1514 bytes.
    """
    for line in fairness.read_lines():
        assert float(jain_index(line.published)) == pytest.approx(line.jain, abs=0.0015), line.id
        assert 0.85 < sum(line.published) / (line.rate_mbps * 1448 / 1514) < 1.0, line.id
    for row in rfc3168.read_lines():
        ratio, rounding = float(row.prague) / float(row.rate), 0.005 / float(row.rate)
        assert ratio == pytest.approx(float(row.ratio), abs=0.51 + rounding * ratio), row.id


def test_jains_tolerance_is_that_of_the_rates() -> None:
    """By hand, 10 %: equal rates become 11 to 9, J = 400 / (2 * 202) = 0.990. With 30 to 10, J = 1600 / 2000 = 0.8, it
    is 33 to 9, 1764 / 2340 = 0.754, or 27 to 11, 1444 / 1700 = 0.849.
    """
    assert fairness.jain_tolerance((10.0, 10.0), 0.1) == pytest.approx(1 - 400 / 404)
    assert fairness.jain_tolerance((30.0, 10.0), 0.1) == pytest.approx(1444 / 1700 - 0.8)


def test_the_base_round_trip_is_that_of_the_testbed() -> None:
    """By hand: 1514 bytes take 1.2112 ms at 10 Mbit/s and 0.24224 ms at 50, which the link adds to a round trip."""
    assert flow(0, Sender("cubic", 20.0), 10.0)[-1] == 'flow.0.rtt="18789 us"'
    assert flow(1, Sender("prague", 160.0), 50.0)[-1] == 'flow.1.rtt="159758 us"'


def test_senders_and_queues_are_those_of_2020() -> None:
    """Prague 0.5, CUBIC with AccECN unless its packets are bleached; DualPI2's step spares what finds fewer than two
    packets; RED's thresholds are tc's: a quarter of the limit, and a third of that.
    """
    setup = whole().setups["rfc3168/red-150000b-reno-noecn"]
    resolved = Scenario.from_toml(setup.template.text, overrides=next(setup.variants())).resolve()
    assert resolved["flow"][0]["cc"]["variant"] == "linux-2020"
    assert [f["ecn"] for f in resolved["flow"]] == ["accecn", False]
    assert resolved["bottleneck"]["queue"]["limit"] == "150 kB"
    other = whole().setups["dualpi2-50/cubic-20-prague-20"]
    resolved = Scenario.from_toml(other.template.text, overrides=next(other.variants())).resolve()
    assert resolved["bottleneck"]["queue"]["min_qlen_step"] == 2
    assert resolved["flow"][0]["ecn"] == resolved["flow"][1]["ecn"] == "accecn"


def test_what_names_stand_for() -> None:
    """A queue's name is both rates, ``fairness`` all of scenario 1; the quick suite is a part of the whole one."""
    assert select(whole(), ["dualpi2"]) == ["dualpi2-50", "dualpi2-10"]
    assert len(select(whole(), ["fairness"])) == 8
    quick = l4s_tests.suite(quick=True)
    assert {group.id for group in quick.groups} < {group.id for group in whole().groups}
    assert all(len(setup.twins) < SEEDS - 1 for setup in quick.setups.values() if setup.name in whole().setups)


def test_rates_that_agree_are_counted() -> None:
    """Of the published rates themselves all agree; of half as much none does. Without runs there is no count."""
    line = next(line for line in fairness.read_lines() if line.id == "dualpi2-50/cubic-20-prague-20")
    group = next(group for group in whole().groups if group.id == "dualpi2-50")
    suite = replace(whole(), setups={line.id: whole().setups[line.id]})
    for least, expected in ((line.published[0] / 2, 1.0), (line.published[0] / 10, 0.0)):
        # Three runs with 1 to 3 times the least value; both rates of the line are within 15 % only where one fits.
        rows = {row.id: row for row in group.rows(made_up(suite, {}, least=least))}
        assert rows[f"{line.id}/1"].verdict == ("agrees" if expected else "differs")
        assert (rows["dualpi2-50/count-all"].measured or 0.0) >= expected
    counts = {row.id: row.measured for row in group.rows(Results([])) if "count" in row.id}
    assert set(counts) == {"dualpi2-50/count-all", "dualpi2-50/count-long"}


def test_a_row_is_reproduced(tmp_path: Path) -> None:
    """Scenario 5's runs: in one queue that RFC 3168 governs Prague has more than nine tenths."""
    out = tmp_path / "out"
    console = Console(file=io.StringIO(), width=160)
    assert reproduce("l4s-tests", only=["tunnel"], quick=False, out=out, jobs=2, console=console) == 0
    rows = {row["id"]: row for row in json.loads((out / "rows.json").read_text())["rows"]}
    assert {row["verdict"] for row in rows.values()} == {"confirmed"}
    assert set(rows) == {"tunnel/share-cubic", "tunnel/share-reno"}
