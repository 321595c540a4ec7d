"""Which flow a loss hits, and the resulting Markov chain of congestion events.

"Friendliness between AIMD Algorithms" (Briscoe and Albisser, 2023), sections 3.1.2 and 3.2, says that average rates
could be derived programmatically from the probabilities of each chain of events. This module does so for two AIMD flows
with equal base RTT and packets.

A congestion event happens when the windows of both flows add up to what link and buffer (or the AQM's operating
point) hold. The state at an event is therefore one number, the first flow's share of the packets. Each loss hits a flow
with a probability equal to its share (equation 7). A flow that is hit, once or more often, keeps ``b`` of its window;
then both grow, by ``a`` per round, until they reach the sum again. Everything is proportional to the sum: rates and
round trips drop out, in the limit of large windows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from windtunnel.models.sawteeth import Aimd
from windtunnel.models.values import Result, Values, as_floats

#: Cells of the share's range. Twice as many change rate ratios by less than 1e-4.
CELLS = 2000
#: The chain has settled when no cell's probability changes by more than this in a step.
SETTLED = 1e-13
#: Terms of a series whose n-th term is below ``b^(n^2)``: further ones do not change a double.
TERMS = 40
#: Smallest window after a reduction (RFC 5681: two segments).
LEAST_WINDOW = 2
#: Rounding of a product that is a whole number.
EXACT = 1e-9


def catch_probabilities(share: Values, losses: Values) -> tuple[Result, Result, Result]:
    """Probabilities that ``losses`` losses hit the first flow alone, both flows, and the second flow alone.

    ``share``: the first flow's share of the packet rate, 0 to 1; broadcast. Two losses between Reno and C-Reno at their
    peaks give 28 %, 50 % and 22 %.
    """
    p, n = as_floats(share), as_floats(losses)
    first, second = np.power(p, n), np.power(1.0 - p, n)
    return first, 1.0 - first - second, second


def tail_drop_losses(first: Aimd, second: Aimd) -> dict[int, float]:
    """Probability of each number of losses at one event of a full buffer.

    The buffer overflows by one packet whenever a window grows by one, until the response to the first loss arrives a
    round trip later. Either flow may cause the first loss, with a probability proportional to its ``a``. In the round
    trip after that loss, this flow grows by one packet again only if ``a > 1``. The other one, whose phase is
    arbitrary, grows by the whole part of its ``a`` or by one more. Reno and C-Reno have one loss in 31 % of events, two
    in 69 %.
    """
    out: dict[int, float] = {}
    for mine, other in ((first, second), (second, first)):
        own = int(np.ceil(mine.a)) - 1
        whole = int(other.a)
        for extra, probability in ((0, 1.0 - (other.a - whole)), (1, other.a - whole)):
            if probability > 0:
                count = 1 + own + whole + extra
                out[count] = out.get(count, 0.0) + probability * mine.a / (first.a + second.a)
    return dict(sorted(out.items()))


#: An AQM drops or marks single packets.
AQM_LOSSES: Mapping[int, float] = {1: 1.0}


@dataclass(frozen=True)
class Stationary:
    """The chain in its steady state.

    ``share`` (the first flow's, at events) and ``probability`` have shape ``(n,)``. ``hits`` are the probabilities that
    an event hits the first flow alone, both flows, and the second flow alone. ``rate_ratio`` is the second flow's mean
    rate over the first's.
    """

    share: Result
    probability: Result
    hits: tuple[float, float, float]
    rate_ratio: float

    @property
    def hit_ratio(self) -> float:
        """Responses of the first flow per response of the second."""
        first, both, second = self.hits
        return (first + both) / (second + both)


def stationary(first: Aimd, second: Aimd, losses: Mapping[int, float], cells: int = CELLS) -> Stationary:
    """The steady state for events with ``losses``: the probability of each number of losses at one event.

    Power iteration over the share at events, discretised into ``cells``. Probability that falls between two grid points
    is split between them in proportion, which keeps the mean.
    """
    share = np.linspace(0.0, 1.0, cells + 1)
    hit = np.zeros((3, cells + 1))
    for count, chance in losses.items():
        hit += chance * np.array(catch_probabilities(share, count))
    # After a hit on the first alone, on both, on the second alone.
    kept = np.array([[first.b, 1.0], [first.b, second.b], [1.0, second.b]])
    low1, low2 = kept[:, :1] * share, kept[:, 1:] * (1.0 - share)
    rounds = (1.0 - low1 - low2) / (first.a + second.a)
    after = low1 + first.a * rounds
    probability = _settle(hit, after, cells)
    mass = hit * probability
    sent1 = float(np.sum(mass * rounds * (low1 + after) / 2))
    sent2 = float(np.sum(mass * rounds * (low2 + 1.0 - after) / 2))
    hits = mass.sum(axis=1)
    return Stationary(share, probability, (float(hits[0]), float(hits[1]), float(hits[2])), sent2 / sent1)


def _settle(hit: Result, after: Result, cells: int) -> Result:
    """The stationary probabilities of the grid points."""
    position = np.clip(after * cells, 0.0, float(cells))
    below: npt.NDArray[np.intp] = np.minimum(position.astype(np.intp), cells - 1)
    above = position - below
    probability = np.full(cells + 1, 1.0 / (cells + 1))
    while True:
        mass = hit * probability
        new = np.bincount(below.ravel(), (mass * (1.0 - above)).ravel(), cells + 1)
        new += np.bincount(below.ravel() + 1, (mass * above).ravel(), cells + 1)
        if float(np.max(np.abs(new - probability))) < SETTLED:
            return np.asarray(new / new.sum())
        probability = new


def independent_window(flow: Aimd) -> float:
    """Mean window in packets, times the square root of the loss probability p, if losses are independent and rare.

    This is the other extreme: no operating point, but many flows or random losses, so that each packet is lost with
    probability p at any window. ``W^2`` grows by ``2 a`` per packet; a loss, after an exponential number of packets,
    keeps ``b^2`` of it. Before a loss it is therefore ``2 a / p`` times a sum of exponentials with means ``b^(2k)``,
    whose mean root is known. A cycle sends ``1/p`` packets, and lasts until ``a`` per round has regained ``(1 - b) W``.
    """
    rates = [flow.b ** (-2 * k) for k in range(TERMS)]
    root = 0.0
    for k, mine in enumerate(rates):
        weight = math.prod(other / (other - mine) for j, other in enumerate(rates) if j != k)
        root += weight * math.gamma(1.5) / math.sqrt(mine)
    return flow.a / ((1.0 - flow.b) * math.sqrt(2.0 * flow.a) * root)


def periodic_window(flow: Aimd) -> float:
    """Mean window in packets, times the square root of the loss probability p, if every (1/p)-th packet is lost.

    Floyd, Handley and Padhye (2000) assume this: a sawtooth from ``b W`` to ``W`` in ``(1 - b) W / a`` rounds sends
    ``1/p`` packets. The result is ``sqrt(3/2)`` for Reno; flows with the formula's increases have equal windows.
    """
    return math.sqrt(flow.a * (1.0 + flow.b) / (2.0 * (1.0 - flow.b)))


def whole_packet_window(flow: Aimd, p: float) -> float:
    """Mean window in packets if losses are independent, with probability ``p``, and windows are whole packets.

    Windows are like that in Linux and ns-2: a window grows by one when ``W / a`` packets are acknowledged; a loss keeps
    ``floor(b W)``, at least two, and nothing of the count towards the next increase. The round trip of recovery sends a
    window and adds no growth. The state is the window after a loss, in the stationary distribution of a small matrix.
    Timeouts are left out, so that ``p`` can be a few percent at most.
    """
    top = LEAST_WINDOW + int(8.0 * flow.a / (1.0 - flow.b) / math.sqrt(p))
    windows = np.arange(top + 1)
    step = np.zeros((top + 1, top + 1))
    packets, rounds = np.zeros(top + 1), np.zeros(top + 1)
    needed = np.ceil(windows / flow.a)
    kept = np.maximum(LEAST_WINDOW, np.floor(flow.b * windows + EXACT)).astype(np.intp)
    for start in range(LEAST_WINDOW, top + 1):
        grown = windows[start:]
        reached = np.exp(math.log1p(-p) * np.concatenate(([0.0], np.cumsum(needed[start:])[:-1])))
        lost = reached - np.append(reached[1:], 0.0)
        np.add.at(step[start], kept[start:], lost)
        packets[start] = lost.sum() / p + start
        rounds[start] = (lost / p / grown).sum() + 1.0
    share = np.zeros(top + 1)
    share[LEAST_WINDOW] = 1.0
    while True:
        new = share @ step
        if float(np.max(np.abs(new - share))) < SETTLED:
            return float(new @ packets / (new @ rounds))
        share = new
