"""The summary of a run as tables: cells with the text to show and the value to sort by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from windtunnel.panels.run import Run
from windtunnel.report.grouped import places_of_groups, together
from windtunnel.report.text import NOTHING, number, setting

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column: heading, the unit below it, and how a record's cell is made.

    A ``rare`` column appears only if some record has a value other than 0 in it.
    """

    head: str
    unit: str
    get: Callable[[Record], Any]
    numeric: bool = True
    show: Callable[[Any], str] = number
    rare: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: the text to show, and the value to sort by."""

    text: str
    sort: str
    numeric: bool


@dataclass(frozen=True)
class SummaryTable:
    """A table that is ready for the template."""

    columns: Sequence[Column]
    rows: list[list[Cell]]


def _of(*path: str, factor: float = 1) -> Callable[[Record], Any]:
    if len(path) == 1 and factor == 1:
        return methodcaller("get", *path)

    def get(record: Record) -> Any:
        value: Any = record
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value / factor if factor != 1 and isinstance(value, int | float) else value

    return get


def _kind(record: Record) -> Any:
    """The controller; datagrams have none, and ``cc`` repeats their application."""
    cc = record.get("cc")
    if cc is not None and cc == record.get("application"):
        return None
    return cc.get("kind", "") if isinstance(cc, Mapping) else cc


def _application(record: Record) -> Any:
    """What it sends, unless it sends as much as it can."""
    application = record.get("application")
    return None if application == "bulk" else application


def _window(part: str) -> Callable[[Record], Any]:
    """Datagrams have no window, and a flow that stands for many connections has several."""

    def get(record: Record) -> Any:
        cwnd = record.get("cwnd_bytes") or {}
        return cwnd[part] / 1e3 if cwnd.get("max") else None

    return get


def _lost(record: Record) -> int:
    return int(sum(record["drops"].values()) + record["corrupted"])


def acks_lost(record: Record) -> int:
    """Segments that only acknowledge and were lost: no data are missing for them."""
    return int(sum((record.get("ack_drops") or {}).values()))


def while_active(record: Record) -> Any:
    """The throughput from a flow's start to its last data, where that is another than over the whole span."""
    active, whole = (record.get("active") or {}).get("throughput_mbps"), record.get("throughput_mbps")
    return active if active and whole and active > 1.02 * whole else None


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
    Column("Application", "", _application, numeric=False, rare=True, show=lambda a: number(a or "bulk")),
    Column("Path RTT", "ms", _of("path_rtt_ms"), show=setting),
    Column("Throughput", "Mbit/s", _of("throughput_mbps")),
    Column("while active", "Mbit/s", while_active, rare=True),
    Column("Goodput", "Mbit/s", _of("goodput_mbps")),
    Column("cwnd mean", "kB", _window("mean")),
    Column("cwnd min", "kB", _window("min")),
    Column("cwnd max", "kB", _window("max")),
    Column("RTT min", "ms", _of("rtt_ms", "min")),
    Column("RTT mean", "ms", _of("rtt_ms", "mean")),
    Column("RTT P95", "ms", _of("rtt_ms", "p95")),
    Column("RTT P99", "ms", _of("rtt_ms", "p99")),
    Column("RTT max", "ms", _of("rtt_ms", "max")),
    Column("SCE", "marks", _of("sce_marks")),
    Column("CE", "marks", _of("ce_marks")),
    Column("Slow start left", "time, cwnd, reason", _exit_time, numeric=False),
)

#: For groups of flows, from :func:`windtunnel.report.grouped.shares`.
GROUP_COLUMNS = (
    Column("Group", "", _of("name"), numeric=False),
    Column("Flows", "", _of("flows")),
    Column("Sum", "Mbit/s", _of("sum_mbps")),
    Column("Median", "Mbit/s", _of("median_mbps")),
    Column("P10", "Mbit/s", _of("p10_mbps")),
    Column("P90", "Mbit/s", _of("p90_mbps")),
    Column("Jain's index", "of these rates", _of("jain")),
)

#: For a TCP with loss: loss-free endpoints report no limits.
RECOVERY_COLUMNS = (
    Column("TCP flow", "", _of("name"), numeric=False),
    Column("Lost", "packets", _lost),
    Column("on the wire", "packets", _of("drops", "wire"), rare=True),
    Column("ACKs lost", "packets", acks_lost, rare=True),
    Column("Retransmits", "packets", _of("retransmits")),
    Column("Loss episodes", "", _of("loss_episodes")),
    Column("RTOs", "", _of("rtos")),
    Column("Spurious RTOs", "", _of("spurious_rtos"), rare=True),
    Column("Tail loss probes", "", _of("tlps"), rare=True),
    Column("Undone", "reductions", _of("undos"), rare=True),
    Column("Left out", "segments", _of("skips"), rare=True),
    Column("Exposed", "receivers", _of("exposed"), rare=True),
    Column("Wrong nonces", "ACKs", _of("nonce_fail"), rare=True),
    Column("Handshake", "% of time", _of("limited", "handshake", factor=0.01), rare=True),
    Column("cwnd-limited", "% of time", _of("limited", "cwnd", factor=0.01), rare=True),
    Column("Application-limited", "% of time", _of("limited", "application", factor=0.01), rare=True),
    Column("rwnd-limited", "% of time", _of("limited", "receiver", factor=0.01), rare=True),
    Column("sndbuf-limited", "% of time", _of("limited", "send_buffer", factor=0.01), rare=True),
    Column("Pacing-limited", "% of time", _of("limited", "pacing", factor=0.01), rare=True),
    Column("Host-limited", "% of time", _of("limited", "host", factor=0.01), rare=True),
)

TRANSFER_COLUMNS = (
    Column("Transfer", "", _of("name"), numeric=False),
    Column("Completed", "transfers", _of("transfers", "completed")),
    Column("Turned away", "transfers", _of("transfers", "rejected"), rare=True),
    Column("FCT mean", "ms", _of("transfers", "time_ms", "mean")),
    Column("FCT P50", "ms", _of("transfers", "time_ms", "p50")),
    Column("FCT P95", "ms", _of("transfers", "time_ms", "p95")),
    Column("FCT P99", "ms", _of("transfers", "time_ms", "p99")),
    Column("FCT max", "ms", _of("transfers", "time_ms", "max")),
)

#: For the parts that :func:`by_size` gives. Slowdown: the time divided by that on an empty path.
SIZE_COLUMNS = (
    Column("Transfer by size", "", _of("name"), numeric=False),
    Column("Size", "", _of("size"), numeric=False),
    Column("Completed", "transfers", _of("completed")),
    Column("FCT mean", "ms", _of("time_ms", "mean")),
    Column("FCT P50", "ms", _of("time_ms", "p50")),
    Column("FCT P95", "ms", _of("time_ms", "p95")),
    Column("FCT P99", "ms", _of("time_ms", "p99")),
    Column("Slowdown mean", "", _of("slowdown", "mean")),
    Column("Slowdown P50", "", _of("slowdown", "p50")),
    Column("Slowdown P99", "", _of("slowdown", "p99")),
)

DATAGRAM_COLUMNS = (
    Column("Datagram", "", _of("name"), numeric=False),
    Column("Sent", "packets", _of("datagrams", "sent")),
    Column("Lost", "%", _of("datagrams", "loss_ratio", factor=0.01)),
    Column("Duplicates", "packets", _of("datagrams", "duplicates"), rare=True),
    Column("One-way mean", "ms", _of("datagrams", "one_way_ms", "mean")),
    Column("One-way P50", "ms", _of("datagrams", "one_way_ms", "p50")),
    Column("One-way P95", "ms", _of("datagrams", "one_way_ms", "p95")),
    Column("One-way P99", "ms", _of("datagrams", "one_way_ms", "p99")),
    Column("One-way max", "ms", _of("datagrams", "one_way_ms", "max")),
    Column("Jitter", "ms", _of("datagrams", "jitter_ms")),
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
    Column("Dropped: longest band", "packets", _of("drops", "overlimit"), rare=True),
    Column("Dropped: AQM", "packets", _of("drops", "aqm")),
    Column("Dropped: policed", "packets", _of("drops", "policed"), rare=True),
    Column("Dropped: ACK filter", "packets", _of("drops", "filtered"), rare=True),
    Column("Dropped: wire", "packets", _of("drops", "wire"), rare=True),
    Column("Dequeued", "packets", _of("dequeued")),
    Column("Emptied", "times", _of("emptied")),
)

#: For the parts that :func:`by_class` gives.
CLASS_COLUMNS = (
    Column("Class", "", _of("name"), numeric=False),
    Column("Throughput", "Mbit/s", _of("throughput_mbps")),
    Column("Sojourn mean", "ms", _of("sojourn_ms", "mean")),
    Column("Sojourn P50", "ms", _of("sojourn_ms", "p50")),
    Column("Sojourn P95", "ms", _of("sojourn_ms", "p95")),
    Column("Sojourn P99", "ms", _of("sojourn_ms", "p99")),
    Column("Sojourn max", "ms", _of("sojourn_ms", "max")),
    Column("SCE", "marks", _of("sce"), rare=True),
    Column("CE", "marks", _of("ce"), rare=True),
    Column("Dropped", "packets", lambda one: sum(one["drops"].values())),
    Column("Dequeued", "packets", _of("dequeued")),
)

#: For flows that share a queue and always have data to send: of their rates over the time in which all were active;
#: a group's index is of rates over the whole span.
FAIRNESS_COLUMNS = (
    Column("Fairness", "", _of("name"), numeric=False),
    Column("Flows", "", _of("flows")),
    Column("Jain's index", "while shared", _of("jain")),
    Column("Converged after", "s", _of("convergence_s")),
    Column("Shared for", "s", _of("shared_s")),
)

#: For impairments and middleboxes: arrived and duplicated packets equal those that passed, were lost, or are held.
IMPAIRMENT_COLUMNS = (
    Column("Impairment", "", _of("name"), numeric=False),
    Column("Kind", "", _of("kind"), numeric=False),
    Column("Arrived", "packets", _of("arrived")),
    Column("Passed", "packets", _of("passed")),
    Column("Lost", "packets", _of("lost")),
    Column("Damaged", "packets", _of("corrupted"), rare=True),
    Column("Duplicated", "packets", _of("duplicated"), rare=True),
    Column("Reordered", "packets", _of("reordered"), rare=True),
    Column("Rewritten", "packets", _of("rewritten"), rare=True),
    Column("Bursts", "", _of("bursts"), rare=True),
    Column("Held at the end", "packets", _of("held"), rare=True),
)


def by_size(flow: Record) -> Iterator[Record]:
    """The transfers of a flow, class by class."""
    for part in (flow.get("transfers") or {}).get("by_size", ()):
        low, high = part["above_bytes"], part["up_to_bytes"]
        unit, one = ("MB", 1e6) if high is None or high >= 1e6 else ("kB", 1e3)
        ends = [f"{end / one:g}" for end in (low, high) if end]
        size = "-".join(ends) if len(ends) == 2 else ("> " if high is None else "<= ") + ends[0]
        yield {**part, "name": flow["name"], "size": f"{size} {unit}"}


def by_class(queues: Sequence[Record]) -> Iterator[Record]:
    """The classes of each queue that sorts packets into a few, named after it."""
    for queue in queues:
        for part in queue.get("classes") or ():
            yield {**part, "name": f"{queue['name']}: {part['name']}"}


def summary_table(columns: Sequence[Column], records: Sequence[Record]) -> SummaryTable | None:
    """A table of the records; columns without a value in any record are left out; None without records."""
    if not records:
        return None
    kept = _kept(columns, records)
    cells = [[_cell(c, value, r) for value, r in zip(values, records, strict=True)] for c, values in kept]
    return SummaryTable([c for c, _ in kept], [list(row) for row in zip(*cells, strict=True)])


def _kept(columns: Sequence[Column], records: Sequence[Record]) -> list[tuple[Column, list[Any]]]:
    """The columns that have something to show, with their values."""
    every = [(c, [c.get(r) for r in records]) for c in columns]
    return [(c, values) for c, values in every if any(v if c.rare else v is not None for v in values)]


def grouped_table(columns: Sequence[Column], records: Sequence[Record], run: Run) -> SummaryTable | None:
    """The same with a row for each group of flows."""
    if not records:
        return None
    kept = _kept(columns, records)
    rows = []
    for label, mine in places_of_groups(records, run):
        cells = [Cell(label, label, numeric=False)]
        for column, every in kept[1:]:
            values = [every[place] for place in mine]
            known = [value for value in values if isinstance(value, int | float)]
            text = together(values, column.show if column.get is not _exit_time else lambda t: f"{number(t)} s")
            cells.append(Cell(text, str(sum(known) / len(known)) if known else text, column.numeric))
        rows.append(cells)
    return SummaryTable([column for column, _ in kept], rows)


def _cell(column: Column, value: Any, record: Record) -> Cell:
    text = _exit_text(record) if column.get is _exit_time else column.show(value)
    return Cell(text, "" if value is None else str(value), column.numeric)
