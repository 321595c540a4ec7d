"""The summary of a run as tables: cells with the text to show and the value to sort by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.report.text import NOTHING, number, setting

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column: head, unit under it, and how a record's cell comes about."""

    head: str
    unit: str
    get: Callable[[Record], Any]
    numeric: bool = True
    show: Callable[[Any], str] = number


@dataclass(frozen=True)
class Cell:
    """A cell: what is shown, what it sorts by."""

    text: str
    sort: str
    numeric: bool


@dataclass(frozen=True)
class SummaryTable:
    """A table that is ready for the template."""

    columns: Sequence[Column]
    rows: list[list[Cell]]


def _of(*path: str, factor: float = 1) -> Callable[[Record], Any]:
    def get(record: Record) -> Any:
        value: Any = record
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value / factor if factor != 1 and isinstance(value, int | float) else value

    return get


def _kind(record: Record) -> Any:
    cc = record.get("cc")
    return cc.get("kind", "") if isinstance(cc, Mapping) else cc


def _exit_time(record: Record) -> Any:
    return _of("slow_start_exit", "t_s")(record)


def _exit_text(record: Record) -> str:
    left = record.get("slow_start_exit")
    if not left:
        return NOTHING
    reason = f", {left['reason']}" if left.get("reason") else ""
    return f"{number(left.get('t_s'))} s, {number(left.get('cwnd_bytes', 0) / 1e3)} kB{reason}"


FLOW_COLUMNS = (
    Column("Flow", "", _of("name"), numeric=False),
    Column("Controller", "", _kind, numeric=False),
    Column("Path RTT", "ms", _of("path_rtt_ms"), show=setting),
    Column("Throughput", "Mbit/s", _of("throughput_mbps")),
    Column("Goodput", "Mbit/s", _of("goodput_mbps")),
    Column("cwnd mean", "kB", _of("cwnd_bytes", "mean", factor=1e3)),
    Column("cwnd min", "kB", _of("cwnd_bytes", "min", factor=1e3)),
    Column("cwnd max", "kB", _of("cwnd_bytes", "max", factor=1e3)),
    Column("RTT min", "ms", _of("rtt_ms", "min")),
    Column("RTT mean", "ms", _of("rtt_ms", "mean")),
    Column("RTT P95", "ms", _of("rtt_ms", "p95")),
    Column("RTT P99", "ms", _of("rtt_ms", "p99")),
    Column("RTT max", "ms", _of("rtt_ms", "max")),
    Column("SCE", "marks", _of("sce_marks")),
    Column("CE", "marks", _of("ce_marks")),
    Column("Retransmits", "packets", _of("retransmits")),
    Column("Losses", "episodes", _of("loss_episodes")),
    Column("RTOs", "", _of("rtos")),
    Column("Slow start left", "time, cwnd, reason", _exit_time, numeric=False),
)

QUEUE_COLUMNS = (
    Column("Queue", "", _of("name"), numeric=False),
    Column("Rate", "Mbit/s", _of("rate_mbps"), show=setting),
    Column(
        "Utilization",
        "%",
        lambda q: None if q.get("utilization") is None else 100 * q["utilization"],
    ),
    Column("Sojourn mean", "ms", _of("sojourn_ms", "mean")),
    Column("Sojourn P50", "ms", _of("sojourn_ms", "p50")),
    Column("Sojourn P95", "ms", _of("sojourn_ms", "p95")),
    Column("Sojourn P99", "ms", _of("sojourn_ms", "p99")),
    Column("Sojourn max", "ms", _of("sojourn_ms", "max")),
    Column("SCE", "marks", _of("sce")),
    Column("CE", "marks", _of("ce")),
    Column("Dropped: full", "packets", _of("drops", "full")),
    Column("Dropped: AQM", "packets", _of("drops", "aqm")),
    Column("Dropped: wire", "packets", _of("drops", "wire")),
    Column("Dequeued", "packets", _of("dequeued")),
    Column("Emptied", "times", _of("emptied")),
)


def summary_table(columns: Sequence[Column], records: Sequence[Record]) -> SummaryTable | None:
    """A table of the records; columns that no record has anything for are left out; None without records."""
    if not records:
        return None
    kept = [c for c in columns if any(c.get(r) is not None for r in records)]
    rows = [[_cell(c, r) for c in kept] for r in records]
    return SummaryTable(kept, rows)


def _cell(column: Column, record: Record) -> Cell:
    value = column.get(record)
    text = _exit_text(record) if column.get is _exit_time else column.show(value)
    return Cell(text, "" if value is None else str(value), column.numeric)
