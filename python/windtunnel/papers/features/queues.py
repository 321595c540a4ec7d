"""The bottleneck's queue, from the interval series: its growth between responses, how much its delay varies, and the
state of its AQM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from windtunnel.metrics import Array
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View

#: Shortest stretch between responses that counts, in round trips.
FEWEST_ROUNDS = 5


@dataclass(frozen=True)
class Filling:
    """For each interval its end in seconds, the packets in the queue and the round trip of the ACKs at that time, and
    whether no flow responds to a loss in it; shape ``(t,)``.
    """

    time: Array
    packets: Array
    rtt_s: Array
    quiet: npt.NDArray[np.bool_]


def _filling(view: View) -> Filling:
    """An interval is quiet if there is a queue, and no drop, no loss found, no retransmission and no smaller window."""
    time, windows = matrix(view, "cwnd_bytes")
    _, lost = matrix(view, "lost")
    _, repeated = matrix(view, "retransmits")
    _, rtt_ms = matrix(view, "rtt_mean_ms")
    queue = view.run.tables["queues"]
    packets = np.asarray(queue["backlog_packets"], dtype=np.float64)
    drops = np.asarray(queue["drops"], dtype=np.float64)
    smaller = np.diff(windows, axis=0, prepend=windows[:1]) < 0
    response = (drops > 0) | (smaller | (lost > 0) | (repeated > 0)).any(axis=1)
    # The mean over an interval is about the value at its middle.
    middle = time - np.diff(time, prepend=0.0) / 2
    rtt_s = 1e-3 * np.interp(time, middle, np.nan_to_num(rtt_ms.mean(axis=1)))
    return Filling(time, packets, rtt_s, ~response & (packets > 0))


@method
def queue_growth(view: View, start: float, stop: float) -> float:
    """Mean growth of the queue per round trip, in packets, while no flow responds to a loss.

    The growth is the queue at the end of an interval minus the queue one round trip earlier, as the ACKs at that time
    measure the round trip. All round trips count alike.
    """
    filling = _filling(view)
    time, chosen = filling.time, filling.quiet & (filling.time > start) & (filling.time <= stop)
    grown, rounds = 0.0, 0
    for first, past in np.flatnonzero(np.diff(chosen.astype(int), prepend=0, append=0)).reshape(-1, 2):
        count, at = 0, float(time[past - 1])
        while (earlier := at - float(np.interp(at, time, filling.rtt_s))) >= time[first] and earlier < at:
            count, at = count + 1, earlier
        if count >= FEWEST_ROUNDS:
            grown += float(filling.packets[past - 1] - np.interp(at, time, filling.packets))
            rounds += count
    return grown / rounds if rounds else math.nan


@method
def delay_deviation(view: View, start: float, stop: float) -> float:
    """Standard deviation in ms of the queueing delay's means over intervals, all with the same weight."""
    queue = view.run.tables["queues"]
    time, delay = (np.asarray(queue[c], dtype=np.float64) for c in ("time_s", "sojourn_mean_ms"))
    part = delay[(time > start) & (time <= stop)]
    return float(np.nanstd(part)) if np.isfinite(part).any() else math.nan


@method
def flows_hit(view: View, start: float, stop: float, apart: float) -> float:
    """Share of the flows that find a loss in a congestion event, on average over the events.

    An event is a series of intervals with drops, less than ``apart`` seconds from one to the next. A flow is hit if it
    finds a loss between the event's start and ``apart`` seconds after its end.
    """
    queue = view.run.tables["queues"]
    time = np.asarray(queue["time_s"], dtype=np.float64)
    _, lost = matrix(view, "lost")
    drops = np.asarray(queue["drops"], dtype=np.float64)
    full = time[(drops > 0) & (time > start) & (time <= stop)]
    events = np.split(full, np.flatnonzero(np.diff(full) >= apart) + 1) if len(full) else []
    shares = [(lost[(time >= e[0]) & (time <= e[-1] + apart)] > 0).any(axis=0).mean() for e in events]
    return float(np.mean(shares)) if shares else math.nan


@method
def queue_delay_mean(view: View, start: float, stop: float) -> float:
    """Mean over the intervals' mean queueing delays, in ms."""
    queue = view.run.tables["queues"]
    time, delay = (np.asarray(queue[c], dtype=np.float64) for c in ("time_s", "sojourn_mean_ms"))
    part = delay[(time > start) & (time <= stop)]
    return float(np.nanmean(part)) if np.isfinite(part).any() else math.nan


@method
def delay_within(view: View, low: float, high: float, start: float, stop: float) -> float:
    """Share of the intervals in which the mean queueing delay is from ``low`` to ``high`` ms: how flat it is there."""
    queue = view.run.tables["queues"]
    time, delay = (np.asarray(queue[c], dtype=np.float64) for c in ("time_s", "sojourn_mean_ms"))
    part = delay[(time > start) & (time <= stop)]
    return float(np.mean((part >= low) & (part <= high))) if len(part) else math.nan


@method
def time_above(view: View, delay_ms: float, start: float, stop: float) -> float:
    """Seconds of the window in which an interval's mean queueing delay is above ``delay_ms``."""
    queue = view.run.tables["queues"]
    time, delay = (np.asarray(queue[c], dtype=np.float64) for c in ("time_s", "sojourn_mean_ms"))
    width = float(time[1] - time[0]) if len(time) > 1 else math.nan
    part = delay[(time > start) & (time <= stop)]
    return width * float(np.count_nonzero(part > delay_ms)) if len(part) else math.nan


def _number(view: View, number: str, start: float, stop: float) -> Array:
    """The values of a number within the window, in the order of time; none if it was not recorded there."""
    table = view.run.tables["aqm"]
    if number not in table:
        return np.empty(0)
    time, values = (np.asarray(table[c], dtype=np.float64) for c in ("time_s", number))
    return values[(time > start) & (time <= stop) & np.isfinite(values)]


@method
def state_mean(view: View, number: str, start: float, stop: float, factor: float = 1.0) -> float:
    """Mean of a number of the AQM's state over the window, times ``factor``."""
    values = _number(view, number, start, stop)
    return factor * float(values.mean()) if len(values) else math.nan


@method
def state_rise(view: View, number: str, start: float, stop: float) -> float:
    """By how much a count in the AQM's state rises in the window."""
    values = _number(view, number, start, stop)
    return float(values[-1] - values[0]) if len(values) else math.nan


@method
def state_rise_percent(view: View, number: str, band: float, start: float, stop: float) -> float:
    """The rise of a count, in percent of the packets that a band of the queue sends in the window."""
    bands = view.run.tables["bands"]
    time, sent = (np.asarray(bands[c], dtype=np.float64) for c in ("time_s", "dequeued"))
    mine = (np.asarray(bands["band"], dtype=np.int64) == int(band)) & (time > start) & (time <= stop)
    packets = float(sent[mine].sum())
    return 100.0 * state_rise(view, number, start, stop) / packets if packets else math.nan
