"""``windtunnel validate``: the TCP of this project against RFCs, published laws, and the real Linux stack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windtunnel.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from windtunnel.validation import Section


@click.command
@click.option("--only", metavar="SECTION", multiple=True, help="Run only this section. Repeatable.")
@click.option("--quick", is_flag=True, help="Leave out the longest runs.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the page to this file, in Markdown.")
@click.option("--csv", type=click.Path(path_type=Path), help="Write every line of every check to this file.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of parallel processes.", show_default="one per core")
def validate(only: tuple[str, ...], quick: bool, out: Path | None, csv: Path | None, jobs: int | None) -> None:
    """Validate the TCP: recovery scripts, response functions, CUBIC's curve, and the real Linux stack.

    Differences are shown and do not change the exit code; 1 means that a run failed.
    """
    from rich import box
    from rich.table import Table

    from windtunnel.cli.consoles import messages, output
    from windtunnel.progress import progress_bar
    from windtunnel.validation import run_sections, write_lines, write_page

    sections = _sections(only)
    with progress_bar("validate", messages()) as progress:
        outcomes = run_sections(sections, quick=quick, jobs=jobs, done=progress or (lambda _: True))
    console = output()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("check")
    for name in ("agree", "differ", "info"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        counts = [sum(line.verdict == verdict for line in outcome.lines) for verdict in ("agrees", "differs", "info")]
        table.add_row(f"{outcome.section.name}: {outcome.comparison.name}", *map(str, counts))
    console.print(table)
    for outcome in outcomes:
        for line in outcome.lines:
            if line.verdict == "differs":
                console.print(
                    f"{outcome.comparison.name}: {line.what}: expected {line.expected}, measured {line.measured}",
                    soft_wrap=True,
                )
    if out is not None:
        write_page(outcomes, out)
        console.print(f"page: {out}")
    if csv is not None:
        write_lines(outcomes, csv)
        console.print(f"lines: {csv}")


def _sections(only: Sequence[str]) -> list[Section]:
    from windtunnel.validation import SECTIONS

    by_name = {section.name: section for section in SECTIONS}
    for name in only:
        if name not in by_name:
            hint = did_you_mean(name, by_name)
            raise InputError(f"there is no section `{name}`; sections are {', '.join(by_name)}{hint}")
    return [section for section in SECTIONS if not only or section.name in only]
