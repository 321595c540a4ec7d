"""From the tables of a run to the four panels of its figure.

Single events (the ``*_points`` tables) are shown where the run recorded them, else the interval series. Each
panel is a description (JSON) whose series point into binary columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.report.columns import Columns

Array = npt.NDArray[Any]
Table = Mapping[str, Array]
Tables = Mapping[str, Table]

# Red is kept for what the panels single out, so that no flow or queue has it.
_FLOW_COLOURS = ("blue", "orange", "green", "purple", "sky")
_QUEUE_COLOURS = ("slate", "purple", "sky", "green")
_MARKERS = ("circle", "square", "triangle", "diamond", "down", "plus")
_DASHES: tuple[list[int], ...] = ([], [7, 3], [2, 3])
# Kind in `mark_points`, name of the counter in `queues`, label, colour, marker.
_MARK_KINDS = (
    (0, "sce", "SCE", "slate", "circle"),
    (1, "ce", "CE", "purple", "triangle"),
    (2, "drops", "drop", "red", "cross"),
)
_DROP = 2
_KILO = 1e3
# A line is broken where samples are this many times farther apart than nearly all others.
_GAP_FACTOR = 8


@dataclass(frozen=True)
class Look:
    """How a series is told apart: colour, and marker and dash for readers without colour."""

    colour: str
    marker: str
    dash: list[int]


def flow_look(index: int) -> Look:
    """The look of a flow, the same in every panel."""
    return Look(
        _FLOW_COLOURS[index % len(_FLOW_COLOURS)],
        _MARKERS[index % len(_MARKERS)],
        _DASHES[index // len(_FLOW_COLOURS) % len(_DASHES)],
    )


def queue_look(index: int) -> Look:
    """The look of a queue."""
    return Look(_QUEUE_COLOURS[index % len(_QUEUE_COLOURS)], _MARKERS[index % len(_MARKERS)], [])


_TOTAL = Look("ink", "plus", [])


def build_panels(tables: Tables, flows: Sequence[str], queues: Sequence[str], columns: Columns) -> list[dict[str, Any]]:
    """The panels in reading order; their data goes into ``columns``."""
    return [
        _throughput(tables, flows, columns),
        _sojourn(tables, queues, columns),
        _cwnd(tables, flows, columns),
        _marks(tables, queues, columns),
    ]


def last_time(tables: Tables) -> float:
    """The latest time in any table that has ``time_s``; 0 without."""
    times = [t["time_s"][-1] for t in tables.values() if len(t.get("time_s", ())) > 0]
    return float(max(times, default=0.0))


def _table(tables: Tables, name: str) -> Table | None:
    """A table, or None if it is absent or has no rows."""
    table = tables.get(name)
    return table if table and len(next(iter(table.values()))) > 0 else None


def _groups(table: Table, keys: Sequence[str], keep: Array | None = None) -> Iterator[tuple[tuple[int, ...], Table]]:
    """The rows of each combination of ``keys``, by time, in ascending order of the keys."""
    table = dict(table) if keep is None else {name: column[keep] for name, column in table.items()}
    order = np.lexsort([table["time_s"], *(table[k] for k in reversed(keys))])
    ordered = {name: column[order] for name, column in table.items()}
    n = len(order)
    if n == 0:
        return
    new = np.zeros(n, dtype=bool)
    new[0] = True
    for k in keys:
        new[1:] |= ordered[k][1:] != ordered[k][:-1]
    starts = np.flatnonzero(new)
    for start, end in zip(starts, [*starts[1:], n], strict=True):
        rows = {name: column[start:end] for name, column in ordered.items()}
        yield tuple(int(rows[k][0]) for k in keys), rows


def _name(names: Sequence[str], index: int, what: str) -> str:
    return names[index] if 0 <= index < len(names) else f"{what} {index}"


def _gap(times: Array) -> float | None:
    if len(times) < 3:
        return None
    return float(_GAP_FACTOR * np.quantile(np.diff(times), 0.99)) or None


def _series(
    key: str,
    label: str,
    look: Look,
    data: Mapping[str, dict[str, Any]],
    flow: int | None = None,
    gap: float | None = None,
) -> dict[str, Any]:
    return {
        "key": key,
        "label": label,
        "colour": look.colour,
        "marker": look.marker,
        "dash": look.dash,
        "flow": flow,
        "gap": gap,
        "columns": dict(data),
    }


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
        "empty": empty if all(s["columns"]["t"]["n"] == 0 for s in series) else "",
        **more,
    }


def _finite_max(column: Array) -> float:
    finite = column[np.isfinite(column)]
    return float(finite.max()) if len(finite) > 0 else 0.0


def _flow_series(
    rows_of: Iterator[tuple[tuple[int, ...], Table]],
    flows: Sequence[str],
    data: Callable[[Table], dict[str, dict[str, Any]]],
) -> list[dict[str, Any]]:
    """One series per flow; flow -1 is the sum of all, worth a line only where there are several."""
    out = []
    for (flow,), rows in rows_of:
        if flow < 0 and len(flows) < 2:
            continue
        label, look = ("all flows", _TOTAL) if flow < 0 else (_name(flows, flow, "flow"), flow_look(flow))
        index = None if flow < 0 else flow
        out.append(_series(f"flow{flow}", label, look, data(rows), index, _gap(rows["time_s"])))
    return out


def _throughput(tables: Tables, flows: Sequence[str], columns: Columns) -> dict[str, Any]:
    points = _table(tables, "throughput_points")
    value = "mbps" if points else "throughput_mbps"
    table = points or _table(tables, "flows") or {k: np.empty(0) for k in ("time_s", "flow", value)}
    unit, factor = ("Gbit/s", _KILO) if _finite_max(table[value]) >= 10 * _KILO else ("Mbit/s", 1)
    series = _flow_series(
        _groups({k: table[k] for k in ("time_s", "flow", value)}, ["flow"]),
        flows,
        lambda rows: {
            "t": columns.add(rows["time_s"], "f64"),
            "v": columns.add(rows[value] / factor, "f32"),
        },
    )
    return _panel("throughput", "IP Throughput", unit, "line", series, "No packet was received.")


def _cwnd(tables: Tables, flows: Sequence[str], columns: Columns) -> dict[str, Any]:
    points = _table(tables, "cwnd_points")
    table: Table
    if points:
        table = {k: points[k] for k in ("time_s", "flow", "bytes", "limited")}
    elif intervals := _table(tables, "flows"):
        table = {
            "time_s": intervals["time_s"],
            "flow": intervals["flow"],
            "bytes": intervals["cwnd_bytes"],
            "low": intervals["cwnd_min_bytes"],
            "high": intervals["cwnd_max_bytes"],
            # Of an interval: limited for most of its ACKs.
            "limited": np.nan_to_num(intervals["cwnd_limited"]) > 0.5,
        }
        # Datagrams have no window, and a flow that stands for many connections has not one.
        have = np.isin(table["flow"], np.unique(table["flow"][table["bytes"] > 0]))
        table = {name: column[have] for name, column in table.items()}
    else:
        table = {k: np.empty(0) for k in ("time_s", "flow", "bytes", "limited")}
    units = (("MB", _KILO**2), ("kB", _KILO), ("bytes", 1))
    greatest = _finite_max(table["bytes"])
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

    series = _flow_series(_groups(table, ["flow"]), flows, data)
    flag = {"label": "cwnd-limited", "colour": "red", "marker": "cross"}
    return _panel("cwnd", "Congestion Window", unit, "line", series, "No ACK was received.", flag=flag)


def _sojourn(tables: Tables, queues: Sequence[str], columns: Columns) -> dict[str, Any]:
    points = _table(tables, "sojourn_points")
    intervals = _table(tables, "queues")
    series = []
    if points:
        for (queue,), rows in _groups(points, ["queue"]):
            data = {
                "t": columns.add(rows["time_s"], "f64"),
                "v": columns.add(rows["ms"], "f32"),
                "flag": columns.add(rows["empty"] != 0, "u8"),
            }
            series.append(_series(f"queue{queue}", _name(queues, queue, "queue"), queue_look(queue), data))
    elif intervals:
        for (queue,), rows in _groups(intervals, ["queue"]):
            data = {
                "t": columns.add(rows["time_s"], "f64"),
                "v": columns.add(rows["sojourn_mean_ms"], "f32"),
                "low": columns.add(rows["sojourn_min_ms"], "f32"),
                "high": columns.add(rows["sojourn_max_ms"], "f32"),
                "flag": columns.add(rows["emptied"] > 0, "u8"),
            }
            series.append(_series(f"queue{queue}", _name(queues, queue, "queue"), queue_look(queue), data))
    label = "emptied by the dequeue" if points else "emptied in the interval"
    marker = "circle" if points else "cross"
    flag = {"label": label, "colour": "red", "marker": marker}
    kind = "points" if points else "line"
    return _panel("sojourn", "Queue Sojourn Time", "ms", kind, series, "No packet was dequeued.", flag=flag)


def _marks(tables: Tables, queues: Sequence[str], columns: Columns) -> dict[str, Any]:
    points = _table(tables, "mark_points")
    intervals = _table(tables, "queues")
    series = []
    kinds = set()
    several = len(queues) > 1
    for kind, counter, label, colour, marker in _MARK_KINDS:
        look = Look(colour, marker, [])
        if points:
            groups = _groups(points, ["queue"], points["kind"] == kind)
        elif intervals:
            groups = _groups(_rates(intervals, counter), ["queue"])
        else:
            groups = iter(())
        for (queue,), rows in groups:
            data = {"t": columns.add(rows["time_s"], "f64"), "v": columns.add(rows["hz"], "f32")}
            if "flow" in rows:
                data["who"] = columns.add(np.maximum(rows["flow"], 0), "u16")
            of = f" ({_name(queues, queue, 'queue')})" if several else ""
            series.append(_series(f"{counter}{queue}", label + of, look, data))
            if len(rows["time_s"]):
                kinds.add(kind)
    return _panel(
        "marks",
        "Drop Frequency" if kinds == {_DROP} else "Mark Frequency",
        "Hz",
        "points",
        series,
        "Nothing was marked or dropped.",
        log=True,
    )


def _rates(intervals: Table, counter: str) -> Table:
    """Marks per second of each interval that has any."""
    parts: list[tuple[int, Array, Array]] = []
    for (queue,), rows in _groups(intervals, ["queue"]):
        length = np.diff(rows["time_s"], prepend=0.0)
        some = (rows[counter] > 0) & (length > 0)
        parts.append((queue, rows["time_s"][some], rows[counter][some] / length[some]))
    return {
        "time_s": np.concatenate([t for _, t, _ in parts]),
        "hz": np.concatenate([hz for _, _, hz in parts]),
        "queue": np.concatenate([np.full(len(t), queue) for queue, t, _ in parts]),
    }
