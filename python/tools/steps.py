"""Run targets of the Makefile one after the other, and say how long each took: ``python python/tools/steps.py lint``.

Ends with a table of seconds by the wall and of CPU time, and stops at the first target that fails. A target that takes
a third more CPU time than its budget is named after all have run: tests become slow by a second here and a second
there, which is not noticed otherwise. One that takes twice its budget fails. It is not less, because the same steps of
the same commit have taken 1.6 times as much CPU on a machine that others used, too. Budgets are those of one machine;
how fast another one is, a short calculation tells.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

#: CPU seconds that targets may take in a fresh clone. `install` has none: it takes minutes, or nothing.
BUDGETS = {"lab": 250.0, "lint": 270.0, "test-rust": 950.0, "test-python": 750.0}
#: CPU seconds of `calibrate` on the machine of the budgets: two processors of an Intel Xeon at 2.5 GHz, CPython 3.11.
REFERENCE_S = 0.165
#: The multiples of its budget from which on a step is named, and from which on it fails.
SLOW, TOO_SLOW = 4 / 3, 2.0


@dataclass(frozen=True)
class Step:
    """A target, the seconds that it took (by the wall, and of CPU time in all processes), and its budget here."""

    name: str
    wall_s: float
    cpu_s: float
    budget_s: float | None = None

    def takes(self, multiple: float) -> bool:
        """Whether it took more than this multiple of its budget."""
        return self.budget_s is not None and self.cpu_s > multiple * self.budget_s

    @property
    def excess(self) -> str | None:
        """What to say if it took too long."""
        if self.budget_s is None or not self.takes(SLOW):
            return None
        more = round(100 * (self.cpu_s / self.budget_s - 1))
        kind = "error" if self.takes(TOO_SLOW) else "warning"
        taken = f"{self.cpu_s:.0f} s of CPU time, {more} % more than its budget of {self.budget_s:.0f} s"
        return f"{kind}: {self.name} took {taken}"


def run(name: str) -> tuple[Step, int]:
    """Run a target; returns its exit code, too."""
    before, began = _cpu_s(), time.monotonic()
    code = subprocess.run(["make", "--no-print-directory", name], check=False).returncode
    return Step(name, time.monotonic() - began, _cpu_s() - before), code


def _cpu_s() -> float:
    """CPU time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def calibrate() -> float:
    """CPU seconds of a fixed calculation, the median. All processors do it at once, as in the steps: two threads of one
    core share what it has.
    """
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as processes:
        return statistics.median(processes.map(_calculation, range(5 * cores)))


def _calculation(first: int) -> float:
    began, total = time.process_time(), 0
    for n in range(first, first + 1_500_000):
        total += n * n % 7
    return time.process_time() - began


def table(steps: list[Step]) -> str:
    """The steps, and their sum."""
    total = Step("all", sum(s.wall_s for s in steps), sum(s.cpu_s for s in steps))
    lines = [f"{'step':<14}{'seconds':>9}{'CPU':>9}{'budget':>9}"]
    for step in (*steps, total):
        budget = "" if step.budget_s is None else f"{step.budget_s:>9.0f}"
        lines.append(f"{step.name:<14}{step.wall_s:>9.0f}{step.cpu_s:>9.0f}{budget}")
    return "\n".join(lines)


def main(
    names: list[str],
    *,
    run: Callable[[str], tuple[Step, int]] = run,
    calibrate: Callable[[], float] = calibrate,
    budgets: Mapping[str, float] = BUDGETS,
) -> int:
    """Run the targets; returns the exit code of the one that failed, or 1 if a step took twice its budget."""
    steps: list[Step] = []
    code = 0
    try:
        for name in names:
            budget = budgets.get(name)
            before = calibrate() if budget is not None else 0.0
            step, code = run(name)
            if budget is not None:
                # A machine that others use, too, is slower for a while: before and after count alike.
                budget *= (before + calibrate()) / 2 / REFERENCE_S
            steps.append(Step(name, step.wall_s, step.cpu_s, budget))
            if code:
                break
    except KeyboardInterrupt:
        return 130
    finally:
        print(table(steps))
    for excess in filter(None, (step.excess for step in steps)):
        print(excess, file=sys.stderr)
    return code or int(any(step.takes(TOO_SLOW) for step in steps))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
