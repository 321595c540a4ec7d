"""Windows, packet rates and RTT of AIMD flows over one sawtooth cycle: a fluid model, round by round.

The geometry of "Friendliness between AIMD Algorithms" (Briscoe and Albisser, 2023), figures 1, 2 and 5. Flows with
equal base RTT share one bottleneck; in every round each adds its ``a`` packets. Packets that do not fit on the path
wait in the queue, so that the round trip is the sum of the windows over the link's rate, or the base RTT while the
queue is empty. A flow's packet rate is its window over the round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.models.aimd import RENO_A, RENO_BETA, friendly_increase, peak_windows
from windtunnel.models.mds import CUBIC_BETA
from windtunnel.models.values import Result, Values, as_floats

#: Number of steps of a drawn cycle.
STEPS = 1000


@dataclass(frozen=True)
class Aimd:
    """A flow that adds ``a`` packets per round trip and keeps ``b`` of its window at a congestion event."""

    a: float
    b: float


RENO = Aimd(RENO_A, RENO_BETA)
#: CUBIC in its Reno-friendly mode, with the increase that the formula gives.
C_RENO = Aimd(float(friendly_increase(CUBIC_BETA)), CUBIC_BETA)


@dataclass(frozen=True)
class Path:
    """A bottleneck in packets/s, the round trip without a queue, and the queue at which flows are told to reduce."""

    rate_pps: float
    base_rtt_s: float
    queue_s: float

    @property
    def pipe(self) -> float:
        """Packets on the path and in that queue."""
        return self.rate_pps * (self.base_rtt_s + self.queue_s)

    def rtt(self, packets: Values) -> Result:
        """Round trip in seconds with this number of packets in flight; elementwise."""
        return np.maximum(self.base_rtt_s, as_floats(packets) / self.rate_pps)


@dataclass(frozen=True)
class Cycle:
    """A cycle, sampled at ``rounds`` (shape ``(n,)``); a reduction shows as two samples at one round.

    ``windows`` (packets) and ``rates`` (packets/s) have shape ``(n, flows)``, ``time_s`` and ``rtt_s`` shape ``(n,)``.
    """

    rounds: Result
    time_s: Result
    windows: Result
    rates: Result
    rtt_s: Result

    def mean_rates(self) -> Result:
        """Packets per second of each flow over the cycle: the sum of its windows over all rounds, over the time."""
        steps = np.diff(self.rounds)[:, None]
        packets = np.sum(steps * (self.windows[1:] + self.windows[:-1]) / 2, axis=0)
        return np.asarray(packets / self.time_s[-1])

    def empty_share(self, path: Path) -> float:
        """Share of the time in which the queue is empty."""
        empty = (self.windows.sum(axis=1) < path.rate_pps * path.base_rtt_s)[1:]
        return float(np.sum(np.diff(self.time_s)[empty]) / self.time_s[-1])


def synchronized(flows: Sequence[Aimd], path: Path, steps: int = STEPS) -> Cycle:
    """One cycle of flows that all reduce when the queue reaches the path's (the report's figures 1 and 2)."""
    a, b = np.array([f.a for f in flows]), np.array([f.b for f in flows])
    peaks = peak_windows(path.pipe, a, b)
    length = float(peaks[0] * (1.0 - b[0]) / a[0])
    return _cycle([(b * peaks, length)], a, path, steps)


def desynchronized(first: Aimd, second: Aimd, path: Path, steps: int = STEPS, shift: float = 0.0) -> Cycle:
    """One cycle of two flows that reduce in turn, each when the queue reaches the path's (figure 5).

    At the start of the cycle ``first`` has just reduced. Between reductions the queue grows back by what was given up:
    ``second`` reduces after a share ``a1 / (a1 + a2)`` of the cycle's rounds. ``shift`` moves that reduction by a
    number of rounds: an AQM's signal falls on a whole round, so that the tips of the RTT align only to within a round.
    """
    a, b = np.array([first.a, second.a]), np.array([first.b, second.b])
    weight, turn = a / (1.0 - b), first.a / (first.a + second.a)
    # At the first flow's tip the second flow has covered `1 - turn` of its ramp.
    at_tip = np.array([weight[0], weight[1] * b[1] + a[1] * (1.0 - turn)])
    length = path.pipe / float(at_tip.sum())
    split = turn * length + shift
    peaks = weight * length
    start = np.array([b[0] * peaks[0], b[1] * peaks[1] + a[1] * (length - split)])
    middle = np.array([start[0] + a[0] * split, b[1] * peaks[1]])
    return _cycle([(start, split), (middle, length - split)], a, path, steps)


def _cycle(ramps: Sequence[tuple[Result, float]], a: Result, path: Path, steps: int) -> Cycle:
    """The cycle made of ``ramps``, each with its first windows and its number of rounds."""
    rounds, windows, begin = [], [], 0.0
    for start, length in ramps:
        here = np.linspace(0.0, length, steps + 1)
        rounds.append(begin + here)
        windows.append(start + here[:, None] * a)
        begin += length
    at, w = np.concatenate(rounds), np.concatenate(windows)
    rtt = path.rtt(w.sum(axis=1))
    # A round takes one round trip.
    time = np.concatenate([[0.0], np.cumsum(np.diff(at) * (rtt[1:] + rtt[:-1]) / 2)])
    return Cycle(at, time, w, w / rtt[:, None], rtt)
