"""The sections of the validation, and how they are run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType

from windtunnel.engine.loop import longest_first, outcomes
from windtunnel.engine.processes import Processes
from windtunnel.engine.work import GoOn
from windtunnel.errors import RunFailedError
from windtunnel.scenario import Scenario
from windtunnel.validation import (
    curve,
    laws,
    linux,
    linux_bbr,
    linux_buffer,
    linux_close,
    linux_controllers,
    linux_cubic,
    linux_disciplines,
    linux_queues,
    linux_scalable,
    linux_scripts,
    scripts,
)
from windtunnel.validation.comparison import Comparison, Line, Run, Values


@dataclass(frozen=True)
class Section:
    """Comparisons of one kind. ``text`` is the page's introduction, in Markdown."""

    name: str
    title: str
    text: str
    comparisons: Callable[[], list[Comparison]]


def _section(name: str, title: str, module: ModuleType) -> Section:
    """The section of a module, whose docstring introduces it."""
    return Section(name, title, str(module.__doc__).strip(), module.comparisons)


SECTIONS = (
    _section("scripts", "Loss recovery, segment by segment", scripts),
    _section("linux-scripts", "The same scripts by the real Linux sender", linux_scripts),
    _section("linux-cubic", "CUBIC by the real Linux sender", linux_cubic),
    _section("linux-close", "The end of a connection by the real Linux sender", linux_close),
    _section("linux-buffer", "The send buffer of the real Linux sender", linux_buffer),
    _section("laws", "Response functions", laws),
    _section("curve", "CUBIC's curve", curve),
    _section("linux", "The Linux stack", linux),
    _section("linux-queues", "Linux's queue disciplines", linux_queues),
    _section("linux-disciplines", "Linux's other queue disciplines", linux_disciplines),
    _section("linux-controllers", "Linux's other controllers", linux_controllers),
    _section("linux-scalable", "DCTCP by the real Linux sender", linux_scalable),
    _section("linux-bbr", "BBR by the real Linux sender", linux_bbr),
)


@dataclass(frozen=True)
class ComparisonResult:
    """The lines of a comparison."""

    section: Section
    comparison: Comparison
    lines: list[Line]


def execute(run: Run) -> Values:
    """Run a scenario in this process."""
    return run.reduce(Scenario.from_toml(run.toml, file=f"{run.name}.toml").run())


class Reduce:
    """The work of the validation: a run of a comparison, with the comparison's number, to its values."""

    def __call__(self, task: tuple[int, Run], go_on: GoOn) -> Values:
        """The values. A run of the validation that fails is a defect, and raises."""
        del go_on  # processes are stopped
        return execute(task[1])

    def lost(self, task: tuple[int, Run], why: str) -> Values:
        """Raises RunFailedError."""
        raise RunFailedError(f"{task[1].name}: {why}")


def run_sections(
    sections: Sequence[Section], *, quick: bool, jobs: int | None, done: Callable[[float], object]
) -> list[ComparisonResult]:
    """Run the comparisons of the sections, the longest runs first. ``done`` is called with the share of packets that is
    done.
    """
    selected = [(s, c) for s in sections for c in s.comparisons() if c.quick or not quick]
    runs = [(i, run) for i, (_, comparison) in enumerate(selected) for run in comparison.runs]
    total = sum(run.packets for _, run in runs) or 1.0
    values: list[dict[str, Values]] = [{} for _ in selected]
    ran = 0.0
    take = longest_first(runs, lambda item: item[1].packets)
    with closing(outcomes(Reduce(), take, Processes(jobs or os.cpu_count() or 1))) as stream:
        for (i, run), reduced in stream:
            values[i][run.name] = reduced
            ran += run.packets
            done(ran / total)
    ordered = [{run.name: values[i][run.name] for run in comparison.runs} for i, (_, comparison) in enumerate(selected)]
    return [ComparisonResult(s, c, c.lines(v)) for (s, c), v in zip(selected, ordered, strict=True)]
