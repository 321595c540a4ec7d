"""The segments of a capture or a log as a run's tables ``packets`` and ``flows``: as if recorded at the senders."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.rounds import way_back
from windtunnel.explain.trace import FAST, SENDER, SYN, TIMEOUT, UNKNOWN, UNSEEN, Columns, Flow, Trace, seconds

Array = npt.NDArray[Any]

_TCP = 6
#: Why a segment was sent that is a retransmission; a probe of new data is none.
_AGAIN = (FAST, TIMEOUT, UNSEEN)
#: Intervals in the table ``flows``: at most as many as a panel is wide, and so few that the connection with
#: most acknowledgements has some in each; at least as many as show a course.
_INTERVALS, _LEAST, _ACKS = 1000, 50, 5
#: What a capture without duration has.
_SHORTEST_S = 1e-6
#: Bytes of headers; options are padded to whole words.
_IPV4, _IPV6, _TCP_HEADER, _TIMESTAMPS, _SACK, _BLOCK, _SYN_OPTIONS = 20, 40, 20, 12, 4, 8, 8
_DRAWN = (
    *("t_ns", "flow", "dir", "size", "payload", "seq", "ack", "flags", "ecn", "window"),
    *("sack_n", "sack1_end"),
)


def packets_of(trace: Trace) -> dict[str, Array]:
    """The segments of the connections, in the order of time; empty if there are none."""
    table = _captured(trace) if trace.segments else _logged(trace)
    if not table or not len(table["t_ns"]):
        return {}
    again = np.zeros(len(table["t_ns"]), np.bool_)
    for index, flow in enumerate(trace.flows):
        if flow.sends is not None:
            sent = np.isin(flow.sends["kind"], _AGAIN)
            keys = _key(flow.sends["t_ns"][sent], flow.sends["seq"][sent])
            mine = (table["flow"] == index) & (table["dir"] == 0) & (table["payload"] > 0)
            again[mine] = np.isin(_key(table["t_ns"][mine], table["seq"][mine]), keys)
    constant = {"tap": SENDER, "proto": _TCP, "id": 0, "copy_of": 0}
    fixed = {name: np.broadcast_to(np.uint8(value), len(again)) for name, value in constant.items()}
    return {**table, **fixed, "retransmission": again}


def _key(t_ns: Array, seq: Array) -> Array:
    """What tells departures apart: a number for each time and place in the data."""
    return np.asarray(t_ns, np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.asarray(seq, np.uint64)


def _captured(trace: Trace) -> dict[str, Array]:
    numbers = [flow.number for flow in trace.flows]
    index = np.full(int(trace.segments["flow"].max(initial=0)) + 1, -1, np.int64)
    index[numbers] = np.arange(len(numbers))
    flow = index[trace.segments["flow"]]
    keep = flow >= 0
    rows: Any = slice(None) if keep.all() else keep
    table = {name: trace.segments[name][rows] for name in _DRAWN if name != "size"} | {"flow": flow[rows]}
    table["size"] = _sizes(table, trace.segments["stamped"][rows], trace)
    unscaled = [n for n, each in enumerate(trace.flows) if not each.ends["window_known"]]
    if unscaled:
        table["window"] = np.where(np.isin(table["flow"], unscaled), UNKNOWN, table["window"])
    return table


def _sizes(table: dict[str, Array], stamped: Array, trace: Trace) -> Array:
    """The sizes of the packets: payload, TCP's header with timestamps and SACK blocks, IP's header."""
    ip = np.array([_IPV6 if ":" in str(flow.ends["sender"]["address"]) else _IPV4 for flow in trace.flows])
    # A SYN has more of them: MSS, SACK permitted, window scale.
    options = (
        _SYN_OPTIONS * ((table["flags"] & SYN) > 0)
        + _TIMESTAMPS * stamped
        + np.where(table["sack_n"] > 0, _SACK + _BLOCK * table["sack_n"].astype(int), 0)
    )
    return np.asarray(table["payload"] + ip[table["flow"]] + _TCP_HEADER + options, np.uint32)


def _logged(trace: Trace) -> dict[str, Array]:
    """Of a log: its departures and acknowledgements."""
    parts = []
    for index, flow in enumerate(trace.flows):
        if flow.sends is None or flow.acks is None:
            continue
        for direction, rows in enumerate((flow.sends, flow.acks)):
            count = len(rows["t_ns"])
            zeros = np.zeros(count, np.uint64)
            part = {name: rows.get(name, zeros) for name in _DRAWN}
            part |= {"flow": np.full(count, index), "dir": np.full(count, direction), "size": part["payload"]}
            # Logs do not tell it.
            part["window"] = np.full(count, UNKNOWN)
            parts.append(part)
    if not parts:
        return {}
    table = {name: np.concatenate([part[name] for part in parts]) for name in _DRAWN}
    order = np.argsort(table["t_ns"], kind="stable")
    return {name: column[order] for name, column in table.items()}


def intervals_of(trace: Trace) -> dict[str, Array]:
    """The connections over time, in equal intervals: rates, round-trip times, what is in flight, retransmissions."""
    most = max((len(flow.acks["t_ns"]) for flow in trace.flows if flow.acks is not None), default=_INTERVALS * _ACKS)
    number = int(np.clip(most // _ACKS, _LEAST, _INTERVALS))
    step = max(trace.duration_s, _SHORTEST_S) / number
    ends = step * np.arange(1, number + 1)
    parts = []
    for index, flow in enumerate(trace.flows):
        rows = _of_packets(flow, step, number) if flow.sends is not None else _of_series(flow, step, number)
        parts.append({"time_s": ends, "flow": np.full(number, index), **rows})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_packets(flow: Flow, step: float, number: int) -> dict[str, Array]:
    sends, acks = flow.sends or {}, flow.acks or {}
    sent_at, acked_at = seconds(sends["t_ns"]), seconds(acks["t_ns"])
    sent, acked = (np.minimum(at / step, number - 1).astype(np.int64) for at in (sent_at, acked_at))
    sampled = acks["rtt_ns"] > 0
    rounds = int(max(sends["round"].max(initial=0), acks["round"].max(initial=0))) + 1
    back = way_back(flow, sends, rounds)[0][acks["round"][sampled]]
    rtt = 1e3 * (seconds(acks["rtt_ns"][sampled]) + back)
    # Acknowledgements of an instant come before the departures that they allow.
    order = np.argsort(np.concatenate([acked_at, sent_at]), kind="stable")
    flight = np.concatenate([acks["in_flight"], sends["in_flight"]])[order]
    kinds = sends["kind"]
    return {
        "throughput_mbps": _sums(acked, acks["delivered"], number) * 8 / step / 1e6,
        "in_flight_bytes": _last(np.concatenate([acked, sent])[order], flight, number),
        **_spread(acked[sampled], rtt, number),
        "retransmits": _sums(sent, np.isin(kinds, _AGAIN), number).astype(np.int64),
        "rtos": _sums(sent, kinds == TIMEOUT, number).astype(np.int64),
    }


def _of_series(flow: Flow, step: float, number: int) -> dict[str, Array]:
    series: Columns = flow.series or {}
    time = np.asarray(series.get("time_s", np.empty(0)), np.float64)
    at = np.minimum(time / step, number - 1).astype(np.int64)

    def column(name: str) -> Array:
        return np.asarray(series.get(name, np.full(len(time), np.nan)), np.float64)

    rtt = column("rtt_mean_ms")
    have = np.isfinite(rtt)
    return {
        "throughput_mbps": np.zeros(number),
        "in_flight_bytes": _last(at, column("in_flight_bytes"), number),
        **_spread(at[have], rtt[have], number),
        "retransmits": _sums(at, np.nan_to_num(column("retransmits")), number).astype(np.int64),
        "rtos": np.zeros(number, np.int64),
    }


def _sums(at: Array, values: Array, number: int) -> npt.NDArray[np.float64]:
    return np.asarray(np.bincount(at, np.asarray(values, np.float64), number), np.float64)


def _last(at: Array, values: Array, number: int) -> npt.NDArray[np.float64]:
    """The value at the end of each interval; NaN before the first. ``at`` ascends."""
    until = np.searchsorted(at, np.arange(number), side="right")
    levels = np.append(np.nan, np.asarray(values, np.float64))
    return np.asarray(levels[until], np.float64)


def _spread(at: Array, values: Array, number: int) -> dict[str, npt.NDArray[np.float64]]:
    """The mean, the least and the greatest of each interval; NaN where there is none."""
    counts = np.bincount(at, minlength=number)
    mean = np.divide(_sums(at, values, number), counts, out=np.full(number, np.nan), where=counts > 0)
    low, high = np.full(number, np.nan), np.full(number, np.nan)
    np.fmin.at(low, at, values)
    np.fmax.at(high, at, values)
    return {"rtt_mean_ms": mean, "rtt_min_ms": low, "rtt_max_ms": high}
