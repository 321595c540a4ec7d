"""Several draws of a scenario on the kernel and in the simulator, several runs at a time.

The simulator is deterministic, and so is the kernel in virtual time. What differs from draw to draw, and is the same on
both sides, is the seed and when in its first round trip each flow starts (``start_offsets.py``): flows lock their
phases, and AQMs draw.

A guest is a process of its own, and the core gives Python's lock away while it simulates: threads are enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from windtunnel.engine.loop import outcomes
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import GoOn
from windtunnel.kernel.kept import Kernel
from windtunnel.memory import limit
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.start_offsets import starts
from windtunnel.twin.ours import model

Side: TypeAlias = Literal["linux", "windtunnel"]
#: In the order in which a draw runs them.
SIDES: tuple[Side, Side] = ("linux", "windtunnel")


@dataclass(frozen=True)
class Sides:
    """The results of each draw, in the same order, and the scenario of the first."""

    scenario: Scenario
    linux: list[RunResult]
    ours: list[RunResult]


@dataclass
class DrawCount(Count):
    """How many runs of each side are done."""

    linux: int = 0
    ours: int = 0

    def add(self, side: Side) -> None:
        """A run is done."""
        self.done += 1
        if side == "linux":
            self.linux += 1
        else:
            self.ours += 1

    def line(self) -> str:
        """The count of both sides, and of all."""
        return f"Linux {self.linux}, windtunnel {self.ours} of {self.total // 2}; {super().line()}"


@dataclass(frozen=True)
class _Run:
    """A draw on one side."""

    number: int
    side: Side
    scenario: Scenario


@dataclass(frozen=True)
class _Simulate:
    """The work: a draw of either side."""

    run_linux: Callable[[Scenario, Kernel, GoOn], RunResult]
    kernel: Kernel
    memory: int | None

    def __call__(self, task: _Run, go_on: GoOn) -> RunResult:
        if task.side == "linux":
            return self.run_linux(task.scenario, self.kernel, go_on)
        return model(task.scenario).run(lambda _: go_on(), memory=self.memory)

    def lost(self, task: _Run, why: str) -> RunResult:
        raise AssertionError(f"{task.number}: a thread is not killed: {why}")


def draws_of(scenario: Scenario, number: int) -> list[Scenario]:
    """The scenario and its other draws. Raises InputError."""
    resolved = scenario.resolve()
    seed = int(resolved["seed"])
    return [scenario] + [scenario.override(f"seed={seed + each}", *starts(resolved, each)) for each in range(1, number)]


def draw(
    scenario: Scenario,
    run_linux: Callable[[Scenario, Kernel, GoOn], RunResult],
    kernel: Kernel,
    draws: int,
    *,
    jobs: int,
    count: DrawCount,
    moved: Callable[[], None],
) -> Sides:
    """Run ``draws`` draws on both sides, ``jobs`` runs at a time; ``moved`` is called after each. Raises InputError and
    RunFailedError.
    """
    each = draws_of(scenario, draws)
    tasks = deque(_Run(number, side, one) for number, one in enumerate(each) for side in SIDES)
    results: dict[Side, dict[int, RunResult]] = {side: {} for side in SIDES}
    memory = limit(None)
    work = _Simulate(run_linux, kernel, None if memory is None else memory // jobs)
    with closing(outcomes(work, lambda: tasks.popleft() if tasks else None, Threads(jobs))) as stream:
        for task, result in stream:
            results[task.side][task.number] = result
            count.add(task.side)
            moved()
    linux, ours = ([results[side][number] for number in range(draws)] for side in SIDES)
    return Sides(scenario, linux, ours)
