"""What is explained: the connections of a capture, a log or a run, each with its departures and acknowledgements.

A capture is read by the core (``crates/trace``), which follows each sender through the packets. A run that recorded its
packets goes the same way from what its sender saw, so that both give the same tables; a run that did not still has its
window, its flight and its round-trip times over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel import _core
from windtunnel.errors import InputError
from windtunnel.input_file import shown_name
from windtunnel.result import RunResult
from windtunnel.stored import parts

#: Why a segment was sent (column ``kind`` of the departures; ``crates/trace/src/walk/rows.rs``).
NEW, FAST, TIMEOUT, PROBE, UNSEEN, NEEDLESS, OVERTAKEN = range(7)
#: What an acknowledgement is besides new: bits of the column ``kind``.
DUPLICATE, AHEAD, DSACK, PARTIAL, BEFORE_DATA = 1, 2, 4, 8, 16
#: What stands for an unknown window.
UNKNOWN = np.uint64(2**64 - 1)
#: Of IPv4 and TCP with timestamps.
_HEADERS = 52
_LEAST_HEADERS = 40
#: A full segment where nothing says how long it is: Ethernet, with timestamps.
USUAL_MSS = 1448
#: Flags of the TCP header.
SYN, PSH, ACK, ECE, CWR, AE = 0x02, 0x08, 0x10, 0x40, 0x80, 0x100
#: Places on the way of a packet through a run (column ``tap``) that can be read as if they were captures.
SENDER, RECEIVER = 0, 3

_CAPTURED = (
    *("t_ns", "flow", "dir", "payload", "seq", "ack", "flags", "ecn", "dscp", "window", "sack_n"),
    *(f"sack{n}_{edge}" for n in (1, 2, 3, 4) for edge in ("start", "end")),
)
_TYPES: Mapping[str, type[np.generic]] = {
    **dict.fromkeys(("flow", "payload", "flags"), np.uint32),
    **dict.fromkeys(("dir", "ecn", "dscp", "sack_n"), np.uint8),
}


#: Columns of numbers by name.
Columns: TypeAlias = "Mapping[str, npt.NDArray[Any]]"


@dataclass(frozen=True)
class Flow:
    """One connection, seen from its sender."""

    name: str
    #: The payload of a full segment.
    mss: int
    #: Departures and acknowledgements; None where the run did not record its packets.
    sends: Columns | None
    acks: Columns | None
    #: The series of a run without packets: rows of its table ``flows``.
    series: Columns | None = None
    #: What a capture shows of both ends (``sender``, ``receiver``); empty for runs.
    ends: Mapping[str, Any] = field(default_factory=dict)
    #: The round trip of the handshake, where it was captured.
    handshake_s: float | None = None
    #: Marks are echoed as counts (RFC 9768), not as a flag that stays.
    accecn: bool = False
    #: How the handshake agreed on ECN: ``none``, ``classic`` or ``accecn``; None where it was not captured.
    ecn: str | None = None
    #: Whether the capture was made at the sender; else the least time from there to the sender and back.
    at_sender: bool = True
    back_s: float = 0.0
    #: The controller that the run used.
    controller: str | None = None
    #: What the run's own sender counted as its limits, by name.
    limited: Mapping[str, float] | None = None
    #: Its number among all connections of the capture.
    number: int = 0
    #: It comes from an endpoint's log, whose packets have numbers and no TCP headers.
    logged: bool = False
    #: It is a QUIC connection.
    quic: bool = False


@dataclass(frozen=True)
class Trace:
    """All connections of a capture, a log or a run."""

    path: Path
    #: ``capture``, ``qlog`` or ``run``.
    kind: str
    title: str
    duration_s: float
    flows: list[Flow]
    #: What is missing, in whole sentences.
    notes: list[str]
    #: Of a capture: all its segments, in the order of time, with the numbers of their connections.
    segments: Columns = field(default_factory=dict)


#: Connections that are explained unless all are asked for, and those on a page: the ones with most data.
MOST_FLOWS = 40


def with_most_data(flows: Sequence[Flow], most: int) -> list[int]:
    """The numbers of those connections, in their order."""

    def data(index: int) -> tuple[int, int]:
        flow = flows[index]
        tables = ((flow.sends, "payload"), (flow.acks, "acked"))
        sums = [int(table[name].sum(dtype=np.uint64)) for table, name in tables if table is not None]
        return max(sums, default=0), 0 if flow.series is None else len(flow.series["time_s"])

    return sorted(sorted(range(len(flows)), key=data, reverse=True)[:most])


def at_most(trace: Trace, most: int | None) -> Trace:
    """The flows with most data, and a note that tells of the others."""
    if most is None or len(trace.flows) <= most:
        return trace
    flows = [trace.flows[n] for n in with_most_data(trace.flows, most)]
    return with_less(replace(trace, flows=flows), len(trace.flows) - most)


def with_less(trace: Trace, less: int) -> Trace:
    """The same with a note that tells how many connections are left out, because they have less data."""
    if less == 0:
        return trace
    note = (
        f"{less} of {len(trace.flows) + less} connections, those with less data, are not explained; "
        "--all explains them."
    )
    return replace(trace, notes=[*trace.notes, note])


def of_capture(
    path: Path,
    connections: list[dict[str, Any]],
    segments: _core.Segments,
    packets: int,
    notes: list[str],
    keep: bool = False,
) -> Trace:
    """What was read from a capture, with all segments if they are to be kept. Raises InputError if it has no connection
    with data.
    """
    if not connections:
        raise InputError(
            f"{shown_name(path)}: has no TCP connection with data among {packets} packets. {' '.join(notes)}".strip()
        )
    parameters = [(_mss(c), _timestamps(c), bool(c["window_known"])) for c in connections]
    syns, duration = by_flow(segments.syns(), len(connections)), segments.last_ns / 1e9
    kept = segments.table() if keep else {}
    walked = segments.walk(parameters)
    flows = []
    sends, acks = by_flow(walked["sends"], len(connections)), by_flow(walked["acks"], len(connections))
    for index, ends in enumerate(connections):
        sender, receiver = ends["sender"], ends["receiver"]
        flows.append(
            Flow(
                f"{_end(sender)} > {_end(receiver)}",
                parameters[index][0],
                sends[index],
                acks[index],
                ends=ends,
                handshake_s=_handshake(syns[index]),
                accecn=_accecn(syns[index]),
                ecn=_ecn(syns[index]),
                at_sender=bool(walked["at_sender"][index]),
                back_s=_back(walked, index),
                number=index,
            )
        )
        notes += [f"{flows[-1].name}: {note}" for note in (*_missing(ends), *_unseen(ends, acks[index]))]
    return Trace(path, "capture", shown_name(Path(path.name)), duration, flows, notes, kept)


def of_run(
    result: RunResult, path: Path, point: int = SENDER, seen: Callable[[Columns], Columns] | None = None
) -> Trace:
    """A run's result, as its senders saw it, or as a capture at its receivers would show it. ``seen``: what such a
    capture has of the segments.
    """
    notes = []
    count = len(result.flows)
    mtu = _bytes((result.meta.get("scenario") or {}).get("mtu") or "1500 B")
    walked = _walk_run(result, point, seen, mtu)
    if walked is None:
        notes.append(
            "The run did not record its packets: what only packets show is left out. Run it with "
            "--set record.packets=true to have it."
        )
    flows = []
    series = by_flow(result.tables["flows"], count)
    if walked is not None:
        sends, acks, syns = (by_flow(walked[name], count) for name in ("sends", "acks", "syns"))
    for index, flow in enumerate(result.flows):
        name = str(flow["name"])
        if flow.get("cwnd_bytes") is None:
            notes.append(f"{name}: has no window of its own, and is not explained.")
            continue
        if flow.get("datagrams") is not None:
            notes.append(f"{name}: is not a TCP connection, and is not explained.")
            continue
        traced = Flow(
            name,
            mtu - _HEADERS,
            None,
            None,
            series[index],
            controller=flow.get("cc"),
            limited=flow.get("limited"),
        )
        if walked is not None:
            traced = replace(
                traced,
                mss=int(walked["mss"][index]) if len(sends[index]["payload"]) else traced.mss,
                sends=sends[index],
                acks=acks[index],
                at_sender=bool(walked["at_sender"][index]),
                back_s=_back(walked, index),
                handshake_s=_handshake(syns[index]),
                accecn=_accecn(syns[index]),
                ecn=_ecn(syns[index]),
            )
        flows.append(traced)
    return Trace(path, "run", result.title or path.name, float(result.summary["duration_s"]), flows, notes)


def _back(walked: Mapping[str, Any], flow: int) -> float:
    """The least time from the capture point to the sender and back; 0 where nothing shows it."""
    back = float(walked["back_ns"][flow])
    return 0.0 if back >= float(UNKNOWN) else back / 1e9


def by_flow(table: Columns, count: int) -> list[Columns]:
    """The rows of each connection."""
    if count == 1 and not np.any(table["flow"]):
        # A long connection's columns are not copied.
        return [{name: np.asarray(column) for name, column in table.items()}]
    order = np.argsort(table["flow"], kind="stable")
    edges = np.searchsorted(table["flow"][order], np.arange(count + 1))
    ordered = {name: np.asarray(column)[order] for name, column in table.items()}
    return [
        {name: column[first:after] for name, column in ordered.items()} for first, after in pairwise(edges.tolist())
    ]


def stretches(rows: int, length: int = 1 << 18) -> Iterator[slice]:
    """A long table in stretches: what is computed of one needs no room next to the whole table."""
    return (slice(first, min(first + length, rows)) for first in range(0, rows, length))


def seconds(nanoseconds: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """A column in seconds."""
    return np.asarray(nanoseconds, dtype=np.float64) / 1e9


def place(column: npt.NDArray[Any], value: float, side: Literal["left", "right"] = "left") -> int:
    """Where a whole number is in an ascending column. NumPy alone would copy the column into the type of the value."""
    return int(np.searchsorted(column, column.dtype.type(max(int(value), 0)), side))


def _walk_run(
    result: RunResult, point: int, seen: Callable[[Columns], Columns] | None, mtu: int
) -> dict[str, Any] | None:
    """What the segments seen at a capture point say, the payload of a full one (bytes), and the SYNs among them; None
    if packets were not recorded. Segmentation offload shows several segments as one, which exceeds the MTU.
    """
    if "packets" not in result.tables:
        return None
    count, segments = len(result.flows), _core.Segments()
    largest, stamped = np.ones(count, np.uint32), np.zeros(count, bool)
    captured = _run_segments(result, point)
    if seen is not None:
        whole = list(captured)
        captured = iter([seen({name: np.concatenate([rows[name] for rows in whole]) for name in whole[0]})])
    for rows in captured:
        if not rows:
            return None
        data = rows["dir"] == 0
        np.maximum.at(largest, rows["flow"][data], rows["payload"][data])
        stamped[rows["flow"][rows["ts_val"] > 0]] = True
        segments.add(rows)
    mss = np.minimum(largest, mtu - np.where(stamped, _HEADERS, _LEAST_HEADERS))
    syns = segments.syns()
    # At the sender timestamps would tell nothing more.
    heard = stamped & (point != SENDER)
    walked = segments.walk([(int(full), bool(told), True) for full, told in zip(mss, heard, strict=True)])
    return {**walked, "syns": syns, "mss": mss}


def _run_segments(result: RunResult, point: int) -> Iterator[Columns]:
    """The segments seen at a capture point, in the columns of a capture, a part at a time; no columns if some were not
    recorded.
    """
    tcp, columns = 6, (*_CAPTURED, "ts_val_ns", "ts_ecr_ns")
    for packets in parts(result.tables, "packets", (*columns, "tap", "proto", "connection")):
        if any(name not in packets for name in (*columns, "tap", "proto")):
            yield {}
            return
        mine = (packets["tap"] == point) & (packets["proto"] == tcp)
        # Of flows that stand for many connections only the first belongs to the flow's own number.
        mine &= packets.get("connection", packets["flow"]) == packets["flow"]
        rows = {name: np.asarray(packets[name][mine], _TYPES.get(name, np.uint64)) for name in columns}
        yield {**rows, "ts_val": rows.pop("ts_val_ns"), "ts_ecr": rows.pop("ts_ecr_ns")}


def _mss(connection: Mapping[str, Any]) -> int:
    """The payload of a full segment: what both ends accept, less the timestamps that are in every segment."""
    sender, receiver = connection["sender"], connection["receiver"]
    options = 12 if _timestamps(connection) else 0
    offers = [side["syn"]["mss"] for side in (sender, receiver) if side["syn"] and side["syn"]["mss"]]
    if offers:
        return max(int(min(offers)) - options, 1)
    # Segmentation offload shows several segments as one.
    largest = int(sender["largest"])
    return int(largest) if 0 < largest <= USUAL_MSS + 12 else USUAL_MSS


def _timestamps(connection: Mapping[str, Any]) -> bool:
    return bool(connection["sender"]["timestamps"] and connection["receiver"]["timestamps"])


def _handshake(syns: Columns) -> float | None:
    """From the SYN that was answered to the first SYN-ACK."""
    answers = (syns["flags"] & ACK) > 0
    asked, answered = syns["t_ns"][~answers], syns["t_ns"][answers]
    if not len(answered):
        return None
    # A SYN that was lost, or its answer, is sent again after a second: that says nothing about the path.
    before = asked[asked <= answered[0]]
    return float(answered[0] - before[-1]) / 1e9 if len(before) else None


def _accecn(syns: Columns) -> bool:
    """RFC 9768 section 3.1.1: a SYN with AE, CWR and ECE asks for it; its answer has one of them, but not ECE alone."""
    bits = [syns["flags"][syns["dir"] == side] & (AE | CWR | ECE) for side in (0, 1)]
    asked = any(np.any(side == (AE | CWR | ECE)) for side in bits)
    return asked and any(np.any((side > 0) & (side != ECE) & (side != (AE | CWR | ECE))) for side in bits)


def _ecn(syns: Columns) -> str | None:
    """RFC 3168 section 6.1.1: a SYN with CWR and ECE asks, a SYN-ACK with ECE alone agrees."""
    answers = (syns["flags"] & ACK) > 0
    if not answers.any() or answers.all():
        return None
    if _accecn(syns):
        return "accecn"
    asked, answered = syns["flags"][~answers] & (CWR | ECE), syns["flags"][answers] & (AE | CWR | ECE)
    return "classic" if np.any(asked == (CWR | ECE)) and np.any(answered == ECE) else "none"


def _missing(ends: Mapping[str, Any]) -> list[str]:
    """What the capture lacks of a connection."""
    notes = []
    if not ends["sender"]["segments"]:
        notes.append("only acknowledgements were captured: what was in flight is not known.")
    if not ends["receiver"]["segments"]:
        notes.append("only data were captured, no acknowledgements: neither flight nor round-trip times are known.")
    if not (ends["sender"]["syn"] and ends["receiver"]["syn"]):
        notes.append(
            "the handshake was not captured: the receive window's scale and the options offered are not known."
        )
    if len(ends["points"]) > 1:
        notes.append(f"was seen at {len(ends['points'])} interfaces; the first is read.")
    return notes


def _unseen(ends: Mapping[str, Any], acks: Columns) -> list[str]:
    """Data that the capture lacks, because it missed packets: they were acknowledged, and never seen."""
    ahead = int(np.sum((acks["kind"] & (AHEAD | BEFORE_DATA)) == AHEAD))
    if not ends["sender"]["segments"] or not ahead:
        return []
    return [f"the capture lacks packets: {ahead} acknowledgements are of data that were not captured."]


def _end(side: Mapping[str, Any]) -> str:
    address = str(side["address"])
    return f"[{address}]:{side['port']}" if ":" in address else f"{address}:{side['port']}"


def _bytes(text: str) -> int:
    return int(_core.quantity(text))
