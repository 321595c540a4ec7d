"""The tables of a run's summary, on the page and in the terminal: their columns, and which records they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from windtunnel.panels.run import Run
from windtunnel.report.grouped import shares
from windtunnel.report.text import NOTHING, number, setting

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column: its heading on the page, the unit below it, how a record's value is read, and its ``brief`` heading in
    the terminal. Without one of the headings it is shown in the other place alone.

    A ``rare`` column appears only if some record has a value other than 0 in it. ``show`` makes the text of a value;
    where the page says more than the value, ``text`` makes it of the record.
    """

    head: str
    unit: str
    get: Callable[[Record], Any]
    brief: str = ""
    numeric: bool = True
    show: Callable[[Any], str] = number
    rare: bool = False
    text: Callable[[Record], str] | None = None


@dataclass(frozen=True)
class Table:
    """A table: its columns, and its records in a summary or in a window of it. In tables of flows, rows of groups may
    stand for those of flows.
    """

    columns: tuple[Column, ...]
    records: Callable[[Record], Sequence[Record]]
    of_flows: bool = True


def _of(*path: str, factor: float = 1) -> Callable[[Record], Any]:
    """The value at this path; None where a part of it is missing. There may be a hundred thousand records."""
    if len(path) == 1:
        get: Callable[[Record], Any] = methodcaller("get", *path)
    elif len(path) == 2:
        part, key = path

        def get(record: Record) -> Any:
            values = record.get(part)
            return values.get(key) if values else None
    else:
        within = _of(*path[1:])

        def get(record: Record) -> Any:
            return within(record.get(path[0]) or {})

    return get if factor == 1 else partial(_scaled, get, factor)


def _scaled(get: Callable[[Record], Any], factor: float, record: Record) -> Any:
    value = get(record)
    return None if value is None else value / factor


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


def _lost(record: Record) -> int | None:
    """The packets that were lost; in a window of the real kernel nothing tells."""
    return int(sum(record["drops"].values()) + record["corrupted"]) if "drops" in record else None


def _acks_lost(record: Record) -> int:
    """Segments that only acknowledge and were lost: no data are missing for them."""
    return int(sum((record.get("ack_drops") or {}).values()))


def while_active(record: Record) -> Any:
    """The throughput from a flow's start to its last data, where that is another than over the whole span."""
    active, whole = (record.get("active") or {}).get("throughput_mbps"), record.get("throughput_mbps")
    return active if active and whole and active > 1.02 * whole else None


def _dropped(record: Record) -> int:
    return int(sum(record["drops"].values()))


def _limit(record: Record) -> str | None:
    """The limit that kept the sender from sending for the longest time."""
    times: Mapping[str, float] = record.get("limited") or {}
    most = max(times, key=times.__getitem__, default=None)
    return None if most is None else f"{most} {number(round(100 * times[most]))} %"


def _exit_text(record: Record) -> str:
    left = record.get("slow_start_exit")
    if not left:
        return NOTHING
    reason = f", {left['reason']}" if left.get("reason") else ""
    return f"{number(left.get('t_s'))} s, {number(left.get('cwnd_bytes', 0) / 1e3)} kB{reason}"


def _by_size(flow: Record) -> Iterator[Record]:
    """The transfers of a flow, class by class."""
    for part in (flow.get("transfers") or {}).get("by_size", ()):
        low, high = part["above_bytes"], part["up_to_bytes"]
        unit, one = ("MB", 1e6) if high is None or high >= 1e6 else ("kB", 1e3)
        ends = [f"{end / one:g}" for end in (low, high) if end]
        size = "-".join(ends) if len(ends) == 2 else ("> " if high is None else "<= ") + ends[0]
        yield {**part, "name": flow["name"], "size": f"{size} {unit}"}


def _by_class(queues: Sequence[Record]) -> Iterator[Record]:
    """The classes of each queue that sorts packets into a few, named after it."""
    for queue in queues:
        for part in queue.get("classes") or ():
            yield {**part, "name": f"{queue['name']}: {part['name']}"}


#: Of groups of flows, from :func:`windtunnel.report.grouped.shares`.
_GROUP = (
    Column("Group", "", _of("name"), "group", numeric=False),
    Column("Flows", "", _of("flows"), "flows"),
    Column("Sum", "Mbit/s", _of("sum_mbps"), "sum Mbit/s"),
    Column("Median", "Mbit/s", _of("median_mbps"), "median"),
    Column("P10", "Mbit/s", _of("p10_mbps"), "P10"),
    Column("P90", "Mbit/s", _of("p90_mbps"), "P90"),
    Column("Jain's index", "of these rates", _of("jain"), "Jain of rates"),
)

_FLOW = (
    Column("Flow", "", _of("name"), "flow", numeric=False),
    Column("Controller", "", _kind, numeric=False),
    Column("Application", "", _application, numeric=False, rare=True, show=lambda a: number(a or "bulk")),
    Column("Path RTT", "ms", _of("path_rtt_ms"), show=setting),
    Column("Throughput", "Mbit/s", _of("throughput_mbps"), "Mbit/s"),
    Column("while active", "Mbit/s", while_active, "active", rare=True),
    Column("Goodput", "Mbit/s", _of("goodput_mbps")),
    Column("cwnd mean", "kB", _window("mean"), "cwnd kB"),
    Column("cwnd min", "kB", _window("min")),
    Column("cwnd max", "kB", _window("max")),
    Column("RTT min", "ms", _of("rtt_ms", "min")),
    Column("RTT mean", "ms", _of("rtt_ms", "mean"), "RTT ms"),
    Column("RTT P95", "ms", _of("rtt_ms", "p95")),
    Column("RTT P99", "ms", _of("rtt_ms", "p99"), "P99 ms"),
    Column("RTT max", "ms", _of("rtt_ms", "max")),
    Column("SCE", "marks", _of("sce_marks"), "SCE", rare=True),
    Column("CE", "marks", _of("ce_marks"), "CE", rare=True),
    Column(
        "Slow start left",
        "time, cwnd, reason",
        _of("slow_start_exit", "t_s"),
        numeric=False,
        show=lambda t_s: f"{number(t_s)} s",
        text=_exit_text,
    ),
)

_RECOVERY = (
    Column("Sender", "", _of("name"), "recovery", numeric=False),
    Column("Lost", "packets", _lost, "lost"),
    Column("on the wire", "packets", _of("drops", "wire"), rare=True),
    Column("ACKs lost", "packets", _acks_lost, "ACKs lost", rare=True),
    Column("Retransmits", "packets", _of("retransmits"), "retrans."),
    Column("Loss episodes", "", _of("loss_episodes"), "episodes"),
    Column("RTOs", "", _of("rtos"), "RTOs"),
    Column("Spurious RTOs", "", _of("spurious_rtos"), "spurious", rare=True),
    Column("Tail loss probes", "", _of("tlps"), rare=True),
    Column("Undone", "reductions", _of("undos"), "undone", rare=True),
    Column("Left out", "segments", _of("skips"), "skips", rare=True),
    Column("Exposed", "receivers", _of("exposed"), "exposed", rare=True),
    Column("Wrong nonces", "ACKs", _of("nonce_fail"), "wrong nonces", rare=True),
    Column("Handshake", "% of time", _of("limited", "handshake", factor=0.01), rare=True),
    Column("cwnd-limited", "% of time", _of("limited", "cwnd", factor=0.01), rare=True),
    Column("Application-limited", "% of time", _of("limited", "application", factor=0.01), rare=True),
    Column("rwnd-limited", "% of time", _of("limited", "receiver", factor=0.01), rare=True),
    Column("sndbuf-limited", "% of time", _of("limited", "send_buffer", factor=0.01), rare=True),
    Column("Pacing-limited", "% of time", _of("limited", "pacing", factor=0.01), rare=True),
    Column("Host-limited", "% of time", _of("limited", "host", factor=0.01), rare=True),
    Column("", "", _limit, "limited by", numeric=False),
)

_TRANSFER = (
    Column("Transfer", "", _of("name"), "transfers", numeric=False),
    Column("Completed", "transfers", _of("transfers", "completed"), "done"),
    Column("Turned away", "transfers", _of("transfers", "rejected"), rare=True),
    Column("FCT mean", "ms", _of("transfers", "time_ms", "mean"), "mean ms"),
    Column("FCT P50", "ms", _of("transfers", "time_ms", "p50"), "P50 ms"),
    Column("FCT P95", "ms", _of("transfers", "time_ms", "p95")),
    Column("FCT P99", "ms", _of("transfers", "time_ms", "p99"), "P99 ms"),
    Column("FCT max", "ms", _of("transfers", "time_ms", "max"), "max ms"),
)

#: Slowdown: the time divided by that on an empty path, which is base RTT + size / bottleneck rate.
_SIZE = (
    Column("Transfer by size", "", _of("name"), "by size", numeric=False),
    Column("Size", "", _of("size"), "size", numeric=False),
    Column("Completed", "transfers", _of("completed"), "done"),
    Column("FCT mean", "ms", _of("time_ms", "mean"), "mean ms"),
    Column("FCT P50", "ms", _of("time_ms", "p50"), "P50 ms"),
    Column("FCT P95", "ms", _of("time_ms", "p95")),
    Column("FCT P99", "ms", _of("time_ms", "p99"), "P99 ms"),
    Column("Slowdown mean", "", _of("slowdown", "mean"), "slowdown"),
    Column("Slowdown P50", "", _of("slowdown", "p50")),
    Column("Slowdown P99", "", _of("slowdown", "p99"), "its P99"),
)

#: Frames of media over TCP or RTP. Late: not there 400 ms after its creation.
_FRAME = (
    Column("Frames", "", _of("name"), "frames", numeric=False),
    Column("Made", "frames", _of("frames", "made"), "made"),
    Column("Late", "%", _of("frames", "late_ratio", factor=0.01), "late %"),
    Column("Freezes", "times", _of("frames", "freezes"), "freezes"),
    Column("Frozen", "% of time", _of("frames", "frozen_ratio", factor=0.01), "frozen %"),
    Column("Delay P50", "ms", _of("frames", "delay_ms", "p50"), "P50 ms"),
    Column("Delay P95", "ms", _of("frames", "delay_ms", "p95"), "P95 ms"),
    Column("Delay P99", "ms", _of("frames", "delay_ms", "p99")),
    Column("Delay max", "ms", _of("frames", "delay_ms", "max"), "max ms"),
    Column("Bit rate", "Mbit/s", _of("frames", "bitrate_mbps"), "Mbit/s"),
)

_DATAGRAM = (
    Column("Datagram", "", _of("name"), "datagrams", numeric=False),
    Column("Sent", "packets", _of("datagrams", "sent"), "sent"),
    Column("Lost", "%", _of("datagrams", "loss_ratio", factor=0.01), "lost %"),
    Column("Duplicates", "packets", _of("datagrams", "duplicates"), rare=True),
    Column("One-way mean", "ms", _of("datagrams", "one_way_ms", "mean"), "one-way ms"),
    Column("One-way P50", "ms", _of("datagrams", "one_way_ms", "p50")),
    Column("One-way P95", "ms", _of("datagrams", "one_way_ms", "p95")),
    Column("One-way P99", "ms", _of("datagrams", "one_way_ms", "p99"), "P99 ms"),
    Column("One-way max", "ms", _of("datagrams", "one_way_ms", "max"), "max ms"),
    Column("Jitter", "ms", _of("datagrams", "jitter_ms"), "jitter ms"),
)

_QUEUE = (
    Column("Queue", "", _of("name"), "queue", numeric=False),
    Column("Rate", "Mbit/s", _of("rate_mbps"), show=setting),
    Column("Utilization", "%", _of("utilization", factor=0.01), "used %"),
    Column("Sojourn mean", "ms", _of("sojourn_ms", "mean"), "mean ms"),
    Column("Sojourn P50", "ms", _of("sojourn_ms", "p50")),
    Column("Sojourn P95", "ms", _of("sojourn_ms", "p95")),
    Column("Sojourn P99", "ms", _of("sojourn_ms", "p99"), "P99 ms"),
    Column("Sojourn max", "ms", _of("sojourn_ms", "max"), "max ms"),
    Column("SCE", "marks", _of("sce"), "SCE", rare=True),
    Column("CE", "marks", _of("ce"), "CE", rare=True),
    Column("", "", _dropped, "drops"),
    Column("Dropped: full", "packets", _of("drops", "full")),
    Column("Dropped: longest band", "packets", _of("drops", "overlimit"), rare=True),
    Column("Dropped: AQM", "packets", _of("drops", "aqm")),
    Column("Dropped: policed", "packets", _of("drops", "policed"), rare=True),
    Column("Dropped: ACK filter", "packets", _of("drops", "filtered"), rare=True),
    Column("Dropped: wire", "packets", _of("drops", "wire"), rare=True),
    Column("Dequeued", "packets", _of("dequeued")),
    Column("Emptied", "times", _of("emptied")),
)

_CLASS = (
    Column("Class", "", _of("name"), "class", numeric=False),
    Column("Throughput", "Mbit/s", _of("throughput_mbps"), "Mbit/s"),
    Column("Sojourn mean", "ms", _of("sojourn_ms", "mean"), "mean ms"),
    Column("Sojourn P50", "ms", _of("sojourn_ms", "p50"), "P50 ms"),
    Column("Sojourn P95", "ms", _of("sojourn_ms", "p95")),
    Column("Sojourn P99", "ms", _of("sojourn_ms", "p99"), "P99 ms"),
    Column("Sojourn max", "ms", _of("sojourn_ms", "max"), "max ms"),
    Column("SCE", "marks", _of("sce"), "SCE", rare=True),
    Column("CE", "marks", _of("ce"), "CE", rare=True),
    Column("Dropped", "packets", _dropped, "drops"),
    Column("Dequeued", "packets", _of("dequeued")),
)

#: Of their rates over the time in which all were active; a group's index is of rates over the whole span.
_FAIRNESS = (
    Column("Fairness", "", _of("name"), "fairness", numeric=False),
    Column("Flows", "", _of("flows"), "flows"),
    Column("Jain's index", "while shared", _of("jain"), "Jain while shared"),
    Column("Converged after", "s", _of("convergence_s"), "converged after s"),
    Column("Shared for", "s", _of("shared_s")),
)

#: Arrived and duplicated packets equal those that passed, were lost, or are held.
_IMPAIRMENT = (
    Column("Impairment", "", _of("name"), "impairment", numeric=False),
    Column("Kind", "", _of("kind"), "kind", numeric=False),
    Column("Arrived", "packets", _of("arrived"), "arrived"),
    Column("Passed", "packets", _of("passed")),
    Column("Lost", "packets", _of("lost"), "lost"),
    Column("Damaged", "packets", _of("corrupted"), "damaged", rare=True),
    Column("Duplicated", "packets", _of("duplicated"), "doubled", rare=True),
    Column("Reordered", "packets", _of("reordered"), "reordered", rare=True),
    Column("Rewritten", "packets", _of("rewritten"), "rewritten", rare=True),
    Column("Bursts", "", _of("bursts"), rare=True),
    Column("Held at the end", "packets", _of("held"), rare=True),
)


#: What changed during the run, at a time or when the state of a controller called for it.
_CHANGE = (
    Column("Change", "", _of("name"), "change", numeric=False),
    Column("At", "s", _of("t_s"), "at s", show=setting),
    Column("When", "", _of("when"), "when", numeric=False),
)


def _flows_with(key: str) -> Callable[[Record], Sequence[Record]]:
    """The flows that report something; endpoints without loss recovery have no limits, for example."""
    return lambda part: [flow for flow in part.get("flows", ()) if flow.get(key)]


def _senders(part: Record) -> Sequence[Record]:
    """The flows that recover from losses: those of TCP, and of QUIC stacks, which do not tell what limits them."""

    def recovers(flow: Record) -> bool:
        return flow.get("sent") is not None and flow.get("loss_episodes") is not None and flow.get("datagrams") is None

    return [flow for flow in part.get("flows", ()) if flow.get("limited") or recovers(flow)]


#: All tables, in the order in which they are shown.
TABLES = (
    Table(_FLOW, lambda part: part.get("flows", ())),
    Table(_RECOVERY, _senders),
    Table(_TRANSFER, _flows_with("transfers")),
    Table(_SIZE, lambda part: [size for flow in part.get("flows", ()) for size in _by_size(flow)]),
    Table(_FRAME, _flows_with("frames")),
    Table(_DATAGRAM, _flows_with("datagrams")),
    Table(_QUEUE, lambda part: part.get("queues", ()), of_flows=False),
    Table(_CLASS, lambda part: list(_by_class(part.get("queues", ()))), of_flows=False),
    Table(_FAIRNESS, lambda part: part.get("fairness", ()), of_flows=False),
    Table(_IMPAIRMENT, lambda part: part.get("impairments", ()), of_flows=False),
    Table(
        _CHANGE, lambda part: [{**change, "name": change["what"]} for change in part.get("changes", ())], of_flows=False
    ),
)


def groups(run: Run) -> Table:
    """The table of the groups of a run's flows."""
    return Table(_GROUP, lambda part: shares(part.get("flows", ()), run), of_flows=False)
