"""What commands that do many runs share: where these are done (threads, processes, Dask), progress, and Ctrl-C."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from windtunnel.cli.streams import message
from windtunnel.errors import InputError

if TYPE_CHECKING:
    from windtunnel.engine.progress import Count
    from windtunnel.engine.work import Backend


@dataclass(frozen=True)
class Where:
    """The backend that a user asked for."""

    jobs: int | None
    processes: bool
    dask: bool
    scheduler: str | None

    def backend(self) -> Backend:
        """The backend. Raises InputError for options that exclude each other."""
        if (self.processes + self.dask + (self.scheduler is not None)) > 1:
            raise InputError("--processes, --dask and --scheduler exclude each other")
        if self.scheduler is not None and self.jobs is not None:
            raise InputError("--jobs: the scheduler's workers decide how many runs there are at a time")
        workers = self.jobs or os.cpu_count() or 1
        if self.processes:
            from windtunnel.engine.processes import Processes

            return Processes(workers, ("windtunnel.experiment.runs",))
        if self.dask or self.scheduler is not None:
            from windtunnel.engine.cluster import Cluster

            return Cluster(self.scheduler, workers)
        from windtunnel.campaign.sweep import default_backend

        return default_backend(self.jobs)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options; the command gets them as ``where``, ``restart`` and ``no_cache``."""

    @wraps(command)
    def placed(*args: Any, jobs: int | None, processes: bool, dask: bool, scheduler: str | None, **rest: Any) -> object:
        return command(*args, where=Where(jobs, processes, dask, scheduler), **rest)

    options = (
        click.option(
            "--jobs", type=click.IntRange(min=1), help="Number of runs at the same time.", show_default="one per core"
        ),
        click.option("--processes", is_flag=True, help="Run in processes; the default is threads of this one."),
        click.option("--dask", is_flag=True, help="Run by Dask on this machine."),
        click.option(
            "--scheduler", metavar="ADDRESS", help="Run by the Dask scheduler at this address, e.g. tcp://host:8786."
        ),
        click.option(
            "--restart", is_flag=True, help="Forget what an interrupted one had done; the default is to continue it."
        ),
        click.option(
            "--no-cache", is_flag=True, help="Run again what other commands have run, and keep nothing for later ones."
        ),
    )
    decorated: Callable[..., Any] = placed
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def shown(count: Count) -> AbstractContextManager[Callable[[], None]]:
    """Progress on stderr."""
    from windtunnel.engine.progress import shown as lines

    if not sys.stderr.isatty():
        return lines(count, None, message)
    from windtunnel.cli.consoles import messages

    return lines(count, messages(), message)


def stopped(ctx: click.Context, target: Path) -> NoReturn:
    """After Ctrl-C."""
    from windtunnel.campaign.sweep import journal_of

    kept = journal_of(target).exists()
    message("stopped; what was done is kept: give the same command again to continue" if kept else "stopped")
    ctx.exit(130)
