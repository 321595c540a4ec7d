"""The page on MDS's hazards: its numbers are those that its campaigns gave, and the campaigns still give them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from notes_cases import Keys, mds_path

from windtunnel import Campaign, RunResult, Scenario
from windtunnel.campaign.plan import Plan, scenario_of

PACKS = Path(__file__).parents[2] / "docs" / "packs"
sys.path.insert(0, str(PACKS))
TOOL: Any = import_module("hazards")


def test_the_page_is_made_of_the_numbers() -> None:
    """``hazards.py --page`` would write the page as it stands; each table has rows, and no reference is left."""
    numbers = TOOL.read()
    text = TOOL.PAGE.read_text(encoding="utf-8")
    assert text == TOOL.page(numbers)
    assert "{{" not in text and "\N{HORIZONTAL ELLIPSIS}" not in text
    assert {number.campaign for number in numbers} == set(TOOL.NAMES)


def test_a_number_that_there_is_not() -> None:
    """Cells that the campaigns no longer have stop the page: a table without rows, a row without its pair."""
    numbers = TOOL.read()
    with pytest.raises(ValueError, match=r"table lost.*no rows"):
        TOOL.page([number for number in numbers if "no fallback" not in number.cell])
    with pytest.raises(KeyError, match="16"):
        TOOL.page([number for number in numbers if number.cell != ("5 Mbit/s", "16")])


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("mds-sce-lost", ("10 Mbit/s", "ECT(1) cleared", "no fallback")),
        ("mds-sce-lost", ("10 Mbit/s", "ECT(1) cleared", "fallback 16")),
        ("mds-in-vpn", ("window 32",)),
        ("mds-own-sce", ("cobalt", "reno-mds")),
        ("mds-fallback", ("1 Mbit/s", "16")),
    ],
    ids=["lost", "fallback", "vpn", "own", "sane"],
)
def test_a_run_still_gives_its_numbers(name: str, cell: tuple[str, ...]) -> None:
    """The first run of a cell of each campaign has the values that were kept: the page is not stale."""
    campaign = Campaign.from_file(TOOL.CAMPAIGNS / f"{name}.toml")
    kept = {number.metric: number.first for number in TOOL.read() if (number.campaign, number.cell) == (name, cell)}
    assert kept
    only = {axis.name: [value] for axis, value in zip(campaign.axes, cell, strict=True)}
    plan = Plan(campaign, only)
    run = scenario_of(plan.wanted_cell(0), next(plan.replicas(0, 1))).run()
    assert {metric: expression.value(run) for metric, expression in campaign.metrics} == pytest.approx(kept, rel=1e-5)


@pytest.mark.parametrize("kind", ["reno-mds", "cubic-mds", "scalable-mds", "highspeed-mds"])
def test_every_controller_has_the_fallback(kind: str) -> None:
    """docs/spec/mds.md section 9: counting alone changes nothing, to the digest. A sender whose SCE are cleared gives
    up, and the other flow gets more. One whose SCE arrive does not give up.
    """
    cleared = [{"kind": "ecn-bleacher", "from": ["ect1"]}]

    def run(fallback: int | None, behind: Sequence[Keys]) -> RunResult:
        cc = {"kind": kind} if fallback is None else {"kind": kind, "fallback": fallback}
        return Scenario(**mds_path(cc, behind)).run()

    without, counted, given_up = (run(fallback, cleared) for fallback in (None, 1_000_000, 16))
    assert without.digest == counted.digest != given_up.digest
    assert given_up.flows[1]["throughput_mbps"] > 1.2 * without.flows[1]["throughput_mbps"]
    assert run(16, ()).digest == run(None, ()).digest
