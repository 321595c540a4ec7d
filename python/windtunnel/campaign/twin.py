"""Campaigns over a twin: each cell on the real Linux in virtual time and in the simulator, by an axis of its own.

Runs of both sides with the same seed and start offset are a pair. The axis varies last, so that a cell of one side is
next to that of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windtunnel.engine.cache import key_of, package
from windtunnel.engine.work import GoOn, always
from windtunnel.errors import InputError
from windtunnel.experiment.axes import Axis, Block, Value
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Record, attempted, record_of
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

if TYPE_CHECKING:
    from windtunnel.kernel.kept import Kernel

#: The axis of both sides.
SIDE = "side"
LINUX = "linux"


def sides() -> Block:
    """The axis. Its values set nothing: a side is where a scenario runs."""
    from windtunnel.twin.sides import SIDES

    return Block("grid", (Axis(SIDE, (), tuple(Value(side, ()) for side in SIDES)),))


def wanted(value: object) -> str | None:
    """The kernel that the key ``twin`` asks for: None for no twin, an empty text for the newest. Raises InputError."""
    if value is None or isinstance(value, bool):
        return "" if value else None
    if isinstance(value, str) and value:
        return value
    raise InputError(f"{value!r} is not allowed: true, or a kernel as `windtunnel kernel status` names it")


def kernel_of(name: str | None) -> Kernel | None:
    """The kernel that :func:`wanted` is. Raises InputError where there is none."""
    if name is None:
        return None
    from windtunnel.kernel.kept import choose

    return choose(name or None)


@dataclass(frozen=True)
class Runner:
    """What runs a cell: the simulator; a kernel; or the simulator as the twin of a kernel, with our model of Linux in
    the place of its flows.
    """

    kernel: Kernel | None = None
    is_twin: bool = False

    def scenario(self, scenario: Scenario) -> Scenario:
        """What it is given. Raises ScenarioError."""
        if not self.is_twin:
            return scenario
        from windtunnel.twin.ours import model

        return model(scenario)

    def check(self, scenario: Scenario) -> None:
        """Refuse what the kernel cannot run. Raises InputError."""
        if self.kernel is not None:
            from windtunnel.twin import planned

            planned(scenario, self.kernel)

    def run(self, scenario: Scenario, go_on: GoOn = always) -> RunResult:
        """A run with all of its tables. Raises what a run raises that fails."""
        if self.kernel is None:
            return scenario.run(lambda _: go_on())
        from windtunnel.twin import run_linux

        return run_linux(scenario, self.kernel, go_on)

    def record(self, scenario: Scenario, quantities: Sequence[Expression], go_on: GoOn) -> Record:
        """The record of a run on the kernel, with ``quantities``, which need its tables; of a failed run too."""

        def run() -> Record:
            # The kernel is a part of the run's key, and so no code that may have changed.
            result = self.run(scenario, go_on)
            return record_of(result, quantities, result.digest)

        return attempted(run)

    def key(self) -> bytes:
        """What decides a run, but for the scenario and the core: kernel, our programs in it, and what reads them."""
        if self.kernel is None:
            return b""
        from windtunnel.kernel.programs import sources

        return key_of([self.kernel.sha256.encode(), *sources().values(), package()])


HERE = Runner()
