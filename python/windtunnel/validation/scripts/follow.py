"""What a sender transmitted, in the notation of the scripts, compared with the script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from windtunnel.result import RunResult
from windtunnel.validation.comparison import Line, Values
from windtunnel.validation.scripts.script import Script

#: A pause in sending.
PAUSE_NS = 20_000_000

#: Time to serialise 80 segments at 100 Mbit/s, in s: no script has more in flight.
SERIALISATION = 0.01

FIRST_DATA = 1

#: Bits of the TCP header (RFC 9293 section 3.1, RFC 3168 section 6.1).
FIN, SYN, ECE, CWR = 0x01, 0x02, 0x40, 0x80

#: The counters of a flow's summary that scripts name, with the page's names for them.
COUNTERS = {
    "undos": "reductions undone",
    "ecn_reductions": "reductions for CE",
    "spurious_rtos": "timeouts found to be spurious",
    "tlps": "loss probes",
}

#: The same, together with the counters that are computed here.
NAMES = {**COUNTERS, "ece": "ACKs with ECE", "cwr": "segments with CWR"}


def sent_data(result: RunResult) -> tuple[npt.NDArray[np.bool_], list[npt.NDArray[np.int64]]]:
    """Rows of the table of packets with data or FIN that leave the sender: their indices, grouped between pauses."""
    packets = result.tables["packets"]
    says = (np.asarray(packets["payload"], dtype=np.int64) > 0) | (
        np.asarray(packets["flags"], dtype=np.int64) & FIN > 0
    )
    sent = (np.asarray(packets["tap"]) == 0) & (np.asarray(packets["dir"]) == 0) & says
    rows = np.flatnonzero(sent)
    pauses = np.flatnonzero(np.diff(np.asarray(packets["t_ns"])[rows]) >= PAUSE_NS)
    return sent, np.split(rows, pauses + 1)


def transmissions(result: RunResult, mss: int) -> str:
    """The data segments and FINs that left the sender: consecutive new ones as a range, ``r`` for a retransmission."""
    packets = result.tables["packets"]
    numbers = (np.asarray(packets["seq"]).astype(np.int64) - FIRST_DATA) // mss + 1
    again, payload, flags = (np.asarray(packets[name]) for name in ("retransmission", "payload", "flags"))
    _, bursts = sent_data(result)

    def sent(row: int) -> Sent:
        return Sent(int(numbers[row]) if payload[row] else None, bool(again[row]), bool(int(flags[row]) & FIN))

    return " | ".join(shorten([sent(int(row)) for row in burst]) for burst in bursts)


class Sent(NamedTuple):
    """A transmission: the number of its segment, from 1 on, or None for a FIN without data."""

    number: int | None
    again: bool
    fin: bool = False

    def __str__(self) -> str:
        name = "FIN" if self.number is None else f"{self.number}+FIN" if self.fin else str(self.number)
        return name + ("r" if self.again else "")

    def is_followed_by(self, other: Sent) -> bool:
        """Both belong to one range of new segments."""
        plain = not (self.again or other.again or self.fin or other.fin)
        return plain and self.number is not None and other.number == self.number + 1


def shorten(segments: Sequence[Sent]) -> str:
    """Segments 1, 2 and again 2 as ``1-2 2r``; a FIN as ``FIN``, or ``3+FIN`` if it rides on a segment."""
    parts: list[list[Sent]] = []
    for sent in segments:
        if parts and parts[-1][-1].is_followed_by(sent):
            parts[-1].append(sent)
        else:
            parts.append([sent])
    return " ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def reduce(result: RunResult, mss: int) -> Values:
    """Extract what the lines need."""
    flow = result.flows[0]
    packets = result.tables["packets"]
    at_sender = np.asarray(packets["tap"]) == 0
    flags = np.asarray(packets["flags"], dtype=np.int64)
    data, bursts = sent_data(result)
    times = np.asarray(packets["t_ns"])
    return {
        "sent": transmissions(result, mss),
        "retransmits": flow["retransmits"],
        "episodes": flow["loss_episodes"],
        "rtos": flow["rtos"],
        "delivered": flow["goodput_mbps"] * 1e6 / 8 * result.summary["duration_s"] / mss,
        **{f"begin {n}": int(times[burst[0]]) / 1e9 for n, burst in enumerate(bursts, 1)},
        **{name: float(flow[name]) for name in COUNTERS},
        # A SYN-ACK with ECE agrees to ECN (section 6.1.1).
        "ece": float(np.count_nonzero(at_sender & (np.asarray(packets["dir"]) == 1) & (flags & (SYN | ECE) == ECE))),
        "cwr": float(np.count_nonzero(data & (flags & CWR != 0))),
    }


def lines(script: Script, values: Mapping[str, Values]) -> list[Line]:
    """The sequence, the times, and the counts."""
    run = values[script.name]
    episodes = [] if script.episodes is None else [Line("loss episodes", script.episodes, run["episodes"], 0.0)]
    return [
        Line("transmissions", script.expected, run["sent"], None, "", script.why),
        *(
            Line(f"starts, {n}", begin, run.get(f"begin {n}", float("nan")), SERIALISATION, "s")
            for n, begin in enumerate(script.begins, 1)
        ),
        Line("retransmissions", float(script.retransmits), run["retransmits"], 0.0),
        *episodes,
        Line("timeouts", float(script.rtos), run["rtos"], 0.0),
        *(Line(NAMES[name], count, run[name], 0.0) for name, count in script.counts.items()),
        Line("segments delivered to the application", float(script.segments), run["delivered"], 0.01),
    ]
