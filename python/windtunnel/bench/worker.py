"""One run, in a process of its own: ``python -m windtunnel.bench.worker FILE MEMORY [key=value]...`` prints JSON.

``MEMORY`` is the number of bytes that it may take, or 0. The speed of the machine is measured just before and after.

A Python file of the same name is the work's plugin; the class that it registers counts ACKs in its attribute ``acks``.
The process ends when its standard input ends, and so together with the process that started it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

# The core returns NumPy arrays: without this line, the import would be timed as a part of the run.
import numpy as np  # noqa: F401

from windtunnel import _core
from windtunnel.bench.measure import REFUSED
from windtunnel.workers import end_with_parent

#: Holds of one calibration: a twentieth of a second.
HOLDS = 1_000_000


def main(file: Path, memory: int, *overrides: str) -> None:
    """Run the scenario file."""
    end_with_parent()
    text = file.read_text(encoding="utf-8")
    controllers = load(file.with_suffix(".py"))
    at_rest = resident_mib()
    before = _seconds_of_holds()
    # CPU time of the process: the core may finish a large run in a second thread.
    cpu, user = time.process_time(), user_seconds()
    try:
        result = _core.run(text, str(file), overrides, memory=memory or None)
    except (_core.ScenarioError, _core.MemoryLimitError) as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
    cpu, user = time.process_time() - cpu, user_seconds() - user
    peak = peak_mib()
    after = _seconds_of_holds()
    print(
        json.dumps(
            {
                "packets": result.packets,
                "events": result.events,
                "simulated_seconds": _core.quantity(json.loads(result.resolved)["duration"]),
                "digest": result.digest,
                "cpu_seconds": cpu,
                "user_seconds": user,
                "holds_per_second": 2 * HOLDS / (before + after),
                "peak_mib": peak,
                "run_mib": peak - at_rest,
                "acks": sum(controller.acks for controller in controllers) if controllers else None,
            }
        )
    )


def _seconds_of_holds() -> float:
    before = time.process_time()
    _core.holds(HOLDS)
    return time.process_time() - before


def user_seconds() -> float:
    """User CPU of this process so far."""
    try:
        import resource
    except ImportError:
        return os.times().user
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def load(plugin: Path) -> list[Any]:
    """The controllers that a plugin registers; none if there is no such file."""
    if not plugin.is_file():
        return []
    from windtunnel.plugins import load_plugin, registered_by

    load_plugin(plugin)
    return registered_by(plugin)


def peak_mib() -> float:
    """The largest resident memory of this process so far, in MiB.

    Linux reports it for the program itself; its ``ru_maxrss`` starts with the parent's value at the fork.
    """
    peak = _status("VmHWM")
    if peak is not None:
        return peak
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def resident_mib() -> float:
    """The resident memory of this process, in MiB; where the system does not say, its largest so far."""
    now = _status("VmRSS")
    return peak_mib() if now is None else now


def _status(key: str) -> float | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    kib = re.search(rf"^{key}:\s+(\d+) kB", status, re.MULTILINE)
    return int(kib[1]) / 1024 if kib else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
