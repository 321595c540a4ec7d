"""TCP segments over IPv4, as bytes: RFC 791, 9293, 7323 (timestamps, window scale), 2018 (SACK), 3168 (ECN)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

FIN, SYN, RST, PSH, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80

#: The IP header's ECN field.
ECT0, CE = 0b10, 0b11

#: Sequence numbers have 32 bits.
MODULUS = 1 << 32

#: The kinds of options.
END, NOP, MSS, SCALE, SACK_PERMITTED, SACK, TIMESTAMPS = 0, 1, 2, 3, 4, 5, 8

IP_HEADER = struct.Struct("!BBHHHBBH4s4s")
TCP_HEADER = struct.Struct("!HHIIBBHHH")


@dataclass
class Segment:
    """What a segment says. ``seq`` and ``ack`` are as on the wire."""

    source: int
    target: int
    seq: int
    ack: int
    flags: int
    window: int = 0xFFFF
    payload: int = 0
    """Bytes of data; their content does not matter here."""
    ecn: int = 0
    mss: int | None = None
    scale: int | None = None
    sack_permitted: bool = False
    timestamps: tuple[int, int] | None = None
    """TSval and TSecr."""
    sack: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the IP packet."""
        return IP_HEADER.size + TCP_HEADER.size + len(options(self)) + self.payload


def parse(packet: bytes) -> Segment | None:
    """The segment in an IP packet; None if it holds none."""
    if len(packet) < IP_HEADER.size or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    start = (packet[0] & 0xF) * 4
    source, target, seq, ack, offset, flags, window, _, _ = TCP_HEADER.unpack_from(packet, start)
    data = start + (offset >> 4) * 4
    length = struct.unpack_from("!H", packet, 2)[0]
    segment = Segment(source, target, seq, ack, flags, window, length - data, packet[1] & 0b11)
    parse_options(packet[start + TCP_HEADER.size : data], segment)
    return segment


def parse_options(text: bytes, segment: Segment) -> None:
    """Take the options into the segment."""
    at = 0
    while at < len(text) and text[at] != END:
        if text[at] == NOP:
            at += 1
            continue
        kind, value = text[at], text[at + 2 : at + text[at + 1]]
        if kind == MSS:
            segment.mss = struct.unpack("!H", value)[0]
        elif kind == SCALE:
            segment.scale = value[0]
        elif kind == SACK_PERMITTED:
            segment.sack_permitted = True
        elif kind == SACK:
            edges = struct.unpack(f"!{len(value) // 4}I", value)
            segment.sack = tuple(zip(edges[::2], edges[1::2], strict=True))
        elif kind == TIMESTAMPS:
            segment.timestamps = struct.unpack("!II", value)
        at += text[at + 1]


def options(segment: Segment) -> bytes:
    """The options of a segment, padded to whole words."""
    text = b""
    if segment.mss is not None:
        text += struct.pack("!BBH", MSS, 4, segment.mss)
    if segment.sack_permitted:
        text += struct.pack("!BB", SACK_PERMITTED, 2)
    if segment.timestamps is not None:
        text += struct.pack("!BBII", TIMESTAMPS, 10, *segment.timestamps)
    if segment.scale is not None:
        text += struct.pack("!BBB", SCALE, 3, segment.scale)
    if segment.sack:
        edges = [edge for block in segment.sack for edge in block]
        text += struct.pack(f"!BB{len(edges)}I", SACK, 2 + 4 * len(edges), *edges)
    return text + bytes([NOP]) * (-len(text) % 4)


def build(segment: Segment, source: str, target: str) -> bytes:
    """The IP packet of a segment, its data all zero."""
    text = options(segment)
    addresses = socket.inet_aton(source), socket.inet_aton(target)
    header = TCP_HEADER.size + len(text)
    length = header + segment.payload

    def tcp(checksum: int) -> bytes:
        offset = header // 4 << 4
        ports = segment.source, segment.target
        return TCP_HEADER.pack(*ports, segment.seq, segment.ack, offset, segment.flags, segment.window, checksum, 0)

    def ip(checksum: int) -> bytes:
        total = IP_HEADER.size + length
        return IP_HEADER.pack(0x45, segment.ecn, total, 0, 0, 64, socket.IPPROTO_TCP, checksum, *addresses)

    pseudo = struct.pack("!4s4sBBH", *addresses, 0, socket.IPPROTO_TCP, length)
    # Zeros add nothing to the checksum.
    return ip(internet_checksum(ip(0))) + tcp(internet_checksum(pseudo + tcp(0) + text)) + text + bytes(segment.payload)


def internet_checksum(text: bytes) -> int:
    """RFC 1071."""
    words: tuple[int, ...] = struct.unpack(f"!{len(text) // 2}H", text)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
