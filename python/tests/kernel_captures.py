"""Captures of the unmodified Linux for the tests of ``windtunnel explain``: each of its controllers on six paths.

    python python/tests/kernel_captures.py

runs the list on the kernel in virtual time, which takes about ten minutes, and writes the captures of both ends to
``data/explain-kernel``; README.md there says what they are. What is there already is kept, so that the same command
goes on where it ended; with the same kernel the bytes are the same.

A capture is kept as what ``explain`` reads (``header_captures.py``): IP and TCP headers without the link's.
"""

from __future__ import annotations

import argparse
import io
import lzma
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from header_captures import ETHERNET, INTERFACE, LINK_HEADER, PACKET, RAW_IP, add, bare, blocks, keep, start

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

#: The twin's frames are Ethernet's.
_ETHERNET = LINK_HEADER[ETHERNET]


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
    def name(self) -> str:
        """Path, controller and end."""
        return f"{self.path.name}, {self.controller}, {self.end}"

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
    for kind, content in blocks(lzma.decompress(capture.file.read_bytes())):
        if kind == PACKET:
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
    """The first seconds of a capture of the twin as those of its interfaces, with headers alone."""
    made: list[io.BytesIO] = []
    for kind, content in blocks(capture):
        if kind == INTERFACE:
            made.append(start(RAW_IP))
        elif kind == PACKET:
            number, high, low, kept, length = struct.unpack_from("<5I", content)
            packet = bare(content[20 + _ETHERNET : 20 + kept])
            micros = ((high << 32) + low) // 1000
            # The guest may look a microsecond after the end.
            if packet is not None and micros < seconds * 1e6:
                add(made[number], micros, packet, length - _ETHERNET)
    return [each.getvalue() for each in made]


def recorded(path: KernelPath, controller: str, kernel: Kernel) -> list[bytes]:
    """What both ends see of it on the kernel, as pcapng."""
    packets = io.BytesIO()
    run_linux(scenario(path, controller), kernel, capture=packets)
    return headers(packets.getvalue(), path.seconds)


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
                    keep(KernelCapture(path, controller, end).file, capture)
                print(f"{path.name}/{controller}", flush=True)
    print(f"{sum(each.file.stat().st_size for each in captures()) / 1e6:.1f} MB in {DATA}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
