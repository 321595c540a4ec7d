"""One run on one thread and on several: how much faster it is, and what more cores could gain.

Processes with one thread and with several take turns, so that both run on the same machine in the same minutes; their
times are those of a clock, which other programs lengthen. What more cores could gain is computed from counted events:
in each window, all parts wait for the one that has most. A wait for all parts costs as much as some events.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.errors import RunFailedError

#: What a wait for all parts costs, in events: about 10 us.
WAIT = 60

#: Numbers of cores that are modelled.
CORES = (2, 4, 16, 64)


@dataclass(frozen=True)
class Row:
    """Links in a row, a flow over all of them, and flows over each."""

    name: str
    title: str
    links: int
    flows: int
    rate: str
    duration: str
    interval: str
    required: float = 1.7
    """How many times as fast it is to be on two cores that do nothing else."""

    def scenario(self) -> str:
        """Its text."""
        each = self.flows // (self.links + 1)
        lines = [
            f'title = "{self.title}"',
            f'duration = "{self.duration}"',
            f'record = {{ interval = "{self.interval}" }}',
        ]
        lines += [f'[[node]]\nname = "n{node}"' for node in range(self.links + 1)]
        for link in range(self.links):
            way = f'from = "n{link}"\nto = "n{link + 1}"'
            lines.append(f'[[link]]\nname = "l{link}"\n{way}\nrate = "{self.rate}"\ndelay = "2 ms"\nqueue = "codel"')
            lines.append(f'[[flow]]\nname = "f{link}"\n{way}\ncount = {each}\ncc = "cubic"\nrtt = "40 ms"')
        longest = max(50, 4 * self.links)
        over_all = f'from = "n0"\nto = "n{self.links}"\ncount = {each}\ncc = "cubic"\nrtt = "{longest} ms"'
        return "\n".join([*lines, f'[[flow]]\nname = "all"\n{over_all}']) + "\n"


ROWS = (
    Row("T1", "1000 flows over ten links of 1 Gbit/s, 2 ms each", 10, 1000, "1 Gbit/s", "3 s", "10 ms"),
    Row("T2", "10^5 flows over 100 links of 1 Gbit/s, 2 ms each", 100, 100_000, "1 Gbit/s", "1 s", "100 ms"),
)


@dataclass(frozen=True)
class Shared:
    """A row on one thread and on several."""

    work: str
    title: str
    threads: int
    times_as_fast: float
    """The median of the ratios of times."""
    worst: float
    best: float
    cpu: float
    """The CPU time of all threads, relative to that of one: the median."""
    required: float | None
    """On two threads."""
    met: bool | None
    expected: dict[int, float]
    """What as many cores could gain, by counted events."""


def shared(threads: int, repeat: int, rows: tuple[Row, ...] = ROWS) -> Iterator[Shared]:
    """Each row ``repeat`` times on one thread and on ``threads``, in turn. Raises RunFailedError."""
    for row in rows:
        text = row.scenario()
        rounds = [(_work(text, "run", 1), _work(text, "run", threads)) for _ in range(repeat)]
        if len({one["digest"] for pair in rounds for one in pair}) > 1:
            raise RunFailedError(f"{row.name}: the digests differ")
        ratios = [alone["seconds"] / several["seconds"] for alone, several in rounds]
        ratio = statistics.median(ratios)
        required = row.required if threads == 2 else None
        yield Shared(
            row.name,
            row.title,
            threads,
            ratio,
            min(ratios),
            max(ratios),
            statistics.median(several["cpu"] / alone["cpu"] for alone, several in rounds),
            required,
            None if required is None else ratio >= required,
            {cores: expected(_work(text, "count", cores)) for cores in CORES if cores <= row.links},
        )


def expected(balance: dict[str, float]) -> float:
    """How many times as fast a core for each part could be."""
    return balance["events"] / max(balance["most"] + WAIT * balance["windows"], 1)


def _work(text: str, what: str, threads: int) -> dict[str, float]:
    command = [sys.executable, "-m", "windtunnel.bench.threads", what, str(threads)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunFailedError(f"{' '.join(command[2:])} ended with {done.returncode}: {done.stderr[-500:]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main(what: str, threads: int) -> None:
    """Run the scenario of the standard input, or count its windows, and print JSON."""
    import numpy as np  # noqa: F401 (the core's import of it is no part of the run)

    from windtunnel import _core

    text = sys.stdin.read()
    if what == "count":
        print(_core.windows(text, threads))
        return
    cpu, clock = time.process_time(), time.perf_counter()
    result = _core.run(text, threads=threads)
    measured = {"seconds": time.perf_counter() - clock, "cpu": time.process_time() - cpu, "digest": result.digest}
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
