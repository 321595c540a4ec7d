"""What a QUIC stack sent in a run, as a log of it (qlog): packets with their numbers, lengths and frames.

Its packets are not protected (``null_crypto``), so that what the sender's host sent and received is read from the
recorded payloads (``record.payloads``), as RFC 9000 writes it. A stack that logs its packets tells the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel import RunResult

#: Where the sender's host sees packets (column ``tap``), and the direction of data (column ``dir``).
_SENDER, _DATA = 0, 0
#: Connection IDs of both stacks, and the tag at the end of each packet (RFC 9001 section 5.3).
_ID, _TAG = 8, 16
#: Types of long headers (RFC 9000 section 17.2).
_LONG = ("initial", "0RTT", "handshake", "retry")
#: Frames of some integers of variable length (RFC 9000 section 19; draft-ietf-quic-ack-frequency), by their type.
_INTEGERS: Mapping[int, tuple[str, int]] = {
    0x01: ("ping", 0),
    0x04: ("reset_stream", 3),
    0x05: ("stop_sending", 2),
    0x10: ("max_data", 1),
    0x11: ("max_stream_data", 2),
    0x12: ("max_streams", 1),
    0x13: ("max_streams", 1),
    0x14: ("data_blocked", 1),
    0x15: ("stream_data_blocked", 2),
    0x16: ("streams_blocked", 1),
    0x17: ("streams_blocked", 1),
    0x19: ("retire_connection_id", 1),
    0x1E: ("handshake_done", 0),
    0x1F: ("immediate_ack", 0),
    0xAF: ("ack_frequency", 4),
}


class _Reader:
    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    def take(self, length: int) -> bytes:
        self.at += length
        if self.at > len(self.content):
            raise ValueError("a packet ends in the middle of a frame")
        return self.content[self.at - length : self.at]

    def integer(self) -> int:
        """Of variable length (RFC 9000 section 16)."""
        first = self.take(1)[0]
        rest = self.take((1 << (first >> 6)) - 1)
        return int.from_bytes(bytes([first & 0x3F]) + rest, "big")


def frames(content: bytes) -> Iterator[dict[str, Any]]:
    """The frames of a packet."""
    reader = _Reader(content)
    while reader.at < len(content):
        kind = reader.integer()
        if kind == 0:
            # Padding: all of it is one frame.
            while reader.at < len(content) and content[reader.at] == 0:
                reader.at += 1
            yield {"frame_type": "padding"}
        elif kind in (2, 3):
            yield _ack(reader, counts=kind == 3)
        elif kind == 6:
            offset, length = reader.integer(), reader.integer()
            reader.take(length)
            yield {"frame_type": "crypto", "offset": offset, "raw": {"payload_length": length}}
        elif kind == 7:
            reader.take(reader.integer())
            yield {"frame_type": "new_token"}
        elif 8 <= kind < 16:
            stream, offset = reader.integer(), reader.integer() if kind & 4 else 0
            length = reader.integer() if kind & 2 else len(content) - reader.at
            reader.take(length)
            about = {"stream_id": stream, "offset": offset, "raw": {"payload_length": length}}
            yield {"frame_type": "stream", **about}
        elif kind == 0x18:
            reader.integer(), reader.integer()
            reader.take(reader.take(1)[0] + 16)
            yield {"frame_type": "new_connection_id"}
        elif kind in (0x1A, 0x1B):
            reader.take(8)
            yield {"frame_type": "path_challenge" if kind == 0x1A else "path_response"}
        elif kind in _INTEGERS:
            name, count = _INTEGERS[kind]
            numbers = [reader.integer() for _ in range(count)]
            yield {"frame_type": name, **({"maximum": numbers[-1]} if name == "max_data" else {})}
        else:
            raise ValueError(f"a frame of type {kind:#x}")


def _ack(reader: _Reader, *, counts: bool) -> dict[str, Any]:
    high, _, more, length = (reader.integer() for _ in range(4))
    ranges = [[high - length, high]]
    for _ in range(more):
        high = ranges[-1][0] - reader.integer() - 2
        ranges.append([high - reader.integer(), high])
    frame: dict[str, Any] = {"frame_type": "ack", "acked_ranges": ranges}
    if counts:
        frame |= dict(zip(("ect0", "ect1", "ce"), [reader.integer() for _ in range(3)], strict=True))
    return frame


def _packets(datagram: bytes, largest: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The packets of a datagram. ``largest``: the greatest number of each kind so far."""
    at = 0
    while at < len(datagram):
        first = datagram[at]
        if first & 0x80:
            kind, reader = _LONG[first >> 4 & 3], _Reader(datagram, at + 5)
            for _ in range(2):
                reader.take(reader.take(1)[0])
            if kind == "initial":
                reader.take(reader.integer())
            length = reader.integer()
            end = reader.at + length
        else:
            kind, reader, end = "1RTT", _Reader(datagram, at + 1 + _ID), len(datagram)
        size = (first & 3) + 1
        number = whole(int.from_bytes(reader.take(size), "big"), 8 * size, largest.get(kind, -1))
        largest[kind] = max(largest.get(kind, -1), number)
        yield {
            "header": {"packet_type": kind, "packet_number": number},
            "raw": {"length": end - at},
            "frames": list(frames(datagram[reader.at : end - _TAG])),
        }
        at = end


def whole(low: int, bits: int, largest: int) -> int:
    """The packet number whose low bits the header has (RFC 9000 appendix A.3)."""
    expected, window = largest + 1, 1 << bits
    number = expected - expected % window + low
    if number <= expected - window // 2:
        return number + window
    return number - window if number > expected + window // 2 and number >= window else number


def records(result: RunResult, flow: int = 0) -> Iterator[dict[str, Any]]:
    """The log of a flow's sender: its head, and its packets."""
    table, payloads = result.tables["packets"], result.tables["payloads"]
    contents = dict(zip(payloads["id"].tolist(), payloads["content"].tolist(), strict=True))
    common = {"protocol_types": ["QUIC"], "time_format": "relative_to_epoch"}
    yield {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "trace": {"vantage_point": {"type": "client"}, "common_fields": common},
    }
    mine = np.flatnonzero((table["tap"] == _SENDER) & (table["flow"] == flow))
    largest: dict[int, dict[str, int]] = {0: {}, 1: {}}
    for t_ns, way, number in zip(*(table[name][mine].tolist() for name in ("t_ns", "dir", "id")), strict=True):
        name = "quic:packet_sent" if way == _DATA else "quic:packet_received"
        for packet in _packets(contents[number], largest[way]):
            yield {"time": t_ns / 1e6, "name": name, "data": packet}


def write(result: RunResult, path: Path) -> None:
    """Write the log as a JSON text sequence."""
    with path.open("w", encoding="utf-8") as file:
        for record in records(result):
            file.write(f"\x1e{json.dumps(record, separators=(',', ':'))}\n")
