"""Answers to congestion: from the first sign of it until all is acknowledged that was in flight then.

A sender answers a window of losses or marks once (RFC 5681 section 3.2, RFC 6675 section 5, RFC 3168 section 6.1.2). An
answer begins with the first segment that is sent again, or the first echo of a mark; it ends with the acknowledgement
of what had been sent before. The window before it is the most that was in flight in the round trip before; what it
leaves is in flight right after its end, before the window has grown again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.limits import APPLICATION, RECEIVER, Codes
from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.trace import FAST, NEW, TIMEOUT, UNSEEN, Columns, Flow, place, stretches

#: What caused an answer.
LOSS, MARK, TIME_OUT = "loss", "mark", "timeout"
CAUSES = (LOSS, MARK, TIME_OUT)
#: Answers that are examined: more would not tell more.
_MOST = 5_000
#: Of a round trip: in which the window before an answer is looked for, and the one after it.
_BEFORE, _AFTER = 1.5, 0.25
#: A repair of one round trip takes less than this many; fewer departures than this, or a smaller fall in segments,
#: show no order.
_REPAIR, _LEAST_REPAIR, _LEAST_FALL = 1.7, 6, 8
#: The part of its first round trip in which its order shows.
_EARLY = 0.8
#: Echoes that go on for less than this part of a round trip belong to the answer before them.
_RESIDUE = 0.25
#: The least retransmission timeout that is in use (Linux).
_LEAST_RTO_NS = 200_000_000
#: A silence this many round trips before a repair, or in it, is a timeout's if no more departures than this follow it
#: in a round trip.
_SILENT_BEFORE, _RESTARTS_WITH = 3, 3
#: Departures in which the end of what has been sent is looked for at once.
_STEP = 4096

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CongestionAnswer:
    """One answer. Windows are in segments, times in seconds."""

    start_s: float
    end_s: float
    cause: str
    before: float
    #: What it left, once all was repaired; NaN where nothing was sent then.
    after: float
    #: Segments that were sent again.
    lost: int
    #: The usual flight at the early departures in it, from 0, what it left, to 1, what was before; NaN where it took
    #: longer than a repair of one round trip.
    in_repair: float
    #: After a timeout: in flight once the first segment was sent again. NaN without.
    restart: float
    #: The first and the last acknowledgement in it, by number.
    first_ack: int
    last_ack: int
    #: Something else than the sender's window or pace ruled before it, so that the window before is not known.
    unused: bool

    @property
    def kept(self) -> float:
        """The share of the window that it left."""
        return self.after / self.before if self.before > 0 else float("nan")


def answers_of(flow: Flow, rounds: Rounds, codes: Codes | None) -> list[CongestionAnswer]:
    """The answers of a connection whose packets are known, in order."""
    if flow.sends is None or flow.acks is None or not len(flow.sends["t_ns"]):
        return []
    return list(islice(_Walk(flow, rounds, codes, flow.sends, flow.acks).answers(), _MOST))


def _is_repair(kinds: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.asarray((kinds == FAST) | (kinds == TIMEOUT) | (kinds == UNSEEN))


class _Walk:
    def __init__(self, flow: Flow, rounds: Rounds, codes: Codes | None, sends: Columns, acks: Columns) -> None:
        self.flow, self.rounds, self.codes, self.sends, self.acks = flow, rounds, codes, sends, acks
        kinds = sends["kind"]
        again = (part.start + np.flatnonzero(_is_repair(kinds[part])) for part in stretches(len(kinds)))
        self.again: Index = np.concatenate(list(again))
        self.marks: Index = np.flatnonzero(echoes(flow, acks))
        self.least_back = 0 if flow.at_sender else round(1e9 * flow.back_s)

    def answers(self) -> Iterator[CongestionAnswer]:
        sent, acked, earliest = self.sends["t_ns"], self.acks["t_ns"], 0
        send = ack = 0
        while True:
            n, m = place(self.again, send), place(self.marks, ack)
            starts = []
            if n < len(self.again):
                starts.append((int(sent[self.again[n]]), int(self.again[n])))
            if m < len(self.marks):
                heard = self._heard(int(self.marks[m]))
                starts.append((heard, place(sent, heard)))
            if not starts:
                return
            time, first = min(starts)
            last_ack = place(self.acks["ack"], self._sent_before(first))
            if last_ack >= len(acked):
                return
            end = self._heard(last_ack)
            after = place(sent, end)
            first_ack = place(acked, time - self.least_back)
            yield self._answer(time, end, (earliest, first, max(after, first)), (first_ack, last_ack))
            earliest, send, ack = after, max(after, first + 1), max(self._echo_after(last_ack), ack + 1)

    def _heard(self, ack: int) -> int:
        """When the sender's segments show that it has heard an acknowledgement, as the capture point saw them."""
        time = int(self.acks["t_ns"][ack])
        if self.flow.at_sender:
            return time
        first = place(self.sends["t_ns"], time + self.least_back)
        ways = self.sends["back_ns"][first : first + _STEP]
        have = np.flatnonzero(ways)
        return time + (int(ways[have[0]]) if len(have) else self.least_back)

    def _echo_after(self, last_ack: int) -> int:
        """The first acknowledgement after an answer whose mark calls for another one.

        A classic echo goes on until the sender's CWR has arrived, which may be a little later than the end of the
        answer seems to be from far away.
        """
        next_ack = last_ack + 1
        at = place(self.marks, next_ack)
        run = self.marks[at : at + _STEP]
        length = int(np.argmin(np.append(run - np.arange(len(run)) == next_ack, False)))
        if not length:
            return next_ack
        lasted = int(self.acks["t_ns"][int(run[length - 1])]) - int(self.acks["t_ns"][last_ack])
        return next_ack + length if lasted < _RESIDUE * 1e9 * self.rounds.usual_rtt() else next_ack

    def _last_new(self, first: int) -> int:
        """The last departure of new data before another one; -1 if there is none."""
        for stop in range(first, 0, -_STEP):
            part = slice(max(stop - _STEP, 0), stop)
            new = np.flatnonzero(self.sends["kind"][part] == NEW)
            if len(new):
                return part.start + int(new[-1])
        return -1

    def _sent_before(self, first: int) -> int:
        """The end of all data that were sent before a departure."""
        row = self._last_new(first)
        return int(self.sends["seq"][max(row, 0)]) + (int(self.sends["payload"][row]) if row >= 0 else 0)

    def _in_repair(self, time: int, end: int, rows: slice, whole: float, rest: float, rtt_ns: float) -> float:
        """The usual flight at the early departures, from 0 (what is left) to 1 (what was before)."""
        hidden = end - time >= _REPAIR * rtt_ns or rows.stop - rows.start < _LEAST_REPAIR
        # Farther away departures and acknowledgements are in another order.
        if not self.flow.at_sender or hidden or not whole - rest >= _LEAST_FALL:
            return float("nan")
        soon = min(rows.stop, place(self.sends["t_ns"], time + _EARLY * rtt_ns))
        usual = float(np.median(self.sends["in_flight"][rows.start : soon])) / self.flow.mss
        return (usual - rest) / (whole - rest)

    def _was_silent(self, time: int, after: int, rtt_ns: float) -> bool:
        """Whether a silence precedes the repair, and few departures follow it: where the lost segments were never seen,
        a timeout shows by it.
        """
        sent = self.sends["t_ns"]
        since = max(place(sent, time - _SILENT_BEFORE * rtt_ns) - 1, 0)
        gaps = np.diff(sent[since : after + 1])
        if not len(gaps) or gaps.max() < max(_LEAST_RTO_NS, rtt_ns):
            return False
        restarts = since + 1 + int(np.argmax(gaps))
        return place(sent, int(sent[restarts]) + 0.8 * rtt_ns) - restarts <= _RESTARTS_WITH

    def _answer(self, time: int, end: int, rows: tuple[int, int, int], acks: tuple[int, int]) -> CongestionAnswer:
        earliest, first, after = rows
        sent, flight, mss = self.sends["t_ns"], self.sends["in_flight"], float(self.flow.mss)
        at = int(np.clip(np.searchsorted(self.rounds.start, time / 1e9, "right") - 1, 0, len(self.rounds) - 1))
        rtt = float(self.rounds.rtt[max(at - 1, 0) : at + 2][0])
        rtt_ns = 1e9 * (rtt if np.isfinite(rtt) else self.rounds.usual_rtt())
        # Before a timeout there is a silence.
        last = min(time, int(sent[max(self._last_new(first), 0)])) if first else time
        since = max(place(sent, last - _BEFORE * rtt_ns), earliest)
        ahead = flight[since : max(first, since + 1)]
        until = place(sent, end + _AFTER * rtt_ns)
        left = flight[after:until] if until > after else flight[after : after + 1]
        kinds = self.sends["kind"][first:after] if after > first else self.sends["kind"][:0]
        again = _is_repair(kinds)
        expired = np.flatnonzero(kinds == TIMEOUT)
        silent = not self.flow.at_sender and again.any() and self._was_silent(time, after, rtt_ns)
        cause = TIME_OUT if len(expired) or silent else LOSS if again.any() else MARK
        whole, rest = float(ahead.max(initial=0)) / mss, float(left.max()) / mss if len(left) else float("nan")
        return CongestionAnswer(
            time / 1e9,
            end / 1e9,
            cause,
            whole,
            rest,
            int(again.sum()),
            self._in_repair(time, end, slice(first, after), whole, rest, rtt_ns),
            float(flight[first + int(expired[0])]) / mss if len(expired) else float("nan"),
            *acks,
            self.codes is not None
            and bool(np.isin(self.codes[max(at - 1, 0) : at + 1], (APPLICATION, RECEIVER)).all()),
        )
