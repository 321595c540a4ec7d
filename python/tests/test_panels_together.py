"""What panels add up, and from when they show a flow: sums are of flows that share a link of one run, and nothing is
drawn before a connection begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz.attacks.captures import Writer
from windtunnel import Scenario
from windtunnel.compare.overlay import _together
from windtunnel.compare.sides import RunSide
from windtunnel.explain import explain
from windtunnel.explain.seen import seen
from windtunnel.figures.flent_style import flent_style
from windtunnel.panels import Panel, Run, throughput

LINK = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "fifo", "limit": "50 packets"}}


def graph(*paths: list[str], count: int = 1, points: bool = True) -> Scenario:
    """A chain of three links, each with its own rate; one flow, or several, along each path."""
    names = ("one", "two", "three")
    return Scenario(
        duration="2 s",
        nodes=[{"name": name} for name in "abcd"],
        links=[{"name": name, "from": a, "to": b, **LINK} for name, a, b in zip(names, "abc", "bcd", strict=True)],
        flows=[
            {"name": f"over {' and '.join(path)}", "cc": "reno", "rtt": "20 ms", "path": path, "count": count}
            for path in paths
        ],
        record={"points": "0 s"} if points else {},
    )


def keys(panel: Panel) -> set[str]:
    return {series.key for series in panel.series}


@pytest.mark.parametrize("points", [True, False])
@pytest.mark.parametrize(
    ("paths", "is_shared"),
    [
        ([["one"], ["two"]], False),
        ([["one", "two"], ["two", "three"]], True),
        # A parking lot: each link is shared, but none by all.
        ([["one", "two", "three"], ["one"], ["three"]], False),
    ],
)
def test_all_flows_of_a_graph(paths: list[list[str]], is_shared: bool, points: bool) -> None:
    """All flows are added up only where one link carries the data of all."""
    result = graph(*paths, points=points).run()
    assert ("total" in keys(throughput.panel(Run(result)))) is is_shared
    assert len(flent_style(result).axes[0].get_lines()) == len(paths) + is_shared


def test_groups_of_a_graph() -> None:
    """Where flows are many, a group has a sum if its flows share a link, and all have one if all do."""
    apart = throughput.panel(Run(graph(["one"], ["two"], count=15, points=False).run()))
    assert keys(apart) == {"group0", "group1"}
    together = throughput.panel(Run(graph(["one", "two"], ["two"], count=15, points=False).run()))
    assert keys(together) == {"total", "group0", "group1"}


def one_link(cc: str, count: int = 2) -> Scenario:
    flows = [{"name": cc, "cc": cc, "rtt": "20 ms", "count": count}]
    return Scenario(duration="2 s", bottleneck={k: v for k, v in LINK.items() if k != "delay"}, flows=flows)


def sides(count: int) -> list[RunSide]:
    scenarios = [one_link("reno", count), one_link("cubic", count)]
    return [RunSide(name, each.run(), each) for name, each in zip("AB", scenarios, strict=True)]


def test_runs_are_not_added_up() -> None:
    """A comparison shows the flows of both runs in one panel: their sum would be more than the link can carry."""
    alone = sides(2)
    assert "total" in keys(throughput.panel(Run(alone[0].result)))
    assert keys(throughput.panel(Run(_together(alone)))) == {f"flow{n}" for n in range(4)}
    panel = throughput.panel(Run(_together(sides(20))))
    assert [series.label for series in panel.series] == [
        "A: reno \N{MULTIPLICATION SIGN} 20",
        "B: cubic \N{MULTIPLICATION SIGN} 20",
    ]
    assert all(np.nanmax(series.y) < 11 for series in panel.series)


def test_groups_by_controller_are_of_one_run() -> None:
    """Names that tell nothing are grouped by controllers, and then too by the runs."""
    flows = [{"name": f"{n} of many", "cc": "reno", "rtt": "20 ms"} for n in range(26)]
    scenario = Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s"}, flows=flows)
    both = Run(_together([RunSide(name, scenario.run(), scenario) for name in "AB"]))
    assert [group.label for group in both.groups] == [f"{name}: reno \N{MULTIPLICATION SIGN} 26" for name in "AB"]


def test_a_connection_that_begins_late(tmp_path: Path) -> None:
    """For a connection that begins at 30 s, nothing is drawn before; what was acknowledged is what the curve holds."""
    with (tmp_path / "late.pcap").open("wb") as file:
        writer = Writer(file)
        writer.transfer(1001, 300)
        writer.at_us = 30_000_000
        writer.transfer(1002, 300)
    explanation = explain(tmp_path / "late.pcap")
    capture: Any = seen(explanation)
    first, late = throughput.panel(Run(capture)).series
    # A value is the mean since the sample before, the first since 0 s.
    assert np.isnan(late.y[0])
    assert late.x[0] == pytest.approx(30, abs=0.01)
    assert np.isfinite(late.y[1:]).all()
    for series, rounds in zip((first, late), explanation.rounds, strict=True):
        assert rounds is not None
        held = np.nansum(series.y * np.diff(series.x, prepend=0.0))
        factor = {"Mbit/s": 1.0, "kbit/s": 1e-3, "Gbit/s": 1e3}[throughput.panel(Run(capture)).unit]
        assert held * factor == pytest.approx(float(rounds.delivered.sum()) * 1460 * 8 / 1e6, rel=0.02)
