"""Scenario 6: Prague next to CUBIC or Reno in one queue that RFC 3168 governs, the 24 rows of the published table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.l4s_tests.plan import NAMES, RATES, Sender, add_setup
from windtunnel.papers.l4s_tests.queues import RFC3168
from windtunnel.papers.rows import Row, compare, printed_precision
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value

ID = "rfc3168"
RATE_MBPS, RTT_MS = 50.0, 20.0

_PRAGUE = Value("prague", "rate of Prague", "Mbit/s", RATES[:1])
_OTHER = Value("other", "rate of the other flow", "Mbit/s", RATES[1:])
_RATIO = Value("ratio", "Prague's rate over the other's", "", RATES, lambda a, b: a / b if b > 0 else math.inf)


@dataclass(frozen=True)
class Line:
    """A row of the published table: numbers as printed."""

    queue: str
    other: Sender
    prague: str
    rate: str
    ratio: str

    @property
    def id(self) -> str:
        """``rfc3168/pie-cubic-ecn``."""
        plain = self.queue.replace("(", "-").replace(",", "-").replace("/", "-").replace(")", "")
        return f"{ID}/{plain}-{self.other.cc}-{'ecn' if self.other.ecn else 'noecn'}"


def read_lines() -> list[Line]:
    """The published table."""
    return [
        Line(r["qdisc"], Sender(r["cc"], RTT_MS, r["ecn"] == "ecn"), r["prague"], r["other"], r["ratio"])
        for r in L4S_TESTS.table("s6.csv")
    ]


def rfc3168_group(setups: dict[str, Setup], *, quick: bool) -> Group:
    """The table."""
    lines = [line for line in read_lines() if not quick or line.other.cc == "cubic"]
    used = []
    for line in lines:
        queue, senders = RFC3168[line.queue].at(RATE_MBPS), (Sender("prague", RTT_MS), line.other)
        setup = add_setup(setups, line.id, "rfc3168", RATE_MBPS, queue, senders, quick=quick)
        _RATIO.prepare(setup)
        used.append(setup)

    def rows(results: Results) -> list[Row]:
        return [row for line, setup in zip(lines, used, strict=True) for row in _rows(line, setup, results)]

    caption = "Scenario 6: Prague next to another flow in one queue, 50 Mbit/s, 20 ms, from 18 to 58 s"
    return Group(ID, "RFC 3168 AQMs", caption, [c.name for c in used], rows)


def _rows(line: Line, setup: Setup, results: Results) -> list[Row]:
    queue = RFC3168[line.queue]
    other = f"{NAMES[line.other.cc]} {'with' if line.other.ecn else 'without'} ECN"
    out = []
    for value, printed in ((_PRAGUE, line.prague), (_OTHER, line.rate), (_RATIO, line.ratio)):
        published = float(printed)
        # A ratio is off by twice what a rate may be, and is printed without decimals.
        tolerance = (
            2 * queue.tolerance * published + printed_precision(printed)
            if value is _RATIO
            else queue.tolerance * published
        )
        what = f"{queue.name}, {other}: {value.what}"
        values = value.values(results, setup)
        out.append(compare(f"{line.id}/{value.id}", ID, what, published, tolerance, values, value.unit))
    return out
