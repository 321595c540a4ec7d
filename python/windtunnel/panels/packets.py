"""Panels of recorded packets (``record.packets = true``): one-way delays, and the time-sequence graph.

There may be more packets than memory holds. They are read a part at a time, and only what is drawn of them is kept; of
more than :data:`MOST` dots, those that draw the same picture.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from windtunnel.distinct import distinct
from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Array, Choice, Index, Look, Mask, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples
from windtunnel.panels.thinning import CELLS, thin_cloud
from windtunnel.panels.units import SIZES, greatest, suited
from windtunnel.stored import parts
from windtunnel.table import Table

#: Where packets are recorded, and the number of a protocol.
SENDER, RECEIVER, TCP = 0, 3, 6
#: What the time-sequence graph shows, as tcptrace does: the data; what is acknowledged of them, up to where and above;
#: and how far the receiver lets the sender go.
_LOOKS = (
    ("window", "receive window", Look("orange", "down")),
    ("sent", "sent", Look("blue", "circle")),
    ("acked", "acknowledged", Look("green", "square")),
    ("sacked", "SACKed", Look("purple", "triangle")),
    ("again", "sent again", Look("red", "cross")),
)
#: What stands for an unknown window, and the share of the data's height up to which a window is drawn.
UNKNOWN = np.uint64(2**64 - 1)
_ABOVE = 1.1
#: What is in force until the next ACK.
_HELD = ("acked", "window")
_SYN = 0x02
#: The dots of a panel that are kept as they are, and the data packets that may be under way together.
MOST = 1 << 19

_Key = TypeVar("_Key", bound=Hashable)


class _Dots(Generic[_Key]):
    """Dots of several series, some at a time; of too many, those that draw the same picture."""

    def __init__(self) -> None:
        self._of: defaultdict[_Key, list[tuple[Array, Array]]] = defaultdict(list)
        self._count = 0

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._of)

    def add(self, key: _Key, x: Array, y: Array) -> None:
        if len(x):
            self._of[key].append((x, y))
            self._count += len(x)
        if self._count > MOST:
            for each in self._of:
                self._of[each] = [self._fewer(*self.of(each))]
            self._count = sum(len(x) for ((x, _),) in self._of.values())

    def _fewer(self, x: Array, y: Array) -> tuple[Array, Array]:
        keep = thin_cloud(x, y, max(MOST * len(x) // (2 * self._count), 1), CELLS)
        return x[keep], y[keep]

    def of(self, key: _Key) -> tuple[Array, Array]:
        """The abscissas and ordinates of a series, in the order in which they came."""
        chunks = self._of.get(key) or [(np.empty(0), np.empty(0))]
        x, y = (np.concatenate([chunk[axis] for chunk in chunks]) for axis in (0, 1))
        return x, y

    def drop(self, key: _Key) -> None:
        self._count -= sum(len(x) for x, _ in self._of.pop(key, ()))


class _Departures:
    """When data packets were sent, in ns: of the last ones."""

    def __init__(self) -> None:
        self._chunks: deque[tuple[npt.NDArray[Any], Index]] = deque()
        self._count = 0

    def add(self, ids: npt.NDArray[Any], times: Index) -> None:
        if len(ids):
            self._chunks.append((ids, times))
            self._count += len(ids)
        while self._count - len(self._chunks[0][0] if self._chunks else ()) > MOST:
            self._count -= len(self._chunks.popleft()[0])

    def of(self, ids: npt.NDArray[Any]) -> tuple[Mask, Index]:
        """Which of the packets are among them, and when those were sent."""
        chunks = [chunk for chunk in self._chunks if len(ids) and chunk[0].max() >= ids.min()]
        if not chunks:
            return np.zeros(len(ids), dtype=np.bool_), np.empty(0, dtype=np.int64)
        sent, times = (np.concatenate([chunk[column] for chunk in chunks]) for column in (0, 1))
        order = np.argsort(sent, kind="stable")
        index = np.minimum(np.searchsorted(sent[order], ids), len(sent) - 1)
        matched = sent[order][index] == ids
        return matched, times[order][index[matched]]


def packets_of(run: Run, *columns: str) -> Iterator[Table]:
    """These columns of the packets, a part at a time; nothing where packets were not recorded."""
    if "packets" in run.recorded:
        yield from parts(run.recorded, "packets", columns)


def delays(run: Run) -> list[Samples]:
    """Seconds of arrival, and delay in ms, of each data packet of each flow."""
    departures, dots = _Departures(), _Dots[int]()
    for part in packets_of(run, "dir", "tap", "id", "copy_of", "t_ns", "flow"):
        if not part.rows:
            continue
        forward, ids, times = part["dir"] == 0, part["id"], np.asarray(part["t_ns"], dtype=np.int64)
        sent = forward & (part["tap"] == SENDER)
        departures.add(ids[sent], times[sent])
        arrived = np.flatnonzero(forward & (part["tap"] == RECEIVER))
        # A copy that a medium made has no row at the sender: its time is that of the packet it was made of.
        of = np.where(part["copy_of"][arrived] > 0, part["copy_of"][arrived], ids[arrived])
        matched, started = departures.of(of)
        arrived = arrived[matched]
        flow, seconds = part["flow"][arrived], times[arrived] / 1e9
        delay = (times[arrived] - started) / 1e6
        for one in distinct(flow):
            dots.add(int(one), seconds[flow == one], delay[flow == one])
    return [Samples(one, *dots.of(one)) for one in sorted(dots)]


def one_way_delay(run: Run) -> Panel | None:
    """The panel of one-way delays, from the sender to the receiver; None where packets were not recorded."""
    series = tuple(
        Series(f"flow{s.index}", run.flow(s.index), run.look(s.index), s.t, s.y, flow=s.index) for s in delays(run)
    )
    if not series:
        return None
    return Panel("one_way_delay", "One-Way Delay", "ms", series, kind="points", shown=False)


def sequence(run: Run) -> Panel | None:
    """The time-sequence graph, as tcptrace draws it: what each flow sent, sent again, what was acknowledged and SACKed,
    and the receive window.

    A choice for each of the first flows; None where packets were not recorded.
    """
    flows, dots = _seen_at_senders(run)
    choices = tuple(_choice(run, dots, flow) for flow in flows)
    if not choices:
        return None
    return Panel(
        "sequence", "Time-Sequence Graph", choices[0].unit, choices[0].series, quantity="Sequence number",
        kind="points", choices=choices, shown=False, floating=True,
        note="As at the sender: a segment at its last byte, an ACK when it arrives, the newest block of a SACK at its "
        "end. The receive window is shown up to a little above the data.",
    )  # fmt: skip


def _seen_at_senders(run: Run) -> tuple[list[int], _Dots[tuple[int, str]]]:
    """The first flows that sent data by TCP, and what was seen at their senders: seconds, and bytes."""
    senders, dots = set[int](), _Dots[tuple[int, str]]()
    columns = ("tap", "proto", "dir", "flow", "t_ns", "seq", "payload", "ack", "retransmission")
    for part in packets_of(run, *columns, "flags", "window", "sack_n", "sack1_end"):
        if not part.rows:
            continue
        here = (part["tap"] == SENDER) & (part["proto"] == TCP)
        part = Table({name: values[here] for name, values in part.items()})
        flow, has_data = part["flow"], part["payload"] > 0
        time = np.asarray(part["t_ns"], dtype=np.float64) / 1e9
        end = np.asarray(part["seq"], dtype=np.float64) + np.asarray(part["payload"], dtype=np.float64)
        ack = np.asarray(part["ack"], dtype=np.float64)
        again = np.asarray(part["retransmission"], dtype=np.bool_)
        data, back = (part["dir"] == 0) & has_data, part["dir"] == 1
        sacked = back & (part["sack_n"] > 0)
        # A SYN's window is not scaled.
        told = back & (part["window"] != UNKNOWN) & ((part["flags"] & _SYN) == 0)
        senders |= set(map(int, distinct(flow[has_data])))
        first = sorted(senders)[:NAMED]
        for one in distinct(flow):
            # More flows with lower numbers may still send data, and others may still turn out to send any.
            if len(first) == NAMED and one > first[-1]:
                continue
            mine = flow == one
            for what, rows, values in (
                ("sent", mine & data & ~again, end),
                ("again", mine & data & again, end),
                ("acked", mine & back, ack),
                ("sacked", mine & sacked, np.asarray(part["sack1_end"], dtype=np.float64)),
                ("window", mine & told, ack + np.asarray(part["window"], dtype=np.float64)),
            ):
                dots.add((int(one), what), time[rows], values[rows])
        for key in list(dots):
            if len(first) == NAMED and key[0] > first[-1]:
                dots.drop(key)
    return sorted(senders)[:NAMED], dots


def _choice(run: Run, dots: _Dots[tuple[int, str]], flow: int) -> Choice:
    lines = {key: dots.of((flow, key)) for key, _, _ in _LOOKS}
    most = greatest([lines["sent"][1], lines["again"][1]])
    x, y = lines["window"]
    lines["window"] = (x[y <= _ABOVE * most], y[y <= _ABOVE * most])
    unit, factor = suited(SIZES, most)
    series = tuple(
        Series(key, label, look, lines[key][0], lines[key][1] / factor, step="hold" if key in _HELD else "")
        for key, label, look in _LOOKS
        if len(lines[key][0])
    )
    return Choice(run.flow(flow), unit, series)
