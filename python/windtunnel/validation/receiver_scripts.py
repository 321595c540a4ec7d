"""Scripts of what arrives at a receiver; the answers of Linux's receiver are in ``data/linux_receiver.json``.

A script is a list of arrivals at given times, which do not depend on the answers: bursts like those of a sender in slow
start, steady flows, gaps, late segments, duplicates, short segments, marks. ``validation.recorder --receiver`` hands
them to the kernel. The receiver of this laboratory gets the same arrivals in ``crates/tcp/tests/tcp/linux_receiver.rs``
and has to answer each of them with the same ACKs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

#: Congestion experienced, and ECT(0), in the IP header's ECN field.
CE, ECT0 = 0b11, 0b10


@dataclass(frozen=True)
class Arrival:
    """A data segment that arrives."""

    at_ms: float
    """Since the handshake ended."""
    first: int
    """Its first byte, from 0 on."""
    length: int
    push: bool = False
    cwr: bool = False
    ecn: int = 0
    fin: bool = False


@dataclass(frozen=True)
class ReceiverScript:
    """A connection on which the listed segments arrive."""

    name: str
    arrivals: tuple[Arrival, ...]
    mss: int = 1448
    rtt_ms: int = 80
    """The round trip of the handshake, and the one that the timestamps show."""
    sack: bool = True
    timestamps: bool = True
    ecn: bool = False
    largest_buffer: int = 33_554_432
    """``tcp_rmem[2]``."""
    quiet_ms: float = field(default=300)
    """How long the recording goes on after the last arrival."""

    @property
    def mtu(self) -> int:
        """The largest IP packet, in both directions."""
        return self.mss + (52 if self.timestamps else 40)


def burst(at_ms: float, first: int, count: int, length: int = 1448) -> Iterator[Arrival]:
    """Segments that arrive back to back; ``first`` is the first one's number, from 0 on."""
    return (Arrival(at_ms, (first + n) * length, length) for n in range(count))


def rounds(sizes: list[int], every_ms: float = 100, length: int = 1448, slower_ms: float = 0) -> tuple[Arrival, ...]:
    """A burst in each round trip; each round trip takes longer than the one before by a fixed time."""
    starts = [n * every_ms + n * (n - 1) // 2 * slower_ms for n in range(len(sizes))]
    return tuple(
        arrival
        for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
        for arrival in burst(start, sum(sizes[:n]), size, length)
    )


def steady(count: int, every_ms: float, group: int = 1, length: int = 1448) -> tuple[Arrival, ...]:
    """Groups of segments at equal distances."""
    return tuple(a for n in range(0, count, group) for a in burst(n // group * every_ms, n, group, length))


def late(arrivals: tuple[Arrival, ...], numbers: set[int], by_ms: float) -> tuple[Arrival, ...]:
    """The segments with these numbers arrive later by a given time, after everything else that arrives at that time."""
    moved = [replace(a, at_ms=a.at_ms + by_ms) if n in numbers else a for n, a in enumerate(arrivals)]
    order = sorted(enumerate(moved), key=lambda entry: (entry[1].at_ms, entry[0] in numbers, entry[0]))
    return tuple(arrival for _, arrival in order)


def pushed(arrivals: tuple[Arrival, ...], every: int) -> tuple[Arrival, ...]:
    """Every ``every``-th one ends what the application wrote."""
    return tuple(replace(a, push=(n + 1) % every == 0) for n, a in enumerate(arrivals))


def marked(arrivals: tuple[Arrival, ...], ce: set[int], cwr: set[int]) -> tuple[Arrival, ...]:
    """The segments are ECN-capable; some have CE or CWR."""
    return tuple(replace(a, ecn=CE if n in ce else ECT0, cwr=n in cwr) for n, a in enumerate(arrivals))


def closed(arrivals: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    """The last segment ends the stream."""
    return (*arrivals[:-1], replace(arrivals[-1], push=True, fin=True))


def fin(at_ms: float, first: int) -> Arrival:
    """A FIN without data."""
    return Arrival(at_ms, first, 0, fin=True)


SLOW_START = [10, 20, 40, 80, 160, 320]

SCRIPTS = (
    ReceiverScript("Slow start", rounds(SLOW_START)),
    ReceiverScript("Slow start, 20 ms", rounds(SLOW_START, 30), rtt_ms=20),
    ReceiverScript(
        "Slow start without timestamps",
        rounds(SLOW_START, length=1460, slower_ms=10),
        mss=1460,
        timestamps=False,
    ),
    ReceiverScript("Slow start without SACK", rounds(SLOW_START), sack=False),
    ReceiverScript("Slow start, a buffer of 256 KiB", rounds(SLOW_START[:5]), largest_buffer=262_144),
    ReceiverScript("Slow start in segments of 536 bytes", rounds(SLOW_START[:5], length=536), mss=536),
    ReceiverScript("Slow start in segments of 1000 bytes", rounds(SLOW_START[:5], length=1000), mss=1000),
    ReceiverScript("Slow start, then steady, then more", rounds([10, 20, 40, 40, 40, 40, 60, 60])),
    ReceiverScript("Slow start with pushed segments", pushed(rounds(SLOW_START[:5]), 16)),
    ReceiverScript(
        "Slow start, each round's third segment late", late(rounds(SLOW_START[:5]), {2, 12, 32, 72, 152}, 50)
    ),
    ReceiverScript("Slow start, a burst late", late(rounds(SLOW_START[:5]), set(range(80, 90)), 50)),
    ReceiverScript("Every second one of a burst late", late(rounds([10, 20, 20]), set(range(10, 30, 2)), 50)),
    ReceiverScript("One late, a buffer of 256 KiB", late(rounds([10, 20, 40, 40]), {31}, 50), largest_buffer=262_144),
    ReceiverScript("Overtaken by three", late(rounds([10, 20, 40]), {35}, 5)),
    ReceiverScript("One late, without SACK", late(rounds([10, 20, 40]), {35}, 50), sack=False),
    ReceiverScript("One segment each 5 ms", steady(120, 5), rtt_ms=78),
    ReceiverScript("Two segments each 8 ms", steady(200, 8, 2), rtt_ms=76),
    ReceiverScript("One segment each 30 ms", steady(40, 30)),
    ReceiverScript("One segment each 100 ms", steady(30, 100)),
    ReceiverScript("A burst, a second of silence, a burst", (*burst(0, 0, 60), *burst(1000, 60, 60))),
    ReceiverScript("One segment", tuple(burst(0, 0, 1))),
    ReceiverScript("One segment, pushed", pushed(tuple(burst(0, 0, 1)), 1)),
    ReceiverScript(
        "A burst and a short last segment",
        (*burst(0, 0, 30), Arrival(0, 30 * 1448, 700, push=True), Arrival(200, 30 * 1448 + 700, 1448)),
    ),
    ReceiverScript("Segments of 100 bytes, pushed", pushed(steady(60, 6, 2, 100), 1)),
    ReceiverScript("Duplicates", (*burst(0, 0, 40), *burst(100, 10, 3), *burst(200, 40, 30))),
    ReceiverScript("CE", marked(rounds([10, 20, 40]), {32, 33, 60}, {50, 65}), ecn=True),
    ReceiverScript("A FIN on the only segment", closed(tuple(burst(0, 0, 1))), quiet_ms=250),
    ReceiverScript("A FIN on a short segment", closed((*burst(0, 0, 30), Arrival(0, 30 * 1448, 700))), quiet_ms=250),
    ReceiverScript("A FIN on the second of two segments", closed(tuple(burst(0, 0, 2))), quiet_ms=250),
    ReceiverScript("A FIN on the last of a long transfer", closed(steady(120, 5)), rtt_ms=78, quiet_ms=250),
    ReceiverScript("A FIN alone", (*pushed(tuple(burst(0, 0, 4)), 4), fin(0, 4 * 1448)), quiet_ms=250),
    ReceiverScript("A FIN alone after a pause", (*pushed(tuple(burst(0, 0, 4)), 4), fin(500, 4 * 1448)), quiet_ms=250),
    ReceiverScript("A FIN alone while an ACK waits", (*steady(101, 5), fin(501, 101 * 1448)), rtt_ms=78, quiet_ms=250),
    ReceiverScript("A FIN above a gap", (*burst(0, 0, 4), fin(10, 5 * 1448), *burst(50, 4, 1)), quiet_ms=250),
    ReceiverScript(
        "A FIN above a gap, without SACK",
        (*burst(0, 0, 4), fin(10, 5 * 1448), *burst(50, 4, 1)),
        sack=False,
        quiet_ms=250,
    ),
    ReceiverScript("Data with FIN above a gap", late(closed(tuple(burst(0, 0, 12))), {5}, 50), quiet_ms=250),
    ReceiverScript("A FIN again", (*burst(0, 0, 4), fin(10, 4 * 1448), fin(40, 4 * 1448)), quiet_ms=250),
    ReceiverScript(
        "Data with FIN again", (*closed(tuple(burst(0, 0, 4))), *closed(tuple(burst(40, 3, 1)))), quiet_ms=250
    ),
    ReceiverScript("A FIN that is not acknowledged", (*burst(0, 0, 4), fin(10, 4 * 1448)), quiet_ms=4000),
)
