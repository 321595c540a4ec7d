"""Every other queue discipline of Linux 7.3 compared with ours: CoDel, RED, FQ-PIE, CAKE, SFQ, SFB, CHOKe, DualPI2.

40 Mbit/s, 40 ms, 40 s: Reno alone, CUBIC alone, and both at five start offsets, without and with ECN. Both sides have
several draws where a discipline decides by chance. The rules are those of the section before: the means of a flow alone
may differ by two standard errors of their difference, and 1 % of goodput and 3 % of a round trip are always allowed;
where two flows compete, the ranges over the start offsets overlap. Marks are counted by the discipline; DualPI2's
are not shown by tc 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.validation.comparison import Comparison, Line, Run, Values, table
from windtunnel.validation.linux import path, reduce
from windtunnel.validation.linux_queues import (
    GOODPUT,
    NAMES,
    OFFSETS_MS,
    ROUND_TRIP,
    column,
    means,
    measured,
    ranges,
)

#: Draws of ours where a discipline decides by chance.
SEEDS = range(1, 9)


@dataclass(frozen=True)
class Discipline:
    """A discipline: its name in the runs, its queue in a scenario without and with ECN, and whether chance decides: in
    either, or with ECN alone, where Linux has one draw.
    """

    name: str
    plain: str
    ecn: str | None
    random: bool = False
    random_marks: bool = False

    def queue(self, ecn: int) -> str:
        """The queue of a scenario."""
        return f"{{ {self.ecn if ecn else self.plain} }}"


_RED = (
    'kind = "red", limit = "1000000 B", min = "30000 B", max = "90000 B", avpkt = "1000 B", burst = 55, '
    'bandwidth = "40 Mbit/s", idle = "linux"'
)
_FQ_PIE = 'kind = "fq_pie", limit = "10240 packets"'
_CAKE = 'kind = "cake", overhead = "14 B"'
_SFB = 'kind = "sfb"'
_CHOKE = 'kind = "choke", limit = "1000 packets", min = 20, max = 60, bandwidth = "40 Mbit/s"'
_SFQ_RED = (
    'kind = "sfq", headdrop = true, redflowlimit = "100000 B", min = "8000 B", max = "60000 B", probability = 0.1, '
    "ecn = true"
)
_DUALPI2 = 'kind = "dualpi2", mtu = "1514 B"'
_CODEL = 'kind = "codel", limit = "10000 packets"'

DISCIPLINES = (
    Discipline("codel", _CODEL, f"{_CODEL}, ecn = true"),
    Discipline("red", f"{_RED}, probability = 0.1", f"{_RED}, probability = 0.1, ecn = true", random=True),
    Discipline(
        "red_adaptive",
        f"{_RED}, probability = 0.02, adaptive = true",
        f"{_RED}, probability = 0.02, adaptive = true, ecn = true",
        random=True,
    ),
    Discipline("fq_pie", _FQ_PIE, f"{_FQ_PIE}, ecn = true", random=True),
    Discipline("cake", f'{_CAKE}, diffserv = "besteffort"', f'{_CAKE}, diffserv = "besteffort"'),
    Discipline("cake_diffserv4", f'{_CAKE}, diffserv = "diffserv4"', f'{_CAKE}, diffserv = "diffserv4"'),
    # With ECN each flow has RED, which marks its oldest packet.
    Discipline("sfq", 'kind = "sfq"', _SFQ_RED, random_marks=True),
    Discipline("sfb", _SFB, _SFB, random=True),
    Discipline("choke", _CHOKE, f"{_CHOKE}, ecn = true", random=True),
    Discipline("dualpi2", _DUALPI2, _DUALPI2, random=True),
)

Rows: TypeAlias = list[dict[str, str]]
Draws: TypeAlias = "npt.NDArray[np.float64]"


def _rows(start: str) -> Rows:
    """Linux's runs of one flow alone whose names start so."""
    groups = ("queues", "queue_draws")
    return [
        row
        for group in groups
        for row in table(f"linux/7.3/{group}.csv")
        if row["run"] == start or row["run"].removeprefix(f"{start}_").isdigit()
    ]


def one_run(what: str, linux: Draws, ours: Draws, share: float, unit: str) -> Line:
    """A line for a discipline that leaves nothing to chance: one run of either side."""
    return Line(what, float(linux[0]), float(ours[0]), share * float(linux[0]), unit)


def one_draw(what: str, linux: Draws, ours: Draws, share: float, unit: str) -> Line:
    """A line for one draw of Linux's: it is in the range of ours, or as near to its middle as is always allowed."""
    return ranges(what, linux, ours, unit, share)


def alone(discipline: Discipline, cc: str, ecn: int) -> Comparison:
    """One flow."""
    linux = _rows(f"{discipline.name}_{cc}_e{ecn}")
    chance = discipline.random or (discipline.random_marks and bool(ecn))
    compare = means if discipline.random else one_draw if chance else one_run

    def lines(values: Mapping[str, Values]) -> list[Line]:
        out = [
            compare(what, column(linux, theirs, 1), measured(values, ours), share, unit)
            for what, theirs, ours, share, unit in (
                ("goodput after 10 s", "goodput_steady_mbps", "1.steady", GOODPUT, "Mbit/s"),
                ("mean srtt after 10 s", "srtt_steady_ms", "1.steady_srtt", ROUND_TRIP, "ms"),
            )
        ]
        marked = ecn and discipline.name != "dualpi2"
        counts = [("retransmissions", "retrans_pkts", "1.retransmits", "segments")]
        counts += [("marks", "bottleneck_marks", "1.marks", "packets")] if marked else []
        for what, theirs, ours, unit in counts:
            line = ranges(what, column(linux, theirs, 1), measured(values, ours), unit)
            # The ranges of chance overlap; one run against one run says little of counts.
            out.append(line if chance else Line(what, line.expected, line.measured, None, unit))
        return out

    flow = f'cc = "{cc}"\necn = {"true" if ecn else "false"}'
    runs = [
        Run(f"seed {seed}", f"seed = {seed}" + path(discipline.queue(ecn), 40, 40, [flow]), reduce, 1.3e5)
        for seed in (SEEDS if chance else SEEDS[:1])
    ]
    return Comparison(f"{NAMES[cc]} over {discipline.name}{' with ECN' if ecn else ''}", runs, lines)


def together(discipline: Discipline, ecn: int) -> Comparison:
    """CUBIC, and Reno after each of the offsets."""
    names = {f"{discipline.name}_cubic_reno_e{ecn}_{offset}ms" for offset in OFFSETS_MS}
    linux = [row for row in table("linux/7.3/queue_draws.csv") if row["run"] in names]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        return [
            ranges(
                f"{what} of {name} after 10 s", column(linux, theirs, n), measured(values, f"{n}.{ours}"), unit, share
            )
            for n, name in ((1, "CUBIC"), (2, "Reno"))
            for what, theirs, ours, share, unit in (
                ("goodput", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
                ("mean srtt", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
            )
        ]

    switch = f"ecn = {'true' if ecn else 'false'}"
    runs = []
    for seed, offset in enumerate(OFFSETS_MS, start=1):
        flows = [f'cc = "cubic"\n{switch}', f'cc = "reno"\n{switch}\nstart = "{offset} ms"']
        toml = f"seed = {seed}" + path(discipline.queue(ecn), 40, 40, flows)
        runs.append(Run(f"{offset} ms", toml, reduce, 1.3e5))
    return Comparison(f"CUBIC and Reno over {discipline.name}{' with ECN' if ecn else ''}", runs, lines)


def comparisons() -> list[Comparison]:
    """Every comparison."""
    out = []
    for discipline in DISCIPLINES:
        for ecn in (0, 1) if discipline.ecn else (0,):
            out += [alone(discipline, cc, ecn) for cc in NAMES if _rows(f"{discipline.name}_{cc}_e{ecn}")]
            out.append(together(discipline, ecn))
    return out
