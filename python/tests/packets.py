"""A table ``packets`` written by hand: what a run would record of three flows through one queue, as far as captures
show it.

Flow 0 is CUBIC with RFC 3168 ECN: its third segment is dropped and, after three duplicate ACKs with SACK blocks, sent
again; the sixth is marked CE. Flow 1 negotiates MDS: its second segment is marked SCE, and the ACK says so. Flow 2 is
UDP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel import RunResult

FIN, SYN, PSH, ACK, ECE, CWR, AE = 0x001, 0x002, 0x008, 0x010, 0x040, 0x080, 0x100
NOT_ECT, ECT1, ECT0, CE = range(4)
SENDER, QUEUE_IN, QUEUE_OUT, RECEIVER = range(4)
MSS = 1448
MDS_DSCP = 43
NOWHERE = 2**32 - 1
MS = 1_000_000
#: Propagation each way, and the time in the queue.
DELAY, SOJOURN = 10 * MS, 1 * MS

U8 = (
    "tap", "dir", "proto", "ecn", "dscp", "window_scale", "sack_n", "drop", "state", "limit", "mds",
    "ack_rate", "accecn_kind", "accecn_n",
)  # fmt: skip
U32 = ("queue", "flow", "size", "payload", "flags", "accecn1", "accecn2", "accecn3")
SACK = tuple(f"sack{n}_{edge}" for n in (1, 2, 3, 4) for edge in ("start", "end"))
STATE = ("cwnd", "ssthresh", "srtt_ns", "in_flight")
U64 = ("t_ns", "id", "copy_of", "seq", "ack", "ts_val_ns", "ts_ecr_ns", "window", *SACK, *STATE)


@dataclass
class Recording:
    """The rows so far."""

    rows: list[dict[str, int]] = field(default_factory=list)
    packets: int = 0
    #: What each end of a flow has received: when, and the timestamp that the packet carried.
    received: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)

    def data(self, t: int, flow: int, seq: int, *, payload: int = MSS, drop: int = 0, mark: int = -1, **at: Any) -> int:
        """A packet from the sender at ``t``, through the queue to the receiver; returns when it arrives."""
        size = at.pop("size", payload + 52)
        packet = self._packet(t, flow, 0, size, payload=payload, seq=seq, **at)
        state = {"cwnd": 10 * MSS, "ssthresh": 2**64 - 1, "srtt_ns": 21 * MS, "in_flight": payload}
        self._seen(packet, t, SENDER, state=at.get("state", 0), **(state if packet["proto"] == 6 else {}))
        self._seen(packet, t, QUEUE_IN, queue=0, drop=drop)
        if drop:
            return 0
        packet["ecn"] = mark if mark >= 0 else packet["ecn"]
        self._seen(packet, t + SOJOURN, QUEUE_OUT, queue=0)
        there = t + SOJOURN + DELAY
        self._seen(packet, there, RECEIVER)
        self.received.setdefault((flow, 1), []).append((there, t))
        return there

    def ack(self, t: int, flow: int, ack: int, *, sack: Sequence[tuple[int, int]] = (), **at: Any) -> int:
        """A packet from the receiver at ``t``; returns when it reaches the sender."""
        size = at.pop("size", 52 + (4 + 8 * len(sack) if sack else 0))
        blocks = {
            f"sack{n}_{edge}": value
            for n, block in enumerate(sack, start=1)
            for edge, value in zip(("start", "end"), block, strict=True)
        }
        packet = self._packet(t, flow, 1, size, ack=ack, sack_n=len(sack), **blocks, **at)
        self._seen(packet, t, RECEIVER)
        self._seen(packet, t + DELAY, SENDER)
        self.received.setdefault((flow, 0), []).append((t + DELAY, t))
        return t + DELAY

    def _packet(self, t: int, flow: int, direction: int, size: int, **at: Any) -> dict[str, int]:
        self.packets += 1
        _, latest = max((r for r in self.received.get((flow, direction), []) if r[0] <= t), default=(0, 0))
        fixed = {"flow": flow, "dir": direction, "id": self.packets, "size": size, "ts_val_ns": t}
        usual = {
            "proto": 6,
            "ecn": NOT_ECT,
            "flags": ACK,
            "window": 1 << 20,
            "window_scale": 14,
            "ts_ecr_ns": latest,
        }
        return {**usual, **fixed, **at}

    def _seen(self, packet: dict[str, int], t: int, tap: int, **here: int) -> None:
        self.rows.append({**packet, "t_ns": t, "tap": tap, "queue": NOWHERE, **here})

    def table(self) -> dict[str, npt.NDArray[np.generic]]:
        """The columns, in order of time."""
        rows = sorted(self.rows, key=lambda row: row["t_ns"])

        def column(name: str, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
            return np.array([row.get(name, 0) for row in rows], dtype)

        columns = {name: column(name, np.uint8) for name in U8}
        columns |= {name: column(name, np.uint32) for name in U32}
        columns |= {name: column(name, np.uint64) for name in U64}
        return {**columns, "retransmission": column("retransmission", np.bool_)}


def recording() -> Recording:
    """The three flows."""
    run = Recording()
    _cubic(run)
    _mds(run)
    for n in range(3):
        run.data(n * 5 * MS, 2, n, proto=17, size=200, payload=172, ecn=NOT_ECT, dscp=46, flags=0)
    return run


def _handshake(run: Recording, flow: int, *, size: int, mds: int = 0) -> int:
    there = run.data(0, flow, 0, payload=0, size=size, flags=SYN | ECE | CWR, window=64240, mds=mds)
    back = run.ack(there, flow, 1, size=size, seq=0, flags=SYN | ACK | ECE, window=65160, mds=mds)
    run.data(back, flow, 1, payload=0, ack=1)
    return back


def _cubic(run: Recording) -> None:
    """Ten segments; the third is lost in the queue, the sixth marked."""
    t = _handshake(run, 0, size=60)
    sacked_from, echo = 3 * MSS + 1, 0
    for n in range(10):
        lost, marked = n == 2, n == 5
        seq = n * MSS + 1
        sent = t + n * MS // 10
        ecn = {"ecn": ECT0, "mark": CE if marked else -1}
        there = run.data(sent, 0, seq, ack=1, drop=int(lost), flags=ACK | (PSH if n == 9 else 0), **ecn)
        echo = ECE if marked else echo
        if n < 2:
            run.ack(there, 0, seq + MSS, seq=1)
        elif not lost:
            # The latched timestamp is that of the last segment in order (RFC 7323 section 4.3).
            in_order = {"seq": 1, "ts_ecr_ns": t + MS // 10}
            run.ack(there, 0, 2 * MSS + 1, sack=[(sacked_from, seq + MSS)], flags=ACK | echo, **in_order)
    third_duplicate = t + 5 * MS // 10 + SOJOURN + 2 * DELAY
    again = {"flags": ACK | CWR, "retransmission": 1, "state": 3, "ecn": NOT_ECT}
    there = run.data(third_duplicate, 0, 2 * MSS + 1, ack=1, **again)
    run.ack(there, 0, 10 * MSS + 1, seq=1)


def _mds(run: Recording) -> None:
    """Four segments with the MDS identifier; the second is marked SCE."""
    t = _handshake(run, 1, size=68, mds=7)
    for n in range(4):
        marked = n == 1
        seq = n * MSS + 1
        there = run.data(t + n * MS // 10, 1, seq, ack=1, ecn=ECT0, mark=ECT1 if marked else -1, dscp=MDS_DSCP, limit=3)
        run.ack(there, 1, seq + MSS, seq=1, flags=ACK | (AE if marked else 0))


def recorded(table: dict[str, npt.NDArray[np.generic]] | None = None) -> RunResult:
    """The result of a run with these packets."""
    names = (("cubic", "cubic"), ("mds", "reno-mds"), ("voice", "cbr"))
    flows = [{"name": name, "cc": cc, "goodput_mbps": 0.0} for name, cc in names]
    scenario = {
        "mtu": "1500 B",
        "flow": [
            {"name": "cubic", "cc": {"kind": "cubic", "response": "conventional"}, "ecn": True},
            {"name": "mds", "cc": {"kind": "reno", "response": "mds", "tau": 64}, "ack": {"policy": "state-change"}},
            {"name": "voice"},
        ],
    }
    summary = {
        "flows": flows,
        "queues": [{"name": "bottleneck"}],
        "windows": [],
        "seed": 1,
        "digest": "0" * 16,
        "duration_s": 1.0,
    }
    tables = {"packets": table if table is not None else recording().table()}
    return RunResult(summary, tables, {"title": "by hand", "scenario": scenario})
