"""Captures made by hand (pcap, IPv4 without a link header, checksums left out), as large as a test needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
MSS = 1448
_ENDS = (b"\x0a\0\0\1", b"\x0a\0\0\2")


@dataclass
class Writer:
    """A file of packets, and the time of the next one in microseconds."""

    out: BinaryIO
    at_us: int = 0
    size: int = 0

    def __post_init__(self) -> None:
        self._write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))

    def packet(self, port: int, side: int, seq: int, ack: int, flags: int, payload: int = 0) -> None:
        """A packet of the connection from ``port`` to port 80, from its client (side 0) or to it."""
        total = 40 + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + _ENDS[side] + _ENDS[1 - side]
        ports = (port, 80) if side == 0 else (80, port)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 5 << 4, flags, 65535, 0, 0)
        seconds, rest = divmod(self.at_us, 1_000_000)
        self._write(struct.pack("<IIII", seconds, rest, total, total) + ip + tcp + bytes(payload))

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
