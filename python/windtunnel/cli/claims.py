"""Claims for commands: their options, how they are shown, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from windtunnel.claims.decide import Decided
    from windtunnel.result import RunResult

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: Decisions that are shown of a claim; the data set has all.
_SHOWN = 10
#: From worst to best, with their colours.
_STYLES = {"differs": "bold red", "undecided": "yellow", "agrees": "green"}


def claim_options(command: _Command) -> _Command:
    """The options of commands that decide claims."""
    for option in (
        click.option(
            "--undecided",
            type=click.Choice(["fail", "pass"]),
            default="fail",
            show_default=True,
            help="Whether claims that are undecided make the exit code 1, as refuted ones do.",
        ),
        click.option(
            "--junit",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write what became of the claims as JUnit XML, which continuous integration shows.",
        ),
    ):
        command = option(command)
    return command


def check_junit(junit: Path | None) -> None:
    """Refuse a place for the report before anything runs. Raises InputError."""
    if junit is not None:
        from windtunnel.claims.junit import check_writable

        check_writable(junit)


def decided(result: RunResult) -> list[Decided]:
    """The claims of a run. What decides them reads measures, whose language takes a while to load."""
    if not result.claims:
        return []
    from windtunnel.claims.decide import decided_run

    return decided_run(result)


def report(suites: Sequence[tuple[str, Sequence[Decided]]], junit: Path | None, undecided: str) -> bool:
    """Write the report, if one is wanted; returns whether all claims pass."""
    passes = undecided == "pass"
    if junit is not None:
        from windtunnel.claims.junit import cases_of, write

        write(junit, [(name, cases_of(decided)) for name, decided in suites], undecided=passes)
    every = [each for _, decided in suites for each in decided]
    if not every:
        return True
    from windtunnel.claims.decide import is_passed

    return is_passed(every, undecided=passes)


def show(decided: Sequence[Decided]) -> None:
    """Print each claim with its verdict; of one about many cells those that are not confirmed, first."""
    if not decided:
        return
    from windtunnel.cli.consoles import output

    console = output()
    for each in decided:
        console.print(f"{each.word}: {each.claim.text}", style=_STYLES[each.verdict], soft_wrap=True)
        ranked = sorted(each.decisions, key=lambda d: list(_STYLES).index(d.verdict))
        for decision in ranked[:_SHOWN]:
            cell = f"{decision.where()}: " if decision.cell else ""
            verdict = f", {decision.word}" if len(ranked) > 1 else ""
            console.print(f"  {cell}{each.claim.condition.text}: {decision.words()}{verdict}", soft_wrap=True)
        if len(ranked) > _SHOWN:
            console.print(f"  ... and {len(ranked) - _SHOWN} more cells in claims.json")
        if not ranked:
            console.print("  no cell was run that it is about")
