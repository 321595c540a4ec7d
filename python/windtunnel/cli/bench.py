"""``windtunnel bench``: how fast the simulator is on this machine."""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.completion import works
from windtunnel.cli.streams import write_text
from windtunnel.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from windtunnel.bench import Work

#: Runs of each work; where times are compared, the median of several in turn.
_REPEAT, _ROUNDS_OF_GROWTH, _ROUNDS_AGAINST, _ROUNDS_OF_COMMANDS, _ROUNDS_OF_THREADS = 1, 3, 8, 5, 5


@click.command
@click.option("--only", metavar="WORK", multiple=True, shell_complete=works, help="Run only this work. Repeatable.")
@click.option("--large", is_flag=True, help="Run the works with many flows, up to a million, instead of the others.")
@click.option(
    "--growth", is_flag=True, help="Measure what a packet costs with 1 to 50,000 flows, instead of the works."
)
@click.option(
    "--against",
    metavar="PROGRAM",
    help="Compare with another simulator on the same paths, instead of the works: the program runs it.",
)
@click.option(
    "--campaign",
    metavar="RUNS",
    type=click.IntRange(min=50),
    help="Measure what surrounds the runs of a campaign, with this number of runs, instead of the works.",
)
@click.option(
    "--commands", is_flag=True, help="Measure what a command takes beyond its simulation, instead of the works."
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=2, max=64),
    help="Compare runs on N threads with those on one, and model more cores, instead of the works.",
)
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    help="Runs of each work; the fastest one counts, with --growth, --against and --threads the median.",
    show_default=(
        f"{_REPEAT}; --growth {_ROUNDS_OF_GROWTH}, --against {_ROUNDS_AGAINST}, --commands {_ROUNDS_OF_COMMANDS}, "
        f"--threads {_ROUNDS_OF_THREADS}"
    ),
)
@click.option(
    "--instructions/--no-instructions",
    default=True,
    show_default=True,
    help="Count the instructions of a packet too, if valgrind is installed.",
)
@click.option("--cache", is_flag=True, help="Count the accesses to memory and the misses of a 32 KiB cache with them.")
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that a run may take, e.g. '8 GB'.",
    show_default="half of what is available",
)
def bench(
    only: tuple[str, ...],
    large: bool,
    growth: bool,
    against: str | None,
    campaign: int | None,
    commands: bool,
    threads: int | None,
    json: bool,
    repeat: int | None,
    instructions: bool,
    cache: bool,
    memory: str | None,
) -> None:
    """Run the benchmark: fixed works, each in a process of its own."""
    from windtunnel.memory import limit

    _check(only, large, growth, against, campaign, commands, threads, instructions, cache)
    most = limit(memory)
    if growth:
        from windtunnel.bench.growth import ENDPOINTS, FLOWS, steps

        table = steps(repeat or _ROUNDS_OF_GROWTH, count=instructions, cache=cache, memory=most)
        _print("growth", table, len(FLOWS) * len(ENDPOINTS), json)
    elif against is not None:
        from windtunnel.bench.against import CONTESTS, outcomes

        compared = outcomes(against, repeat or _ROUNDS_AGAINST, count=instructions)
        _print("against", compared, len(CONTESTS), json)
    elif campaign is not None:
        from windtunnel.bench.campaign import coordination, places

        _print("campaign", coordination(campaign), len(places()), json)
    elif commands:
        from windtunnel.bench.commands import COMMANDS, command_times

        _print("commands", command_times(repeat or _ROUNDS_OF_COMMANDS), len(COMMANDS), json)
    elif threads is not None:
        from windtunnel.bench.threads import ROWS, shared

        _print("threads", shared(threads, repeat or _ROUNDS_OF_THREADS), len(ROWS), json)
    else:
        from windtunnel.bench import measure

        chosen = _works(only, large)
        measured = (measure(work, repeat or _REPEAT, count=instructions, cache=cache, memory=most) for work in chosen)
        _print("works", measured, len(chosen), json)


def _check(
    only: Sequence[str],
    large: bool,
    growth: bool,
    against: str | None,
    campaign: int | None,
    commands: bool,
    threads: int | None,
    instructions: bool,
    cache: bool,
) -> None:
    """Refuse what does not go together."""
    chosen = {
        "--large": large,
        "--growth": growth,
        "--against": against is not None,
        "--campaign": campaign is not None,
        "--commands": commands,
        "--threads": threads is not None,
        "--only": bool(only) and not large,
    }
    together = [name for name, value in chosen.items() if value]
    if len(together) > 1:
        raise InputError(f"{' and '.join(together)} do not go together: each says what to run")
    if not cache:
        return
    from windtunnel.bench.instructions import available

    if not instructions or not available():
        needs = "does not go with --no-instructions" if not instructions else "needs valgrind, which is not installed"
        raise InputError(f"--cache {needs}")


def _works(only: Sequence[str], large: bool) -> list[Work]:
    from windtunnel.bench import LARGE, WORKS

    group = LARGE if large else WORKS
    by_name = {work.name: work for work in (group if large else (*WORKS, *LARGE))}
    for name in only:
        if name.upper() not in by_name:
            hint = did_you_mean(name, by_name)
            raise InputError(f"there is no work `{name}`; works are {', '.join(by_name)}{hint}")
    wanted = {name.upper() for name in only} or {work.name for work in group}
    return [work for work in by_name.values() if work.name in wanted]


def _print(kind: str, results: Iterable[Any], expected: int, json: bool) -> None:
    """Print the results, as JSON below the key ``kind`` or as a table, with a progress bar until then."""
    from windtunnel import _core
    from windtunnel.cli.consoles import messages, output
    from windtunnel.progress import progress_bar

    done: list[Any] = []
    with progress_bar("bench", messages()) as progress:
        for result in results:
            done.append(result)
            if progress is not None:
                progress(len(done) / expected)
    if json:
        document = {"schema_version": 1, "version": _core.__version__, kind: [asdict(one) for one in done]}
        write_text(json_.dumps(document, indent=2))
    else:
        from windtunnel.cli import bench_tables

        bench_tables.show(kind, done, output())
