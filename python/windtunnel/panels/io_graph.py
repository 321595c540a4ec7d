"""IO graphs, as Wireshark draws them: how many packets and bits pass in each interval, by what the packets are.

Data and acknowledgements are counted at the senders. A mark is counted where the data arrive, because a queue sets it
on the way; a capture has one place, where all is counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.groups import NAMED
from windtunnel.panels.means import AVERAGES, usual_average
from windtunnel.panels.model import Array, Choice, Look, Mask, Panel, Series
from windtunnel.panels.packets import RECEIVER, SENDER, TCP, packets_of
from windtunnel.panels.run import Run
from windtunnel.panels.units import RATES, greatest, suited
from windtunnel.table import Table

TITLE = "IO Graph"
#: What is counted, and how it is drawn. A mark on a packet of data is counted at the receiver, if it was seen there.
_KINDS: Final = (
    ("data", "data", Look("blue", "circle")),
    ("again", "sent again", Look("red", "cross")),
    ("acks", "ACKs", Look("green", "square")),
    ("ce", "data with CE", Look("purple", "triangle")),
    ("ece", "ACKs with ECE", Look("orange", "diamond")),
)
_SYN, _ECE, _CE = 0x02, 0x40, 3
# Intervals in a run: finer ones than a reader sees, who may average them.
_INTERVALS = 1000
_ALL = -1

#: Packets and bytes of each interval.
_Counts = tuple[Array, Array]


def panel(run: Run) -> Panel | None:
    """The panel: of all flows and of the first ones; None where packets were not recorded."""
    step = _interval(run.duration_s)
    counts = _counts(run, step, max(round(np.ceil(run.duration_s / step - 1e-9)), 1))
    if not counts:
        return None
    flows = sorted({flow for flow, _, _ in counts} - {_ALL})[:NAMED]
    several = len({flow for flow, _, _ in counts}) > 2
    choices = tuple(
        choice
        for flow in ((_ALL, *flows) if several else flows)
        for choice in _choices(counts, flow, "all flows" if flow == _ALL else run.flow(flow), step)
    )
    length = f"{1e3 * step:g} ms" if step < 1 else f"{step:g} s"
    return Panel(
        "io", TITLE, choices[0].unit, choices[0].series, quantity="Packets", choices=choices, shown=False,
        averages=AVERAGES, average=usual_average(run.duration_s, step),
        note=f"In intervals of {length}. Bits are those of packets with IP headers, or what a log tells of them. In "
        "AccECN, ECE is part of a counter.",
    )  # fmt: skip


def _interval(duration: float) -> float:
    """A round time, so that a run has about :data:`_INTERVALS` of them; at least a millisecond."""
    least = max(duration / _INTERVALS, 1e-3)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(times * power for times in (1, 2, 5, 10) if times * power >= least * (1 - 1e-9)))


def _counts(run: Run, step: float, number: int) -> dict[tuple[int, str, int], _Counts]:
    """The packets and bytes of each flow, kind and place of observation, where there are any."""
    counts: defaultdict[tuple[int, str, int], _Counts] = defaultdict(lambda: (np.zeros(number), np.zeros(number)))
    for part in packets_of(run, "tap", "proto", "dir", "flow", "t_ns", "size", "payload", "flags", "ecn",
                           "retransmission"):  # fmt: skip
        if not part.rows:
            continue
        at = np.minimum(np.asarray(part["t_ns"], np.float64) / 1e9 / step, number - 1).astype(np.int64)
        size, flow = np.asarray(part["size"], np.float64), part["flow"]
        for kind, tap, rows in _rows(part):
            for one in (_ALL, *map(int, distinct(flow[rows]))):
                mine = rows if one == _ALL else rows & (flow == one)
                if mine.any():
                    packets, data = counts[one, kind, tap]
                    packets += np.bincount(at[mine], minlength=number)
                    data += np.bincount(at[mine], size[mine], minlength=number)
    return dict(counts)


def _rows(part: Table) -> list[tuple[str, int, Mask]]:
    """The rows of each kind, with their place."""
    forward, has_data = part["dir"] == 0, (part["payload"] > 0) | (part["proto"] != TCP)
    sender, receiver = part["tap"] == SENDER, part["tap"] == RECEIVER
    again: Any = np.asarray(part["retransmission"], np.bool_)
    marked = forward & has_data & (part["ecn"] == _CE)
    # On a SYN the flags of ECN ask for it.
    echo = ((part["flags"] & _ECE) > 0) & ((part["flags"] & _SYN) == 0) & (part["proto"] == TCP)
    return [
        ("data", SENDER, sender & forward & has_data & ~again),
        ("again", SENDER, sender & forward & has_data & again),
        ("acks", SENDER, sender & ~forward),
        ("ce", SENDER, sender & marked),
        ("ce", RECEIVER, receiver & marked),
        ("ece", SENDER, sender & ~forward & echo),
    ]


def _choices(counts: dict[tuple[int, str, int], _Counts], flow: int, name: str, step: float) -> list[Choice]:
    of = [
        (kind, label, look, counts.get((flow, kind, RECEIVER), counts.get((flow, kind, SENDER))))
        for kind, label, look in _KINDS
    ]
    seen = [(kind, label, look, *both) for kind, label, look, both in of if both is not None]
    unit, factor = suited(RATES, greatest([data * 8 / step / 1e6 for *_, data in seen]))
    number = max((len(packets) for *_, packets, _ in seen), default=0)
    end = np.asarray(step * np.arange(1, number + 1), dtype=np.float64)

    def lines(values: list[Array]) -> tuple[Series, ...]:
        return tuple(
            Series(kind, label, look, end, value, step="mean")
            for (kind, label, look, *_), value in zip(seen, values, strict=True)
        )

    return [
        Choice(f"packets of {name}", "packets/s", lines([packets / step for *_, packets, _ in seen])),
        Choice(f"bits of {name}", unit, lines([data * 8 / step / 1e6 / factor for *_, data in seen])),
    ]
