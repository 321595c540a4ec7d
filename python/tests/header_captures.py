"""Captures kept as what ``explain`` reads: headers without data, times in microseconds, in pcapng that compresses well.

Fields that no answer needs and that do not compress are 0: checksums, and the identification of packets that are never
fragmented.
"""

from __future__ import annotations

import io
import lzma
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.atomic import staged_file

#: Blocks of pcapng, and their parts.
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
ETHERNET, RAW_IP, COOKED = 1, 101, 113
#: The lengths of link headers.
LINK_HEADER = {ETHERNET: 14, RAW_IP: 0, COOKED: 16}
_TCP = 6
#: Records mostly have 84 bytes, and most of a capture is two segments of data and an acknowledgement, over and over:
#: the difference from the record three before is nearly the same each time. Where many segments are lost, that from the
#: one before is better. LZMA then needs half of what it needs without.
_DISTANCES = (3 * 84, 84)
_LZMA = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 2, "pb": 2, "nice_len": 273}


def blocks(capture: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a capture: kind and content."""
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        yield kind, capture[at + 8 : at + length - 4]
        at += length


def start(link: int) -> io.BytesIO:
    """A capture without packets. Times are in microseconds where no option says otherwise; a packet may be kept
    whole.
    """
    made = io.BytesIO()
    _block(made, SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    _block(made, INTERFACE, struct.pack("<HHI", link, 0, 0))
    return made


def add(capture: io.BytesIO, micros: int, frame: bytes, length: int) -> None:
    """Add the headers of a packet, whose frame was so long."""
    about = struct.pack("<5I", 0, micros >> 32, micros & 0xFFFFFFFF, len(frame), length)
    _block(capture, PACKET, about + frame)


def _block(file: io.BytesIO, kind: int, content: bytes) -> None:
    padded = content + bytes(-len(content) % 4)
    length = struct.pack("<I", len(padded) + 12)
    file.write(struct.pack("<I", kind) + length + padded + length)


def bare(packet: bytes) -> bytes | None:
    """The headers of an IPv4 packet with TCP; None for others."""
    if len(packet) < 40:
        return None
    ip, protocol = (packet[0] & 15) * 4, packet[9]
    if packet[0] >> 4 != 4 or protocol != _TCP:
        return None
    headers = bytearray(packet[: ip + (packet[ip + 12] >> 4) * 4])
    for at in (4, 10, ip + 16):
        headers[at : at + 2] = bytes(2)
    return bytes(headers)


def keep(file: Path, capture: bytes, distances: Sequence[int] = _DISTANCES) -> None:
    """Write it, compressed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(file, force=True) as staged:
        staged.write_bytes(min((_packed(capture, distance) for distance in distances), key=len))


def _packed(capture: bytes, distance: int) -> bytes:
    filters = [{"id": lzma.FILTER_DELTA, "dist": distance}, _LZMA]
    return lzma.compress(capture, format=lzma.FORMAT_XZ, filters=filters)
