"""Conformance of real stacks: what RFC 9002, 9438, 9406, 9000 and 9743 say, and what a stack does in a simulation.

The rows are data (``data/experiments``), as those of a paper's suite. Each names its section, measures runs of the
stack, and says within which limits the number must be. *Shadow controllers* ride along with the stack's own and decide
nothing: windtunnel's, on the stack's own ACKs (``cc = { kind = "cubic", shadow = "cubic" }``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def conform(
    stack: str,
    *,
    only: Sequence[str],
    out: Path | None,
    jobs: int | None,
    console: Console,
    settings: Sequence[str] = (),
    force: bool = False,
    allow_read: Sequence[Path] = (),
    use_cache: bool = True,
    junit: Path | None = None,
    undecided_passes: bool = False,
) -> int:
    """Examine ``stack`` and write the folder ``out`` (``results/conform-<stack>`` if None), as suites do.

    ``only`` names sections (``9002-6.1.1``), documents (``9438``) or topics (``ecn``); empty means all. Returns 0 if
    every row is as its section says, or undecided with ``undecided_passes``, and 1 if one is not or a run failed.
    Raises ValueError, with what is allowed, for a stack that is not built in or an ID that does not exist.
    """
    from windtunnel.extras import need

    need("matplotlib", "conform")
    from windtunnel.claims.junit import Case, write
    from windtunnel.conform.subject import Subject
    from windtunnel.conform.suite import suite
    from windtunnel.papers import select
    from windtunnel.papers.reproduction import run_suite

    examined = suite(Subject(stack, allow_read))
    done = run_suite(
        examined,
        select(examined, only),
        out=out or Path("results", examined.name),
        jobs=jobs,
        console=console,
        part=True,
        settings=settings,
        force=force,
        allow_read=allow_read,
        use_cache=use_cache,
    )
    cases = [Case(row.id, row.verdict, row.word.text, row.sentence()) for row in done.rows]
    if junit is not None:
        write(junit, [(examined.name, cases)], undecided=undecided_passes)
    fails = {"differs"} if undecided_passes else {"differs", "undecided"}
    return 1 if done.failed or any(case.verdict in fails for case in cases) else 0
