"""Claim K84: Reno is more sensitive than CUBIC to disturbances that knock it out of its steady state (footnote 5).

The report's runs have two flows that nothing disturbs. Here short transfers that load the link by 5 % run next to the
flows of figure 4, with the same start offsets as there and different arrivals in each run, so that every run has an
undisturbed counterpart. If Reno is the more sensitive one, it keeps a smaller part of its rate than CUBIC does, and its
share of their common rate falls. The footnote belongs to a sentence about CUBIC outside its Reno-friendly mode: paths
on which CUBIC is Reno-friendly throughout are shown for information.

The other flow may take what one loses. Each is therefore also disturbed alone, where the capacity that it does not take
stays unused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.experiment.verdict import Verdict
from windtunnel.papers.aimd.paths import CUBIC, GRIDS, RENO, add_setup, means
from windtunnel.papers.aimd.plan import fair_mbps, starts, steady
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Mbit/s and ms: all RTTs at the rate where CUBIC goes through all its modes, and one larger window in its own mode.
PATHS = ((40, 5), (40, 10), (40, 20), (40, 50), (40, 100), (120, 50))
QUICK_PATHS = ((40, 20), (40, 100))

#: Paths on which each flow is also disturbed alone: CUBIC is partly Reno-friendly on one, never on the other.
ALONE_PATHS = ((40, 50), (40, 100))
ALONE_SEEDS = (1, 2, 3, 4)

#: Transfers that do not start within the run: the first is a million seconds away.
NOTHING = '{ kind = "poisson", arrivals = 1e-6 }'

#: Load of the short transfers: a few percent of the link.
LOAD = 0.05

#: An effect counts if it is at least this many standard errors from zero.
ERRORS = 2.0

GRID = next(grid for grid in GRIDS if grid.figure == "4")


@dataclass(frozen=True)
class Pair:
    """A path without and with the short transfers."""

    rate: int
    rtt: int
    plain: Setup
    disturbed: Setup

    @property
    def path(self) -> tuple[int, int]:
        """Mbit/s and ms."""
        return self.rate, self.rtt

    def kept(self, results: Results, flow: str) -> list[float]:
        """The rate with the disturbance over the rate without, run by run."""
        return [b / a if a > 0 else math.inf for a, b in self._both(results, flow)]

    def gained(self, results: Results) -> list[float]:
        """Reno's share of both flows' rate with the disturbance, minus its share without."""
        cubic, reno = self._both(results, CUBIC), self._both(results, RENO)
        return [_share(c[1], r[1]) - _share(c[0], r[0]) for c, r in zip(cubic, reno, strict=True)]

    def share(self, results: Results, setup: Setup) -> float:
        """Reno's share of both flows' rate, the mean over the runs."""
        both = zip(*(means(results, setup, self.rate, flow) for flow in (CUBIC, RENO)), strict=True)
        return float(np.mean([_share(*each) for each in both]))

    def friendly(self, results: Results, setup: Setup) -> float:
        """Share of the time in which CUBIC is Reno-friendly: the mean over the runs in which this can be decided."""
        shares = [v for v in results.values(setup.name, setup.index(steady("friendly", CUBIC))) if math.isfinite(v)]
        return float(np.mean(shares)) if shares else math.nan

    def _both(self, results: Results, flow: str) -> list[tuple[float, float]]:
        pair = (means(results, setup, self.rate, flow) for setup in (self.plain, self.disturbed))
        return list(zip(*pair, strict=False))


def _share(cubic: float, reno: float) -> float:
    return reno / (cubic + reno) if cubic + reno > 0 else math.nan


@dataclass(frozen=True)
class Alone:
    """One flow alone on a path, without and with the short transfers."""

    rate: int
    plain: Setup
    disturbed: Setup

    def kept(self, results: Results) -> list[float]:
        """The rate of each disturbed run over that of the undisturbed one."""
        plain, disturbed = (
            results.values(c.name, c.index(_alone_mean(self.rate))) for c in (self.plain, self.disturbed)
        )
        return [value / plain[0] if plain[0] > 0 else math.inf for value in disturbed] if plain else []


def disturbance_group(setups: dict[str, Setup], *, quick: bool) -> Group:
    """The rows of each path, with both flows and with each alone."""
    pairs = [_pair(setups, *path, quick=quick) for path in (QUICK_PATHS if quick else PATHS)]
    alone = {path: [_alone(setups, cc, *path) for cc in ("cubic", "reno")] for path in (() if quick else ALONE_PATHS)}

    def rows(results: Results) -> list[Row]:
        together = [row for pair in pairs for row in (_kept_row(pair, results), _share_row(pair, results))]
        return [*together, *(_alone_row(path, both, results) for path, both in alone.items())]

    caption = "CUBIC against Reno over tail drop as in figure 4, and each alone, disturbed by short transfers"
    measured: list[Pair | Alone] = [*pairs, *(each for both in alone.values() for each in both)]
    used = [setup.name for each in measured for setup in (each.plain, each.disturbed)]
    return Group("K84", "Claim K84", caption, used, rows, statement=True)


def _pair(setups: dict[str, Setup], rate: int, rtt: int, *, quick: bool) -> Pair:
    plain = add_setup(setups, GRID, rate, rtt, quick=quick)
    load = f'flow.2.app.load="{LOAD * rate:g} Mbps"'
    name, rtts = f"disturbed/{rate}Mbps-{rtt}ms", (float(rtt),) * 3
    setup = Setup(name, AIMD.template("disturbed"), (*GRID.settings, load), float(rate), rtts)
    setup.twins = tuple((*twin, f"seed={seed}") for seed, twin in enumerate(starts(setup, quick=quick), 2))
    for flow in (CUBIC, RENO):
        setup.index(steady("mean", flow, fair_mbps(rate, 2)))
    setup.index(steady("friendly", CUBIC))
    setups[name] = setup
    return Pair(rate, rtt, plain, setup)


def _alone_mean(rate: int) -> Measurement:
    return steady("mean", "0", fair_mbps(rate, 1))


def _alone(setups: dict[str, Setup], cc: str, rate: int, rtt: int) -> Alone:
    """Both setups; nothing differs from one undisturbed run to the next."""
    name, rtts = f"alone/{cc}-{rate}Mbps-{rtt}ms", (float(rtt),) * 2
    settings = (f'flow.0.cc="{cc}"', f'flow.1.app.load="{LOAD * rate:g} Mbps"')
    disturbed = Setup(name, AIMD.template("alone"), settings, float(rate), rtts)
    disturbed.twins = tuple((f"seed={seed}",) for seed in ALONE_SEEDS[1:])
    plain = Setup(f"{name}-plain", AIMD.template("alone"), (settings[0], f"flow.1.app={NOTHING}"), float(rate), rtts)
    for setup in (plain, disturbed):
        setup.index(_alone_mean(rate))
        setups[setup.name] = setup
    return Alone(rate, plain, disturbed)


def _below(values: Sequence[float], bound: float) -> Verdict:
    """Whether the mean is below the bound by more than chance explains."""
    if len(values) < 2 or not np.isfinite(values).all():
        return "differs"
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return "agrees" if float(np.mean(values)) + ERRORS * error < bound else "differs"


def _row(path: tuple[int, int], id: str, what: str, bound: float, values: Sequence[float], note: str) -> Row:
    rate, rtt = path
    mode = GRID.mode(rate, rtt)
    judged = mode != "Reno-friendly"
    notes = [f"CUBIC's mode: {mode}"]
    if values:
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        notes += [note, f"mean of {len(values)} runs, standard error {error:.3f}"]
    return Row(
        f"K84/{rate}Mbps-{rtt}ms/{id}",
        "K84",
        f"{rate} Mbit/s, {rtt} ms: {what}",
        f"< {bound:g}" if judged else None,
        float(np.mean(values)) if values else None,
        None,
        "",
        _below(values, bound) if judged else "info",
        "; ".join(notes),
        spread(values),
    )


def _kept_row(pair: Pair, results: Results) -> Row:
    """Reno loses a larger part of its rate than the short transfers take of the link."""
    values, cubic = pair.kept(results, RENO), pair.kept(results, CUBIC)
    note = f"CUBIC keeps {np.mean(cubic):.3f}" if cubic else ""
    return _row(pair.path, "kept", "part of its rate that Reno keeps with short transfers", 1.0 - LOAD, values, note)


def _share_row(pair: Pair, results: Results) -> Row:
    """Reno loses more than CUBIC does."""
    values, note = pair.gained(results), ""
    if values:
        plain, disturbed = pair.share(results, pair.plain), pair.share(results, pair.disturbed)
        before, after = (100 * pair.friendly(results, setup) for setup in (pair.plain, pair.disturbed))
        note = f"{disturbed:.3f} - {plain:.3f}; CUBIC is Reno-friendly {after:.0f} and {before:.0f} % of the time"
    return _row(pair.path, "share", "Reno's share of both rates: with short transfers minus without", 0.0, values, note)


def _alone_row(path: tuple[int, int], cubic_and_reno: Sequence[Alone], results: Results) -> Row:
    """Alone, too, Reno loses more than CUBIC does."""
    cubic, reno = (each.kept(results) for each in cubic_and_reno)
    values = [r - c for c, r in zip(cubic, reno, strict=False)]
    note = f"Reno keeps {np.mean(reno):.3f}, CUBIC {np.mean(cubic):.3f}" if values else ""
    what = "part of its rate that each keeps with short transfers only: Reno's minus CUBIC's"
    return _row(path, "alone", what, 0.0, values, note)
