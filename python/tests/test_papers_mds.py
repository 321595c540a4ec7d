"""The suite of "Multiplicative Decrease Scaling": its common settings, tolerances that are derived, fairness, mixes."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from windtunnel import _core
from windtunnel.papers import mds
from windtunnel.papers.cells import Cell
from windtunnel.papers.jobs import Outcome
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Results, Suite

PRESET = Path(__file__).parents[2] / "scenarios" / "mds-2025.toml"


@cache
def whole() -> Suite:
    return mds.suite(quick=False)


def made_up(value: Callable[[Cell, int], float], runs: int = 5) -> Results:
    """Runs of every cell whose measurements are a function of the cell and of the measurement's index."""
    outcomes = [
        Outcome(cell.name, k, tuple(value(cell, i) for i in range(len(cell.measurements))), {}, 0.1, 1, "")
        for cell in whole().cells.values()
        for k in range(max(runs, 1 + len(cell.twins)))
    ]
    return Results(whole().cells, outcomes)


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
    found: list[tuple[str, object]] = [(key, scenario[key]) for key in ("endpoints", "mtu")]
    found += [("dequeue_point", bottleneck["dequeue_point"])]
    found += [(f"queue.{key}", queue[key]) for key in ("kind", "burst", "tau") if key in queue]
    found += [each for flow in scenario["flow"] for each in settings(flow)]
    return {(name, json.dumps(value)) for name, value in found}


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
    for cell in whole().cells.values():
        if cell.name.startswith(("fig", "table")) and not cell.name.startswith("table1/"):
            scenario = json.loads(_core.resolve(cell.template.text, "x.toml", next(cell.variants())))
            more = common(scenario) - preset
            if more:
                different.setdefault(cell.name.partition("/")[0], set()).update(more)
    wall = {("queue.kind", '"brickwall"')}
    assert different == {"fig13b": {("scalable.lwnd", '"0 B"')}, "table4": wall, "table5": wall, "table6": wall}
