"""Numbers that the talk prints and a formula gives: J06 to J08, Scalable's recovery, the range of BBR's rates (P47)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from windtunnel.papers.data_folder import TALK
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.suite import Group, Results

#: The talk's rate law in packets per round trip: T = 1.2 / sqrt(p).
LAW = 1.2
#: Bytes of data in a packet of 1500 bytes with timestamps, and the bits that the link carries for it.
MSS_BITS, PACKET_BITS = 1448 * 8, 12_000
#: Linux's BBR keeps its bandwidth as packets per microsecond times 2^24 in 32 bits.
BW_UNIT = 1 << 24


def pipe_packets(rate_bps: float, rtt_s: float) -> float:
    """Packets that fill the path."""
    return rate_bps * rtt_s / PACKET_BITS


def reno_loss_for(rate_bps: float, rtt_s: float) -> float:
    """The loss probability at which Reno's mean window just fills the path."""
    return (LAW / pipe_packets(rate_bps, rtt_s)) ** 2


def reno_rate_mbps(p: float, rtt_s: float) -> float:
    """Reno's rate with a loss probability."""
    return LAW / math.sqrt(p) * MSS_BITS / rtt_s / 1e6


def reno_recovery_rounds(rate_bps: float, rtt_s: float) -> float:
    """Round trips in which Reno makes up for one halving: half of the window, a packet each."""
    return pipe_packets(rate_bps, rtt_s) / 2


def scalable_recovery_s(rtt_s: float) -> float:
    """Seconds in which Scalable makes up for one loss: from 0.875 of the window, 1 % per round trip."""
    return math.log(1 / 0.875) / math.log(1.01) * rtt_s


def bbr_rate_bps(units: float, bytes_: float) -> float:
    """The rate that a value of BBR's bandwidth stands for, with packets of this size."""
    return units / BW_UNIT * 1e6 * bytes_ * 8


def bbr_rate_tbps(units: float, bytes_: float) -> float:
    """The same in Tbit/s."""
    return bbr_rate_bps(units, bytes_) / 1e12


MODELS: dict[str, Callable[..., float]] = {
    f.__name__: f
    for f in (reno_loss_for, reno_rate_mbps, reno_recovery_rounds, scalable_recovery_s, bbr_rate_bps, bbr_rate_tbps)
}


def numbers_group() -> Group:
    """The numbers, compared with what the formulas give."""
    listed: list[dict[str, Any]] = TALK.toml("numbers.toml")["number"]

    def rows(_: Results) -> list[Row]:
        return [_row(number) for number in listed]

    caption = "Numbers on the slides, and what their formulas give"
    return Group("numbers", "Numbers", caption, [], rows)


def _row(n: dict[str, Any]) -> Row:
    value = MODELS[n["model"]](*n["arguments"])
    note = "; ".join(filter(None, [f'slide "{n["place"]}"', n.get("why", "")]))
    id = f"numbers/{n['id']}"
    return compare(id, "numbers", n["what"], n["published"], n["precision"], [value], n.get("unit", ""), note)
