"""One run of one work, in a process of its own: ``python -m windtunnel.bench.worker FILE`` prints JSON.

A Python file of the same name is the work's plugin; the class that it registers counts ACKs in its attribute ``acks``.
The process ends when its standard input ends, and so together with the process that started it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

# The core returns NumPy arrays: without this line, the import would be timed as a part of the run.
import numpy as np  # noqa: F401

from windtunnel import _core
from windtunnel.workers import end_with_parent


def main() -> None:
    """Run the scenario file named on the command line."""
    end_with_parent()
    file = Path(sys.argv[1])
    text = file.read_text(encoding="utf-8")
    controllers = load(file.with_suffix(".py"))
    # CPU time of the process: the core may finish a large run in a second thread.
    before = time.process_time()
    result = _core.run(text)
    cpu_seconds = time.process_time() - before
    peak = peak_mib()
    summary = json.loads(result.summary)
    print(
        json.dumps(
            {
                "packets": summary["packets"],
                "events": summary["events"],
                "simulated_seconds": summary["duration_s"],
                "digest": result.digest,
                "cpu_seconds": cpu_seconds,
                "peak_mib": peak,
                "acks": sum(controller.acks for controller in controllers) if controllers else None,
            }
        )
    )


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
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(peak[1]) / 1024 if peak else float("nan")


if __name__ == "__main__":
    main()
