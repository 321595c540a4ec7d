"""Evidence packs: a controller or a queue examined clause by clause, as a document asks (``windtunnel evaluate``).

| file | idea |
|---|---|
| ``pack.py`` | what a pack is: clauses, trials, checks, read from ``packs/`` |
| ``fill.py`` | scenarios of a trial: placeholders, axes, start offsets |
| ``subject.py`` | what is examined, as typed |
| ``runs.py`` | all runs of a pack, and what cannot take part |
| ``execute.py`` | runs by the engine of campaigns, whose expressions are the metrics |
| ``judge.py`` | whether a check is met |
| ``results.py`` | a row for each check and cell, a verdict for each clause |
| ``grid.py`` | a clause's verdicts in a grid of two axes |
| ``picture.py`` | the picture of a clause |
| ``figures.py`` | figures of a clause, as files |
| ``state_machine.py`` | the figure of a clause that reads a controller's state |
| ``appendix.py`` | the report as Markdown, and the archive |
| ``writer.py`` | the folder |
| ``terminal.py`` | what the terminal shows |
| ``document.py`` | a pack as a short page of Markdown, with a finding |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.evaluate.pack import NAMES

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.evaluate.writer import Evidence

__all__ = ["NAMES", "evaluate", "examine"]


def evaluate(
    name: str,
    text: str,
    *,
    out: Path,
    console: Console,
    only: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    force: bool = False,
    use_cache: bool = True,
) -> int:
    """Examine the controller or queue ``text`` by the pack ``name``, and write the folder ``out``.

    Returns 0 if every run ended, 1 if one failed. Raises InputError for names that do not exist and for a place that is
    taken. The folder appears complete or not at all. What was run before, by any command, is not run
    again with ``use_cache``.
    """
    from windtunnel.atomic import staged
    from windtunnel.evaluate.terminal import announce, show
    from windtunnel.evaluate.writer import is_pack, without, write
    from windtunnel.progress import progress_bar

    for missing in without():
        console.print(missing, soft_wrap=True)
    with staged(out, force=force, ours=is_pack) as folder:
        evidence = examine(
            name,
            text,
            only=only,
            quick=quick,
            jobs=jobs,
            before=lambda plan, pack, subject: announce(console, plan, pack, subject, jobs),
            bar=lambda title: progress_bar(title, console),
            use_cache=use_cache,
        )
        write(folder, evidence)
    show(console, evidence, out)
    return 1 if any(outcome.error for outcome in evidence.outcomes) else 0


def examine(
    name: str,
    text: str,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    before: Callable[..., None] | None = None,
    bar: Callable[..., object] | None = None,
    use_cache: bool = True,
) -> Evidence:
    """The evidence, without a folder. ``before`` is called with the plan before anything runs."""
    from contextlib import nullcontext

    from windtunnel.evaluate.execute import run_all
    from windtunnel.evaluate.pack import read
    from windtunnel.evaluate.results import results
    from windtunnel.evaluate.runs import plan as make_plan
    from windtunnel.evaluate.subject import require_state, subject
    from windtunnel.evaluate.writer import Evidence

    pack = read(name)
    clauses, examined = pack.chosen(only), subject(text, pack.kind)
    if pack.state is not None:
        require_state(examined, pack.name)
    plan = make_plan(pack, clauses, examined, quick=quick)
    if before is not None:
        before(plan, pack, examined)
    total, finished = plan.distinct, 0
    context = bar(f"{total} runs") if bar is not None else nullcontext()
    with context as update:  # type: ignore[attr-defined]

        def done(count: int) -> None:
            nonlocal finished
            finished += count
            if update is not None:
                update(finished / total)

        outcomes = run_all(plan.runs, jobs, done, use_cache=use_cache) if plan.runs else []
    return Evidence(pack, examined, results(pack, clauses, plan, outcomes), plan.runs, outcomes, quick)
