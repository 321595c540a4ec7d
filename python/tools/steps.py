"""Run targets of the Makefile one after the other, and say how long each took: ``python python/tools/steps.py lint``.

Ends with a table of seconds by the wall and of CPU time, and stops at the first target that fails.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A target, and the seconds that it took: by the wall, and of CPU time in all processes."""

    name: str
    wall_s: float
    cpu_s: float


def run(name: str) -> tuple[Step, int]:
    """Run a target; returns its exit code, too."""
    before, began = _cpu_s(), time.monotonic()
    code = subprocess.run(["make", "--no-print-directory", name], check=False).returncode
    return Step(name, time.monotonic() - began, _cpu_s() - before), code


def _cpu_s() -> float:
    """CPU time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(steps: list[Step]) -> str:
    """The steps, and their sum."""
    total = Step("all", sum(s.wall_s for s in steps), sum(s.cpu_s for s in steps))
    lines = [f"{'step':<14}{'seconds':>9}{'CPU':>9}"]
    lines += [f"{s.name:<14}{s.wall_s:>9.0f}{s.cpu_s:>9.0f}" for s in [*steps, total]]
    return "\n".join(lines)


def main(names: list[str]) -> int:
    """Run the targets; returns the exit code of the last one."""
    steps: list[Step] = []
    code = 0
    try:
        for name in names:
            step, code = run(name)
            steps.append(step)
            if code:
                break
    except KeyboardInterrupt:
        return 130
    finally:
        print(table(steps))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
