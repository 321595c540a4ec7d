"""The queue disciplines of Linux 7.3 compared with ours, under the same flows.

Where something is left to chance (the coin of PIE, the phase of its timer, which flow's packet meets a drop), each side
has several draws: seeds and start offsets (``data/linux/7.3/README.md``). The means of both sides' draws may differ by
two standard errors of their difference; 1 % of goodput and 3 % of a round trip are always allowed, as for one flow
alone over FQ-CoDel or fq, which leaves nothing to chance. Counts of lost or marked packets are for information where
there is one run; those of several runs agree if the ranges of both sides overlap.

Where flows compete, they agree if the ranges over the start offsets overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from windtunnel.validation.comparison import Comparison, Line, Run, Values, table
from windtunnel.validation.linux import path, reduce, welch_margin

#: The start offsets of the second and third flows, in ms; Linux's draws have the same.
OFFSETS_MS = (0, 7, 13, 23, 37)

#: Draws of ours where a seed decides.
SEEDS = range(1, 17)

NAMES = {"reno": "Reno", "cubic": "CUBIC"}

#: The disciplines of the comparison, by the first word of a run's name.
FQ_CODEL = '{ kind = "fq_codel", limit = "10240 packets", ecn = true }'
FQ = '{ kind = "fq" }'
PIE_LARGE = '{ kind = "pie", limit = "20000 packets" }'

#: The difference that is always allowed for goodput and round trip.
GOODPUT, ROUND_TRIP = 0.01, 0.03

Rows = list[dict[str, str]]


def rows_of(group: str, runs: Iterable[str]) -> Rows:
    """The rows of the named runs."""
    wanted = set(runs)
    return [row for row in table(f"linux/7.3/{group}.csv") if row["run"] in wanted]


def column(rows: Rows, name: str, flow: int) -> npt.NDArray[np.float64]:
    """A column of one flow of each run."""
    return np.array([float(row[name]) for row in rows if row["flow"] == str(flow)])


def measured(values: Mapping[str, Values], key: str) -> npt.NDArray[np.float64]:
    """One value of each of our runs."""
    return np.array([float(run[key]) for run in values.values()])


def span(values: npt.NDArray[np.float64]) -> str:
    """Smallest and largest."""
    return f"{values.min():.4g} to {values.max():.4g}"


def means(what: str, linux: npt.NDArray[np.float64], ours: npt.NDArray[np.float64], share: float, unit: str) -> Line:
    """A line that compares the means of both sides' draws."""
    expected = float(linux.mean())
    margin = max(welch_margin(linux, ours), share * expected)
    note = f"Linux {span(linux)}, here {span(ours)}"
    return Line(f"{what}, mean of the draws", expected, float(ours.mean()), margin, unit, note)


def ranges(
    what: str, linux: npt.NDArray[np.float64], ours: npt.NDArray[np.float64], unit: str, share: float = 0.0
) -> Line:
    """A line that compares the middles of both sides' ranges: they agree if the ranges overlap, or within the
    difference that is always allowed.
    """
    theirs, here = (float(side.min() + side.max()) / 2 for side in (linux, ours))
    reach = max(float(np.ptp(linux) + np.ptp(ours)) / 2, share * theirs)
    note = f"Linux {span(linux)}, here {span(ours)}"
    return Line(f"{what}, middle of the range", theirs, here, reach, unit, note)


def alone(kind: str, queue: str, cc: str, ecn: int) -> Comparison:
    """One flow over a discipline without random decisions: 40 Mbit/s, 40 ms, 40 s."""
    (row,) = rows_of("flow_queues", [f"{kind}_{cc}_e{ecn}"])

    def lines(values: Mapping[str, Values]) -> list[Line]:
        ours = {key: float(value) for key, value in values[cc].items()}
        steady, srtt = float(row["goodput_steady_mbps"]), float(row["srtt_steady_ms"])
        marks, retransmits = float(row["bottleneck_marks"]), float(row["retrans_pkts"])
        return [
            Line("goodput after 10 s", steady, ours["1.steady"], GOODPUT * steady, "Mbit/s"),
            Line("mean srtt after 10 s", srtt, ours["1.steady_srtt"], ROUND_TRIP * srtt, "ms"),
            Line("retransmissions", retransmits, ours["1.retransmits"], None, "segments"),
            *([Line("marks", marks, ours["1.marks"], None, "packets")] if ecn else []),
        ]

    flow = f'cc = "{cc}"\necn = {"true" if ecn else "false"}'
    suffix = " with ECN" if ecn else ""
    return Comparison(f"{NAMES[cc]} over {kind}{suffix}", [Run(cc, path(queue, 40, 40, [flow]), reduce, 1.3e5)], lines)


def together(kind: str, queue: str, ecn: int) -> Comparison:
    """CUBIC, and Reno after each of the offsets."""
    linux = rows_of("flow_queues", [f"{kind}_cubic_reno_e{ecn}_{offset}ms" for offset in OFFSETS_MS])

    def lines(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for number, name in ((1, "CUBIC"), (2, "Reno")):
            for what, theirs, key, share, unit in (
                ("goodput", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
                ("mean srtt", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
            ):
                ours = measured(values, f"{number}.{key}")
                out.append(ranges(f"{what} of {name} after 10 s", column(linux, theirs, number), ours, unit, share))
        return out

    switch = f"ecn = {'true' if ecn else 'false'}"
    runs = []
    for offset in OFFSETS_MS:
        flows = [f'cc = "cubic"\n{switch}', f'cc = "reno"\n{switch}\nstart = "{offset} ms"']
        runs.append(Run(f"{offset} ms", path(queue, 40, 40, flows), reduce, 1.3e5))
    return Comparison(f"CUBIC and Reno over {kind}{' with ECN' if ecn else ''}", runs, lines)


def pie(cc: str) -> Comparison:
    """One flow over PIE with its defaults, 40 ms: 16 seeds, and all of Linux's recordings (40 for Reno)."""
    linux = [row for row in table("linux/7.3/pie_single.csv") if row["run"].startswith(f"pie_{cc}_")]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        return [
            means(what, column(linux, theirs, 1), measured(values, key), share, unit)
            for what, theirs, key, share, unit in (
                ("goodput after 10 s", "goodput_steady_mbps", "1.steady", GOODPUT, "Mbit/s"),
                ("mean srtt after 10 s", "srtt_steady_ms", "1.steady_srtt", ROUND_TRIP, "ms"),
            )
        ] + [ranges("retransmissions", column(linux, "retrans_pkts", 1), measured(values, "1.retransmits"), "segments")]

    runs = [
        Run(f"seed {seed}", f"seed = {seed}" + path(PIE_LARGE, 40, 40, [f'cc = "{cc}"']), reduce, 1.3e5)
        for seed in SEEDS
    ]
    return Comparison(f"{NAMES[cc]} over PIE", runs, lines)


def slow_start_over_pie(rtt_ms: int) -> Comparison:
    """CUBIC's slow start, which HyStart ends, and Reno's, which overflows PIE's queue, at 200 Mbit/s for 30 s.

    The second flow starts when it did in the grid of CUBIC against Reno, 37 ms less a round trip after the first. The
    draws are phases of PIE's timer, which goes every 16 ms, and seeds.
    """
    linux = rows_of("pie_slow_start", [f"pie200_{rtt_ms}ms_{draw}" for draw in range(5)])
    gap_ms = max(0, 37 - rtt_ms)

    def lines(values: Mapping[str, Values]) -> list[Line]:
        return [
            ranges(
                f"retransmissions of {name}",
                column(linux, "retrans_pkts", number),
                measured(values, f"{number}.retransmits"),
                "segments",
            )
            for number, name in ((1, "CUBIC"), (2, "Reno"))
        ]

    runs = []
    for draw in range(10):
        starts = (1.6 * draw, 1.6 * draw + gap_ms)
        flows = [f'cc = "{cc}"\nstart = "{start:g} ms"' for cc, start in zip(("cubic", "reno"), starts, strict=True)]
        toml = f"seed = {draw + 1}" + path('{ kind = "pie" }', 30, rtt_ms, flows, rate_mbps=200)
        runs.append(Run(f"draw {draw}", toml, reduce, 5e5))
    return Comparison(f"CUBIC and Reno over PIE, 200 Mbit/s, {rtt_ms} ms", runs, lines)


def comparisons() -> list[Comparison]:
    """Every comparison."""
    return [
        *(alone("fq_codel", FQ_CODEL, cc, ecn) for ecn in (0, 1) for cc in NAMES),
        *(together("fq_codel", FQ_CODEL, ecn) for ecn in (0, 1)),
        *(alone("fq", FQ, cc, 0) for cc in NAMES),
        together("fq", FQ, 0),
        *(pie(cc) for cc in NAMES),
        *(slow_start_over_pie(rtt) for rtt in (5, 10, 20, 50)),
    ]
