"""Runs in parallel processes, the longest first. Only numbers, pictures and excerpts cross between them, all small."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.papers.cells import Cell, Excerpt, Measurement, Picture
from windtunnel.papers.features import RunData, View, evaluate
from windtunnel.plugins import registrations, restore
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.workers import pool

#: Resolution of the page's pictures; the interactive report has the rest.
PNG_DPI = 100


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides, what to measure, what to draw, and the folder of the interactive reports."""

    cell: str
    variant: int
    scenario: str
    text: str
    overrides: tuple[str, ...]
    packets: float
    measurements: tuple[Measurement, ...]
    pictures: tuple[Picture, ...] = ()
    reports: Path | None = None
    allow_read: tuple[Path, ...] = ()
    excerpt: Callable[[RunResult], Excerpt] | None = None
    page: str = ""


@dataclass(frozen=True)
class Outcome:
    """The result of a job: the measured values in the order asked for, PNGs by picture, and how the run went."""

    cell: str
    variant: int
    values: tuple[float, ...]
    pictures: Mapping[str, bytes]
    seconds: float
    packets: int
    digest: str
    error: str = ""
    foreign: tuple[str, ...] = ()
    """Algorithms in the run whose code is not windtunnel's own."""
    excerpt: Excerpt | None = None


def jobs_of(
    cell: Cell, reports: Path | None, settings: Sequence[str] = (), allow_read: Sequence[Path] = ()
) -> list[Job]:
    """The unperturbed run of a cell, which also draws, and its perturbed twins; all with ``settings`` as well."""
    measurements, jobs = tuple(cell.measurements), []
    page = cell.page or (cell.pictures[0].title if cell.pictures else "")
    for variant, overrides in enumerate(cell.variants()):
        name, text = cell.template.name, cell.template.text
        job = Job(
            cell.name, variant, name, text, (*overrides, *settings), cell.packets, measurements,
            allow_read=tuple(allow_read),
        )  # fmt: skip
        if variant == 0:
            where = reports if page else None
            job = replace(job, pictures=tuple(cell.pictures), reports=where, excerpt=cell.excerpt, page=page)
        jobs.append(job)
    return jobs


def execute(job: Job) -> Outcome:
    """Run a job in this process. A failure is an outcome, too: the other jobs go on."""
    start = time.perf_counter()
    try:
        file = f"{job.scenario}.toml"
        run = Scenario.from_toml(job.text, file=file, overrides=job.overrides, allow_read=job.allow_read).run()
        data = RunData(run.tables, run.summary)
        values = tuple(evaluate(View(data, m.panel, m.flow, m.axis), m.method) for m in job.measurements)
        pictures = {p.id: draw(run, p) for p in job.pictures}
        if job.reports is not None:
            from windtunnel.report import write_report

            write_report(run, job.reports / f"{job.cell}.html", title=job.page)
        excerpt = job.excerpt(run) if job.excerpt is not None else None
    except Exception as error:  # any error concerns this run only, and is shown
        took = time.perf_counter() - start
        return Outcome(job.cell, job.variant, (), {}, took, 0, "", f"{type(error).__name__}: {error}")
    took = time.perf_counter() - start
    packets, digest, foreign = int(run.summary["packets"]), str(run.summary["digest"]), tuple(run.meta["foreign"])
    return Outcome(job.cell, job.variant, values, pictures, took, packets, digest, foreign=foreign, excerpt=excerpt)


def draw(run: RunResult, picture: Picture) -> bytes:
    """The four-panel figure as a PNG."""
    from windtunnel.figures import four_panel, png
    from windtunnel.papers.readings_figure import add_readings

    zoom = {panel: (a.x_min, a.x_max, a.y_min, a.y_max) for panel, a in picture.zoom}
    figure = four_panel(run, title=picture.title, zoom=zoom or None, average_s=0.0 if picture.raw else None)
    add_readings(figure, picture.readings)
    return png(figure, PNG_DPI)


def run_all(jobs: Sequence[Job], workers: int | None, done: Callable[[Outcome], None]) -> list[Outcome]:
    """Run the jobs in ``workers`` processes, the longest first, and call ``done`` with each outcome.

    No more jobs are handed out than there are processes, so that an interrupt need not wait for queued ones.
    """
    queue = sorted(jobs, key=lambda job: job.packets)
    workers = max(1, min(workers or os.cpu_count() or 1, len(queue) or 1))
    outcomes: list[Outcome] = []
    # Controllers that are written in Python are registered again in each process.
    with pool(workers, ["windtunnel.papers.jobs", "windtunnel._core"], restore, registrations()) as executor:
        running: set[Future[Outcome]] = set()
        while queue or running:
            while queue and len(running) < workers:
                running.add(executor.submit(execute, queue.pop()))
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                outcomes.append(future.result())
                done(outcomes[-1])
    return outcomes
