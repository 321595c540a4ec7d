"""``windtunnel twin``: a scenario on the real Linux kernel in virtual time, next to the simulator."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.cli.reading import allow_read_option, set_option
from windtunnel.cli.streams import message, say, write_json
from windtunnel.errors import InputError

if TYPE_CHECKING:
    from windtunnel.kernel.kept import Kernel
    from windtunnel.scenario import Scenario
    from windtunnel.twin.measures import Measure

#: Draws of each side. Of ten draws from one normal distribution each, the mean of one side is outside the range of the
#: other in one case of a hundred; of five it would be in fourteen.
_DRAWS = 10


@click.command
@click.argument("file", type=click.Path(path_type=Path), help="Scenario file (TOML); - for the standard input.")
@click.option("--only", type=click.Choice(["linux"]), help="Run it once, on the kernel alone.")
@click.option(
    "--draws", type=click.IntRange(2, 1000), default=_DRAWS, show_default=True, help="Runs of each of the two sides."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at the same time.", show_default="one per core"
)
@click.option("--kernel", metavar="VERSION", help="A kernel, as `kernel status` names it.", show_default="the newest")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Result folder.",
    show_default="results/<name of FILE>-twin, or -linux with --only linux",
)
@click.option("--force", is_flag=True, help="Replace an existing result folder.")
@click.option("--capture", is_flag=True, help="With --only linux: write the headers of all packets at both ends of "
              "each flow to capture.pcapng in the folder.")  # fmt: skip
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write the verdicts as JUnit XML.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as JSON and nothing else; no folder is written without --out.",
)
@set_option
@allow_read_option
def twin(
    file: Path,
    only: str | None,
    draws: int,
    jobs: int | None,
    kernel: str | None,
    out: Path | None,
    force: bool,
    capture: bool,
    junit: Path | None,
    as_json: bool,
    settings: tuple[str, ...],
    allow_read: tuple[Path, ...],
) -> None:
    """Run a scenario on the unmodified Linux in virtual time, next to the simulator, and judge each measure.

    Each side has several draws: other seeds, and other starts within the first round trip. The simulator is within the
    kernel's own spread, or outside by as much as is printed. What Linux cannot do is refused by name, before the kernel
    starts. `kernel build` makes a kernel.
    """
    from windtunnel.claims import junit as report
    from windtunnel.kernel.kept import choose
    from windtunnel.scenario import Scenario
    from windtunnel.twin import Ours, planned

    if only is not None and junit is not None:
        raise InputError("--junit has verdicts, which --only linux does not give")
    if capture and only is None:
        raise InputError("--capture: has the packets of one run: add --only linux")
    if capture and as_json and out is None:
        raise InputError("--capture writes into the result folder, and --json writes none: give --out, too")
    if junit is not None:
        report.check_writable(junit)

    described = Scenario.from_file(file, overrides=settings, allow_read=allow_read)
    described.resolve()
    chosen = choose(kernel)
    made = planned(described, chosen)
    if isinstance(made, Ours) and made.why:
        message(f"note: the network in the guest is windtunnel's: {made.why}")
    if only is not None:
        folder = _place(file, out, "linux", as_json)
        _linux(described, chosen, folder, force=force, capture=capture, as_json=as_json)
        return
    folder = _place(file, out, "twin", as_json)
    rows = _both(described, chosen, draws, jobs or os.cpu_count() or 1, folder, force=force)
    if junit is not None:
        cases = [report.Case(f"{row.subject}: {row.name}", row.verdict, row.verdict, row.words()) for row in rows]
        report.write(junit, [(file.stem, cases)], undecided=True)
    if as_json:
        write_json(json.dumps([row.document() for row in rows], indent=2))
        return
    _show(rows)
    if folder is not None:
        say(folder / "report.html")


def _place(file: Path, out: Path | None, what: str, as_json: bool) -> Path | None:
    from windtunnel.cli.run import name_of

    return out if out is not None or as_json else Path("results") / f"{name_of(file)}-{what}"


def _linux(
    scenario: Scenario, kernel: Kernel, folder: Path | None, *, force: bool, capture: bool, as_json: bool
) -> None:
    """One run on the kernel."""
    from windtunnel.emulate.files import capture_for, write_capture
    from windtunnel.folder import check_writable, load_libraries, save
    from windtunnel.twin import run_linux

    if folder is not None:
        check_writable(folder, force=force)
        load_libraries(figures=False)
    with capture_for(folder if capture else None) as packets:
        result = run_linux(scenario, kernel, capture=packets)
        if folder is not None:
            save(result, folder, force=force, more=lambda stage: write_capture(packets, stage))
    if as_json:
        write_json(result.to_json())
        return
    from windtunnel.cli.consoles import output
    from windtunnel.cli.summary import show_summary

    show_summary(result, folder, output())


def _both(
    scenario: Scenario, kernel: Kernel, draws: int, jobs: int, folder: Path | None, *, force: bool
) -> list[Measure]:
    """All draws of both sides, their result folder, and the measures."""
    from windtunnel.cli.places import shown
    from windtunnel.compare.twin import check_free_for_twin, save_twin
    from windtunnel.twin import run_linux
    from windtunnel.twin.measures import measures
    from windtunnel.twin.sides import DrawCount, draw

    if folder is not None:
        check_free_for_twin(folder, force=force)
    count = DrawCount(2 * draws)
    with shown(count) as moved:
        sides = draw(scenario, run_linux, kernel, draws, jobs=jobs, count=count, moved=moved)
    rows = measures(sides.linux, sides.ours)
    if folder is not None:
        save_twin(folder, sides, rows, kernel, force=force)
    return rows


def _show(rows: list[Measure]) -> None:
    """The measures with their verdicts."""
    from rich.table import Table

    from windtunnel.cli.consoles import output

    table = Table(box=None, pad_edge=False)
    table.add_column("mean of the draws", overflow="fold")
    for head in ("Linux", "its spread", "windtunnel"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    short = {"agrees": "within", "undecided": "not decided"}
    for row in rows:
        name = f"{row.subject}: {row.name}{f' ({row.unit})' if row.unit else ''}"
        linux, ours = (f"{sum(values) / len(values):.4g}" for values in (row.linux, row.ours))
        table.add_row(name, linux, row.spread.words(), ours, short.get(row.verdict, row.words()))
    output().print(table)
    counts = [sum(row.verdict == verdict for row in rows) for verdict in ("agrees", "differs", "undecided")]
    say(f"{counts[0]} within the kernel's own spread, {counts[1]} outside, {counts[2]} not decided")
