"""The runs of a suite on the engine (``windtunnel/engine``): in processes, because they draw, the longest first.

Only numbers, pictures and excerpts cross between processes, all small. What a run measured is kept in the cache of all
commands, by content: the scenario with every default, what is measured, the core, and the package, whose code measures.
Runs that draw or write a page are run again each time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.engine.cache import Store, core, key_of, package
from windtunnel.engine.loop import longest_first, outcomes
from windtunnel.engine.processes import Processes
from windtunnel.engine.work import GoOn
from windtunnel.errors import failed_in_words
from windtunnel.experiment.runs import key_of_run
from windtunnel.papers.features import RunData, View, evaluate
from windtunnel.papers.setups import Excerpt, Measurement, Picture, Setup
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

#: Resolution of the page's pictures; the interactive report has the rest.
PNG_DPI = 100


@dataclass(frozen=True)
class Job:
    """One run: a scenario with overrides, what to measure, what to draw, and the folder of the interactive reports."""

    setup: str
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
class JobResult:
    """The result of a job: the measured values in the order asked for, PNGs by picture, and how the run went.

    ``seconds`` are CPU time.
    """

    setup: str
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
    setup: Setup, reports: Path | None, settings: Sequence[str] = (), allow_read: Sequence[Path] = ()
) -> list[Job]:
    """The unperturbed run of a setup, which also draws, and its perturbed twins; all with ``settings`` as well."""
    measurements, jobs = tuple(setup.measurements), []
    page = setup.page or (setup.pictures[0].title if setup.pictures else "")
    for variant, overrides in enumerate(setup.variants()):
        name, text = setup.template.name, setup.template.text
        job = Job(
            setup.name, variant, name, text, (*overrides, *settings), setup.packets, measurements,
            allow_read=tuple(allow_read),
        )  # fmt: skip
        if variant == 0:
            where = reports if page else None
            job = replace(job, pictures=tuple(setup.pictures), reports=where, excerpt=setup.excerpt, page=page)
        jobs.append(job)
    return jobs


def execute(job: Job) -> JobResult:
    """Run a job in this process. A failure is an outcome, too: the other jobs go on."""
    # CPU time of the process: the core may finish a large run in a second thread.
    start = time.process_time()
    try:
        file = f"{job.scenario}.toml"
        run = Scenario.from_toml(job.text, file=file, overrides=job.overrides, allow_read=job.allow_read).run()
        data = RunData(run.tables, run.summary)
        values = tuple(evaluate(View(data, m.panel, m.flow, m.axis), m.method) for m in job.measurements)
        pictures = {p.id: draw(run, p) for p in job.pictures}
        if job.reports is not None:
            from windtunnel.report import write_report

            write_report(run, job.reports / f"{job.setup}.html", title=job.page)
        excerpt = job.excerpt(run) if job.excerpt is not None else None
    except Exception as error:  # any error concerns this run only, and is shown
        took = time.process_time() - start
        return JobResult(job.setup, job.variant, (), {}, took, 0, "", failed_in_words(error))
    took = time.process_time() - start
    packets, digest = int(run.summary["packets"]), str(run.summary["digest"])
    foreign = (*run.meta["foreign"], *run.meta["unseeded"])
    return JobResult(job.setup, job.variant, values, pictures, took, packets, digest, foreign=foreign, excerpt=excerpt)


def draw(run: RunResult, picture: Picture) -> bytes:
    """The four-panel figure as a PNG."""
    from windtunnel.figures import four_panel, png
    from windtunnel.papers.readings_figure import add_readings

    zoom = {panel: (a.x_min, a.x_max, a.y_min, a.y_max) for panel, a in picture.zoom}
    figure = four_panel(run, title=picture.title, zoom=zoom or None, average_s=0.0 if picture.raw else None)
    add_readings(figure, picture.readings)
    return png(figure, PNG_DPI)


class Measure:
    """The work of a suite: a job to its outcome."""

    def __call__(self, task: Job, go_on: GoOn) -> JobResult:
        """The outcome; of a failed job too."""
        del go_on  # processes are stopped
        return execute(task)

    def lost(self, task: Job, why: str) -> JobResult:
        """The outcome of a job that ended its process."""
        return JobResult(task.setup, task.variant, (), {}, 0.0, 0, "", why)


def run_all(
    jobs: Sequence[Job], workers: int | None, done: Callable[[JobResult], None], kept: Store | None = None
) -> list[JobResult]:
    """Run the jobs in ``workers`` processes, the longest first, and call ``done`` with each outcome.

    Outcomes are taken from ``kept`` where it has them, and put into it.
    """
    results: list[JobResult] = []
    processes = Processes(workers or os.cpu_count() or 1, ("windtunnel.papers.jobs", "windtunnel._core"))
    take = longest_first(jobs, lambda job: job.packets)
    with closing(outcomes(Measure(), take, processes, None if kept is None else _Numbers(kept))) as stream:
        for _, outcome in stream:
            results.append(outcome)
            done(outcome)
    return results


class _Numbers:
    """What earlier runs measured; not those from which more comes than numbers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[tuple[str, int], bytes] = {}

    def recall(self, task: Job) -> JobResult | None:
        """What was measured, if it was."""
        if task.pictures or task.reports is not None or task.excerpt is not None or (key := _key(task)) is None:
            return None
        self._keys[task.setup, task.variant] = key
        data = self._store.get(key)
        return None if data is None else _decoded(task, data)

    def keep(self, task: Job, outcome: JobResult) -> None:
        """Put it into the store, unless it may be something else next time."""
        key = self._keys.get((task.setup, task.variant))
        # What foreign code imports may change without a trace.
        if key is not None and not outcome.error and not outcome.foreign:
            self._store.put(key, _encoded(outcome))


def _key(job: Job) -> bytes | None:
    """All that decides what the job measures; None for a scenario that is wrong, which fails when it is run."""
    file = f"{job.scenario}.toml"
    try:
        scenario = Scenario.from_toml(job.text, file=file, overrides=job.overrides, allow_read=job.allow_read)
        run = key_of_run(scenario.resolve_text(), file)
    except (OSError, ValueError):
        return None
    return key_of([b"suite", core(), package(), run, repr(job.measurements).encode()])


def _encoded(outcome: JobResult) -> bytes:
    plain = [outcome.values, outcome.seconds, outcome.packets, outcome.digest]
    return json.dumps(plain, separators=(",", ":")).encode()


def _decoded(job: Job, data: bytes) -> JobResult:
    values, seconds, packets, digest = json.loads(data)
    return JobResult(job.setup, job.variant, tuple(values), {}, seconds, packets, digest)
