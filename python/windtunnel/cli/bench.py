"""``windtunnel bench``: how fast the simulator is on this machine."""

from __future__ import annotations

import json as json_
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from windtunnel.cli.completion import works
from windtunnel.cli.streams import write_text
from windtunnel.errors import InputError, RunFailedError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.bench import Measurement, Work


@click.command
@click.option("--only", metavar="WORK", multiple=True, shell_complete=works, help="Run only this work. Repeatable.")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs of each work; the fastest one counts.",
)
def bench(only: tuple[str, ...], json: bool, repeat: int) -> None:
    """Run the benchmark: fixed works, each in a process of its own."""
    from windtunnel import _core
    from windtunnel.bench import BenchError, measure
    from windtunnel.cli.consoles import messages, output
    from windtunnel.progress import progress_bar

    works = _works(only)
    measurements: list[Measurement] = []
    with progress_bar("bench", messages()) as progress:
        for work in works:
            try:
                measurements.append(measure(work, repeat))
            except BenchError as error:
                raise RunFailedError(str(error)) from None
            if progress is not None:
                progress(len(measurements) / len(works))
    if json:
        document = {"schema_version": 1, "version": _core.__version__, "works": [m.as_dict() for m in measurements]}
        write_text(json_.dumps(document, indent=2))
    else:
        _show(measurements, output())


def _works(only: Sequence[str]) -> list[Work]:
    from windtunnel.bench import WORKS

    by_name = {work.name: work for work in WORKS}
    for name in only:
        if name.upper() not in by_name:
            hint = did_you_mean(name, by_name)
            raise InputError(f"there is no work `{name}`; works are {', '.join(by_name)}{hint}")
    wanted = {name.upper() for name in only or by_name}
    return [work for work in WORKS if work.name in wanted]


def _show(measurements: Sequence[Measurement], console: Console) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("work")
    for name in ("packets/s", "at least", "events/s", "CPU s", "peak MiB", "at most"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("met")
    for m in measurements:
        table.add_row(
            m.work,
            _millions(m.packets_per_second),
            _millions(m.required_packets_per_second),
            _millions(m.events_per_second),
            f"{m.cpu_seconds:.2f}",
            f"{m.peak_mib:.0f}",
            "-" if m.required_peak_mib is None else f"{m.required_peak_mib:.0f}",
            "yes" if m.met else "NO",
        )
    console.print(table)
    for m in measurements:
        console.print(f"{m.work}: {m.title}", style="dim")
        if m.acks_per_second is not None:
            heard, required = _millions(m.acks_per_second), _millions(m.required_acks_per_second)
            console.print(f"{m.work}: its controller hears {heard} ACKs/s, at least {required}")


def _millions(speed: float | None) -> str:
    return "-" if speed is None else f"{speed / 1e6:.2f} M"
