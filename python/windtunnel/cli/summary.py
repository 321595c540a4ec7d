"""The summary that ``windtunnel run`` prints at the end: the main numbers, and where the rest is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel.claims.decide import decided_run
from windtunnel.cli.claims import show
from windtunnel.cli.notes import show_notes
from windtunnel.panels.run import Run
from windtunnel.report.grouped import gathered, shares, together
from windtunnel.report.summary import acks_lost, by_class, by_size, while_active
from windtunnel.report.text import number, setting
from windtunnel.result import RunResult

Record: TypeAlias = Mapping[str, Any]


def show_summary(result: RunResult, place: Path | None, console: Console) -> None:
    """Print flows, transfers, queues, speed and the result folder."""
    if result.title:
        console.print(result.title, style="bold", soft_wrap=True)
    run = Run(result)
    _show(result.flows, result.queues, run, console)
    if result.fairness:
        console.print(_table("fairness", _FAIRNESS, result.fairness))
    if result.impairments:
        console.print(_table("impairment", _IMPAIRMENT, result.impairments))
    for window in result.windows:
        span = f"{setting(window['from_s'])} to {setting(window['to_s'])} s"
        console.print()
        console.print(f"{window['name']}: {span}", style="bold", soft_wrap=True)
        _show(window["flows"], window["queues"], run, console)
    show_notes(result.notes, console)
    if result.claims:
        show(decided_run(result))
    if stalled := result.stalled:
        console.print(f"stalled at {setting(stalled['t_s'])} s: {stalled['why']}", style="bold", soft_wrap=True)
    meta = result.meta
    if foreign := meta.get("foreign"):
        console.print(f"foreign code: {', '.join(foreign)}", style="bold", soft_wrap=True)
    speed = meta["packets_per_second"]
    console.print(
        f"{setting(meta['duration_s'])} s simulated in {number(meta['cpu_seconds'], 3)} s, "
        f"{number(meta['packets'])} packets"
        + (f", {number(speed / 1e6, 3)} million packets/s" if speed else "")
        + f", digest {result.digest}",
        soft_wrap=True,
    )
    if place is not None:
        console.print(f"{place}/report.html", soft_wrap=True)


def _show(flows: Sequence[Record], queues: Sequence[Record], run: Run, console: Console) -> None:
    if run.grouped:
        console.print(_table("group", _GROUP, shares(flows, run)))
    for name, columns, records in (
        ("flow", _FLOW, flows),
        ("recovery", _RECOVERY, [flow for flow in flows if flow.get("limited")]),
        ("transfers", _TRANSFERS, [flow for flow in flows if flow.get("transfers")]),
        ("by size", _BY_SIZE, [part for flow in flows for part in by_size(flow)]),
        ("datagrams", _DATAGRAMS, [flow for flow in flows if flow.get("datagrams")]),
        ("queue", _QUEUE, queues),
        ("class", _CLASS, list(by_class(queues))),
    ):
        if records:
            of_flows = name not in ("queue", "class")
            console.print(_table(name, columns, records, run if run.grouped and of_flows else None))


@dataclass(frozen=True)
class _Column:
    """A column; a ``rare`` one is shown only if it differs from 0 in some record."""

    head: str
    get: Callable[[Record], Any]
    rare: bool = False


def _of(*path: str, factor: float = 1) -> Callable[[Record], Any]:
    def get(record: Record) -> Any:
        value: Any = record
        for key in path:
            value = (value or {}).get(key)
        return value if factor == 1 or value is None else value * factor

    return get


def _window(flow: Record) -> float | None:
    """Datagrams have no window, and a flow that stands for many connections has no single one."""
    cwnd = flow["cwnd_bytes"]
    return cwnd["mean"] / 1e3 if cwnd else None


def _limit(flow: Record) -> str | None:
    """The limit that kept the sender from sending for the longest time."""
    shares: Mapping[str, float] = flow.get("limited") or {}
    most = max(shares, key=lambda name: shares[name], default=None)
    return None if most is None else f"{most} {number(round(100 * shares[most]))} %"


_GROUP = (
    _Column("flows", _of("flows")),
    _Column("sum Mbit/s", _of("sum_mbps")),
    _Column("median", _of("median_mbps")),
    _Column("P10", _of("p10_mbps")),
    _Column("P90", _of("p90_mbps")),
    _Column("Jain of rates", _of("jain")),
)
_FLOW = (
    _Column("Mbit/s", _of("throughput_mbps")),
    _Column("active", while_active, rare=True),
    _Column("cwnd kB", _window),
    _Column("RTT ms", _of("rtt_ms", "mean")),
    _Column("P99 ms", _of("rtt_ms", "p99")),
    _Column("SCE", _of("sce_marks"), rare=True),
    _Column("CE", _of("ce_marks"), rare=True),
)
#: For a TCP with loss recovery: loss-free endpoints do not report what limits them.
_RECOVERY = (
    _Column("lost", lambda flow: sum(flow["drops"].values()) + flow["corrupted"]),
    _Column("ACKs lost", acks_lost, rare=True),
    _Column("retrans.", _of("retransmits")),
    _Column("episodes", _of("loss_episodes")),
    _Column("RTOs", _of("rtos")),
    _Column("spurious", _of("spurious_rtos"), rare=True),
    _Column("undone", _of("undos"), rare=True),
    _Column("skips", _of("skips"), rare=True),
    _Column("exposed", _of("exposed"), rare=True),
    _Column("wrong nonces", _of("nonce_fail"), rare=True),
    _Column("limited by", _limit),
)
_TRANSFERS = (
    _Column("done", _of("transfers", "completed")),
    _Column("mean ms", _of("transfers", "time_ms", "mean")),
    _Column("P50 ms", _of("transfers", "time_ms", "p50")),
    _Column("P99 ms", _of("transfers", "time_ms", "p99")),
    _Column("max ms", _of("transfers", "time_ms", "max")),
)
#: The slowdown is the completion time divided by that on an empty path: base RTT + size / bottleneck rate.
_BY_SIZE = (
    _Column("size", _of("size")),
    _Column("done", _of("completed")),
    _Column("mean ms", _of("time_ms", "mean")),
    _Column("P50 ms", _of("time_ms", "p50")),
    _Column("P99 ms", _of("time_ms", "p99")),
    _Column("slowdown", _of("slowdown", "mean")),
    _Column("its P99", _of("slowdown", "p99")),
)
_DATAGRAMS = (
    _Column("sent", _of("datagrams", "sent")),
    _Column("lost %", _of("datagrams", "loss_ratio", factor=100)),
    _Column("one-way ms", _of("datagrams", "one_way_ms", "mean")),
    _Column("P99 ms", _of("datagrams", "one_way_ms", "p99")),
    _Column("max ms", _of("datagrams", "one_way_ms", "max")),
    _Column("jitter ms", _of("datagrams", "jitter_ms")),
)
_QUEUE = (
    _Column("used %", _of("utilization", factor=100)),
    _Column("mean ms", _of("sojourn_ms", "mean")),
    _Column("P99 ms", _of("sojourn_ms", "p99")),
    _Column("max ms", _of("sojourn_ms", "max")),
    _Column("SCE", _of("sce"), rare=True),
    _Column("CE", _of("ce"), rare=True),
    _Column("drops", lambda queue: sum(queue["drops"].values())),
)
#: Of queues that sort packets into a few classes.
_CLASS = (
    _Column("Mbit/s", _of("throughput_mbps")),
    _QUEUE[1],
    _Column("P50 ms", _of("sojourn_ms", "p50")),
    *_QUEUE[2:],
)
#: Of flows that share a queue and always have data to send.
_FAIRNESS = (
    _Column("flows", _of("flows")),
    _Column("Jain while shared", _of("jain")),
    _Column("converged after s", _of("convergence_s")),
)
_IMPAIRMENT = (
    _Column("kind", _of("kind")),
    _Column("arrived", _of("arrived")),
    _Column("lost", _of("lost")),
    _Column("damaged", _of("corrupted"), rare=True),
    _Column("doubled", _of("duplicated"), rare=True),
    _Column("reordered", _of("reordered"), rare=True),
    _Column("rewritten", _of("rewritten"), rare=True),
)


def _table(first: str, columns: Sequence[_Column], records: Sequence[Record], run: Run | None = None) -> Table:
    """A row for each record or, with ``run``, for each group of flows."""
    shown = [column for column in columns if not column.rare or any(column.get(record) for record in records)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first, overflow="fold")
    for column in shown:
        # The range of a group is below its median where the line is too short for both.
        table.add_column(column.head, justify="right", no_wrap=run is None)
    if run is not None:
        for label, mine in gathered(records, run):
            table.add_row(label, *(together([column.get(record) for record in mine]) for column in shown))
        return table
    for record in records:
        table.add_row(str(record["name"]), *(number(column.get(record)) for column in shown))
    return table
