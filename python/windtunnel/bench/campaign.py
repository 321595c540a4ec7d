"""What a run of a campaign costs in addition to its simulation: ``python -m windtunnel.bench.campaign [RUNS] [JOBS]``.

Runs of two flows over 10 Mbit/s for 10 s, in threads, without the cache; prints runs per second, CPU time per run of
the whole process (with the data set and its statistics) and of the simulation alone, and how memory grew on the way.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel import Campaign, Scenario, _core, grid
from windtunnel.campaign.conduct import Conductor
from windtunnel.campaign.plan import Plan
from windtunnel.campaign.sweep import sweep
from windtunnel.engine.cache import Store
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.experiment.runs import Run

_SCENARIO = """\
duration = "10 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "fifo", limit = "100 packets" } }
flow = [{ name = "a", cc = "cubic", rtt = "40 ms" }, { name = "b", cc = "reno", rtt = "40 ms" }]
"""
_CELLS = 50
_SAMPLE = 4


def campaign(runs: int) -> Campaign:
    """About ``runs`` runs in 50 cells."""
    axes = {
        "flow.0.rtt": {"from": "10 ms", "to": "100 ms", "steps": 10},
        "flow.1.cc": ["reno", "cubic", "bbr3", "dctcp", "vegas"],
    }
    metrics = {"use": "queue.utilization", "delay": "p99(queue.sojourn)", "jain": "jain(flows.goodput)"}
    return Campaign(
        Scenario.from_toml(_SCENARIO), axes=[grid(axes)], seeds=max(1, runs // _CELLS), offsets=True, metrics=metrics,
        baseline={"flow.1.cc": "reno"},
    )  # fmt: skip


def main(runs: int, jobs: int) -> None:
    """Print the numbers."""
    peaks: list[float] = []

    @contextmanager
    def show(count: Count) -> Iterator[Callable[[], None]]:
        def moved() -> None:
            if count.done % max(1, count.total // 10) == 0:
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

        yield moved

    chosen = campaign(runs)
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        conductor, _ = sweep(chosen, Path(folder, "out"), backend=Threads(jobs), use_cache=False, show=show)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        simulation = _simulation(chosen, Path(folder))
    done = conductor.count.done
    print(f"{done} runs in {wall:.1f} s: {done / wall:.0f} runs/s with {jobs} threads, {cpu / wall:.2f} cores")
    print(f"CPU of a run: {1e3 * cpu / done:.2f} ms, {1e3 * simulation:.2f} ms of it the simulation")
    print(f"peak memory after a tenth and all of the runs: {peaks[0]:.0f}, {peaks[-1]:.0f} MiB")


def _simulation(chosen: Campaign, folder: Path) -> float:
    """CPU seconds of a run in the core alone: the mean over a few runs of each cell."""
    store = Store(folder / "store")
    conductor, took = Conductor(Plan(chosen), store, None, None), []
    for cell in conductor.plan.cells():
        for index, replica in enumerate(conductor.plan.replicas(0, _SAMPLE)):
            run = conductor.make(cell, index, replica)
            assert isinstance(run, Run)
            before = time.thread_time()
            _core.run(run.text, run.file, (*run.overrides, *run.recording))
            took.append(time.thread_time() - before)
    store.remove()
    return sum(took) / len(took)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    main(numbers[0] if numbers else 10_000, numbers[1] if len(numbers) > 1 else 2)
