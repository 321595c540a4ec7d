"""One run of one work, in a process of its own: ``python -m windtunnel.bench.worker FILE`` prints JSON."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

# The core hands out NumPy arrays: without this the import would be timed as a part of the run.
import numpy as np  # noqa: F401

from windtunnel import _core


def main() -> None:
    """Run the scenario file named on the command line."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    # CPU time of this thread: threads that a library started do not belong to the core.
    before = time.thread_time()
    result = _core.run(text)
    cpu_seconds = time.thread_time() - before
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
            }
        )
    )


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
