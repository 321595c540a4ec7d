"""The summary that ``windtunnel run`` prints at the end: the main numbers, and where the rest is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from windtunnel.cli.claims import decided, show
from windtunnel.cli.notes import show_notes
from windtunnel.panels.run import Run
from windtunnel.report.grouped import places_of_groups, together
from windtunnel.report.summary import tables, with_values
from windtunnel.report.summary_columns import Column, Record
from windtunnel.report.text import number, setting, without_seed
from windtunnel.result import RunResult

#: Connections of an emulation that are named.
_MOST_CONNECTIONS = 10


def show_summary(result: RunResult, folder: Path | None, console: Console) -> None:
    """Print flows, transfers, queues, speed and the result folder."""
    if result.title:
        console.print(result.title, style="bold", soft_wrap=True)
    run = Run(result)
    _show({**result.summary, "fairness": result.fairness}, run, console)
    for window in result.windows:
        span = f"{setting(window['from_s'])} to {setting(window['to_s'])} s"
        console.print()
        console.print(f"{window['name']}: {span}", style="bold", soft_wrap=True)
        _show(window, run, console)
    show_notes(result.notes, console)
    show(decided(result))
    _show_connections(result.meta.get("emulation"), console)
    if stalled := result.stalled:
        console.print(f"stalled at {setting(stalled['t_s'])} s: {stalled['why']}", style="bold", soft_wrap=True)
    meta = result.meta
    if foreign := meta.get("foreign"):
        console.print(f"foreign code: {', '.join(foreign)}", style="bold", soft_wrap=True)
    if unseeded := meta.get("unseeded"):
        console.print(without_seed(unseeded), style="bold", soft_wrap=True)
    console.print(f"{_how_it_ran(meta)}, digest {result.digest}", soft_wrap=True)
    if folder is not None:
        console.print(f"{folder}/report.html", soft_wrap=True)


def _how_it_ran(meta: Mapping[str, Any]) -> str:
    packets = f"{number(meta['packets'])} packets"
    if emulation := meta.get("emulation"):
        return f"{packets} in {number(emulation['elapsed_s'], 3)} s of real time"
    speed = meta["packets_per_second"]
    simulated = f"{setting(meta['duration_s'])} s simulated in {number(meta['cpu_seconds'], 3)} s, {packets}"
    return simulated + (f", {number(speed / 1e6, 3)} million packets/s" if speed else "")


def _show_connections(emulation: Mapping[str, Any] | None, console: Console) -> None:
    """Which connection each flow of real traffic is."""
    connections = emulation["connections"] if emulation else []
    for each in connections[:_MOST_CONNECTIONS]:
        console.print(f"{each['name']}: {each['ends']}", soft_wrap=True)
    if len(connections) > _MOST_CONNECTIONS:
        console.print(f"... and {len(connections) - _MOST_CONNECTIONS} more connections in summary.json")


def _show(part: Record, run: Run, console: Console) -> None:
    for table, records in tables(part, run):
        console.print(_table(table.columns, records, run if run.grouped and table.of_flows else None))


def _table(columns: Sequence[Column], records: Sequence[Record], run: Run | None) -> Table:
    """A row for each record or, with ``run``, for each group of flows."""
    (first, _), *others = with_values([column for column in columns if column.brief], records)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column(first.brief, overflow="fold")
    for column, _ in others:
        # The range of a group is below its median where the line is too short for both.
        table.add_column(column.brief, justify="right", no_wrap=run is None)
    if run is None:
        for index, record in enumerate(records):
            table.add_row(str(record["name"]), *(number(values[index]) for _, values in others))
        return table
    for label, indices in places_of_groups(records, run):
        table.add_row(label, *(together([values[index] for index in indices]) for _, values in others))
    return table
