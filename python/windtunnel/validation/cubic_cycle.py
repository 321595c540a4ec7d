"""Linux's CUBIC under periodic loss: a model of its own for the windows that a cycle gives back.

RFC 9438 section 5.1 assumes that the window is back at W_max when the next loss comes, at the time K. A real-valued
window has this one fixed point. Linux counts whole segments: ``C |t - K|^3`` is rounded down, so that the target is
W_max, and the window stays there, as long as ``|t - K| < (1 / C)^(1/3)`` = 1.36 s. Each loss in this time gives the
same window back: there is a range of fixed points, and the start of the connection decides which one it keeps. On a
path of 100 ms with a loss in 10,000 packets a loss at K belongs to a window of 203 segments, one 1.36 s before K to
253, and one 1.36 s after K to 167.

Where nothing spreads the packets of a round trip, their ACKs come within one tick, in which the price of a segment is
computed once. Packets that were acknowledged while the price was high (at the target) count for the next segment at
once, and the burst pays for another one: the window rises by two. So every second window of the range is passed over,
and not all of it comes back.

The model follows RFC 9438 sections 4.2 to 4.6 with Linux's rounding: windows, the target, the estimate and the price of
a segment are whole segments, and the price is computed once per tick. Without ``whole`` nothing is rounded, and nothing
else changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

#: C and beta as Linux has them, in 1024ths.
C = 410 / 1024
BETA = 717 / 1024

#: Packets that are acknowledged for each segment by which the estimate grows, in windows: 15/8 in Linux, 17/9 exactly.
FRIENDLY = 15 / 8
FRIENDLY_EXACT = 17 / 9

#: Ticks per second, and how many of them a price holds for while the window does not change.
HZ = 1000
STEADY = HZ / 32

#: The price in windows where the target is not above the window, and the lowest price.
PLATEAU = 100
LEAST_PRICE = 2


@dataclass
class Growth:
    """Congestion avoidance after a loss at ``w_max``, acknowledged packet by acknowledged packet."""

    w_max: float
    rtt_s: float
    whole: bool

    def __post_init__(self) -> None:
        """The state after recovery."""
        self.window: float = self.cut(self.w_max * BETA)
        self.k = ((self.w_max - self.window) / C) ** (1 / 3)
        self.estimate, self.acked, self.credit, self.price = self.window, 0.0, 0.0, 1.0
        self.epoch = math.nan
        self.computed = (math.nan, math.nan)

    def cut(self, value: float) -> float:
        """Whole segments."""
        return math.floor(value) if self.whole else value

    def on_ack(self, now_s: float) -> None:
        """A packet was acknowledged."""
        self.acked += 1
        tick = self.cut(now_s * HZ)
        window, last = self.computed
        if not self.whole or self.window != window or tick - last > STEADY:
            self.set_price(tick, new=tick != last)
        self.grow()

    def set_price(self, tick: float, *, new: bool) -> None:
        """How many packets are to be acknowledged for the next segment."""
        if new:
            if math.isnan(self.epoch):
                self.epoch, self.acked, self.estimate = tick, 1.0, self.window
            self.computed = (self.window, tick)
            away = (tick - self.epoch) / HZ + self.rtt_s - self.k
            target = self.w_max + math.copysign(self.cut(C * abs(away) ** 3), away)
            above = target - self.window
            self.price = self.cut(self.window / above) if above > 0 else PLATEAU * self.window
        self.be_friendly()
        self.price = max(self.price, LEAST_PRICE)

    def be_friendly(self) -> None:
        """The Reno-friendly estimate, and the price by which the window catches up with it."""
        if self.whole:
            need = math.floor(self.window * FRIENDLY)
            while self.acked > need:
                self.acked -= need
                self.estimate += 1
        else:
            self.estimate += self.acked / (self.window * FRIENDLY_EXACT)
            self.acked = 0.0
        if self.estimate > self.window:
            self.price = min(self.price, self.cut(self.window / (self.estimate - self.window)))

    def grow(self) -> None:
        """A segment for each price that was paid."""
        if not self.whole:
            self.window += 1 / self.price
            return
        if self.credit >= self.price:
            self.credit, self.window = 0.0, self.window + 1
        self.credit += 1
        if self.credit >= self.price:
            bought = self.credit // self.price
            self.credit, self.window = self.credit - bought * self.price, self.window + bought


@dataclass(frozen=True)
class Cycle:
    """What a cycle gives back: the window at the next loss, and the mean number of packets per round trip."""

    window: float
    mean: float


def cycle(w_max: float, every: int, rtt_s: float, *, whole: bool = True) -> Cycle:
    """From a loss at ``w_max`` segments to the next one, ``every`` packets later.

    All packets of a round trip are acknowledged in one moment, because nothing on the path spreads them. Recovery is
    the first round trip: the flight of ``w_max`` is acknowledged, and beta of it leaves.
    """
    growth = Growth(w_max, rtt_s, whole)
    left, rounds = every - int(w_max), 1
    while True:
        rounds += 1
        flight = int(growth.window)
        for _ in range(min(flight, left)):
            growth.on_ack(rounds * rtt_s)
        if left <= flight:
            return Cycle(growth.window, every / (rounds - 1 + left / flight))
        left -= flight


@cache
def fixed_points(every: int, rtt_s: float) -> dict[int, float]:
    """The windows that a cycle gives back, with the mean window of each."""
    real = real_fixed_point(every, rtt_s)[0]
    cycles = {w: cycle(w, every, rtt_s) for w in range(int(0.7 * real), int(1.5 * real))}
    return {w: each.mean for w, each in cycles.items() if each.window == w}


@cache
def real_fixed_point(every: int, rtt_s: float) -> tuple[float, float]:
    """The one window that a cycle without rounding gives back, found by bisection, and its mean window."""
    low, high = 4.0, float(every)
    while high - low > 0.01:
        w = (low + high) / 2
        low, high = (w, high) if cycle(w, every, rtt_s, whole=False).window > w else (low, w)
    return low, cycle(low, every, rtt_s, whole=False).mean
