"""What applications in the guest did: when messages were complete, and which datagrams arrived."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.kernel.guest import Outcome
from windtunnel.twin.plan import HostFlow, Plan

Floats: TypeAlias = npt.NDArray[np.float64]

#: What a flow of datagrams has not, of a sender's samples.
_OF_TCP = (
    *("cwnd", "ssthresh", "srtt_us", "rttvar_us", "min_rtt_us", "delivered", "delivered_ce", "retransmitted", "lost"),
    *("unacked", "ca_state", "pacing_rate"),
)


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a table that the guest wrote."""
    return list(csv.DictReader(StringIO(text)))


def transfers(outcome: Outcome, plan: Plan, rates: Sequence[float]) -> dict[str, npt.NDArray[Any]]:
    """The table of completed messages; empty if no flow writes any. ``rates``: of each flow's path, in bit/s."""
    numbers = [n for n, flow in enumerate(plan.flows) if flow.controller and flow.schedule and flow.schedule.messages]
    if not numbers:
        return {}
    rows = [(n, row) for n in numbers for row in rows_of(outcome.text(f"done{n}.csv"))]
    flow = np.array([n for n, _ in rows], dtype=np.uint32)
    begin, end, size = (np.array([float(row[name]) for _, row in rows]) for name in ("due_ns", "end_ns", "bytes"))
    rtts = np.array([float(each.rtt) for each in plan.flows])
    # Without a queue, and with the handshake as the only round trip before.
    alone = rtts[flow] + size * 8e9 / np.array(rates)[flow]
    table = {
        "flow": flow,
        "start_s": begin / 1e9,
        "end_s": end / 1e9,
        "size_bytes": size.astype(np.uint64),
        "time_ms": (end - begin) / 1e6,
        "slowdown": (end - begin) / alone,
    }
    order = np.argsort(end, kind="stable")
    return {name: column[order] for name, column in table.items()}


def transfers_summary(flow: HostFlow, number: int, table: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any] | None:
    """The completed messages of a flow; None if it writes none."""
    if not (flow.controller and flow.schedule and flow.schedule.messages):
        return None
    mine = table["flow"] == number
    return {
        "arrived": int(mine.sum()),
        "rejected": 0,
        "completed": int(mine.sum()),
        "completed_bytes": int(table["size_bytes"][mine].sum()),
        "time_ms": distribution(table["time_ms"][mine]) if mine.any() else None,
        "by_size": [],
    }


def datagram_samples(outcome: Outcome, number: int, flow: HostFlow, times: Floats) -> dict[str, Floats]:
    """A flow of datagrams at the ends of the intervals, in the columns of TCP's samples: what left and what arrived.

    Its segment is one datagram, so that the bytes that left are their number.
    """
    assert flow.schedule is not None
    sent = np.array([time for time, _ in flow.schedule.sent])
    sizes = np.array([size for _, size in flow.schedule.sent])
    rows = rows_of(outcome.text(f"came{number}.csv"))
    came = np.array([int(row["came_ns"]) / 1e9 for row in rows])
    arrived = np.array([sizes[int(row["number"]) - 1] for row in rows])
    return {
        **dict.fromkeys((*_OF_TCP, "there"), 0.0 * times),
        "mss": 0.0 * times + 1,
        "bytes_sent": _until(sent, np.ones(len(sent)), times),
        "bytes_acked": _until(came, arrived, times),
    }


def datagrams_summary(outcome: Outcome, number: int, flow: HostFlow) -> tuple[dict[str, Any], dict[str, float] | None]:
    """The datagrams of a flow, and the round trips of those that came back; None if none does.

    Lost is what is missing before the last one that arrived, as in our own receiver.
    """
    assert flow.schedule is not None
    rows = rows_of(outcome.text(f"came{number}.csv"))
    numbers = {int(row["number"]) for row in rows}
    lost = max(numbers, default=0) - len(numbers)
    sent = len(flow.schedule.lines)
    back = _waits(rows_of(outcome.text(f"back{number}.csv")))
    summary = {
        "sent": sent,
        "received": len(numbers),
        "lost": lost,
        "loss_ratio": lost / max(numbers, default=1),
        "duplicates": len(rows) - len(numbers),
        "one_way_ms": distribution(_waits(rows)),
    }
    return summary, distribution(back) if flow.schedule.answers else None


def _until(at: Floats, values: Floats, times: Floats) -> Floats:
    """The sum of the values up to each time."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(sums[np.searchsorted(at, times, side="right")], dtype=float)


def _waits(rows: list[dict[str, str]]) -> Floats:
    """From the sending of datagrams to their arrival, in ms."""
    return np.array([(int(row["came_ns"]) - int(row["sent_ns"])) / 1e6 for row in rows])


def distribution(values: Floats) -> dict[str, float]:
    """A distribution as a summary has it; 0 where there are no values."""
    if not len(values):
        return dict.fromkeys(("min", "mean", "p50", "p95", "p99", "max"), 0.0)
    p50, p95, p99 = (float(v) for v in np.percentile(values, (50, 95, 99)))
    return {
        "min": float(values.min()),
        "mean": float(values.mean()),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "max": float(values.max()),
    }
