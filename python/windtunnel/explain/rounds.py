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

from windtunnel.explain.trace import AE, AHEAD, CWR, DUPLICATE, ECE, FAST, TIMEOUT, UNSEEN, Columns, Flow, seconds

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
    mss = float(flow.mss)
    number = int(max(sends["round"].max(), acks["round"].max())) + 1

    def per_round(table: Columns, values: npt.NDArray[Any], how: np.ufunc, start: float) -> Array:
        out = np.full(number, start)
        how.at(out, table["round"], values)
        return out

    sent_at, acked_at = seconds(sends["t_ns"]), seconds(acks["t_ns"])
    start = np.minimum(per_round(sends, sent_at, np.minimum, np.inf), per_round(acks, acked_at, np.minimum, np.inf))
    # Acknowledgements that the sender saw later than the capture may start a round before the last one ended.
    start = np.maximum.accumulate(np.where(np.isfinite(start), start, -np.inf))
    last = max(float(sent_at[-1]), float(acked_at[-1]))
    end = np.append(start[1:], last)
    sampled = acks["rtt_ns"] > 0
    sums = np.bincount(acks["round"][sampled], seconds(acks["rtt_ns"][sampled]), number)
    counts = np.bincount(acks["round"][sampled], minlength=number)
    rtt = np.divide(sums, counts, out=np.full(number, np.nan), where=counts > 0)
    back_mean, back_least = _way_back(flow, sends, number)
    least = np.full(number, np.inf)
    np.minimum.at(least, acks["round"][sampled], seconds(acks["rtt_ns"][sampled]))
    again = np.isin(sends["kind"], (FAST, TIMEOUT, UNSEEN))
    pieces = np.maximum(np.ceil(sends["payload"] / mss), 1)
    ack_count = np.bincount(acks["round"], minlength=number)
    marks = np.bincount(acks["round"], echoes(flow, acks), number)
    after = (acks["kind"] & (DUPLICATE | AHEAD)) == 0
    rounds = Rounds(
        start,
        end,
        np.maximum(per_round(sends, sends["in_flight"], np.maximum, 0.0), 0) / mss,
        per_round({"round": acks["round"][after]}, acks["in_flight"][after], np.minimum, np.inf) / mss,
        rtt + back_mean,
        np.where(np.isfinite(least), least, np.nan) + back_least,
        _sum(sends["round"], sends["payload"] / mss, number),
        _sum(acks["round"], (acks["acked"] + acks["sacked"]) / mss, number),
        _sum(sends["round"], again * pieces, number),
        _sum(sends["round"], sends["kind"] == TIMEOUT, number),
        np.divide(marks, ack_count, out=np.zeros(number), where=ack_count > 0),
    )
    return _keep(rounds, np.isfinite(start) & (rounds.sent + rounds.delivered > 0))


def _way_back(flow: Flow, sends: Columns, number: int) -> tuple[Array, Array]:
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
