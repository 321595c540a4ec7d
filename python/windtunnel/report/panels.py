"""From the tables of a run to the four panels of its figure.

Single events (the ``*_points`` tables) are shown where the run recorded them, else the interval series. Each
panel is a description (JSON) whose series point into binary columns.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.report.columns import Columns
from windtunnel.report.looks import Look, flow_looks, queue_look
from windtunnel.report.series import (
    GAP_FACTOR,
    Array,
    Table,
    Tables,
    finite_max,
    flow_series,
    grouped,
    look_of,
    name_of,
    rows_of,
    series_of,
)
from windtunnel.report.state import state_panels
from windtunnel.report.text import number

# Kind in `mark_points`, name of the counter in `queues`, label, colour, marker.
_MARK_KINDS = (
    (0, "sce", "SCE", "slate", "circle"),
    (1, "ce", "CE", "purple", "triangle"),
    (2, "drops", "drop", "red", "cross"),
)
_DROP = 2
_KILO = 1e3
# The maximum number of rows of ticks.
_TICK_ROWS = 8
_U16_MAX = 65_535
_NO_WINDOW = "No flow has a single congestion window: datagrams have none, and each of many connections has its own."


def build_panels(tables: Tables, flows: Sequence[str], queues: Sequence[str], columns: Columns) -> list[dict[str, Any]]:
    """The panels in reading order; their data go into ``columns``."""
    return [
        _throughput(tables, flows, columns),
        _sojourn(tables, queues, columns),
        _cwnd(tables, flows, columns),
        _marks(tables, queues, columns),
        *state_panels(tables, flows, queues, columns),
    ]


def _panel(
    name: str,
    title: str,
    unit: str,
    kind: str,
    series: Sequence[Mapping[str, Any]],
    empty: str,
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": name,
        "title": title,
        "unit": unit,
        "kind": kind,
        "log": False,
        "flag": None,
        "series": list(series),
        "thresholds": [],
        "ticks": [],
        "choices": [],
        "empty": empty if all(s["columns"]["t"]["n"] == 0 for s in series) else "",
        **more,
    }


def _throughput(tables: Tables, flows: Sequence[str], columns: Columns) -> dict[str, Any]:
    points, intervals = rows_of(tables, "throughput_points"), rows_of(tables, "flows")
    value = "mbps" if points else "throughput_mbps"
    table = points or intervals or {k: np.empty(0) for k in ("time_s", "flow", value)}
    greatest = finite_max(table[value])
    unit, factor = ("Gbit/s", _KILO) if greatest >= 10 * _KILO else ("Mbit/s", 1)
    if greatest == 0:
        return _panel("throughput", "IP Throughput", unit, "line", [], "No packet reached a receiver.")

    def data(rows: Table) -> dict[str, dict[str, Any]]:
        t, v = rows["time_s"], rows[value]
        rest = _rest(intervals, int(rows["flow"][0]), float(t[-1])) if points and intervals else None
        if rest and rest[0] - t[-1] > GAP_FACTOR * np.median(np.diff(t, prepend=0.0)):
            t, v = np.append(t, rest[0]), np.append(v, rest[1])
        return {"t": columns.add(t, "f64"), "v": columns.add(v / factor, "f32")}

    parts = grouped({k: table[k] for k in ("time_s", "flow", value)}, ["flow"])
    series = flow_series(parts, flows, data, mean=True)
    return _panel("throughput", "IP Throughput", unit, "line", series, "")


def _rest(intervals: Table, flow: int, since: float) -> tuple[float, float] | None:
    """The end of the run, and the throughput of a flow (-1: of all) after its last point: it may have fallen silent."""
    length = float(intervals["time_s"].min())
    # Only the intervals that started after it; times are sums of lengths, and not exact.
    mine = (intervals["time_s"] - length > since - 1e-9) & ((intervals["flow"] == flow) | (flow < 0))
    times = np.unique(intervals["time_s"][mine])
    return (float(times[-1]), float(np.sum(intervals["throughput_mbps"][mine]) / len(times))) if len(times) else None


def _cwnd(tables: Tables, flows: Sequence[str], columns: Columns) -> dict[str, Any]:
    points, intervals = rows_of(tables, "cwnd_points"), rows_of(tables, "flows")
    table: Table
    if points:
        table = {k: points[k] for k in ("time_s", "flow", "bytes", "limited")}
    elif intervals:
        table = {
            "time_s": intervals["time_s"],
            "flow": intervals["flow"],
            "bytes": intervals["cwnd_bytes"],
            "low": intervals["cwnd_min_bytes"],
            "high": intervals["cwnd_max_bytes"],
            # For an interval: limited for most of its ACKs.
            "limited": np.nan_to_num(intervals["cwnd_limited"]) > 0.5,
        }
        # Datagrams have no window, and a flow that stands for many connections has several.
        have = np.isin(table["flow"], np.unique(table["flow"][table["bytes"] > 0]))
        table = {name: column[have] for name, column in table.items()}
    else:
        table = {k: np.empty(0) for k in ("time_s", "flow", "bytes", "limited")}
    units = (("MB", _KILO**2), ("kB", _KILO), ("bytes", 1))
    greatest = finite_max(table["bytes"])
    unit, factor = next((u for u in units if greatest >= 10 * u[1]), units[-1])

    def data(rows: Table) -> dict[str, dict[str, Any]]:
        out = {
            "t": columns.add(rows["time_s"], "f64"),
            "v": columns.add(rows["bytes"] / factor, "f32"),
            "flag": columns.add(rows["limited"] != 0, "u8"),
        }
        for bound in ("low", "high"):
            if bound in rows:
                out[bound] = columns.add(rows[bound] / factor, "f32")
        return out

    series = flow_series(grouped(table, ["flow"]), flows, data)
    none = "No ACK was received." if intervals is None or points else _NO_WINDOW
    return _panel(
        "cwnd",
        "Congestion Window",
        unit,
        "line",
        series,
        none,
        flag={"label": "cwnd-limited", "colour": "red", "marker": "cross"},
        thresholds=_thresholds(intervals or {}, flows, columns, factor) if series else [],
        ticks=_ticks(intervals or {}, flows, columns) if series else [],
    )


def _thresholds(intervals: Table, flows: Sequence[str], columns: Columns, factor: float) -> list[dict[str, Any]]:
    """Slow-start thresholds of the flows that have finite ones."""
    if "ssthresh_bytes" not in intervals:
        return []
    ssthresh = np.asarray(intervals["ssthresh_bytes"], dtype=np.float64)
    table = {"time_s": intervals["time_s"], "flow": intervals["flow"], "bytes": ssthresh}
    have = np.isin(table["flow"], np.unique(table["flow"][np.isfinite(ssthresh)]))
    return flow_series(
        grouped(table, ["flow"], have),
        flows,
        lambda rows: {"t": columns.add(rows["time_s"], "f64"), "v": columns.add(rows["bytes"] / factor, "f32")},
    )


def _ticks(intervals: Table, flows: Sequence[str], columns: Columns) -> list[dict[str, Any]]:
    """Intervals in which a flow sent data again or its timer expired, at their ends; a row for each look."""
    if "retransmits" not in intervals:
        return []
    table = {"time_s": intervals["time_s"], "flow": intervals["flow"], "retransmits": intervals["retransmits"]}
    table["rtos"] = intervals.get("rtos", np.zeros_like(table["retransmits"]))
    looks = flow_looks(flows)
    rows_of: dict[tuple[str, str, tuple[int, ...]], int] = {}
    out = []
    for (flow,), rows in grouped(table, ["flow"], (table["retransmits"] > 0) | (table["rtos"] > 0)):
        look = look_of(looks, flow)
        row = rows_of.setdefault((look.colour, look.marker, tuple(look.dash)), len(rows_of)) % _TICK_ROWS
        data = {
            "t": columns.add(rows["time_s"], "f64"),
            "retransmits": columns.add(np.minimum(rows["retransmits"], _U16_MAX), "u16"),
            "rtos": columns.add(np.minimum(rows["rtos"], _U16_MAX), "u16"),
        }
        out.append(
            {
                "key": f"flow{flow}",
                "label": name_of(flows, flow, "flow"),
                "colour": look.colour,
                "flow": flow,
                "row": row,
                "timeouts": bool(np.any(rows["rtos"])),
                "columns": data,
            }
        )
    return out


def _sojourn(tables: Tables, queues: Sequence[str], columns: Columns) -> dict[str, Any]:
    points = rows_of(tables, "sojourn_points")
    intervals = rows_of(tables, "queues")
    series = []
    if points:
        for (queue,), rows in grouped(points, ["queue"]):
            data = {
                "t": columns.add(rows["time_s"], "f64"),
                "v": columns.add(rows["ms"], "f32"),
                "flag": columns.add(rows["empty"] != 0, "u8"),
            }
            series.append(series_of(f"queue{queue}", name_of(queues, queue, "queue"), queue_look(queue), data))
    elif intervals:
        for (queue,), rows in grouped(intervals, ["queue"]):
            data = {
                "t": columns.add(rows["time_s"], "f64"),
                "v": columns.add(rows["sojourn_mean_ms"], "f32"),
                "low": columns.add(rows["sojourn_min_ms"], "f32"),
                "high": columns.add(rows["sojourn_max_ms"], "f32"),
                "flag": columns.add(rows["emptied"] > 0, "u8"),
            }
            series.append(series_of(f"queue{queue}", name_of(queues, queue, "queue"), queue_look(queue), data))
    label = "emptied by the dequeue" if points else "emptied in the interval"
    marker = "circle" if points else "cross"
    flag = {"label": label, "colour": "red", "marker": marker}
    kind = "points" if points else "line"
    return _panel("sojourn", "Queue Sojourn Time", "ms", kind, series, "No packet was dequeued.", flag=flag)


def _marks(tables: Tables, queues: Sequence[str], columns: Columns) -> dict[str, Any]:
    points, intervals = rows_of(tables, "mark_points"), rows_of(tables, "queues")
    series = []
    kinds = set()
    several = len(queues) > 1
    for kind, counter, label, colour, marker in _MARK_KINDS:
        # A queue without recorded single marks of this kind has counted them nevertheless.
        found = dict(grouped(_rates(intervals, counter), ["queue"])) if intervals else {}
        if points:
            found |= dict(grouped(points, ["queue"], points["kind"] == kind))
        for (queue,), rows in sorted(found.items()):
            data = {"t": columns.add(rows["time_s"], "f64"), "v": columns.add(rows["hz"], "f32")}
            if "flow" in rows:
                data["who"] = columns.add(np.maximum(rows["flow"], 0), "u16")
            # With several queues colours stand for queues, as in the panel beside it; the marker shows the kind in any
            # case.
            look = Look(queue_look(queue).colour if several else colour, marker, [])
            of = f" ({name_of(queues, queue, 'queue')})" if several else ""
            series.append(series_of(f"{counter}{queue}", label + of, look, data))
            kinds.add(kind)
    drops, marks = _DROP in kinds, kinds != {_DROP}
    title = "Mark and Drop Frequency" if drops and marks else "Drop Frequency" if drops else "Mark Frequency"
    return _panel(
        "marks",
        title,
        "Hz",
        "points",
        series,
        _no_marks(tables),
        log=True,
    )


def _no_marks(tables: Tables) -> str:
    lost = int(np.sum(tables.get("flows", {}).get("lost", 0)))
    packets = f"{number(lost)} packet{' was' if lost == 1 else 's were'}"
    return "No queue marked or dropped a packet." + (f" On the wire {packets} lost." if lost else "")


def _rates(intervals: Table, counter: str) -> Table:
    """Marks per second of each interval that has any."""
    parts: list[tuple[int, Array, Array]] = []
    for (queue,), rows in grouped(intervals, ["queue"]):
        length = np.diff(rows["time_s"], prepend=0.0)
        some = (rows[counter] > 0) & (length > 0)
        parts.append((queue, rows["time_s"][some], rows[counter][some] / length[some]))
    return {
        "time_s": np.concatenate([t for _, t, _ in parts]),
        "hz": np.concatenate([hz for _, _, hz in parts]),
        "queue": np.concatenate([np.full(len(t), queue) for queue, t, _ in parts]),
    }
