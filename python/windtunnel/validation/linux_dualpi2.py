"""DualPI2 of Linux 7.3 beside ours: Reno, CUBIC and both, without and with ECN, at 40 Mbit/s and 40 ms.

Linux has one run of each, and coins decide: it is one more draw beside our 16 seeds, and must lie within three of
their standard deviations of their mean, or within the difference that is always allowed. tc shows no marks of this
discipline.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from windtunnel.validation.check import Check, Line, Run, Values
from windtunnel.validation.linux import path, reduce
from windtunnel.validation.linux_queues import GOODPUT, NAMES, ROUND_TRIP, SEEDS, Rows, column, measured, rows_of, span

#: Linux counts Ethernet's header; its disciplines had existed for a second.
DUALPI2 = '{ kind = "dualpi2", mtu = "1514 B", age = "1 s" }'

#: The flows of a run, by the middle of its name.
FLOWS = {"reno": ("reno",), "cubic": ("cubic",), "cubic_reno": ("cubic", "reno")}


def toml(row: Rows, seed: int) -> str:
    """Linux's run as a scenario."""
    flows = [
        f'cc = "{flow["cc"]}"\necn = {"true" if flow["ecn"] == "1" else "false"}\nstart = "{flow["start_s"]} s"'
        for flow in row
    ]
    return f"seed = {seed}" + path(DUALPI2, 40, 40, flows)


def one_draw(what: str, linux: float, ours: npt.NDArray[np.float64], share: float, unit: str) -> Line:
    """A line that compares Linux's one run with our seeds."""
    margin = max(3.0 * float(ours.std(ddof=1)), share * linux)
    return Line(f"{what}, mean of the seeds", linux, float(ours.mean()), margin, unit, f"here {span(ours)}")


def check(name: str, ecn: int) -> Check:
    """One of Linux's runs, and our seeds."""
    linux = rows_of("queues", [f"dualpi2_{name}_e{ecn}"])

    def lines(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for number, cc in enumerate(FLOWS[name], start=1):
            for what, theirs, key, share, unit in (
                ("goodput", "goodput_steady_mbps", "steady", GOODPUT, "Mbit/s"),
                ("mean srtt", "srtt_steady_ms", "steady_srtt", ROUND_TRIP, "ms"),
                ("retransmissions", "retrans_pkts", "retransmits", 0.0, "segments"),
            ):
                ours = measured(values, f"{number}.{key}")
                (draw,) = column(linux, theirs, number)
                out.append(one_draw(f"{what} of {NAMES[cc]}", float(draw), ours, share, unit))
        return out

    title = " and ".join(NAMES[cc] for cc in FLOWS[name]) + " over dualpi2" + (" with ECN" if ecn else "")
    return Check(title, [Run(f"seed {seed}", toml(linux, seed), reduce, 1.3e5) for seed in SEEDS], lines)


def checks() -> list[Check]:
    """Every comparison."""
    return [check(name, ecn) for ecn in (0, 1) for name in FLOWS]
