"""Scenario 1, RTT fairness: the 192 rows of the published table, run again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.metrics import jain_index
from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.l4s_tests.plan import RATES, Sender, add_setup
from windtunnel.papers.l4s_tests.queues import FAIRNESS, Queue
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value

#: Below this round trip today's Prague is not what was measured in 2020 in any respect.
LONG_MS = 20.0
#: Queues and rates of the quick suite.
QUICK = (("dualpi2", 10.0), ("dualpi2", 50.0), ("fq_codel", 10.0))

_EACH = tuple(Value(str(i + 1), "rate", "Mbit/s", [rate]) for i, rate in enumerate(RATES))
_JAIN = Value("jain", "Jain's index", "", RATES, lambda a, b: float(jain_index([a, b])))


@dataclass(frozen=True)
class Line:
    """A row of the published table."""

    queue: str
    rate_mbps: float
    senders: tuple[Sender, Sender]
    published: tuple[float, float]
    jain: float

    @property
    def group(self) -> str:
        """The group of the row: ``dualpi2-50``."""
        return f"{self.queue}-{self.rate_mbps:g}"

    @property
    def id(self) -> str:
        """``dualpi2-50/cubic-20-prague-10``."""
        return f"{self.group}/" + "-".join(f"{s.cc}-{s.rtt_ms:g}" for s in self.senders)

    @property
    def is_long(self) -> bool:
        """Whether both round trips are 20 ms or more."""
        return min(s.rtt_ms for s in self.senders) >= LONG_MS


def read_lines() -> list[Line]:
    """The published table."""
    return [
        Line(
            r["qdisc"],
            float(r["rate_mbps"]),
            (Sender(r["cc1"], float(r["rtt1_ms"])), Sender(r["cc2"], float(r["rtt2_ms"]))),
            (float(r["rate1"]), float(r["rate2"])),
            float(r["jain"]),
        )
        for r in L4S_TESTS.table("s1.csv")
    ]


def jain_tolerance(rates: tuple[float, float], tolerance: float) -> float:
    """How far Jain's index may be from the published one if each rate may be off by a part ``tolerance``, in the
    directions that move the index most.
    """
    wider, narrower = ((rates[0] * (1 + sign * tolerance), rates[1] * (1 - sign * tolerance)) for sign in (1, -1))
    at = float(jain_index(rates))
    return max(abs(float(jain_index(pair)) - at) for pair in (wider, narrower))


def fairness_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each queue and rate."""
    by_group: dict[str, list[Line]] = {}
    for line in read_lines():
        if not quick or (line.queue, line.rate_mbps) in QUICK:
            by_group.setdefault(line.group, []).append(line)
    return [_group(setups, lines, quick=quick) for lines in by_group.values()]


def _group(setups: dict[str, Setup], lines: list[Line], *, quick: bool) -> Group:
    queue, rate_mbps, id = FAIRNESS[lines[0].queue], lines[0].rate_mbps, lines[0].group
    used = [
        add_setup(setups, line.id, "rtt-fairness", rate_mbps, queue.at(rate_mbps), line.senders, quick=quick)
        for line in lines
    ]
    for setup in used:
        _JAIN.prepare(setup)

    def rows(results: Results) -> list[Row]:
        of_rates = [_rates(line, queue, setup, results) for line, setup in zip(lines, used, strict=True)]
        out = [row for both in of_rates for row in both]
        out += [_jain(line, queue, setup, results) for line, setup in zip(lines, used, strict=True)]
        counts = [_count(id, "all", "all rates", [row for both in of_rates for row in both])]
        long = [row for line, both in zip(lines, of_rates, strict=True) if line.is_long for row in both]
        return [*out, *counts, _count(id, "long", f"rates where both round trips are {LONG_MS:g} ms or more", long)]

    caption = f"Scenario 1: two flows over {queue.name}, {rate_mbps:g} Mbit/s, from 118 to 178 s"
    return Group(id, f"{queue.name}, {rate_mbps:g} Mbit/s", caption, [c.name for c in used], rows)


def _rates(line: Line, queue: Queue, setup: Setup, results: Results) -> list[Row]:
    """The rates of both flows."""
    out = []
    for value, sender, other, published in zip(_EACH, line.senders, line.senders[::-1], line.published, strict=True):
        what = f"{sender.text}, next to {other.text}: rate"
        values = value.values(results, setup)
        out.append(
            compare(f"{line.id}/{value.id}", line.group, what, published, queue.tolerance * published, values, "Mbit/s")
        )
    return out


def _jain(line: Line, queue: Queue, setup: Setup, results: Results) -> Row:
    first, second = line.senders
    what = f"{first.text} and {second.text}: Jain's index"
    tolerance = jain_tolerance(line.published, queue.tolerance)
    values = _JAIN.values(results, setup)
    note = "the tolerance follows from that of the rates"
    return compare(f"{line.id}/jain", line.group, what, line.jain, tolerance, values, "", note)


def _count(group: str, name: str, of: str, rows: list[Row]) -> Row:
    """How many rates agree: for information, since the rows themselves are judged."""
    measured = [row for row in rows if row.measured is not None]
    agree = float(sum(row.verdict == "agrees" for row in measured)) if measured else math.nan
    what = f"{of}: how many of {len(rows)} agree"
    return Row(f"{group}/count-{name}", group, what, None, agree, None, "", "info")
