"""The tables of ``windtunnel bench``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.bench import Measurement
    from windtunnel.bench.against import ContestResult
    from windtunnel.bench.campaign import Coordination
    from windtunnel.bench.commands import CommandTime
    from windtunnel.bench.growth import Step
    from windtunnel.bench.instructions import Cost
    from windtunnel.bench.threads import Shared


def show(kind: str, results: Sequence[Any], console: Console) -> None:
    """Print the table of ``works``, ``growth``, ``against``, ``campaign``, ``commands`` or ``threads``."""
    tables: dict[str, Callable[[Sequence[Any], Console], None]] = {
        "works": _works,
        "growth": _growth,
        "against": _against,
        "campaign": _campaign,
        "commands": _commands,
        "threads": _threads,
    }
    tables[kind](results, console)


def _works(measurements: Sequence[Measurement], console: Console) -> None:
    costs = [m.cost for m in measurements]
    large = any(m.bytes_per_flow is not None for m in measurements)
    # What fits into 80 columns; JSON has all.
    seconds = not _has_cache(costs)
    last = [
        *(["CPU s"] if seconds else []),
        "MiB",
        *(["at most"] if seconds else []),
        *(["B/flow"] if large else []),
        "met",
    ]
    table = _table(["work"], ["packets/s", "at least", "per hold", *_cost_columns(costs), *last])
    for m in measurements:
        table.add_row(
            m.work,
            _millions(m.packets_per_second),
            _millions(m.required_packets_per_second),
            _number(m.packets_per_hold, 3),
            *_cost_cells(m.cost, costs),
            *([f"{m.cpu_seconds:.2f}"] if seconds else []),
            f"{m.peak_mib:.0f}",
            *([_number(m.required_peak_mib)] if seconds else []),
            *([_number(m.bytes_per_flow)] if large else []),
            "yes" if m.met else "NO",
        )
    console.print(table)
    for m in measurements:
        console.print(f"{m.work}: {m.title}", style="dim")
        if m.acks_per_second is not None:
            heard, required = _millions(m.acks_per_second), _millions(m.required_acks_per_second)
            console.print(f"{m.work}: its controller hears {heard} ACKs/s, at least {required}")
    speeds = [m.holds_per_second for m in measurements if m.holds_per_second is not None]
    if speeds:
        span = " to ".join(dict.fromkeys((_millions(min(speeds)), _millions(max(speeds)))))
        console.print(f"per hold: packets in the time of a hold; {span} holds/s here", style="dim")
    _say_without_valgrind(costs, console)


def _growth(steps: Sequence[Step], console: Console) -> None:
    costs = [step.cost for step in steps]
    table = _table(["flows", "endpoints"], ["ns", "holds", *_cost_columns(costs), "x instr", "x holds", "B/flow"])
    first: dict[str, Step] = {}
    for step in steps:
        one = first.setdefault(step.endpoints, step)
        grown = step.cost.instructions / one.cost.instructions if step.cost and one.cost else None
        table.add_row(
            f"{step.flows}",
            step.endpoints,
            f"{step.cpu_ns:.0f}",
            f"{step.holds:.2f}",
            *_cost_cells(step.cost, costs),
            _number(grown, 2),
            f"{step.holds / one.holds:.2f}",
            _number(step.bytes_per_flow),
        )
    console.print(table)
    console.print(
        "for a packet, ns of user time; x: over that of the least flows; B/flow: memory of the run",
        style="dim",
    )
    _say_without_valgrind(costs, console)


def _against(outcomes: Sequence[ContestResult], console: Console) -> None:
    from windtunnel.bench.against import DIFFERENCES

    table = _table(["work"], ["as fast", "least", "most", "ns", "its ns", "instr", "its instr", "ratio"])
    for o in outcomes:
        ratio = o.other_instructions / o.instructions if o.instructions and o.other_instructions else None
        table.add_row(
            o.work,
            f"{o.ratio:.2f}",
            f"{o.ratio_least:.2f}",
            f"{o.ratio_most:.2f}",
            f"{o.cpu_ns:.0f}",
            f"{o.other_cpu_ns:.0f}",
            _number(o.instructions),
            _number(o.other_instructions),
            _number(ratio, 2),
        )
    console.print(table)
    for o in outcomes:
        console.print(f"{o.work}: {o.title}; {o.packets} packets, its {o.other_packets}", style="dim")
    for difference in DIFFERENCES:
        console.print(difference, style="dim")
    _say_without_valgrind([o.instructions for o in outcomes], console)


def _campaign(places: Sequence[Coordination], console: Console) -> None:
    table = _table(["place"], ["runs", "runs/s", "conducting", "writing", "working", "MiB"])
    for p in places:
        times = (f"{ms:.3f}" for ms in (p.conducting_ms, p.writing_ms, p.working_ms))
        table.add_row(p.backend, f"{p.runs}", f"{p.runs_per_second:.0f}", *times, f"{p.peak_mib:.0f}")
    console.print(table)
    console.print(
        "CPU milliseconds for a run: conducting and writing in this process, working in a worker", style="dim"
    )


def _commands(commands: Sequence[CommandTime], console: Console) -> None:
    table = _table(["command"], ["CPU s", "at most", "MiB", "met"])
    for c in commands:
        most = _number(c.required_cpu_seconds, 2)
        table.add_row(c.command, f"{c.cpu_seconds:.3f}", most, f"{c.peak_mib:.0f}", "yes" if c.met else "NO")
    console.print(table)


def _threads(rows: Sequence[Shared], console: Console) -> None:
    cores = list(dict.fromkeys(cores for row in rows for cores in row.expected))
    table = _table(["work"], ["times as fast", "from", "to", "CPU", "goal", "met", *map(str, cores)])
    for row in rows:
        table.add_row(
            row.work,
            f"{row.times_as_fast:.2f}",
            f"{row.worst:.2f}",
            f"{row.best:.2f}",
            f"{row.cpu:.2f}",
            _number(row.required, 1),
            {None: "", True: "yes", False: "NO"}[row.met],
            *(_number(row.expected.get(number), 1) for number in cores),
        )
    console.print(table)
    for row in rows:
        console.print(f"{row.work}: {row.title}", style="dim")
    threads = rows[0].threads if rows else 0
    console.print(
        f"{threads} threads compared with one, by the clock: median and extremes; CPU: of all threads, relative to "
        f"one; {', '.join(map(str, cores))}: what as many cores could gain, by counted events",
        style="dim",
    )


def _table(names: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for name in names:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cost_columns(costs: Sequence[Cost | None]) -> list[str]:
    """The columns that any of the costs has."""
    columns = ["instr"] if any(costs) else []
    return [*columns, "refs", "L1 miss"] if _has_cache(costs) else columns


def _cost_cells(cost: Cost | None, costs: Sequence[Cost | None]) -> list[str]:
    """What a cost has for these columns."""
    cells = [_number(cost.instructions if cost else None)] if any(costs) else []
    if _has_cache(costs):
        cells += [_number(cost.data_references if cost else None), _number(cost.l1_misses if cost else None, 1)]
    return cells


def _has_cache(costs: Sequence[Cost | None]) -> bool:
    return any(cost is not None and cost.l1_misses is not None for cost in costs)


def _say_without_valgrind(costs: Sequence[object], console: Console) -> None:
    from windtunnel.bench.instructions import available

    if not any(costs) and not available():
        console.print("valgrind is not installed: instructions per packet were not counted", style="dim")


def _number(number: float | None, decimals: int = 0) -> str:
    return "-" if number is None else f"{number:.{decimals}f}"


def _millions(speed: float | None) -> str:
    return "-" if speed is None else f"{speed / 1e6:.2f} M"
