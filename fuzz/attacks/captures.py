"""Captures made by hand (pcap, IPv4 without a link header, checksums left out), as large as a test needs."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
MSS = 1448
_ENDS = (b"\x0a\0\0\1", b"\x0a\0\0\2")


@dataclass
class Writer:
    """A file of packets, and the time of the next one in microseconds. ``cut``: without data, as with a snaplen."""

    out: BinaryIO
    at_us: int = 0
    size: int = 0
    cut: bool = False

    def __post_init__(self) -> None:
        self._write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))

    def packet(
        self,
        port: int,
        side: int,
        seq: int,
        ack: int,
        flags: int,
        payload: int = 0,
        sack: Sequence[tuple[int, int]] = (),
    ) -> None:
        """A packet of the connection from ``port`` to port 80, from its client (side 0) or to it."""
        seq, ack = seq % 2**32, ack % 2**32
        options = struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(sack)) if sack else b""
        options += b"".join(struct.pack(">II", start % 2**32, end % 2**32) for start, end in sack)
        headers = 40 + len(options)
        total = headers + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + _ENDS[side] + _ENDS[1 - side]
        ports = (port, 80) if side == 0 else (80, port)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, (headers - 20) // 4 << 4, flags, 65535, 0, 0)
        seconds, rest = divmod(self.at_us, 1_000_000)
        kept = b"" if self.cut else bytes(payload)
        record = struct.pack("<IIII", seconds, rest, headers + len(kept), total)
        self._write(record + ip + tcp + options + kept)

    def handshake(self, port: int) -> None:
        """SYN, SYN-ACK, ACK."""
        self.packet(port, 0, 0, 0, SYN)
        self.packet(port, 1, 0, 1, SYN | ACK)
        self.packet(port, 0, 1, 1, ACK)

    def transfer(self, port: int, segments: int) -> None:
        """A connection that sends full segments; every second one is acknowledged."""
        self.handshake(port)
        for n in range(segments):
            self.at_us += 100
            self.packet(port, 0, 1 + n * MSS, 1, ACK, MSS)
            if n % 2:
                self.at_us += 50
                self.packet(port, 1, 1, 1 + (n + 1) * MSS, ACK)

    def lossy_transfer(self, port: int, segments: int, window: int, every: int) -> None:
        """A connection with ``window`` segments in flight, seen at its sender. Of each ``every`` new ones one is lost;
        the others are acknowledged one by one, with the last three blocks of SACK. What is lost is sent again, and
        arrives, once three later segments have arrived.
        """
        self.handshake(port)
        # On their way: (segment, whether it will arrive). Lost ones that have not been sent again, and those not there.
        way: deque[tuple[int, bool]] = deque()
        missing: deque[int] = deque()
        holes: deque[int] = deque()
        new = last = 0

        def send(segment: int, arrives: bool) -> None:
            way.append((segment, arrives))
            self.at_us += 50
            self.packet(port, 0, 1 + segment * MSS, 1, ACK, MSS)

        while new < segments or way:
            while missing and last >= missing[0] + 3:
                send(missing.popleft(), arrives=True)
            while len(way) < window and new < segments:
                send(new, arrives=new % every != every // 2)
                new += 1
            segment, arrives = way.popleft()
            if not arrives:
                missing.append(segment)
                holes.append(segment)
                continue
            if segment < last:
                holes.remove(segment)
            last = max(last, segment)
            edges = [*holes, last + 1]
            received = [(first + 1, end) for first, end in pairwise(edges[-4:]) if end > first + 1]
            blocks = [(1 + first * MSS, 1 + end * MSS) for first, end in received]
            self.at_us += 50
            self.packet(port, 1, 1, 1 + edges[0] * MSS, ACK, sack=blocks[::-1])

    def _write(self, data: bytes) -> None:
        self.out.write(data)
        self.size += len(data)


def write_transfers(file: Path, size: int) -> None:
    """Connections of 4 MB each, one after the other, until the file has ``size`` bytes."""
    with file.open("wb") as out:
        writer, port = Writer(out), 10_000
        while writer.size < size:
            port += 1
            writer.transfer(port, 2800)
