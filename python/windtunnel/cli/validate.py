"""``windtunnel validate``: the TCP of this project against RFCs, published laws, and the real Linux stack."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from windtunnel.cli.consoles import messages, output
from windtunnel.errors import InputError, did_you_mean
from windtunnel.progress import progress_bar

if TYPE_CHECKING:
    from windtunnel.validation import Section


def validate(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="SECTION", help="Run only this section. Repeatable.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the longest runs.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the page to this file, in Markdown.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of parallel processes.", show_default="one per core")
    ] = None,
) -> None:
    """Validate the TCP: recovery scripts, response functions, CUBIC's curve, and the real Linux stack.

    Differences are shown and do not change the exit code; 1 means that a run failed.
    """
    from windtunnel.validation import run_sections, write_page

    sections = _sections(only or ())
    with progress_bar("validate", messages()) as progress:
        outcomes = run_sections(sections, quick=quick, jobs=jobs, done=progress or (lambda _: True))
    console = output()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("check")
    for name in ("agree", "differ", "info"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        counts = [sum(line.verdict == verdict for line in outcome.lines) for verdict in ("agrees", "differs", "info")]
        table.add_row(f"{outcome.section.name}: {outcome.check.name}", *map(str, counts))
    console.print(table)
    for outcome in outcomes:
        for line in outcome.lines:
            if line.verdict == "differs":
                console.print(
                    f"{outcome.check.name}: {line.what}: expected {line.expected}, measured {line.measured}",
                    soft_wrap=True,
                )
    if out is not None:
        write_page(outcomes, out)
        console.print(f"page: {out}")


def _sections(only: Sequence[str]) -> list["Section"]:
    from windtunnel.validation import SECTIONS

    by_name = {section.name: section for section in SECTIONS}
    for name in only:
        if name not in by_name:
            hint = did_you_mean(name, by_name)
            raise InputError(f"there is no section `{name}`; sections are {', '.join(by_name)}{hint}")
    return [section for section in SECTIONS if not only or section.name in only]
