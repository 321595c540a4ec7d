"""What a run of a campaign costs in addition to its simulation, in threads, processes and with Dask.

The runs are as short as they can be: two flows for a millisecond, in fifty cells, with three metrics and a baseline. So
most of what is measured is what surrounds a run. CPU time is that of this process: of planning, collecting and keeping
the runs, and of writing the data set with its statistics and its page. The workers' own time is in it only for threads,
where it is measured without anything around it, and subtracted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from windtunnel import Campaign, Scenario, grid
from windtunnel.bench.worker import peak_mib
from windtunnel.campaign.batch import Batch, Measure, Planned
from windtunnel.campaign.conduct import quantities_of
from windtunnel.campaign.plan import Plan
from windtunnel.campaign.sweep import sweep
from windtunnel.engine.cluster import Cluster
from windtunnel.engine.processes import Processes
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import Backend, always

_SCENARIO = """\
duration = "1 ms"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "fifo", limit = "100 packets" } }
flow = [{ name = "a", cc = "cubic", rtt = "40 ms" }, { name = "b", cc = "reno", rtt = "40 ms" }]
"""
_CELLS = 50
_SAMPLE = 20
_JOBS = 2


@dataclass(frozen=True)
class Coordination:
    """A campaign in one place. Times are milliseconds of CPU for each run."""

    backend: str
    runs: int
    runs_per_second: float
    conducting_ms: float
    """To plan the runs, to collect what they gave, and to keep it."""
    writing_ms: float
    """To write the data set, with its statistics and its page."""
    working_ms: float
    """What a worker does for a run, its simulation included."""
    peak_mib: float
    """Of this process, up to the end of the campaign."""


def campaign(runs: int) -> Campaign:
    """About ``runs`` runs in 50 cells."""
    axes = {
        "flow.0.rtt": {"from": "10 ms", "to": "100 ms", "steps": 10},
        "flow.1.cc": ["reno", "cubic", "bbr3", "dctcp", "vegas"],
    }
    metrics = {"use": "queue.utilization", "delay": "p99(queue.sojourn)", "jain": "jain(flows.goodput)"}
    return Campaign(
        Scenario.from_toml(_SCENARIO), axes=[grid(axes)], seeds=max(1, runs // _CELLS), metrics=metrics,
        baseline={"flow.1.cc": "reno"},
    )  # fmt: skip


def places() -> dict[str, Backend]:
    """Where campaigns are run; Dask where it is installed."""
    here: dict[str, Backend] = {
        "threads": Threads(_JOBS), "processes": Processes(_JOBS, ("windtunnel.campaign.batch",)),
    }  # fmt: skip
    return here | ({"dask": Cluster(None, _JOBS)} if find_spec("distributed") else {})


def coordination(runs: int) -> Iterator[Coordination]:
    """A campaign of ``runs`` runs in each place."""
    chosen = campaign(runs)
    with tempfile.TemporaryDirectory() as folder:
        sweep(campaign(_CELLS), Path(folder, "first"), backend=Threads(1), use_cache=False)  # loads all that is needed
        for name, backend in places().items():
            yield _in_place(name, backend, chosen, Path(folder, name))


def _in_place(name: str, backend: Backend, chosen: Campaign, out: Path) -> Coordination:
    conducted: list[float] = []

    @contextmanager
    def show(count: Count) -> Iterator[Callable[[], None]]:
        del count
        yield lambda: None
        conducted.append(time.process_time())

    working = _working(chosen)
    wall, before = time.perf_counter(), time.process_time()
    conductor, _ = sweep(chosen, out, backend=backend, use_cache=False, show=show)
    wall, after = time.perf_counter() - wall, time.process_time()
    runs = conductor.count.done
    conducting = (conducted[0] - before) / runs - (working if name == "threads" else 0.0)
    return Coordination(
        name,
        runs,
        runs / wall,
        1e3 * max(0.0, conducting),
        1e3 * (after - conducted[0]) / runs,
        1e3 * working,
        peak_mib(),
    )


def _working(chosen: Campaign) -> float:
    """CPU seconds of a run in its worker: the mean over a few runs of each cell."""
    plan, measure = Plan(chosen), Measure(quantities_of(chosen), keep=False)
    runs = [Planned(0, seed, 0, b"") for seed in range(_SAMPLE)]
    before = time.process_time()
    for cell in plan.cells():
        assert measure(Batch([cell.variant], runs, None), always).count
    return (time.process_time() - before) / (len(plan) * _SAMPLE)
