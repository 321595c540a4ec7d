"""What many short runs cost from Python, alone and in threads: ``python -m windtunnel.bench.short_runs [RUNS]``.

Prints, for runs of one second, the CPU time in the core and outside it (median), and how many cores a thousand of them
use in one thread and in two. Two threads use two cores as far as the interpreter is not needed: it reads the scenario
and the summary, one run at a time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from windtunnel import Scenario, _core

_SCENARIO = """\
duration = "1 s"
bottleneck = {{ rate = "{rate}" }}
[[flow]]
cc = "cubic"
rtt = "20 ms"
"""


def main(runs: int) -> None:
    """Print the table."""
    for rate in ("10 Mbit/s", "100 Mbit/s", "1 Gbit/s"):
        text = _SCENARIO.format(rate=rate)
        scenario = Scenario.from_toml(text)
        scenario.run()
        simulation = _median_ms(lambda text=text: _core.run(text))  # type: ignore[misc]
        whole = _median_ms(scenario.run)
        print(f"{rate}: {simulation:.2f} ms in the core, {whole - simulation:.2f} ms outside it")
        for threads in (1, 2):
            wall, cpu = time.perf_counter(), time.process_time()
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda _, scenario=scenario: scenario.run().digest, range(runs)))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"  {runs} runs in {threads} thread{'s' * (threads > 1)}: {wall:.2f} s, {cpu / wall:.2f} cores")


def _median_ms(work: Callable[[], object], times: int = 200) -> float:
    taken = []
    for _ in range(times):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return 1e3 * statistics.median(taken)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
