"""How a sender finds losses and probes for them, seen from outside: when packets leave and arrive, and when bytes count
as lost (RFC 9002 section 6).

Runs need captures (``record.packets``) and the controller's state at every change (``record.state = "changes"``) with a
number ``lost``, as real stacks have it. The view names one flow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from windtunnel.metrics import Array
from windtunnel.papers.features.captures import ACK, DATA, RECEIVER, SENDER
from windtunnel.papers.features.method import method
from windtunnel.papers.features.probes import state
from windtunnel.papers.features.view import View, flow_numbers

#: Bytes of payload above which a packet carries data, and not only ACK frames.
DATA_BYTES = 100
#: Times are numbers of nanoseconds, and sums of them.
ROUNDING_S = 1e-6
#: Packets closer than this to the one before, in seconds, are in its burst.
BURST_S = 0.02
#: kTimeThreshold of RFC 9002 section 6.1.2.
TIME_THRESHOLD = 9.0 / 8.0
#: A loss is examined if no other is this near, in seconds.
ALONE_S = 1.0


@dataclass(frozen=True)
class Loss:
    """A packet with data that was lost alone. Times are in seconds, and infinite for what never happened."""

    sent: float
    declared: float
    """When it counted as lost, or the end of the time that is examined."""
    acknowledged: int
    """How many later packets can have been acknowledged by then."""
    third: float
    """When the third later packet can have been acknowledged."""
    next: float
    """When the next packet of any size left."""


@dataclass(frozen=True)
class Wire:
    """The packets of one flow: times in seconds, by packet."""

    view: View

    @cached_property
    def flow(self) -> int:
        """The number of the flow."""
        (flow,) = flow_numbers(self.view.flow)
        return flow

    def times(self, tap: int, direction: int, least: int = 0) -> tuple[Array, Array]:
        """When packets of more than ``least`` bytes of payload pass a point, and their numbers."""
        table = self.view.run.tables["packets"]
        keep = (np.asarray(table["flow"]) == self.flow) & (np.asarray(table["tap"]) == tap)
        keep &= (np.asarray(table["dir"]) == direction) & (np.asarray(table["payload"], dtype=np.int64) > least)
        time = np.asarray(table["t_ns"], dtype=np.float64)[keep] * 1e-9
        return time, np.asarray(table["id"], dtype=np.float64)[keep]

    @cached_property
    def way_back(self) -> float:
        """The shortest time of an ACK from receiver to sender."""
        left, numbers = self.times(RECEIVER, ACK)
        arrived, same = self.times(SENDER, ACK)
        _, a, b = np.intersect1d(numbers, same, return_indices=True)
        return float(np.min(arrived[b] - left[a])) if len(a) else math.nan

    @cached_property
    def losses(self) -> list[Loss]:
        """The losses of data packets that were alone, in order of time."""
        sent, numbers = self.times(SENDER, DATA)
        _, delivered = self.times(RECEIVER, DATA)
        missing = ~np.isin(numbers, delivered)
        lost = sent[missing]
        _, with_data = self.times(SENDER, DATA, DATA_BYTES)
        time, total = state(self.view.run.tables, self.flow, "lost")
        declared = time[1:][np.diff(total) > 0]
        return [
            self._loss(float(at), float(number), declared)
            for before, at, after, number in zip(
                (-math.inf, *lost[:-1]), lost, (*lost[1:], math.inf), numbers[missing], strict=True
            )
            if at - before > ALONE_S and after - at > ALONE_S and number in with_data
        ]

    def _loss(self, at: float, number: float, declared: Array) -> Loss:
        """The loss of the packet ``number`` sent at ``at``."""
        arrived, delivered = self.times(RECEIVER, DATA)
        left, numbers = self.times(SENDER, DATA)
        acknowledged = np.sort(arrived[delivered > number]) + self.way_back
        first = _first(declared[(declared > at) & (declared < at + ALONE_S)], at + ALONE_S)
        return Loss(
            at,
            first,
            int(np.sum(acknowledged <= first + ROUNDING_S)),
            _first(acknowledged[2:], math.inf),
            _first(left[numbers > number], math.inf),
        )


def _first(times: Array, otherwise: float) -> float:
    return float(times[0]) if len(times) else otherwise


def _quantile(values: list[float], quantile: float) -> float:
    return float(np.quantile(values, quantile)) if values else math.nan


@method
def loss_packets(view: View, quantile: float) -> float:
    """How many later packets can have been acknowledged when a loss was declared."""
    return _quantile([loss.acknowledged for loss in Wire(view).losses], quantile)


@method
def loss_time(view: View, quantile: float) -> float:
    """After how many round trips of the empty path a packet was declared lost where the time threshold comes first: one
    followed within a round trip, and fewer than three can have been acknowledged by then.
    """
    wire = Wire(view)
    rtt = 2.0 * wire.way_back
    alone = [loss for loss in wire.losses if loss.next < loss.sent + rtt]
    timed = [loss for loss in alone if loss.third > loss.sent + TIME_THRESHOLD * rtt]
    return _quantile([(loss.declared - loss.sent) / rtt for loss in timed], quantile)


@method
def probe_time(view: View, quantile: float) -> float:
    """How long after a lost packet that none followed in a round trip the next packet left, in milliseconds."""
    wire = Wire(view)
    times = [loss.next - loss.sent for loss in wire.losses]
    return _quantile([1e3 * time for time in times if time > 2.0 * wire.way_back], quantile)


def bursts(view: View, start: float, stop: float) -> list[tuple[float, int]]:
    """The bursts that the sender sends within a window: when each starts, and how many packets it has."""
    times, _ = Wire(view).times(SENDER, DATA)
    times = times[(times >= start) & (times < stop)]
    if not len(times):
        return []
    first = np.concatenate(([0], np.flatnonzero(np.diff(times) > BURST_S) + 1, [len(times)]))
    return [(float(times[a]), int(b - a)) for a, b in pairwise(first)]


@method
def burst_gap(view: View, number: float, start: float, stop: float) -> float:
    """The time from burst ``number`` (from 1) to the next, in seconds."""
    at = [time for time, _ in bursts(view, start, stop)]
    index = int(number)
    return at[index] - at[index - 1] if 0 < index < len(at) else math.nan


@method
def backoff(view: View, start: float, stop: float) -> float:
    """By which factor the time from burst to burst grows: the geometric mean."""
    at = np.array([time for time, _ in bursts(view, start, stop)])
    gaps = np.diff(at)
    return float((gaps[-1] / gaps[0]) ** (1.0 / (len(gaps) - 1))) if len(gaps) > 1 else math.nan


@method
def longest_burst(view: View, start: float, stop: float) -> float:
    """The packets of the longest burst."""
    return float(max((packets for _, packets in bursts(view, start, stop)), default=math.nan))


@method
def most_within(view: View, ms: float, start: float, stop: float) -> float:
    """The most packets that leave within a time of ``ms`` milliseconds."""
    times, _ = Wire(view).times(SENDER, DATA, DATA_BYTES)
    times = times[(times >= start) & (times < stop)]
    ends = np.searchsorted(times, times + 1e-3 * ms, side="left")
    return float(np.max(ends - np.arange(len(times)))) if len(times) else math.nan


@method
def ect_share(view: View, start: float, stop: float) -> float:
    """The part of the packets with data that the sender sends as ECN-capable, from 0 to 1."""
    table = view.run.tables["packets"]
    time = np.asarray(table["t_ns"], dtype=np.float64) * 1e-9
    keep = (np.asarray(table["flow"]) == Wire(view).flow) & (np.asarray(table["tap"]) == SENDER)
    keep &= (np.asarray(table["dir"]) == DATA) & (np.asarray(table["payload"], dtype=np.int64) > DATA_BYTES)
    ecn = np.asarray(table["ecn"])[keep & (time >= start) & (time < stop)]
    return float(np.mean(ecn != 0)) if len(ecn) else math.nan
