"""What the report's page receives: panels, ticks, tables, columns and the text of numbers, without a browser."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from windtunnel import RunResult
from windtunnel.report.columns import Columns
from windtunnel.report.looks import flow_looks, queue_look
from windtunnel.report.panels import build_panels
from windtunnel.report.run_page import _sections, _switches
from windtunnel.report.text import NOTHING, number, signed

ASSETS = Path(__file__).parents[1] / "windtunnel" / "report" / "assets"


def test_tables_of_what_flows_did(lossy: RunResult) -> None:
    """Recovery for TCP, times for transfers, delays for datagrams; rare columns only where something happened."""
    (whole,) = _sections(lossy.summary)
    tables = {table.columns[0].head: table for table in whole["tables"]}
    names = {head: [row[0].text for row in table.rows] for head, table in tables.items()}
    assert names == {
        "Flow": ["cubic", "file", "web", "ping"],
        "TCP flow": ["cubic", "file", "web"],
        "Transfer": ["file", "web"],
        "Transfer by size": [f["name"] for f in lossy.flows if f["transfers"] for _ in f["transfers"]["by_size"]],
        "Datagram": ["ping"],
        "Queue": ["bottleneck"],
    }

    def cell(head: str, row: int, column: str) -> str:
        table = tables[head]
        return table.rows[row][[c.head for c in table.columns].index(column)].text

    cubic, file, _, ping = lossy.flows
    assert cell("TCP flow", 0, "Retransmits") == number(cubic["retransmits"]) != "0"
    assert cell("TCP flow", 0, "cwnd-limited") == number(100 * cubic["limited"]["cwnd"])
    assert "Pacing-limited" not in [c.head for c in tables["TCP flow"].columns]
    assert "on the wire" not in [c.head for c in tables["TCP flow"].columns]
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


def test_columns_keep_time_to_the_microsecond() -> None:
    """Times keep a precision better than a microsecond at 300 s, and every column starts at a multiple of eight
    bytes.
    """
    columns = Columns()
    flags = columns.add(np.array([True, False, True]), "u8")
    times = np.array([0.0, 299.999_999, 300.000_000])
    reference = columns.add(times, "f64")
    raw = base64.b64decode(columns.base64())
    assert flags == {"at": 0, "n": 3, "type": "u8"}
    assert reference["at"] == 8
    assert np.array_equal(np.frombuffer(raw, "<f8", reference["n"], reference["at"]), times)


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
        columns = Columns()
        panel = build_panels(tables, flows, [], columns)[0]
        raw = base64.b64decode(columns.base64())
        return {
            s["label"]: np.frombuffer(raw, "<f4", s["columns"]["v"]["n"], s["columns"]["v"]["at"]).tolist()
            for s in panel["series"]
        }

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

    def cwnd(table: dict[str, np.ndarray]) -> tuple[dict[str, Any], bytes]:
        columns = Columns()
        panel = build_panels({"flows": table}, ["a", "b"], [], columns)[2]
        return panel, base64.b64decode(columns.base64())

    def column(raw: bytes, reference: dict[str, Any]) -> list[float]:
        kind = {"f64": "<f8", "f32": "<f4", "u16": "<u2"}[reference["type"]]
        return np.frombuffer(raw, kind, reference["n"], reference["at"]).tolist()

    panel, raw = cwnd(flows)
    assert panel["thresholds"] == []
    ticks = [{name: column(raw, ref) for name, ref in one["columns"].items()} for one in panel["ticks"]]
    assert ticks == [
        {"t": [2, 4], "retransmits": [3, 0], "rtos": [0, 1]},
        {"t": [2, 3], "retransmits": [1, 65_535], "rtos": [0, 0]},
    ]
    assert [(one["label"], one["row"], one["timeouts"]) for one in panel["ticks"]] == [("a", 0, True), ("b", 1, False)]
    ssthresh = np.array([np.nan, 1e4, 1e4, 1e4, *[np.nan] * 4])
    panel, raw = cwnd({**flows, "ssthresh_bytes": ssthresh})
    assert [s["key"] for s in panel["thresholds"]] == ["flow0"]
    assert column(raw, panel["thresholds"][0]["columns"]["v"])[1:] == [10, 10, 10]


def test_silence_at_the_end() -> None:
    """A flow's line includes what was received after its last point."""
    points = {"time_s": np.array([1.0, 2.0]), "flow": np.array([0, 0]), "mbps": np.array([10.0, 8.0])}
    n = 12
    flows = {"time_s": 1.0 + np.arange(n), "flow": np.zeros(n, int), "throughput_mbps": np.zeros(n)}
    flows["throughput_mbps"][:3] = [10, 8, 5]
    windows = {f"cwnd_{part}": np.full(n, 2e4) for part in ("bytes", "min_bytes", "max_bytes", "limited")}
    columns = Columns()
    panel = build_panels({"throughput_points": points, "flows": {**flows, **windows}}, ["a"], [], columns)[0]
    raw = base64.b64decode(columns.base64())
    (series,) = panel["series"]
    assert series["mean"]
    at = series["columns"]
    assert np.frombuffer(raw, "<f8", at["t"]["n"], at["t"]["at"]).tolist() == [1, 2, 12]
    assert np.frombuffer(raw, "<f4", at["v"]["n"], at["v"]["at"]).tolist() == pytest.approx([10, 8, 0.5])


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
    panel = build_panels(tables, ["f"], ["a", "b"], Columns())[3]
    assert panel["title"] == "Mark and Drop Frequency"
    assert [(s["label"], s["colour"], s["marker"]) for s in panel["series"]] == [
        ("CE (b)", queue_look(1).colour, "triangle"),
        ("drop (a)", queue_look(0).colour, "cross"),
    ]
    flow_colours = {look.colour for look in flow_looks([str(i) for i in range(20)])}
    assert not flow_colours & {queue_look(i).colour for i in range(4)}


def test_very_many_flows_are_switched_and_coloured_by_group() -> None:
    """Up to 24 flows each have their own look and switch."""
    names = [f"cubic-{i}" for i in range(13)] + [f"reno-{i}" for i in range(12)]
    assert [(s["label"], len(s["flows"])) for s in _switches(names)] == [
        ("cubic \N{MULTIPLICATION SIGN} 13", 13),
        ("reno \N{MULTIPLICATION SIGN} 12", 12),
    ]
    assert {look.colour for look in flow_looks(names)} == {"blue", "orange"}
    assert [s["label"] for s in _switches(names[1:])] == names[1:]


def test_both_themes_have_all_colours() -> None:
    """Both themes define the same colours: one that is missing would be taken from the other theme."""
    style = (ASSETS / "report.css").read_text(encoding="utf-8")
    rules = re.findall(r"color-scheme:(?:light|dark);([^}]*)\}", style)
    light, dark = (set(re.findall(r"--c-\w+", rule)) for rule in rules)
    assert light == dark
    assert {"--c-indigo", "--c-red"} < light


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
