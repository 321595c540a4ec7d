"""Tables 2 to 6: average throughputs of two flows over five minutes, start-up included, and how fair they are.

The document calls a steady state that is worse than 90/10 at equal RTTs "questionable" (its section on fairness).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel import models
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.mds.draws import draws_row
from windtunnel.papers.mds.plan import perturbed_runs
from windtunnel.papers.rows import Row, compare, printed_precision, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results, given

#: Setups of the quick suite: two of each kind of table, none above 100 Mbit/s.
QUICK = (
    "table2/10Mbps-20ms",
    "table2/100Mbps-5ms",
    "table3/100Mbps-10ms",
    "table4/100Mbps-20ms-12ms",
    "table5/100Mbps-5ms-120ms",
    "table6/100Mbps-20ms-120ms",
)

#: The document's text gives Scalable a CE response of 0.5; its 1 Mbit/s rows were made with 0.7. Both are run there.
OTHER_RESPONSE = ("flow.1.cc.ce_md=0.7",)
OTHER_RESPONSE_RATE = 1.0

#: One minute of recovery: the bound of the "acceptable" region (MDS, fairness).
ACCEPTABLE_S = 60.0

#: A larger share of both flows' throughput is "questionable".
QUESTIONABLE = 0.9


@dataclass(frozen=True)
class Line:
    """One line of a printed table."""

    table: int
    rate_mbps: float
    rtt_ms: float
    threshold_ms: str
    controllers: tuple[str, str]
    printed: tuple[str, str]
    outside: bool

    @property
    def id(self) -> str:
        """``table4/100Mbps-20ms-12ms``."""
        ends = f"-{self.threshold_ms}ms" if self.threshold_ms else ""
        return f"table{self.table}/{self.rate_mbps:g}Mbps-{self.rtt_ms:g}ms{ends}"

    @property
    def what(self) -> str:
        """The line in words."""
        ends = f", CE threshold {self.threshold_ms} ms" if self.threshold_ms else ""
        return f"{self.rate_mbps:g} Mbit/s, {self.rtt_ms:g} ms{ends}"


def read_lines(number: int) -> list[Line]:
    """The lines of table ``number``."""
    return [
        Line(
            number,
            float(r["rate_mbps"]),
            float(r["rtt_ms"]),
            r.get("threshold_ms", ""),
            (r["first"], r["second"]),
            (r["first_mbps"], r["second_mbps"]),
            r.get("outside") == "1",
        )
        for r in MDS.table(f"tables/table{number}.csv")
    ]


def mean_mbps(flow: int) -> Measurement:
    """IP bytes received, over the time of the last packet received."""
    return Measurement("summary", str(flow), "mean_mbps()")


def add_setup(
    setups: dict[str, Setup], line: Line, *, quick: bool, suffix: str = "", extra: tuple[str, ...] = ()
) -> Setup:
    """The setup of a line; it is added to ``setups`` if it is new."""
    name = line.id + suffix
    if name not in setups:
        settings = (
            *extra,
            *((f'bottleneck.queue.ce_threshold="{line.threshold_ms} ms"',) if line.threshold_ms else ()),
        )
        setup = Setup(name, MDS.template(f"table{line.table}"), settings, line.rate_mbps, (line.rtt_ms, line.rtt_ms))
        setup.perturbed = perturbed_runs(setup, figure=False, quick=quick)
        setups[name] = setup
    return setups[name]


def fairness_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each of tables 2 to 6."""
    return [_group(setups, number, quick=quick) for number in (2, 3, 4, 5, 6)]


def _group(setups: dict[str, Setup], number: int, *, quick: bool) -> Group:
    lines = [line for line in read_lines(number) if not quick or line.id in QUICK]
    runs: list[tuple[Line, Setup, str, str]] = []
    for line in lines:
        both = number in (2, 3) and line.rate_mbps == OTHER_RESPONSE_RATE
        runs.append(
            (line, add_setup(setups, line, quick=quick), "", "CE response 0.5, as the text says" if both else "")
        )
        if both:
            setup = add_setup(setups, line, quick=quick, suffix="/ce0.7", extra=OTHER_RESPONSE)
            runs.append((line, setup, "/ce0.7", "CE response 0.7, with which the document's 1 Mbit/s rows were made"))
    for _, setup, _, _ in runs:
        for flow in (0, 1):
            setup.index(mean_mbps(flow))

    def rows(results: Results) -> list[Row]:
        out = []
        for line, setup, suffix, note in runs:
            for flow in (0, 1):
                printed = line.printed[flow]
                index = setup.index(mean_mbps(flow))
                values, measurement = results.values(setup.name, index), setup.identity(index)
                what = f"{line.what}: {line.controllers[flow]}"
                id = f"{line.id}/{line.controllers[flow]}{suffix}"
                precision = printed_precision(printed)
                row = compare(
                    id, f"table{number}", what, float(printed), precision, values, "Mbit/s", note, measurement
                )
                out.append(row)
                draws = draws_row(line, flow, values)
                out += [draws] if draws is not None and not suffix else []
        shares = [(line, suffix, _shares(setup, results)) for line, setup, suffix, _ in runs]
        out += [_fairness_row(number, *each) for each in shares]
        out.append(_questionable_row(number, [(line, s) for line, suffix, s in shares if not suffix]))
        return out + (footnote_rows(number, lines) if number in (2, 3) else [])

    caption = MDS.toml("captions.toml")["table"][str(number)]
    return Group(f"table{number}", f"Table {number}", caption, [setup.name for _, setup, _, _ in runs], rows)


def larger_share(first: float, second: float) -> float:
    """The larger flow's share of both flows' throughput."""
    both = first + second
    return max(first, second) / both if both > 0 else math.nan


def _shares(setup: Setup, results: Results) -> list[float]:
    """The larger flow's share in each run of the setup."""
    both = (results.values(setup.name, setup.index(mean_mbps(flow))) for flow in (0, 1))
    return [larger_share(*each) for each in zip(*both, strict=True)]


def _printed_share(line: Line) -> float:
    return larger_share(*map(float, line.printed))


def _fairness_row(number: int, line: Line, suffix: str, shares: Sequence[float]) -> Row:
    """How fair a cell is: the printed numbers repeat what the other rows compare, so that this one is information."""
    measured = shares[0] if shares else None
    note = f"printed numbers: {_printed_share(line):.2f}"
    if measured is not None:
        word = "questionable: worse than 90/10" if measured > QUESTIONABLE else "not questionable: no worse than 90/10"
        note = f"{word}; {note}"
    if line.outside:
        note += f"; outside of the acceptable region of {line.controllers[0]} (footnote 9)"
    what = f"{line.what}: larger share of both flows"
    id = f"{line.id}/fairness{suffix}"
    return Row(id, f"table{number}", what, None, measured, None, "", "info", note, spread(shares))


def _questionable_row(number: int, shares: Sequence[tuple[Line, Sequence[float]]]) -> Row:
    """Whether as many cells are worse than 90/10 as by the printed numbers."""
    printed = sum(_printed_share(line) > QUESTIONABLE for line, _ in shares)
    every = [list(s) for _, s in shares]
    counts = [float(sum(s[k] > QUESTIONABLE for s in every)) for k in range(min(map(len, every)))]
    listed = ", ".join(line.what for line, s in shares if s and s[0] > QUESTIONABLE)
    what = f"cells of {len(shares)} that are worse than 90/10, which the document calls questionable"
    note = "; ".join(filter(None, ["published: by the printed numbers", listed]))
    return compare(f"table{number}/questionable", f"table{number}", what, printed, 0.0, counts, "cells", note)


def outside_acceptable(controller: str, rate_mbps: float, rtt_ms: float) -> bool:
    """Whether the conventional controller needs more than a minute to recover from a 50 % rate drop."""
    if controller == "reno":
        recovery = models.reno_recovery_time(rate_mbps * 1e6, rtt_ms * 1e-3)
    else:
        recovery = models.cubic_recovery_time(rate_mbps * 1e6, rtt_ms * 1e-3)
    return bool(recovery > ACCEPTABLE_S)


def footnote_rows(number: int, lines: list[Line]) -> list[Row]:
    """Footnote 9: whether the models give the mark that is printed."""
    out = []
    for line in lines:
        measured = float(outside_acceptable(line.controllers[0], line.rate_mbps, line.rtt_ms))
        what = f"{line.what}: footnote 9 (1: recovery of {line.controllers[0]} above a minute)"
        id = f"{line.id}/footnote9"
        row = compare(id, f"table{number}", what, float(line.outside), 0.0, [measured], "")
        out.append(given(row, "rate and RTT by the model of a recovery"))
    return out
