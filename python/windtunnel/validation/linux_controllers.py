"""Linux's other controllers compared with ours: in scripts, alone, with random losses, with Reno, and five together.

The references are runs of the unmodified Linux 7.3 in virtual time (``data/linux/7.3/README.md``), with each of its
controllers:

- CUBIC's twenty scripts (losses, timeouts, marks, lost ACKs, idle times). Every transmission must be Linux's, and
  cwnd, ssthresh and state at each of them.
- *Alone* for 60 s: 40 Mbit/s and 100 ms with a queue of 1 BDP, 10 Mbit/s and 40 ms with 2, 100 Mbit/s and 20 ms with a
  half.
- *With 1 % random loss*, 40 Mbit/s and 100 ms: the means of three runs of Linux and of eight of ours.
- *With Reno*, which starts 37 ms later, 90 s, and *five flows* of one controller, 1 ms or 5 s apart, 90 s.

Where flows compete, Linux has five draws with Reno and three of five flows, which start a little earlier or later, and
so have we. Alone, Linux has one run; ours is also run with a place more in the queue. The ranges of both sides must
overlap, or their middles differ by not more than 1 % of goodput, 3 % of a round trip or 0.03 of Jain's index. Alone,
retransmissions may differ by 1 % or by one segment in each of Linux's loss episodes: which of the last packets of a
burst a full queue loses is decided by the phase of the clocks, and where flows compete, it decides which flow loses
them. The phase alone, by which a flow starts within a millisecond, gives Reno at 10 Mbit/s and 40 ms 83 or 86
retransmissions, and the kernel has 84. Means with random loss may differ by two standard errors of their difference.

Two properties of the testbed decide what a slow start overshoots and where Vegas settles (decision 0039). Its shaper
lets a packet pass that finds a full bucket, so that the least round trip is the network's alone; on a link it has the
packet's own time as well, and all that Vegas keeps in the queue comes on top. Its hosts have receive buffers of 64 MiB,
from which Linux takes the unit of windows, 2 KiB. With the largest window of a scenario the unit is 16 KiB, and the
first windows, of 53 segments, become 56: Hybla at 40 Mbit/s and 100 ms then hears of the first loss 78 ms earlier, at a
cwnd of 3004 and not 3964, and retransmits 1604 segments and not 2707. The same kernel with buffers of 1 GiB: 1580.

Vegas, Illinois, YeAH and NV measure single microseconds of the path, which is not Linux's to that digit. In six scripts
Illinois's beta is one 64th less here; two of them become Linux's with a mean round trip that is a microsecond longer.
Which segments carry PSH decides which of them share an ACK. Linux pushes where its send buffer is full: the guests'
starts with 64 KiB and takes 4352 bytes for each segment of twice cwnd (decision 0044). With it, Hybla alone at 100
Mbit/s retransmits 164 segments in 11 episodes, and Linux 170 in 11; with a buffer that never limits it is 182. Jain's
index of five flows of Vegas that start 5 s apart is 0.67 to 0.78, where Linux has 0.78 in three draws.

CDG backs off at random: its scripts agree where no coin falls, and its ranges are over seeds too.
TCP-LP is not here. Linux's nearly never sees early congestion, because its smoothed delay overflows 32 bits: it equals
Reno in all of these runs, and so does ours where timestamps start as late.

Between namespaces a packet keeps the memory that its sender allocated (`tcp.truesize = "sender"`): it decides how far
the receiver's window opens at the start, and so which ACKs of the second round are delayed by 40 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from windtunnel.validation import linux_cubic
from windtunnel.validation.comparison import Comparison, Line, Run, Values
from windtunnel.validation.linux import FRAME, TAIL_DROP, path, reduce, welch_margin
from windtunnel.validation.linux_queues import GOODPUT, ROUND_TRIP, Rows, column, measured, ranges, rows_of
from windtunnel.validation.linux_scalable import recordings
from windtunnel.validation.linux_scripts import LinuxScript, lines, scenario
from windtunnel.validation.linux_scripts import reduce as follow

#: The difference of Jain's index that is always allowed.
JAIN = 0.03

#: Our draws with random loss.
SEEDS = range(1, 9)

#: The start of Reno after the other flow, in ms; Linux's is 37.
OFFSETS_MS = (31, 34, 37, 40, 43)

#: How far apart five flows start, in ms; Linux's are 1 and 5000.
GAPS_MS: Mapping[str, Sequence[float]] = {
    "common": (0.7, 1.0, 1.3),
    "displaced": (4997, 5000, 5003),
}

#: Of these, the ones that Linux has in the draws around its usual gap.
NEAR_GAPS_MS: Mapping[str, Sequence[float]] = {"common": (0.7, 1.3), "displaced": (4997, 5003)}

#: The length of a run of five flows.
FIVE_S = 90.0


@dataclass(frozen=True)
class Path:
    """A bottleneck with tail drop: its rate, round trip, and bytes of queue."""

    rate_mbps: float
    rtt_ms: float
    queue: int

    @property
    def name(self) -> str:
        """The path in a run's name."""
        return f"{self.rate_mbps:g}mbit_{self.rtt_ms:g}ms"

    def packets(self, duration_s: float) -> float:
        """What the bottleneck forwards at most."""
        return duration_s * self.rate_mbps * 1e6 / (8 * FRAME)


#: The paths of the runs alone. All the others use the first.
PATHS = (Path(40, 100, 500_000), Path(10, 40, 100_000), Path(100, 20, 125_000))
USUAL = PATHS[0]


@dataclass(frozen=True)
class Controller:
    """A controller by its name in the kernel, which is ours, too, and as the page calls it."""

    name: str
    title: str
    handshake: bool = False
    """The handshake's round trip, 99 ms in the recordings, decides how it grows in the scripts: all of ours have that.
    The script with a mark is left out, because its bottleneck is timed for windows of 10 and 20."""

    random: bool = False
    """It decides by chance: its draws are over seeds too."""

    unlike: tuple[str, ...] = ()
    """The scripts that it does not follow; the reasons are above."""


#: The controllers that are compared. A new one is a line here.
CONTROLLERS = (
    Controller("highspeed", "HighSpeed TCP"),
    Controller("htcp", "H-TCP"),
    Controller("bic", "BIC"),
    Controller("hybla", "Hybla", handshake=True),
    Controller("westwood", "Westwood+"),
    Controller("vegas", "Vegas"),
    Controller(
        "illinois",
        "Illinois",
        unlike=(
            "A burst of three losses",
            "A loss in each of two rounds",
            "A lost tail, without a loss probe",
            "Overtaken by ten",
            "CE on one segment",
            "One loss, without idle restart",
        ),
    ),
    Controller("yeah", "YeAH"),
    Controller("veno", "Veno"),
    Controller(
        "cdg",
        "CDG",
        random=True,
        unlike=("The whole initial window", "A lost tail, with a loss probe", "A lost SYN"),
    ),
    Controller("nv", "NV"),
)


def scripts(controller: Controller) -> list[LinuxScript]:
    """CUBIC's scripts, by another controller. The recorded kernel has ``HZ`` 1000."""
    return [
        replace(
            s,
            name=f"{s.name.removesuffix(', CUBIC')}, {controller.title}",
            cc=controller.name,
            tick="1 ms",
            rtt_ms=99.0 if controller.handshake else 100.0,
        )
        for s in linux_cubic.SCRIPTS
        if s.marks is None or not controller.handshake
    ]


def followed(controller: Controller, script: LinuxScript) -> Comparison:
    """One script."""
    recorded = recordings()[f"{script.name.removesuffix(f', {controller.title}')}, {controller.name}"]
    run = Run(script.name, scenario(script), partial(follow, mss=script.mss), float(script.segments))
    return Comparison(script.name, [run], partial(lines, script, recorded=recorded))


def draws(
    controller: Controller, on: Path, duration_s: float, flows: Sequence[str], name: str = "", seeds: int = 4
) -> list[Run]:
    """What a run depends on in detail: a place in the queue; the seed where it decides."""
    return [
        Run(
            f"{name}{more} more" + (f", seed {seed}" if controller.random else ""),
            f"seed = {seed}"
            + path(
                f'{{ kind = "fifo", limit = "{on.queue // FRAME + more} packets" }}',
                duration_s,
                on.rtt_ms,
                flows,
                rate_mbps=on.rate_mbps,
            ),
            reduce,
            on.packets(duration_s),
        )
        for seed in (range(1, seeds + 1) if controller.random else (1,))
        for more in (0, 1)
    ]


def alone(controller: Controller, on: Path) -> Comparison:
    """One flow for 60 s."""
    linux = rows_of("alone", [f"alone_{controller.name}_{on.name}"])
    again, episodes = column(linux, "retrans_pkts", 1), column(linux, "sack_recoveries", 1)

    def compare(values: Mapping[str, Values]) -> list[Line]:
        resent = ranges("retransmissions", again, measured(values, "1.retransmits"), "segments", GOODPUT)
        return [
            *_goodput_and_round_trip(linux, values, {1: ""}),
            replace(resent, tolerance=max(resent.tolerance or 0.0, float(episodes[0]))),
            _info("mean cwnd", column(linux, "cwnd_mean_pkts", 1), measured(values, "1.cwnd"), "segments"),
            _info("loss episodes", episodes, measured(values, "1.episodes"), ""),
            _info("timeouts", column(linux, "rto_timeouts", 1), measured(values, "1.rtos"), ""),
        ]

    # Linux has one draw: the range of ours has to show what others there may be.
    runs = draws(controller, on, 60, [f'cc = "{controller.name}"'], seeds=16)
    return Comparison(f"{controller.title} alone, {on.rate_mbps:g} Mbit/s, {on.rtt_ms:g} ms", runs, compare)


def lossy(controller: Controller) -> Comparison:
    """One flow with 1 % random loss."""
    linux = rows_of("lossy", [f"loss1_{controller.name}_{seed}" for seed in range(1, 17)])

    def compare(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for what, theirs, key, unit in (
            ("goodput after 10 s", "goodput_steady_mbps", "1.steady", "Mbit/s"),
            ("mean cwnd", "cwnd_mean_pkts", "1.cwnd", "segments"),
            ("loss episodes", "sack_recoveries", "1.episodes", ""),
        ):
            both = column(linux, theirs, 1), measured(values, key)
            note = f"Linux {both[0].min():.3g} to {both[0].max():.3g}, here {both[1].min():.3g} to {both[1].max():.3g}"
            means = float(both[0].mean()), float(both[1].mean())
            out.append(Line(f"{what}, mean of the runs", *means, welch_margin(*both), unit, note))
        return out

    flow, loss = f'cc = "{controller.name}"', 'kind = "loss", probability = "1 %"'
    runs = [
        Run(
            f"seed {seed}",
            f"seed = {seed}" + path(TAIL_DROP, 60, USUAL.rtt_ms, [flow], loss),
            reduce,
            2e4,
        )
        for seed in SEEDS
    ]
    return Comparison(f"{controller.title} with 1 % loss", runs, compare)


def against_reno(controller: Controller) -> Comparison:
    """Two flows."""
    linux = rows_of("against_reno", [f"vsreno_{controller.name}"])
    linux += rows_of("against_reno_draws", [f"vsreno_{controller.name}_{offset}ms" for offset in OFFSETS_MS])

    def compare(values: Mapping[str, Values]) -> list[Line]:
        return _goodput_and_round_trip(linux, values, {1: f" of {controller.title}", 2: " of Reno"})

    runs = []
    for offset in OFFSETS_MS:
        flows = [f'cc = "{controller.name}"', f'cc = "reno"\nstart = "{offset} ms"']
        runs += draws(controller, USUAL, 90, flows, f"{offset} ms, ")
    return Comparison(f"{controller.title} with Reno", runs, compare)


def five(controller: Controller, starts: str) -> Comparison:
    """Five flows."""
    linux = [rows_of("five", [f"five_{controller.name}_{starts}"])]
    linux += [rows_of("five_draws", [f"five_{controller.name}_{gap:g}ms"]) for gap in NEAR_GAPS_MS[starts]]

    def compare(values: Mapping[str, Values]) -> list[Line]:
        def ours(of: Callable[[Sequence[float]], float], key: str) -> npt.NDArray[np.float64]:
            return np.array([of([float(run[f"{n}.{key}"]) for n in range(1, 6)]) for run in values.values()])

        def rates(of: Callable[[Sequence[float]], float]) -> npt.NDArray[np.float64]:
            # Linux's goodput is over the flow's life, ours over the run.
            lives = [FIVE_S - n * GAPS_MS[starts][1] / 1e3 for n in range(5)]
            shares = [[float(run[f"{n}.goodput"]) for n in range(1, 6)] for run in values.values()]
            return np.array(
                [of([rate * FIVE_S / life for rate, life in zip(run, lives, strict=True)]) for run in shares]
            )

        def theirs(of: Callable[[Sequence[float]], float], name: str) -> npt.NDArray[np.float64]:
            return np.array([of([float(row[name]) for row in run]) for run in linux])

        jain = ranges("Jain's index of the goodputs", theirs(_jain, "goodput_mbps"), rates(_jain), "")
        return [
            replace(jain, tolerance=max(jain.tolerance or 0.0, JAIN)),
            ranges("sum of the flows' goodputs", theirs(sum, "goodput_mbps"), rates(sum), "Mbit/s", GOODPUT),
            ranges("mean srtt of all", theirs(_mean, "srtt_mean_ms"), ours(_mean, "srtt"), "ms", ROUND_TRIP),
            _info("retransmissions of all", theirs(sum, "retrans_pkts"), ours(sum, "retransmits"), "segments"),
        ]

    runs = []
    for gap in GAPS_MS[starts]:
        flows = [f'cc = "{controller.name}"\nstart = "{n * gap:g} ms"' for n in range(5)]
        runs += draws(controller, USUAL, FIVE_S, flows, f"{gap:g} ms, ")
    return Comparison(f"Five flows of {controller.title}, {starts} starts", runs, compare)


def comparisons() -> list[Comparison]:
    """Every comparison of every controller."""
    return [comparison for controller in CONTROLLERS for comparison in of(controller)]


def of(controller: Controller) -> list[Comparison]:
    """Every comparison of a controller."""
    return [
        *(followed(controller, script) for script in scripts(controller)),
        *(alone(controller, on) for on in PATHS),
        lossy(controller),
        against_reno(controller),
        *(five(controller, starts) for starts in GAPS_MS),
    ]


def _goodput_and_round_trip(linux: Rows, values: Mapping[str, Values], flows: Mapping[int, str]) -> list[Line]:
    return [
        ranges(f"{what}{whose} after 10 s", column(linux, theirs, n), measured(values, f"{n}.{ours}"), unit, share)
        for n, whose in flows.items()
        for what, theirs, ours, share, unit in (
            ("goodput", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
            ("mean srtt", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
        )
    ]


def _info(what: str, linux: npt.NDArray[np.float64], ours: npt.NDArray[np.float64], unit: str) -> Line:
    return replace(ranges(what, linux, ours, unit), tolerance=None)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness (Jain, Chiu, Hawe 1984)."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
