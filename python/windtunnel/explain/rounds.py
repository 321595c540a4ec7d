"""Round trips: what a sender did in each of them.

A window changes once per round trip, so a round trip is the natural step of its curve. With packets a round ends when
the data are acknowledged that were in flight when it started; in a run's series it lasts as long as the mean round-trip
time then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.trace import (
    AE,
    AHEAD,
    CWR,
    DUPLICATE,
    ECE,
    FAST,
    TIMEOUT,
    UNSEEN,
    Columns,
    Flow,
    seconds,
    stretches,
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rounds:
    """One value per round trip. Amounts are in segments, times in seconds."""

    start: Array
    end: Array
    #: The most that was in flight.
    window: Array
    #: The least that was in flight after an acknowledgement.
    least: Array
    rtt: Array
    rtt_min: Array
    #: Sent, and delivered.
    sent: Array
    delivered: Array
    #: Segments sent again because they were lost, and timeouts.
    lost: Array
    timeouts: Array
    #: The share of acknowledgements that echo a mark.
    marked: Array

    def __len__(self) -> int:
        return len(self.start)

    def only(self, keep: npt.NDArray[np.bool_]) -> Rounds:
        """Some of the rounds."""
        return Rounds(*(np.asarray(getattr(self, name), float)[keep] for name in Rounds.__dataclass_fields__))

    def least_rtt(self) -> float:
        """NaN without a sample."""
        return float(np.nanmin(self.rtt_min)) if np.isfinite(self.rtt_min).any() else np.nan

    def usual_rtt(self) -> float:
        """The median; without samples that of how long rounds are."""
        return float(np.nanmedian(self.rtt) if np.isfinite(self.rtt).any() else np.median(self.end - self.start))

    def rate(self) -> Array:
        """Segments delivered per second."""
        return self.delivered / np.maximum(self.end - self.start, 1e-9)

    def queue(self) -> Array:
        """Segments in queues: the flight's share that the round-trip time exceeds its least by."""
        return self.window * np.clip(1 - self.least_rtt() / np.maximum(self.rtt, 1e-9), 0, 1)


def rounds_of(flow: Flow) -> Rounds | None:
    """The rounds of a connection; None if it has too few packets."""
    if flow.sends is not None and flow.acks is not None:
        if len(flow.sends["t_ns"]) < 2 or len(flow.acks["t_ns"]) < 2:
            return None
        return _of_packets(flow, flow.sends, flow.acks)
    return None if flow.series is None else _of_series(flow, flow.series)


def _of_packets(flow: Flow, sends: Columns, acks: Columns) -> Rounds | None:
    number = int(max(sends["round"].max(), acks["round"].max())) + 1
    of_sends, of_acks = _departures(flow, sends, number), _acknowledgements(flow, acks, number)
    start = np.minimum(of_sends.start, of_acks.start)
    # Acknowledgements that the sender saw later than the capture may start a round before the last one ended.
    start = np.maximum.accumulate(np.where(np.isfinite(start), start, -np.inf))
    last = max(float(sends["t_ns"][-1]), float(acks["t_ns"][-1])) / 1e9
    back_mean, back_least = way_back(flow, sends, number)
    rounds = Rounds(
        start,
        np.append(start[1:], last),
        of_sends.window,
        of_acks.least,
        _ratio(of_acks.rtt_sum, of_acks.rtt_count, np.nan) + back_mean,
        np.where(np.isfinite(of_acks.rtt_least), of_acks.rtt_least, np.nan) + back_least,
        of_sends.sent,
        of_acks.delivered,
        of_sends.lost,
        of_sends.timeouts,
        _ratio(of_acks.marks, of_acks.count, 0.0),
    )
    return _keep(rounds, np.isfinite(start) & (rounds.sent + rounds.delivered > 0))


def _ratio(part: Array, whole: Array, without: float) -> Array:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), without), where=whole > 0))


class _Departures:
    """Of the segments sent in each round."""

    def __init__(self, number: int) -> None:
        self.start, self.window = np.full(number, np.inf), np.zeros(number)
        self.sent, self.lost, self.timeouts = np.zeros(number), np.zeros(number), np.zeros(number)


def _departures(flow: Flow, sends: Columns, number: int) -> _Departures:
    mss, out = float(flow.mss), _Departures(number)
    for part in stretches(len(sends["t_ns"])):
        round_, kind, payload = sends["round"][part], sends["kind"][part], sends["payload"][part]
        np.minimum.at(out.start, round_, seconds(sends["t_ns"][part]))
        np.maximum.at(out.window, round_, sends["in_flight"][part] / mss)
        out.sent += np.bincount(round_, payload / mss, number)
        again = np.isin(kind, (FAST, TIMEOUT, UNSEEN))
        out.lost += np.bincount(round_[again], np.maximum(np.ceil(payload[again] / mss), 1), number)
        out.timeouts += np.bincount(round_[kind == TIMEOUT], minlength=number)
    return out


class _Acknowledgements:
    """Of the acknowledgements in each round."""

    def __init__(self, number: int) -> None:
        self.start, self.least = np.full(number, np.inf), np.full(number, np.inf)
        self.rtt_least, self.rtt_sum, self.rtt_count = np.full(number, np.inf), np.zeros(number), np.zeros(number)
        self.delivered, self.count, self.marks = np.zeros(number), np.zeros(number), np.zeros(number)


def _acknowledgements(flow: Flow, acks: Columns, number: int) -> _Acknowledgements:
    mss, out = float(flow.mss), _Acknowledgements(number)
    marks = echoes(flow, acks)
    for part in stretches(len(acks["t_ns"])):
        round_, flight = acks["round"][part], acks["in_flight"][part] / mss
        np.minimum.at(out.start, round_, seconds(acks["t_ns"][part]))
        after = (acks["kind"][part] & (DUPLICATE | AHEAD)) == 0
        np.minimum.at(out.least, round_[after], flight[after])
        sampled = acks["rtt_ns"][part] > 0
        rtt, of_rtt = seconds(acks["rtt_ns"][part][sampled]), round_[sampled]
        np.minimum.at(out.rtt_least, of_rtt, rtt)
        out.rtt_sum += np.bincount(of_rtt, rtt, number)
        out.rtt_count += np.bincount(of_rtt, minlength=number)
        out.delivered += np.bincount(round_, acks["delivered"][part] / mss, number)
        out.count += np.bincount(round_, minlength=number)
        out.marks += np.bincount(round_[marks[part]], minlength=number)
    return out


def way_back(flow: Flow, sends: Columns, number: int) -> tuple[Array, Array]:
    """From the capture point to the sender and back, by round: the mean and the least; 0 at the sender."""
    mean, least = np.full(number, flow.back_s), np.full(number, flow.back_s)
    if flow.at_sender:
        return np.zeros(number), np.zeros(number)
    sampled = sends["back_ns"] > 0
    rounds, back = sends["round"][sampled], seconds(sends["back_ns"][sampled])
    count = np.bincount(rounds, minlength=number)
    np.divide(np.bincount(rounds, back, number), count, out=mean, where=count > 0)
    low = np.full(number, np.inf)
    np.minimum.at(low, rounds, back)
    return mean, np.where(np.isfinite(low), low, least)


def _sum(rounds: npt.NDArray[Any], values: npt.NDArray[Any], number: int) -> Array:
    return np.asarray(np.bincount(rounds, values, number), float)


def echoes(flow: Flow, acks: Columns) -> npt.NDArray[np.bool_]:
    """Which acknowledgements report marks: by ECE (RFC 3168), or by a change of the counter in the flags (RFC
    9768).
    """
    if not flow.accecn:
        return np.asarray((acks["flags"] & ECE) > 0)
    counter = acks["flags"] & (AE | CWR | ECE)
    return np.concatenate([[False], np.diff(counter.astype(int)) != 0])


def _of_series(flow: Flow, series: Columns) -> Rounds | None:
    time = np.asarray(series["time_s"], float)
    if len(time) < 2:
        return None
    mss = float(flow.mss)
    srtt = np.asarray(series["srtt_ms"], float) / 1e3
    steps, at = [0], float(time[0])
    # Each round lasts one round-trip time, at least one interval of the recording.
    for n in range(1, len(time)):
        if not np.isfinite(srtt[n]) or time[n] - at >= max(srtt[n], 1e-6) * (1 - 1e-9):
            steps.append(n)
            at = float(time[n])
    edges = np.array([*steps, len(time)])
    group = np.repeat(np.arange(len(steps)), np.diff(edges))

    def total(name: str) -> Array:
        column = np.nan_to_num(np.asarray(series.get(name, np.zeros(len(time))), float))
        return _sum(group, column, len(steps))

    def extreme(values: npt.NDArray[Any], how: np.ufunc, start: float) -> Array:
        out = np.full(len(steps), start)
        values = np.asarray(values, float)
        have = np.isfinite(values)
        how.at(out, group[have], values[have])
        return np.where(np.isfinite(out), out, np.nan)

    rtt = np.asarray(series["rtt_mean_ms"], float) / 1e3
    have = np.isfinite(rtt)
    counts = np.bincount(group[have], minlength=len(steps))
    mean = np.divide(
        np.bincount(group[have], rtt[have], len(steps)), counts, out=np.full(len(steps), np.nan), where=counts > 0
    )
    flight = np.nan_to_num(np.asarray(series["in_flight_bytes"], float))
    ce, delivered = total("ce"), total("delivered_bytes") / mss
    rounds = Rounds(
        time[steps],
        np.append(time[steps[1:]], time[-1]),
        np.maximum(extreme(flight, np.maximum, -np.inf), 0) / mss,
        extreme(flight, np.minimum, np.inf) / mss,
        mean,
        extreme(np.asarray(series["rtt_min_ms"], float) / 1e3, np.minimum, np.inf),
        total("sent"),
        delivered,
        total("retransmits"),
        total("rtos"),
        np.clip(np.divide(ce, delivered, out=np.zeros(len(steps)), where=delivered > 0), 0, 1),
    )
    return _keep(rounds, (rounds.sent > 0) | (rounds.delivered > 0))


def _keep(rounds: Rounds, keep: npt.NDArray[np.bool_]) -> Rounds | None:
    return rounds.only(keep) if keep.sum() >= 2 else None
