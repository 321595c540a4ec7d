"""A campaign from its start to its data set: journal, cache, place, runs, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeAlias

from windtunnel.atomic import check_free
from windtunnel.campaign import dataset
from windtunnel.campaign.conduct import Conductor
from windtunnel.campaign.model import Campaign
from windtunnel.campaign.plan import Plan
from windtunnel.campaign.summarise import Findings
from windtunnel.engine import cache
from windtunnel.engine.processes import Processes
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import Backend
from windtunnel.errors import InputError, reason
from windtunnel.memory import limit
from windtunnel.plugins import all_travel, registrations

#: Shows a count as it grows: a function to call after each run.
Show: TypeAlias = Callable[[Count], AbstractContextManager[Callable[[], None]]]


def default_backend(jobs: int | None) -> Backend:
    """Threads; but processes where controllers are written in Python, which would wait for each other. A class that
    other processes cannot import stays here.
    """
    workers = jobs or os.cpu_count() or 1
    if any(registrations()) and all_travel():
        return Processes(workers, ("windtunnel.experiment.runs",))
    return Threads(workers)


def check_writable(out: Path, *, force: bool) -> None:
    """Refuse a place where the data set could not be written, before anything runs. Raises InputError."""
    try:
        check_free(out, force=force, ours=dataset.is_dataset)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None


def journal_of(out: Path) -> Path:
    """What an unfinished campaign has done, next to the place of its data set."""
    return out.parent / f".{out.name}.unfinished"


def sweep(
    campaign: Campaign | Plan,
    out: str | Path,
    *,
    backend: Backend | None = None,
    jobs: int | None = None,
    force: bool = False,
    restart: bool = False,
    use_cache: bool = True,
    show: Show | None = None,
    pages: int = 0,
    page: str = "",
) -> tuple[Conductor, Findings]:
    """Carry a campaign out and write its data set to ``out``; returns how it went and what it says.

    What an earlier sweep with the same ``out`` had done when it was interrupted is not run again, unless ``restart``;
    nor is, with ``use_cache``, what any other one has done. ``pages`` runs get pages of their own; ``page`` is the
    command that writes another one, as the report names it. Raises InputError; KeyboardInterrupt, after which what was
    done is kept.
    """
    plan = campaign if isinstance(campaign, Plan) else Plan(campaign)
    out, backend = Path(out), backend or default_backend(jobs)
    check_writable(out, force=force)
    shared = cache.shared() if use_cache else None
    try:
        with journal_at(out, restart=restart) as journal:
            conductor = Conductor(plan, journal, shared, memory_of_run(backend))
            with show(conductor.count) if show is not None else nullcontext(lambda: None) as moved:
                conductor.run(backend, moved)
            journal.flush()
            findings = dataset.write(conductor, out, force=force, page=page or _page_command(plan), pages=pages)
            journal.remove()
    finally:
        if shared is not None:
            with suppress(OSError):  # a cache that cannot be written costs only time
                shared.close()
    return conductor, findings


def _page_command(plan: Plan) -> str:
    """How a reader gets the page of a run; a campaign that was made in Python has no command."""
    from windtunnel.campaign.page.runs import command

    source = plan.campaign.source
    return "" if source is None else command(source.file)


def memory_of_run(backend: Backend) -> int | None:
    """What a run may hold, if all workers are on this machine; another machine knows its own memory."""
    total = limit(None) if backend.is_here else None
    return None if total is None else total // backend.workers


@contextmanager
def journal_at(out: Path, *, restart: bool) -> Iterator[cache.Store]:
    """The journal. It stays if the block ends with an error, and something is in it."""
    file = journal_of(out)
    new, missing = not file.exists(), [folder for folder in file.parents if not folder.exists()]
    try:
        journal = cache.Store(file, alone=True)
    except OSError as error:
        remedy = "; remove that file to start anew" if error.errno == 0 else ""
        raise InputError(f"{out}: {error.strerror or reason(error)}{remedy}") from None
    try:
        if restart:
            journal.clear()
        yield journal
    except InputError:
        # What is wrong with the input is seen in the first run.
        if new and journal.is_open:
            journal.remove()
            for folder in missing:
                with suppress(OSError):
                    folder.rmdir()
        raise
    finally:
        if journal.is_open:
            if len(journal):
                journal.close()
            else:
                journal.remove()
