"""Figures 3, 4 and 6: one CUBIC and one Reno flow over 25 paths, with tail drop or PIE."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from windtunnel.experiment.words import word
from windtunnel.papers.aimd import whiskers
from windtunnel.papers.aimd.linux import read_lines
from windtunnel.papers.aimd.modes import PIE_TARGET_S, Mode, mode, mode_by_equation, mode_of_share
from windtunnel.papers.aimd.plan import LIMIT_S, fair_mbps, starts, steady, whisker
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results, given

#: Rates in Mbit/s and base RTTs in ms. The axes of the published images are not legible: see the notes.
RATES = (4, 12, 40, 120, 200)
RTTS = (5, 10, 20, 50, 100)
QUICK_RATES, QUICK_RTTS = (4, 40, 200), (5, 20, 100)

#: The mean normalised rate is "close to 1" where it is equal to it.
CLOSE = word("equal").around_one


@dataclass(frozen=True)
class Grid:
    """A figure: its scenario file and settings, where sawteeth peak, and in which modes rates should be equal."""

    figure: str
    scenario: str
    settings: tuple[str, ...]
    peak_s: float
    equal_in: tuple[Mode, ...]
    reference: str = ""
    """The name of its queue in the Linux reference, if it is there."""

    @property
    def id(self) -> str:
        """The group's id."""
        return f"fig{self.figure}"

    def mode(self, rate: int, rtt: int) -> Mode:
        """CUBIC's mode on a path."""
        return mode(rate, rtt * 1e-3, self.peak_s)

    def mode_by_equation(self, rate: int, rtt: int) -> Mode:
        """The same by the equation of the switch-over RTT."""
        return mode_by_equation(rate, rtt * 1e-3, self.peak_s)

    def setup(self, rate: int, rtt: int) -> str:
        """The setup of a path."""
        return f"{self.id}/{rate}Mbps-{rtt}ms"


GRIDS = (
    Grid("3", "tail-drop", ('bottleneck.queue.limit="200 ms"',), 0.200, ("Reno-friendly", "mixed")),
    Grid("4", "tail-drop", ('bottleneck.queue.limit="25 ms"',), 0.025, ("Reno-friendly", "mixed"), "td"),
    Grid("6", "pie", (), PIE_TARGET_S, ("Reno-friendly",), "pie"),
)

#: Flow numbers, as in the scenario files.
CUBIC, RENO = "0", "1"
NAMES = {CUBIC: "CUBIC", RENO: "Reno"}


def grid_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each of the figures; the quick suite leaves out figure 3."""
    return [_group(setups, grid, quick=quick) for grid in GRIDS if not (quick and grid.figure == "3")]


def add_setup(setups: dict[str, Setup], grid: Grid, rate: int, rtt: int, *, quick: bool) -> Setup:
    """The setup of a path; it is added to ``setups`` if it is new."""
    name = grid.setup(rate, rtt)
    if name not in setups:
        setup = Setup(name, AIMD.template(grid.scenario), grid.settings, float(rate), (float(rtt), float(rtt)))
        setup.twins = starts(setup, quick=quick)
        for flow in (CUBIC, RENO):
            for measurement in whisker(flow, fair_mbps(rate, 2)):
                setup.index(measurement)
        setup.index(steady("friendly", CUBIC))
        setup.index(converged())
        setups[name] = setup
    return setups[name]


def converged() -> Measurement:
    """When the run has converged, in seconds."""
    return Measurement("rates", CUBIC, f"steady_from({LIMIT_S})")


def _group(setups: dict[str, Setup], grid: Grid, *, quick: bool) -> Group:
    caption = AIMD.toml("captions.toml")["figure"][grid.figure]
    paths = [(rate, rtt) for rate in (QUICK_RATES if quick else RATES) for rtt in (QUICK_RTTS if quick else RTTS)]
    used = [add_setup(setups, grid, *path, quick=quick) for path in paths]

    def rows(results: Results) -> list[Row]:
        out = []
        for path, setup in zip(paths, used, strict=True):
            out += _setup_rows(grid, path, setup, results)
        return [*out, *_grid_rows(grid, paths, used, results)]

    def png(results: Results) -> bytes | None:
        categories = [
            whiskers.Category(
                f"{rtt}",
                f"{rate} Mbit/s",
                tuple(
                    whiskers.whisker(
                        *(results.values(setup.name, setup.index(m)) for m in whisker(f, fair_mbps(rate, 2)))
                    )
                    for f in (CUBIC, RENO)
                ),
                _shown_mode(grid, (rate, rtt), setup, results),
                grid.mode_by_equation(rate, rtt),
            )
            for (rate, rtt), setup in zip(paths, used, strict=True)
        ]
        if all(w is None for c in categories for w in c.whiskers):
            return None
        return whiskers.draw(
            [("", ("CUBIC", "Reno"), categories)],
            title=f"Figure {grid.figure}: {caption}",
            x_label="Base RTT (ms), by link rate",
            top=2.0,
        )

    return Group(grid.id, f"Figure {grid.figure}", caption, [c.name for c in used], rows, png)


def _shown_mode(grid: Grid, path: tuple[int, int], setup: Setup, results: Results) -> Mode:
    """The mode that the runs of a setup show, or the formula's if nothing was run."""
    seen = _recorded(setup, results)
    return grid.mode(*path) if seen is None else seen


def _recorded(setup: Setup, results: Results) -> Mode | None:
    shares = [v for v in results.values(setup.name, setup.index(steady("friendly", CUBIC))) if math.isfinite(v)]
    return mode_of_share(sum(shares) / len(shares)) if shares else None


def means(results: Results, setup: Setup, rate: float, flow: str) -> list[float]:
    """Mean normalised rate of a flow in each run."""
    return results.values(setup.name, setup.index(steady("mean", flow, fair_mbps(rate, 2))))


def ratios(results: Results, setup: Setup, rate: float) -> list[float]:
    """CUBIC's mean rate over Reno's in each run."""
    both = zip(means(results, setup, rate, CUBIC), means(results, setup, rate, RENO), strict=True)
    return [c / r if r > 0 else float("inf") for c, r in both]


def _setup_rows(grid: Grid, path: tuple[int, int], setup: Setup, results: Results) -> list[Row]:
    """Each flow's mean normalised rate; judged where the report says that it is close to 1."""
    rate, rtt = path
    mode_here = grid.mode(rate, rtt)
    out = []
    for flow, name in NAMES.items():
        values = means(results, setup, rate, flow)
        low, high = (results.values(setup.name, setup.index(m)) for m in whisker(flow, fair_mbps(rate, 2))[::2])
        note = f"CUBIC's mode: {mode_here}"
        if values:
            note += f"; P1 {sum(low) / len(low):.3f}, P99 {sum(high) / len(high):.3f}, over {len(values)} start offsets"
        note += _reference(grid, path, name)
        what = f"{rate} Mbit/s, {rtt} ms: mean normalised rate of {name}"
        id = f"{setup.name}/{name.lower()}"
        mean = [sum(values) / len(values)] if values else []
        if mode_here in grid.equal_in:
            row = compare(id, grid.id, what, 1.0, CLOSE, mean, "", note)
            out.append(replace(row, interval=spread(values)))
        else:
            out.append(Row(id, grid.id, what, None, mean[0] if mean else None, None, "", "info", note, spread(values)))
    return out


def _reference(grid: Grid, path: tuple[int, int], name: str) -> str:
    """The result of the real Linux stack on that path, if it was run there."""
    for line in read_lines():
        if (line.queue, line.rate_mbps, line.rtt_ms) == (grid.reference, *path):
            return f"; Linux {line.mean_of(name)} (one start offset)"
    return ""


def _grid_rows(grid: Grid, paths: list[tuple[int, int]], used: list[Setup], results: Results) -> list[Row]:
    """What holds for the figure as a whole: modes, and the slowest convergence."""
    out = []
    formula = [grid.mode(*path) for path in paths]
    equation = [grid.mode_by_equation(*path) for path in paths]
    seen = [_recorded(c, results) for c in used]
    out += _mode_rows(grid, "", "formula", formula, seen)
    out += _mode_rows(grid, "equation-", "equation of the switch-over RTT", equation, seen)
    same = float(sum(a == b for a, b in zip(formula, equation, strict=True)))
    what = "paths on which formula and equation have the same mode"
    out.append(Row(f"{grid.id}/equation-formula", grid.id, what, None, same, None, "paths", "info", f"of {len(paths)}"))
    times = [t for c in used for t in results.values(c.name, c.index(converged()))]
    what = "latest convergence of all runs (MSER-5)"
    late = sum(t >= LIMIT_S for t in times)
    note = f"{late} of {len(times)} runs at the limit of {LIMIT_S} s" if times else ""
    out.append(Row(f"{grid.id}/converged", grid.id, what, None, max(times, default=None), None, "s", "info", note))
    return out


def _mode_rows(grid: Grid, prefix: str, by: str, modes: list[Mode], seen: list[Mode | None]) -> list[Row]:
    """CUBIC's modes by a rule: on how many paths it is Reno-friendly at all, and on how many the runs show the same."""
    friendly = float(sum(m != "CUBIC" for m in modes))
    id, what = f"{grid.id}/{prefix}friendly", f"paths on which CUBIC is wholly or partly Reno-friendly, by the {by}"
    if grid.figure == "3":
        note = "section 3.1.3: none of the CUBIC flows are ever in Reno-friendly mode"
        row = compare(id, grid.id, what, 0.0, 0.0, [friendly], "paths", note)
        first = given(row, f"rate, RTT and buffer by the {by}")
    else:
        first = Row(id, grid.id, what, None, friendly, None, "paths", "info")
    pairs = [(m, s) for m, s in zip(modes, seen, strict=True) if s is not None]
    agree = float(sum(a == b for a, b in pairs)) if pairs else None
    note = f"of {len(pairs)} paths that were run" if pairs else ""
    what = f"paths on which the run shows the mode of the {by}"
    return [first, Row(f"{grid.id}/{prefix}modes", grid.id, what, None, agree, None, "paths", "info", note)]
