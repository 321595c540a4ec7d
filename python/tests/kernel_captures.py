"""Captures of the unmodified Linux for the tests of ``windtunnel explain``: each of its controllers on six paths.

    python python/tests/kernel_captures.py

runs the list on the kernel in virtual time, which takes about ten minutes, and writes the captures of both ends to
``data/explain-kernel``; README.md there says what they are. What is there already is kept, so that the same command
goes on where it ended; with the same kernel the bytes are the same.

A capture is kept as what ``explain`` reads: IP and TCP headers without the link's, times in microseconds. Fields that
no answer needs and that do not compress are 0: checksums, and the identification of packets that are never fragmented.
"""

from __future__ import annotations

import argparse
import io
import lzma
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.atomic import staged_file
from windtunnel.kernel.kept import Kernel, choose
from windtunnel.scenario import Scenario
from windtunnel.twin import run_linux

DATA = Path(__file__).parent / "data" / "explain-kernel"
#: The kernel that they are of: the hash of the program.
KERNEL = "06e862aef9ee08061dd8c20da6aa03c108d7a04e8516917aa8ec217120ef964c"
#: Those of Linux 7.3.4 that the twin runs: all but BPF's.
CONTROLLERS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
ENDS = ("sender", "receiver")

#: Blocks of pcapng, and their parts.
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ETHERNET, _RAW_IP, _TCP = 14, 101, 6
#: Records mostly have 84 bytes, and most of a capture is two segments of data and an acknowledgement, over and over:
#: the difference from the record three before is nearly the same each time. Where many segments are lost, that from the
#: one before is better. LZMA then needs half of what it needs without.
_DISTANCES = (3 * 84, 84)
_LZMA = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 2, "pb": 2, "nice_len": 273}


@dataclass(frozen=True)
class KernelPath:
    """A bottleneck, alone in it a flow. ``marks``: the queue can mark."""

    name: str
    rate: str
    rtt: str
    queue: dict[str, Any]
    marks: bool = False
    loss: str | None = None
    seconds: int = 25


#: Windows are small, so that few packets have many sawteeth; short round trips need fewer seconds. All files together
#: have about 8 MB.
PATHS = (
    KernelPath("fifo-1bdp", "5 Mbit/s", "50 ms", {"kind": "fifo", "limit": "1 bdp"}),
    KernelPath("fifo-3bdp", "2 Mbit/s", "70 ms", {"kind": "fifo", "limit": "3 bdp"}),
    KernelPath("fifo-half-bdp", "5 Mbit/s", "90 ms", {"kind": "fifo", "limit": "0.5 bdp"}),
    # Two full packets are spared, as the kernel's own PIE does (``twin/plan.py``).
    KernelPath("pie", "4 Mbit/s", "30 ms", {"kind": "pie", "mtu": "1514 B"}, marks=True, seconds=12),
    KernelPath("fq_codel", "4 Mbit/s", "50 ms", {"kind": "fq_codel"}, marks=True, seconds=12),
    KernelPath("loss", "5 Mbit/s", "55 ms", {"kind": "fifo", "limit": "1.5 bdp"}, loss="0.8 %", seconds=15),
)


@dataclass(frozen=True)
class KernelCapture:
    """One of the captures."""

    path: KernelPath
    controller: str
    end: str

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return DATA / self.path.name / f"{self.controller}-{self.end}.pcapng.xz"

    @property
    def marked(self) -> bool:
        """Only DCTCP is marked: its feedback is its own."""
        return self.path.marks and self.controller == "dctcp"

    @property
    def truth(self) -> tuple[str, ...]:
        """What the sender did. Where ECN was not negotiated, the kernel itself puts Reno in DCTCP's place; and the
        packets of its TCP-LP are those of its Reno, so that no capture tells which of the two it was.
        """
        reno = self.controller in ("reno", "lp") or (self.controller == "dctcp" and not self.marked)
        return ("reno", "lp") if reno else (self.controller,)


def captures() -> list[KernelCapture]:
    """All, in the order of paths, controllers and ends."""
    return [KernelCapture(path, cc, end) for path in PATHS for cc in CONTROLLERS for end in ENDS]


def sent(capture: KernelCapture) -> list[tuple[int, int, int, int]]:
    """Of each packet the time in us, its end (its address), its length, and its number from the first of that end."""
    packets, first = [], {}
    for kind, content in _blocks(lzma.decompress(capture.file.read_bytes())):
        if kind == _PACKET:
            _, high, low, _, length = struct.unpack_from("<5I", content)
            end, number = struct.unpack_from(">I", content, 32)[0], struct.unpack_from(">I", content, 44)[0]
            number = (number - first.setdefault(end, number)) % 2**32
            packets.append(((high << 32) + low, end, length, number))
    return packets


def scenario(path: KernelPath, controller: str) -> Scenario:
    """The scenario of a pair of captures."""
    marked = KernelCapture(path, controller, ENDS[0]).marked
    link: dict[str, Any] = {"rate": path.rate, "queue": {**path.queue, **({"ecn": marked} if path.marks else {})}}
    if path.loss:
        link["impair"] = [{"kind": "loss", "probability": path.loss, "affects": "data"}]
    return Scenario.from_table(
        {
            "duration": f"{path.seconds} s",
            "endpoints": "linux",
            "seed": 1 + CONTROLLERS.index(controller),
            "record": {"interval": "100 ms"},
            # Linux's own limit of the receive buffer, which grows by itself.
            "tcp": {"truesize": "sender", "receive_window": "6 MiB"},
            "bottleneck": link,
            "flow": [{"name": "one", "cc": controller, "rtt": path.rtt, "ecn": "dctcp" if marked else False}],
        }
    )


def headers(capture: bytes, seconds: float) -> list[bytes]:
    """The first seconds of a capture of the twin as those of its interfaces, in pcapng, with headers alone."""
    made: list[io.BytesIO] = []
    for kind, content in _blocks(capture):
        if kind == _INTERFACE:
            made.append(io.BytesIO())
            _block(made[-1], _SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
            # Times are in microseconds where no option says otherwise; a packet may be kept whole.
            _block(made[-1], _INTERFACE, struct.pack("<HHI", _RAW_IP, 0, 0))
        elif kind == _PACKET:
            number, high, low, kept, length = struct.unpack_from("<5I", content)
            packet = _bare(content[20 + _ETHERNET : 20 + kept])
            micros = ((high << 32) + low) // 1000
            # The guest may look a microsecond after the end.
            if packet is not None and micros < seconds * 1e6:
                about = struct.pack("<5I", 0, micros >> 32, micros & 0xFFFFFFFF, len(packet), length - _ETHERNET)
                _block(made[number], _PACKET, about + packet)
    return [each.getvalue() for each in made]


def _blocks(capture: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        yield kind, capture[at + 8 : at + length - 4]
        at += length


def _block(file: io.BytesIO, kind: int, content: bytes) -> None:
    padded = content + bytes(-len(content) % 4)
    length = struct.pack("<I", len(padded) + 12)
    file.write(struct.pack("<I", kind) + length + padded + length)


def _bare(packet: bytes) -> bytes | None:
    """The headers of an IPv4 packet with TCP; None for others."""
    ip, protocol = (packet[0] & 15) * 4, packet[9]
    if packet[0] >> 4 != 4 or protocol != _TCP:
        return None
    bare = bytearray(packet[: ip + (packet[ip + 12] >> 4) * 4])
    for at in (4, 10, ip + 16):
        bare[at : at + 2] = bytes(2)
    return bytes(bare)


def recorded(path: KernelPath, controller: str, kernel: Kernel) -> list[bytes]:
    """What both ends see of it on the kernel, as pcapng."""
    packets = io.BytesIO()
    run_linux(scenario(path, controller), kernel, capture=packets)
    return headers(packets.getvalue(), path.seconds)


def _keep(file: Path, capture: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(file, force=True) as staged:
        staged.write_bytes(min((_packed(capture, distance) for distance in _DISTANCES), key=len))


def _packed(capture: bytes, distance: int) -> bytes:
    filters = [{"id": lzma.FILTER_DELTA, "dist": distance}, _LZMA]
    return lzma.compress(capture, format=lzma.FORMAT_XZ, filters=filters)


def main(words: Sequence[str] | None = None) -> int:
    """Make those that are missing."""
    parser = argparse.ArgumentParser(description="Captures of the unmodified Linux for the tests of explain.")
    what = "A kernel, as `windtunnel kernel status` names it; without it that of the README."
    parser.add_argument("--kernel", metavar="VERSION", default=KERNEL, help=what)
    kernel = choose(parser.parse_args(words).kernel)
    for path in PATHS:
        for controller in CONTROLLERS:
            if not all(KernelCapture(path, controller, end).file.exists() for end in ENDS):
                for end, capture in zip(ENDS, recorded(path, controller, kernel), strict=True):
                    _keep(KernelCapture(path, controller, end).file, capture)
                print(f"{path.name}/{controller}", flush=True)
    print(f"{sum(each.file.stat().st_size for each in captures()) / 1e6:.1f} MB in {DATA}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
