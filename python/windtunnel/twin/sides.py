"""Several draws of a scenario on the kernel and in the simulator.

The simulator is deterministic, and so is the kernel in virtual time. What differs from draw to draw, and is the same on
both sides, is the seed and when in its first round trip each flow starts (``start_offsets.py``): flows lock their
phases, and AQMs draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windtunnel.kernel.kept import Kernel
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.start_offsets import starts


@dataclass(frozen=True)
class Sides:
    """The results of each draw, in the same order, and the scenario of the first."""

    scenario: Scenario
    linux: list[RunResult]
    ours: list[RunResult]


def draw(
    read: Callable[[tuple[str, ...]], Scenario],
    run_linux: Callable[[Scenario, Kernel], RunResult],
    kernel: Kernel,
    draws: int,
    done: Callable[[int], None],
) -> Sides:
    """Run ``draws`` draws on both sides. ``read`` reads the scenario with settings; ``done`` hears of each draw. Raises
    InputError and RunFailedError.
    """
    first = read(())
    resolved = first.resolve()
    seed = int(resolved["seed"])
    scenarios = [first]
    scenarios += [read((f"seed={seed + each}", *starts(resolved, each))) for each in range(1, draws)]
    sides = Sides(first, [], [])
    for number, scenario in enumerate(scenarios, 1):
        sides.linux.append(run_linux(scenario, kernel))
        sides.ours.append(scenario.run())
        done(number)
    return sides
