"""BBR (version 1) of two kernels compared with ours: scripts, and whole runs.

The scripts are CUBIC's, by BBR: by Linux 7.3 in virtual time, and by Linux 6.18 in real time, which was given four
more. The recorder answers a SYN early; so do the scenarios, because BBR's first pace is a window in this round trip.

BBR spaces departures evenly, and each ACK comes exactly a round trip after a departure: in the next round, departures
and ACKs fall on the same nanosecond. Which comes first is left to chance in a kernel. It matters, because a segment
that leaves before the ACK counts one segment more until its own ACK, which is 3 % of the bandwidth. So each script has
draws of ours, in which each ACK is a little late, and one of them must transmit what Linux did. Next to the kernel in
virtual time there are 16, with ACKs up to 2 µs late. Next to the one in real time there are 64, with ACKs up to 300 µs
late, because the recordings themselves have round trips of 100.2 to 100.5 ms (57 of the 58 that start a flight). In "A
loss in each of two rounds" the ACK that shows the second loss must be 120 µs less late than the one that started the
flight; with ACKs up to 100 µs late no draw in 128 was Linux's.

In virtual time cwnd, ssthresh and state are compared as well: at each transmission they must
be those of one of these draws, at this transmission or at the next one, because the recorder reads them after the
departure, when an ACK of the same moment may have changed them. In real time they are not compared, and scripts whose
recordings differ are left out.

One script in real time differs. "The first eight of the initial window" has one pause more: 20 ms show in the notation,
and the reordering timer's pause is 21.6 ms there and 18 ms here. Both timers run for the 25 ms that are left and 2 ms
more; those of a kernel with ``HZ`` 250 then run to the end of a tick of 4 ms, and for one tick more. The same script on
the kernel in virtual time, which has ``HZ`` 1000, has no pause, as ours has none. There the timer runs for 26.75 ms
here and for 27.02 ms in the kernel, which rounds it up to 27 ticks: each ACK of what was repaired comes 0.3 ms later,
so that five of them follow a departure that they precede here.

Whole runs are those of Linux 7.3: alone on three paths, with random losses, against Reno, five together. Linux has one
of each, three with losses; ours are eight seeds, because the first phase of each cycle is random. The verdict is that
of the section on queue disciplines: the ranges overlap, or the middles differ by at most 1 % of goodput or 3 % of a
round trip or window. Retransmissions are for information.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.result import RunResult
from windtunnel.validation import linux_cubic
from windtunnel.validation.comparison import DATA, Comparison, Line, Run, Values
from windtunnel.validation.linux import FRAME, MSS, path
from windtunnel.validation.linux import reduce as summarize
from windtunnel.validation.linux_controllers import PATHS, USUAL, Path
from windtunnel.validation.linux_queues import GOODPUT, ROUND_TRIP, Rows, column, measured, ranges, rows_of
from windtunnel.validation.linux_scalable import recordings
from windtunnel.validation.linux_scripts import LinuxScript, Marks, scenario, state_of
from windtunnel.validation.linux_scripts import reduce as follow
from windtunnel.validation.scripts.script import lost

Numbers: TypeAlias = "npt.NDArray[np.float64]"

#: BBR's scripts of Linux 6.18, recorded in real time.
REAL = DATA / "linux_bbr.json"

#: Seeds of ours for whole runs.
SEEDS = range(1, 9)

#: The flow.
BBR = 'cc = "bbr"'

#: The data packets of the longest script.
ALL = list(range(1, 1001))


@dataclass(frozen=True)
class Kernel:
    """A kernel that was recorded, and the path as it saw it."""

    name: str
    tick: str
    handshake_ms: float
    round_trip_ms: float
    """The shortest one."""
    jitter_us: int
    """How late ACKs are at most."""
    draws: int


VIRTUAL_TIME = Kernel("7.3", "1 ms", 99.0, 100.0, 2, 16)
REAL_TIME = Kernel("6.18", "4 ms", 99.6, 100.2, 300, 64)

#: Every 32nd packet from the SYN on. The echo of the second mark comes after the last departure.
MARKS = Marks((30,), 'queue = { kind = "nth", n = 32 }')

#: The reordering timer alone shows these losses.
FIRST_EIGHT = LinuxScript("The first eight of the initial window", 100, lost(*range(1, 9)), rate_mbps=1000, cc="bbr")

#: Scripts that the kernel in real time was given as well.
MORE = (
    replace(FIRST_EIGHT, why="the reordering timer ends with a tick of 4 ms there, and a tick later;"),
    LinuxScript("Two losses, fast convergence", 300, lost(40, 150), rate_mbps=1000),
    LinuxScript("One loss, then long growth", 800, lost(40), rate_mbps=1000),
    LinuxScript("A timeout, then growth", 300, lost(*range(25, 41)), rate_mbps=1000),
)


@cache
def real() -> Mapping[str, Any]:
    """The recordings of Linux 6.18, by name."""
    scripts: dict[str, Any] = json.loads(REAL.read_text(encoding="utf-8"))["scripts"]
    return scripts


def scripts() -> list[LinuxScript]:
    """CUBIC's scripts, by BBR."""
    return [
        replace(script, name=script.name.removesuffix(", CUBIC"), cc="bbr", why="", marks=script.marks and MARKS)
        for script in linux_cubic.SCRIPTS
    ]


def draw(script: LinuxScript, seed: int, kernel: Kernel) -> str:
    """The scenario of one draw: data later than the handshake, each ACK a little late."""
    data_ms = kernel.round_trip_ms - kernel.handshake_ms
    late = f'{{ kind = "scripted-reordering", packets = {ALL}, delay = "{data_ms:g} ms", affects = "data" }}'
    half = f'"{kernel.jitter_us / 2:g} us"'
    varied = f'{{ kind = "jitter", mean = {half}, deviation = {half} }}'
    forward, reverse = (way.removeprefix("[").removesuffix("]") for way in (script.forward, script.reverse))
    path = replace(script, rtt_ms=kernel.handshake_ms, forward=f"[{late}, {forward}]", reverse=f"[{varied}, {reverse}]")
    return f"seed = {seed}\n{scenario(path)}"


def compared(recorded: Mapping[str, Any], kernel: Kernel, why: str, values: Mapping[str, Values]) -> list[Line]:
    """What is transmitted, and with which state, compared with all draws."""
    linux = recorded["sent"][0]
    draws = [str(run["sent"]) for run in values.values()]
    closest = linux if linux in draws else max(draws, key=draws.count)
    note = f"{why} {draws.count(linux)} of {len(draws)} draws".strip()
    lines = [Line("transmissions", linux, closest, None, "", note)]
    if kernel is VIRTUAL_TIME:
        states = [state_of(*row[3:]) for row in recorded["transmissions"]]
        ours = [str(run["states"]).split(", ") for run in values.values()]
        unseen = sum(all(state not in run[n : n + 2] for run in ours) for n, state in enumerate(states))
        lines.append(Line("transmissions with cwnd, ssthresh and state of no draw", 0.0, float(unseen), 0.0))
    return lines


def followed(script: LinuxScript, kernel: Kernel, recorded: Mapping[str, Any]) -> Comparison:
    """One script."""
    script = replace(script, name=f"{script.name}, BBR, Linux {kernel.name}", cc="bbr", tick=kernel.tick)
    runs = [
        Run(f"draw {seed}", draw(script, seed, kernel), partial(follow, mss=script.mss), float(script.segments))
        for seed in range(1, kernel.draws + 1)
    ]
    return Comparison(script.name, runs, partial(compared, recorded, kernel, script.why))


def recorded_alike() -> Iterator[tuple[LinuxScript, Mapping[str, Any]]]:
    """The scripts whose recordings in real time are equal."""
    for script in (*scripts(), *MORE):
        recorded = real().get(f"{script.name}, BBR")
        if recorded and len(set(recorded["sent"])) == 1:
            yield script, recorded


def columns(linux: Rows, flow: int, name: str, values: Mapping[str, Values]) -> list[Line]:
    """A flow's steady goodput, round trip and window, and its retransmissions."""
    return [
        ranges(f"{what}{name}", column(linux, theirs, flow), measured(values, f"{flow}.{ours}"), unit, share)
        for what, theirs, ours, share, unit in (
            ("goodput after 10 s", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
            ("mean srtt after 10 s", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
            ("mean cwnd after 10 s", "cwnd_steady_pkts", "steady_cwnd", ROUND_TRIP, "segments"),
        )
    ] + [retransmissions(name, column(linux, "retrans_pkts", flow), measured(values, f"{flow}.retransmits"))]


def retransmissions(name: str, linux: Numbers, ours: Numbers) -> Line:
    """A count, for information."""
    return replace(ranges(f"retransmissions{name}", linux, ours, "segments"), tolerance=None)


def reduce(result: RunResult) -> Values:
    """The summaries in the data, and the steady window of each flow."""
    rows = result.tables["flows"]
    flow, time = (np.asarray(rows[key], dtype=np.float64) for key in ("flow", "time_s"))
    cwnd = np.asarray(rows["cwnd_bytes"], dtype=np.float64) / MSS
    steady = {
        f"{number}.steady_cwnd": float(np.nanmean(cwnd[(flow == number - 1) & (time > 10.0)]))
        for number in range(1, len(result.flows) + 1)
    }
    return {**summarize(result), **steady}


def draws(flows: Sequence[str], duration_s: float, on: Path = USUAL, impair: str = "") -> list[Run]:
    """Draws: seeds, because the first phase of each cycle is random."""
    queue = f'{{ kind = "fifo", limit = "{on.queue // FRAME} packets" }}'
    toml = path(queue, duration_s, on.rtt_ms, flows, impair, on.rate_mbps)
    return [Run(f"seed {seed}", f"seed = {seed}{toml}", reduce, on.packets(duration_s)) for seed in SEEDS]


def alone(on: Path) -> Comparison:
    """One flow over tail drop, 60 s."""
    linux = rows_of("alone", [f"alone_bbr_{on.name}"])
    runs = draws([BBR], 60, on)
    return Comparison(f"BBR alone, {on.rate_mbps:g} Mbit/s, {on.rtt_ms:g} ms", runs, partial(columns, linux, 1, ""))


def lossy(percent: int) -> Comparison:
    """One flow with random losses: 40 Mbit/s, 100 ms, 60 s."""
    linux = rows_of("lossy", [f"loss{percent}_bbr_{seed}" for seed in (1, 2, 3)])
    runs = draws([BBR], 60, impair=f'kind = "loss", probability = "{percent} %"')
    return Comparison(f"BBR with {percent} % loss", runs, partial(columns, linux, 1, ""))


def against_reno() -> Comparison:
    """BBR, and Reno 37 ms later: 40 Mbit/s, 100 ms, 90 s."""
    linux = rows_of("against_reno", ["vsreno_bbr"])
    runs = draws([BBR, 'cc = "reno"\nstart = "37 ms"'], 90)
    return Comparison(
        "BBR against Reno",
        runs,
        lambda values: [
            line for n, name in ((1, " of BBR"), (2, " of Reno")) for line in columns(linux, n, name, values)
        ],
    )


def five(name: str, gap_ms: int) -> Comparison:
    """Five flows: 40 Mbit/s, 100 ms, 90 s. The fastest and the slowest; a flow's first 10 s do not count."""
    linux = rows_of("five", [f"five_bbr_{name}"])
    runs = draws([f'{BBR}\nstart = "{n * gap_ms} ms"' for n in range(5)], 90)

    def lines(values: Mapping[str, Values]) -> list[Line]:
        theirs = np.array([column(linux, "goodput_steady_mbps", n) for n in range(1, 6)])
        ours = np.array([measured(values, f"{n}.steady") for n in range(1, 6)])
        srtt = np.array([column(linux, "srtt_steady_ms", n) for n in range(1, 6)])
        own_srtt = np.array([measured(values, f"{n}.steady_srtt") for n in range(1, 6)])
        lost = np.array([column(linux, "retrans_pkts", n) for n in range(1, 6)])
        own_lost = np.array([measured(values, f"{n}.retransmits") for n in range(1, 6)])
        return [
            ranges("goodput of the fastest", theirs.max(axis=0), ours.max(axis=0), "Mbit/s", GOODPUT),
            ranges("goodput of the slowest", theirs.min(axis=0), ours.min(axis=0), "Mbit/s", GOODPUT),
            ranges("mean srtt after 10 s", srtt.mean(axis=0), own_srtt.mean(axis=0), "ms", ROUND_TRIP),
            retransmissions("", lost.sum(axis=0), own_lost.sum(axis=0)),
        ]

    return Comparison(f"Five flows of BBR, {gap_ms:g} ms apart", runs, lines)


def comparisons() -> list[Comparison]:
    """Every comparison."""
    return [
        *(followed(script, VIRTUAL_TIME, recordings()[f"{script.name}, bbr"]) for script in (*scripts(), FIRST_EIGHT)),
        *(followed(script, REAL_TIME, recorded) for script, recorded in recorded_alike()),
        *(alone(on) for on in PATHS),
        *(lossy(percent) for percent in (1, 5, 10, 20)),
        against_reno(),
        five("common", 1),
        five("displaced", 5000),
    ]
