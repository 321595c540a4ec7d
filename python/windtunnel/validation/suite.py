"""The sections of the validation, and how they are run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

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
from windtunnel.validation.check import Comparison, Line, Run, Values


@dataclass(frozen=True)
class Section:
    """Checks of one kind. ``text`` is the page's introduction, in Markdown."""

    name: str
    title: str
    text: str
    checks: Callable[[], list[Comparison]]


def _text(module: object) -> str:
    """A module's docstring, as a paragraph."""
    return str(module.__doc__).strip()


SECTIONS = (
    Section("scripts", "Loss recovery, segment by segment", _text(scripts), scripts.checks),
    Section("linux-scripts", "The same scripts by the real Linux sender", _text(linux_scripts), linux_scripts.checks),
    Section("linux-cubic", "CUBIC by the real Linux sender", _text(linux_cubic), linux_cubic.checks),
    Section("linux-close", "The end of a connection by the real Linux sender", _text(linux_close), linux_close.checks),
    Section("linux-buffer", "The send buffer of the real Linux sender", _text(linux_buffer), linux_buffer.checks),
    Section("laws", "Response functions", _text(laws), laws.checks),
    Section("curve", "CUBIC's curve", _text(curve), curve.checks),
    Section("linux", "The Linux stack", _text(linux), linux.checks),
    Section("linux-queues", "Linux's queue disciplines", _text(linux_queues), linux_queues.checks),
    Section(
        "linux-disciplines",
        "Linux's other queue disciplines",
        _text(linux_disciplines),
        linux_disciplines.checks,
    ),
    Section(
        "linux-controllers",
        "Linux's other controllers",
        _text(linux_controllers),
        linux_controllers.checks,
    ),
    Section("linux-scalable", "DCTCP by the real Linux sender", _text(linux_scalable), linux_scalable.checks),
    Section("linux-bbr", "BBR by the real Linux sender", _text(linux_bbr), linux_bbr.checks),
)


@dataclass(frozen=True)
class CheckResult:
    """The lines of a check."""

    section: Section
    check: Comparison
    lines: list[Line]


def execute(run: Run) -> Values:
    """Run a scenario in this process."""
    return run.reduce(Scenario.from_toml(run.toml, file=f"{run.name}.toml").run())


class Reduce:
    """The work of the validation: a run of a check, with the check's number, to its values."""

    def __call__(self, task: tuple[int, Run], go_on: GoOn) -> Values:
        """The values. A run of the validation that fails is a defect, and raises."""
        del go_on  # processes are stopped
        return execute(task[1])

    def lost(self, task: tuple[int, Run], why: str) -> Values:
        """Raises RunFailedError."""
        raise RunFailedError(f"{task[1].name}: {why}")


def run_sections(
    sections: Sequence[Section], *, quick: bool, jobs: int | None, done: Callable[[float], object]
) -> list[CheckResult]:
    """Run the checks of the sections, the longest runs first. ``done`` is called with the share of packets that is
    done.
    """
    selected = [(s, c) for s in sections for c in s.checks() if c.quick or not quick]
    runs = [(i, run) for i, (_, check) in enumerate(selected) for run in check.runs]
    total = sum(run.packets for _, run in runs) or 1.0
    values: list[dict[str, Values]] = [{} for _ in selected]
    ran = 0.0
    take = longest_first(runs, lambda item: item[1].packets)
    with closing(outcomes(Reduce(), take, Processes(jobs or os.cpu_count() or 1))) as found:
        for (i, run), reduced in found:
            values[i][run.name] = reduced
            ran += run.packets
            done(ran / total)
    ordered = [{run.name: values[i][run.name] for run in check.runs} for i, (_, check) in enumerate(selected)]
    return [CheckResult(s, c, c.lines(v)) for (s, c), v in zip(selected, ordered, strict=True)]
