"""What ``windtunnel run`` says at the end: the main numbers, and where the rest is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel.report.text import number, setting
from windtunnel.result import RunResult


def show_summary(result: RunResult, place: Path | None, console: Console) -> None:
    """Print flows, queues, speed and the result folder."""
    if result.title:
        console.print(result.title, style="bold", markup=False)
    _show(result.flows, result.queues, console)
    for window in result.windows:
        span = f"{setting(window['from_s'])} to {setting(window['to_s'])} s"
        console.print(f"\n{window['name']}: {span}", style="bold", markup=False)
        _show(window["flows"], window["queues"], console)
    meta = result.meta
    speed = meta["packets_per_second"]
    console.print(
        f"{setting(meta['duration_s'])} s simulated in {number(meta['cpu_seconds'], 3)} s, "
        f"{number(meta['packets'])} packets"
        + (f", {number(speed / 1e6, 3)} million packets/s" if speed else "")
        + f", digest {result.digest}",
        soft_wrap=True,
    )
    if place is not None:
        console.print(f"{place}/report.html", soft_wrap=True, markup=False)


def _show(flows: Sequence[Mapping[str, Any]], queues: Sequence[Mapping[str, Any]], console: Console) -> None:
    table = _table("flow", "Mbit/s", "cwnd kB", "RTT ms", "P99 ms", "SCE", "CE", "retrans.")
    for flow in flows:
        rtt = flow.get("rtt_ms") or {}
        table.add_row(
            str(flow["name"]),
            number(flow["throughput_mbps"]),
            number(flow["cwnd_bytes"]["mean"] / 1e3),
            number(rtt.get("mean")),
            number(rtt.get("p99")),
            number(flow["sce_marks"]),
            number(flow["ce_marks"]),
            number(flow["retransmits"]),
        )
    console.print(table)
    table = _table("queue", "used %", "mean ms", "P99 ms", "max ms", "SCE", "CE", "drops")
    for queue in queues:
        sojourn = queue.get("sojourn_ms") or {}
        utilization = queue.get("utilization")
        table.add_row(
            str(queue["name"]),
            number(None if utilization is None else 100 * utilization),
            number(sojourn.get("mean")),
            number(sojourn.get("p99")),
            number(sojourn.get("max")),
            number(queue["sce"]),
            number(queue["ce"]),
            number(sum(queue["drops"].values())),
        )
    console.print(table)


def _table(first: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table
