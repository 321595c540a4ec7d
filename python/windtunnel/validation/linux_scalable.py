"""DCTCP of Linux 7.3 compared with ours, over DualPI2 and over CoDel's ``ce_threshold``, and in scripts.

40 Mbit/s, 20 ms, 40 s: DCTCP alone, with CUBIC, and with CUBIC and Reno, which start 37 and 74 ms later and have no
ECN. DCTCP learns of marks by its own feedback (RFC 8257) or by AccECN (RFC 9768); over DualPI2 it is ECT(1).

Linux has one run of DCTCP alone, and five start offsets with others. It is compared with the range of our draws:
eight seeds where coins decide, five start offsets where flows compete without coins. The ranges must overlap, or their
middles differ by not more than 1 % of goodput or 3 % of a round trip. Counts of marks and retransmissions are for
information; tc shows no marks of DualPI2: those that DCTCP learnt of are shown.

With AccECN Linux's receiver sends an ACK at once whenever the ECN field changes, from CE to ECT as well, and so does
ours: DCTCP alone has 12,800 marks over the step (Linux 12,900), and 14,100 over DualPI2 (Linux 14,600). With an ACK
for the first CE alone, which is what RFC 9768 section 3.2.2.5.1 asks for, it had 10,000 and 10,800. Linux's data
segments carry the option of 12 bytes, too: 1436 bytes of data are in each, here 1448, so that its goodput is 0.8 %
less.

The scripts are CUBIC's, by DCTCP, with a tick of 1 ms; the verdict is equality.

TCP Prague is not in the kernel. The reference for ours is its draft: the tests of the project check its laws.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from windtunnel.validation import linux_cubic
from windtunnel.validation.comparison import DATA, Comparison, Line, Run, Values
from windtunnel.validation.linux import path, reduce
from windtunnel.validation.linux_queues import GOODPUT, ROUND_TRIP, column, measured, ranges, rows_of
from windtunnel.validation.linux_scripts import LinuxScript, lines, scenario
from windtunnel.validation.linux_scripts import reduce as follow

#: Every script that the controllers of Linux 7.3 were given.
RECORDINGS = DATA / "linux/7.3/scripts.json.gz"

#: The round trip of the network, in ms.
RTT_MS = 20.0

#: Draws of ours: seeds where a discipline decides by chance, and start offsets of the second flow where none does. That
#: of Linux is 37 ms; the third flow starts after twice the offset.
SEEDS = range(1, 9)
OFFSETS_MS = (31, 34, 37, 40, 43)
OFFSET_MS = 37

#: How DCTCP learns of marks, and how the page calls it.
FEEDBACK = {"dctcp": "DCTCP", "accecn": "DCTCP with AccECN"}

#: The flows that compete with DCTCP.
RIVALS: tuple[tuple[str, ...], ...] = ((), ("cubic",), ("cubic", "reno"))
NAMES = {"cubic": "CUBIC", "reno": "Reno"}


@dataclass(frozen=True)
class Discipline:
    """A discipline: its name in the runs and on the page, its queue, DCTCP's code point, and whether chance decides."""

    name: str
    title: str
    queue: str
    ect: str
    random: bool


DISCIPLINES = (
    Discipline("dualpi2", "DualPI2", '{ kind = "dualpi2", mtu = "1514 B" }', "ect1", random=True),
    Discipline(
        "step",
        "a step of 5 ms",
        '{ kind = "codel", limit = "10000 packets", ce_threshold = "5 ms", mtu = "1514 B", newton = true }',
        "ect0",
        random=False,
    ),
)


def draws(discipline: Discipline, feedback: str, rivals: tuple[str, ...]) -> list[Run]:
    """Our runs."""
    varied = discipline.random or not rivals
    offsets = (OFFSET_MS,) if varied else OFFSETS_MS
    runs = []
    for seed in SEEDS if discipline.random else SEEDS[:1]:
        for offset in offsets:
            dctcp = f'cc = "dctcp"\necn = "{feedback}"\nect = "{discipline.ect}"'
            others = [f'cc = "{cc}"\necn = false\nstart = "{offset * n} ms"' for n, cc in enumerate(rivals, start=1)]
            toml = f"seed = {seed}" + path(discipline.queue, 40, RTT_MS, [dctcp, *others])
            runs.append(Run(f"seed {seed}, {offset} ms", toml, reduce, 1.3e5))
    return runs


def marks(discipline: Discipline, feedback: str, rivals: tuple[str, ...]) -> Comparison:
    """One of Linux's runs, and our draws."""
    name = "_".join((discipline.name, feedback, *rivals))
    linux = rows_of("scalable_marks", [name])
    linux += rows_of("scalable_marks_draws", [f"{name}_{offset}ms" for offset in OFFSETS_MS])

    def compare(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for n, name in enumerate(("DCTCP", *(NAMES[cc] for cc in rivals)), start=1):
            for what, theirs, ours, share, unit in (
                ("goodput", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
                ("mean srtt", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
            ):
                value = measured(values, f"{n}.{ours}")
                out.append(ranges(f"{what} of {name} after 10 s", column(linux, theirs, n), value, unit, share))
            theirs = "delivered_ce_pkts" if discipline.random else "bottleneck_marks"
            counts = [("marks of DCTCP", column(linux, theirs, 1), "1.marks", "packets")] if n == 1 else []
            if not rivals or n > 1:
                retransmits = column(linux, "retrans_pkts", n)
                counts.append((f"retransmissions of {name}", retransmits, f"{n}.retransmits", "segments"))
            for what, count, ours, unit in counts:
                out.append(replace(ranges(what, count, measured(values, ours), unit), tolerance=None))
        return out

    others = "".join(f" and {NAMES[cc]}" for cc in rivals)
    return Comparison(
        f"{FEEDBACK[feedback]}{others} over {discipline.title}", draws(discipline, feedback, rivals), compare
    )


@cache
def recordings() -> Mapping[str, Any]:
    """The recorded scripts of Linux 7.3, by name."""
    recorded: dict[str, Any] = json.loads(gzip.decompress(RECORDINGS.read_bytes()))
    scripts: dict[str, Any] = recorded["scripts"]
    return scripts


def scripts() -> list[LinuxScript]:
    """CUBIC's scripts, by DCTCP. The recorded kernel has ``HZ`` 1000."""
    return [
        replace(script, name=f"{script.name.removesuffix(', CUBIC')}, DCTCP", cc="dctcp", tick="1 ms")
        for script in linux_cubic.SCRIPTS
    ]


def followed(script: LinuxScript) -> Comparison:
    """One script."""
    recorded = recordings()[f"{script.name.removesuffix(', DCTCP')}, dctcp"]
    run = Run(script.name, scenario(script), partial(follow, mss=script.mss), float(script.segments))
    return Comparison(script.name, [run], partial(lines, script, recorded=recorded))


def comparisons() -> list[Comparison]:
    """Every comparison."""
    return [
        *(marks(queue, feedback, rivals) for queue in DISCIPLINES for feedback in FEEDBACK for rivals in RIVALS),
        *(followed(script) for script in scripts()),
    ]
