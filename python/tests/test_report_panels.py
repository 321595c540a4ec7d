"""What the report's page receives: panels, ticks, tables, columns and the text of numbers, without a browser."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from windtunnel import RunResult, Scenario
from windtunnel.panels import Panel, Run, panel_of, panels_of
from windtunnel.panels.looks import COLOURS, flow_look, queue_look
from windtunnel.report import write_report
from windtunnel.report.bounded import few_names
from windtunnel.report.columns import Columns
from windtunnel.report.grouped import shares
from windtunnel.report.panels import encoded
from windtunnel.report.run_page import _sections, _switches
from windtunnel.report.text import NOTHING, number, signed

ASSETS = Path(__file__).parents[1] / "windtunnel" / "report" / "assets"


def test_tables_of_what_flows_did(lossy: RunResult) -> None:
    """Recovery for TCP, times for transfers, delays for datagrams; rare columns only where something happened."""
    ((_, whole),) = _sections(lossy.summary)
    tables = {table.columns[0].head: table for table in whole}
    names = {head: [row[0].text for row in table.rows] for head, table in tables.items()}
    assert names == {
        "Flow": ["cubic", "file", "web", "ping"],
        "Sender": ["cubic", "file", "web"],
        "Transfer": ["file", "web"],
        "Transfer by size": [f["name"] for f in lossy.flows if f["transfers"] for _ in f["transfers"]["by_size"]],
        "Datagram": ["ping"],
        "Queue": ["bottleneck"],
    }

    def cell(head: str, row: int, column: str) -> str:
        table = tables[head]
        return table.rows[row][[c.head for c in table.columns].index(column)].text

    cubic, file, _, ping = lossy.flows
    assert cell("Sender", 0, "Retransmits") == number(cubic["retransmits"]) != "0"
    assert cell("Sender", 0, "cwnd-limited") == number(100 * cubic["limited"]["cwnd"])
    assert "Pacing-limited" not in [c.head for c in tables["Sender"].columns]
    assert "on the wire" not in [c.head for c in tables["Sender"].columns]
    assert [cell("Flow", i, "Application") for i in range(4)] == ["bulk", "transfer", "poisson", "probe"]
    assert [cell("Flow", i, "Controller") for i in range(4)] == ["cubic", "reno", "reno", NOTHING]
    assert cell("Transfer", 0, "FCT mean") == number(file["transfers"]["time_ms"]["mean"])
    (size,) = file["transfers"]["by_size"]
    assert cell("Transfer by size", 0, "Slowdown mean") == number(size["slowdown"]["mean"])
    assert cell("Datagram", 0, "Lost") == number(100 * ping["datagrams"]["loss_ratio"])
    assert (cell("Flow", 0, "cwnd mean"), cell("Flow", 3, "cwnd mean")) == (
        number(cubic["cwnd_bytes"]["mean"] / 1e3),
        NOTHING,
    )


@dataclass(frozen=True)
class Result:
    """The parts of a run that panels need."""

    summary: dict[str, Any]
    tables: dict[str, dict[str, np.ndarray]]


def panels(tables: dict[str, dict[str, np.ndarray]], flows: Sequence[str], queues: Sequence[str]) -> dict[str, Panel]:
    summary = {"flows": [{"name": name} for name in flows], "queues": [{"name": name} for name in queues]}
    return {panel.id: panel for panel in panels_of(Run(Result(summary, tables)))}


def test_columns_keep_time_to_the_microsecond() -> None:
    """Times keep a precision better than a microsecond at 300 s, every column starts at a multiple of eight bytes, and
    equal columns are there once.
    """
    columns = Columns()
    flags = columns.add(np.array([True, False, True]), "u8")
    times = np.array([0.0, 299.999_999, 300.000_000])
    reference = columns.add_scaled(times)
    raw = base64.b64decode(columns.base64())
    assert flags == {"at": 0, "n": 3, "type": "u8"}
    assert reference["at"] == 8
    steps = np.frombuffer(raw, "<u4", reference["n"], reference["at"])
    np.testing.assert_allclose(reference["from"] + steps * reference["step"], times, rtol=0, atol=1e-7)
    assert columns.add_scaled(times) == reference
    assert len(base64.b64decode(columns.base64())) == len(raw)


def test_panels_group_and_order() -> None:
    """Rows in any order become one ascending series per flow; the sum of all only where there are several flows."""
    tables = {
        "throughput_points": {
            "time_s": np.array([2.0, 1.0, 1.0, 3.0, 2.0]),
            "flow": np.array([1, 1, 0, -1, 0]),
            "mbps": np.array([4.0, 3.0, 1.0, 9.0, 2.0]),
        }
    }

    def values(flows: list[str]) -> dict[str, list[float]]:
        return {s.label: list(s.y) for s in panels(tables, flows, [])["throughput"].series}

    assert values(["a", "b"]) == {"all flows": [9.0], "a": [1.0, 2.0], "b": [3.0, 4.0]}
    assert "all flows" not in values(["a"])


def test_ticks_and_thresholds() -> None:
    """Intervals with retransmissions or timeouts are ticks, a row for each look; ssthresh, if finite, is a line."""
    t = np.arange(1.0, 5.0)
    flows = {
        "time_s": np.tile(t, 2),
        "flow": np.repeat([0, 1], 4),
        "throughput_mbps": np.ones(8),
        "cwnd_bytes": np.full(8, 2e4),
        "cwnd_min_bytes": np.full(8, 2e4),
        "cwnd_max_bytes": np.full(8, 2e4),
        "cwnd_limited": np.zeros(8),
        "retransmits": np.array([0, 3, 0, 0, 0, 1, 70_000, 0]),
        "rtos": np.array([0, 0, 0, 1, 0, 0, 0, 0]),
    }
    panel = panels({"flows": flows}, ["a", "b"], [])["cwnd"]
    assert panel.thresholds == ()
    assert [(list(one.x), list(one.retransmits), list(one.rtos)) for one in panel.ticks] == [
        ([2, 4], [3, 0], [0, 1]),
        ([2, 3], [1, 70_000], [0, 0]),
    ]
    assert [(one.label, one.row) for one in panel.ticks] == [("a", 0), ("b", 1)]
    columns = Columns()
    sent = encoded(panel, columns)["ticks"]
    assert [one["timeouts"] for one in sent] == [True, False]
    counts = sent[1]["columns"]["retransmits"]
    raw = base64.b64decode(columns.base64())
    assert np.frombuffer(raw, "<u2", counts["n"], counts["at"]).tolist() == [1, 65_535]
    ssthresh = np.array([np.nan, 1e4, 1e4, 1e4, *[np.nan] * 4])
    panel = panels({"flows": {**flows, "ssthresh_bytes": ssthresh}}, ["a", "b"], [])["cwnd"]
    assert [s.key for s in panel.thresholds] == ["flow0"]
    assert list(panel.thresholds[0].y[1:]) == [10, 10, 10]


@pytest.mark.parametrize("points", ["1 ms", "0 s"])
def test_thresholds_end_with_their_flows(points: str) -> None:
    """A sender that has stopped still has a threshold, which the table tells; what is drawn of it, and of the window,
    is at most an interval longer than the flow. Between two times of activity there is no window, and no threshold.
    """
    flow = {"cc": "reno", "rtt": "40 ms"}
    flows = [
        {"name": "always", **flow},
        {"name": "stops", **flow, "start": "500 ms", "stop": "3 s"},
        {"name": "twice", **flow, "active": [{"from": "0 s", "to": "2 s"}, {"from": "4 s", "to": "5 s"}]},
    ]
    interval = 0.05
    scenario = Scenario(
        duration="6 s",
        flows=flows,
        bottleneck={"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}},
        record={"interval": f"{1e3 * interval:g} ms", "points": points},
    )
    run = Run(scenario.run())
    table = run.intervals
    for name in range(3):
        assert np.isfinite(table["ssthresh_bytes"][table["flow"] == name][-1])
    panel = panel_of(run, "cwnd")
    drawn = {s.flow: s.x[np.isfinite(s.y)] for s in panel.thresholds}
    windows = {s.flow: s.x for s in panel.series}
    assert list(drawn) == [0, 1, 2]
    assert drawn[0][-1] == pytest.approx(6.0)
    for flow_index in (1, 2):
        # The last ACK is under way for 20 ms, and may be delayed by 40 ms.
        end = run.record(flow_index)["last_packet_s"] + 0.06
        assert end - 0.05 <= drawn[flow_index][-1] <= end + interval + 1e-9
        assert windows[flow_index][-1] <= end + interval + 1e-9
    # While a flow sends, its threshold is drawn in each interval after the first loss.
    assert np.diff(drawn[1]).max() == pytest.approx(interval)
    if points != "0 s":
        pause = drawn[2][np.argmax(np.diff(drawn[2])) + np.arange(2)]
        assert pause == pytest.approx([2.1, 4.1], abs=0.1)


def test_silence_at_the_end() -> None:
    """A flow's line includes what was received after its last point."""
    points = {"time_s": np.array([1.0, 2.0]), "flow": np.array([0, 0]), "mbps": np.array([10.0, 8.0])}
    n = 12
    flows = {"time_s": 1.0 + np.arange(n), "flow": np.zeros(n, int), "throughput_mbps": np.zeros(n)}
    flows["throughput_mbps"][:3] = [10, 8, 5]
    windows = {f"cwnd_{part}": np.full(n, 2e4) for part in ("bytes", "min_bytes", "max_bytes", "limited")}
    (series,) = panels({"throughput_points": points, "flows": {**flows, **windows}}, ["a"], [])["throughput"].series
    assert series.step == "mean"
    assert list(series.x) == [1, 2, 12]
    assert list(series.y) == pytest.approx([10, 8, 0.5])


def test_a_flow_that_starts_late_has_no_value_before() -> None:
    """The recorder counts a flow's first point from 0 s; its line starts half a path's round trip before its first
    packet arrived, and has the same integral.
    """
    points = {"time_s": np.array([5.0, 6.0, 7.0]), "flow": np.zeros(3, int), "mbps": np.array([0.001, 8.0, 9.0])}
    late = {"name": "late", "first_packet_s": 5.0, "path_rtt_ms": 40.0}
    run = Run(Result({"flows": [late], "queues": []}, {"throughput_points": points}))
    (series,) = panels_of(run)[0].series
    assert list(series.x) == [4.98, 5, 6, 7]
    assert np.isnan(series.y[0])
    assert list(series.y[1:]) == pytest.approx([0.25, 8, 9])
    assert np.nansum(series.y * np.diff(series.x, prepend=0)) == pytest.approx(0.005 + 8 + 9)


def test_marks_of_several_queues() -> None:
    """Queues have colours that no flow has; where no single marks of a kind were kept, the queue's counts are drawn."""
    one = np.array([1.0])
    queues = {"time_s": one.repeat(2), "queue": np.array([0, 1]), "drops": np.array([4, 0]), "ce": np.array([0, 6])}
    queues |= {"sce": np.zeros(2, int), **{f"sojourn_{k}_ms": one.repeat(2) for k in ("mean", "min", "max")}}
    points = {
        "time_s": one,
        "queue": np.array([1]),
        "flow": np.array([0]),
        "kind": np.array([1]),
        "hz": np.array([9.0]),
    }
    tables = {"queues": {**queues, "emptied": np.zeros(2, int)}, "mark_points": points}
    panel = panels(tables, ["f"], ["a", "b"])["marks"]
    assert panel.title == "Mark and Drop Frequency"
    assert [(s.label, s.look.colour, s.look.marker) for s in panel.series] == [
        ("CE (b)", queue_look(1).colour, "triangle"),
        ("drop (a)", queue_look(0).colour, "cross"),
    ]
    flow_colours = {flow_look(i).colour for i in range(20)}
    assert len(flow_colours) == 8
    assert not flow_colours & {queue_look(i).colour for i in range(4)}


def test_very_many_flows_are_switched_and_coloured_by_group() -> None:
    """Up to 24 flows each have their own look and switch."""

    def run(names: Sequence[str]) -> Run:
        return Run(Result({"flows": [{"name": name} for name in names], "queues": []}, {}))

    def switches(names: Sequence[str]) -> list[dict[str, Any]]:
        _, _, members = few_names(run(names), ())
        return _switches(run(names), members)

    names = [f"cubic-{i}" for i in range(13)] + [f"reno-{i}" for i in range(12)]
    assert [(s["label"], len(s["flows"])) for s in switches(names)] == [
        ("cubic \N{MULTIPLICATION SIGN} 13", 13),
        ("reno \N{MULTIPLICATION SIGN} 12", 12),
    ]
    assert {look.colour for look in run(names).looks} == {"blue", "orange"}
    assert [s["label"] for s in switches(names[1:])] == names[1:]


def test_equals_are_one_group_before_a_legend_repeats_itself() -> None:
    """More than twelve flows: those of one entry of the scenario are a group. A flow of another path or controller, or
    of an unknown path, stands for itself whatever its name; and so do twelve.
    """

    def labels(flows: Sequence[dict[str, Any]]) -> list[str]:
        return [group.label for group in Run(Result({"flows": flows, "queues": []}, {})).groups]

    def entry(name: str, count: int, **more: Any) -> list[dict[str, Any]]:
        same = {"cc": "cubic", "application": "bulk", "path_rtt_ms": 20.0, **more}
        return [{"name": f"{name}-{i + 1}", **same} for i in range(count)]

    two = [*entry("cubic", 7), *entry("reno", 5, cc="reno")]
    assert labels(two) == [flow["name"] for flow in two]
    assert labels([*two, *entry("far", 1)]) == [
        "cubic \N{MULTIPLICATION SIGN} 7",
        "reno \N{MULTIPLICATION SIGN} 5",
        "far-1",
    ]
    paths = [{**flow, "path_rtt_ms": float(i)} for i, flow in enumerate(entry("cubic", 16))]
    assert labels(paths) == [flow["name"] for flow in paths]
    unknown = [{"name": f"cubic-{i}"} for i in range(16)]
    assert labels(unknown) == [flow["name"] for flow in unknown]


def test_both_themes_have_all_colours() -> None:
    """Both themes define the same colours: one that is missing would be taken from the other theme."""
    style = (ASSETS / "report.css").read_text(encoding="utf-8")
    rules = re.findall(r"color-scheme:(?:light|dark);([^}]*)\}", style)
    light, dark = (set(re.findall(r"--c-\w+", rule)) for rule in rules)
    assert light == dark
    assert {"--c-indigo", "--c-red"} < light
    # The light theme is that of printed figures.
    bright = dict(re.findall(r"--c-(\w+):\s*(#\w+)", re.findall(r"color-scheme:light;([^}]*)\}", style)[0]))
    short = {name: "#" + "".join(hex_[1::2]) if hex_[1::2] == hex_[2::2] else hex_ for name, hex_ in COLOURS.items()}
    assert {name: bright[name] for name in COLOURS} == short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        (float("nan"), "\N{EN DASH}"),
        (0.0, "0"),
        (93.4149, "93.41"),
        (0.0123456, "0.01235"),
        (-5.7, "\N{MINUS SIGN}5.700"),
        (499_123, "499\N{NARROW NO-BREAK SPACE}123"),
        (9999, "9999"),
        (12_345.6, "12\N{NARROW NO-BREAK SPACE}346"),
        ("yes", "yes"),
    ],
)
def test_numbers(value: Any, text: str) -> None:
    """Four significant digits, whole numbers in full, a dash for a missing value."""
    assert number(value) == text


def test_signed_numbers() -> None:
    """Differences show their sign, zero has none."""
    assert [signed(v) for v in (1.5, -1.5, 0.0)] == ["+1.50", "\N{MINUS SIGN}1.50", "0"]


def test_each_index_of_fairness_says_of_what_it_is(tmp_path: Path) -> None:
    """Of flows that start one after the other, the index of their rates over the run is not that of the time that they
    shared: both are on the page and in the terminal, each with what it is of.
    """
    flow = {"cc": "reno", "rtt": "20 ms", "count": 14, "stagger": "150 ms"}
    result = Scenario(duration="6 s", bottleneck={"rate": "50 Mbit/s", "queue": "fq_codel"}, flows=[flow]).run()
    (group,), (shared,) = shares(result.flows, Run(result)), result.fairness
    assert abs(group["jain"] - shared["jain"]) > 0.01
    write_report(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(">Jain&#39;s index<small>of these rates</small>") == 1
    assert page.count(">Jain&#39;s index<small>while shared</small>") == 1
    # A region of the page is called by its heading.
    assert "Fairnesss" not in page
    assert 'aria-label="Whole run: Fairness"' in page
