"""The map: fairness and delay in one queue, over where the SCE ramp begins and how far it extends.

The mail shows four places and says that the rest is configurable. A column of the map is the delay at which the ramp
begins, a row the distance from there to where the probability is 1. A ramp that straddles the AQM's target has a
probability of 1/20 there, as in the mail's graph 4; one that ends below the target rises in a straight line, and so
does one that begins at it or above. Each sender law is one pair of maps. CAKE has the mail's ramps alone: here the AQM
is CoDel, with the same target and interval, and the ramp in addition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from windtunnel.experiment.statistics import summary_of_all
from windtunnel.metrics import Array
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.sce.graphs import DELAY_P95, SHARE, USED
from windtunnel.papers.sce.plan import SENDERS, TARGET_MS, add_setup
from windtunnel.papers.sce.thresholds import FAIR, FAIR_TEXT
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results, Value

#: Where ramps begin, and how far they extend, in ms.
BEGINS_MS = (0.0, 1.25, 2.5, 3.75, 5.0, 7.5, 10.0, 15.0)
EXTENTS_MS = (1.25, 2.5, 5.0, 7.5, 10.0, 15.0, 20.0)
#: Runs of a ramp in addition to the first.
TWINS = 2

#: The sender laws: id, name, and the controller as a scenario names it.
LAWS = (
    ("reno-sce", "Reno-SCE", "reno-sce"),
    ("reno-sce-halves", "Reno-SCE, half at CE", SENDERS[1].cc),
    ("reno-sce-g0.5", "Reno-SCE, g = 1/2", '{ kind="reno-sce", g=0.5 }'),
    ("dctcp-sce", "DCTCP-SCE", "dctcp-sce"),
    ("cubic-sce", "CUBIC-SCE", "cubic-sce"),
)
VALUES = (SHARE, DELAY_P95, USED)


#: The probability of a ramp that straddles the AQM's target there.
KNEE = 0.05


@dataclass(frozen=True)
class Ramp:
    """A place on the map, in ms."""

    begin: float
    extent: float

    @property
    def end(self) -> float:
        """Where the probability is 1."""
        return self.begin + self.extent

    @property
    def knee(self) -> float:
        """The probability at the AQM's target."""
        if self.end <= TARGET_MS:
            return 1.0
        return 0.0 if self.begin >= TARGET_MS else KNEE

    @property
    def queue(self) -> str:
        """The override that adds this ramp to CoDel; ``target`` is where the ramp has its knee."""
        knee_ms = min(self.end, TARGET_MS)
        ramp = f'lo="{self.begin:g} ms", target="{knee_ms:g} ms", knee={self.knee:g}, hi="{self.end:g} ms"'
        return f'bottleneck.queue={{ kind="codel", ecn=true, ecn_mode="sce", sce={{ {ramp} }} }}'


RAMPS = tuple(Ramp(begin, extent) for extent in EXTENTS_MS for begin in BEGINS_MS)


def mails_ramps() -> dict[str, Ramp]:
    """The mail's ramps, by name."""
    return {name: Ramp(r["lo_ms"], r["hi_ms"] - r["lo_ms"]) for name, r in SCE.toml("graphs.toml")["ramp"].items()}


def map_groups(setups: dict[str, Setup]) -> list[Group]:
    """A figure of all laws, and each law's numbers."""
    used = {law: {ramp: _add_setup(setups, law, cc, ramp) for ramp in RAMPS} for law, _, cc in LAWS}

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.sce.figures import Map, draw_maps

        maps = [
            Map(name, *(_values(results, used[law], value) for value in (SHARE, DELAY_P95))) for law, name, _ in LAWS
        ]
        return draw_maps(maps) if any(np.isfinite(m.shares).any() for m in maps) else None

    def rows(results: Results) -> list[Row]:
        return [row for law, name, _ in LAWS for row in _rows(results, law, name, used[law])]

    caption = (
        f"One queue, each SCE law against Reno: Reno's share and P95 of the queueing delay, means of {TWINS + 1} runs. "
        "Marked are the mail's four ramps"
    )
    names = [setup.name for each in used.values() for setup in each.values()]
    return [Group("map", "The map of ramps", caption, names, rows, png)]


def _add_setup(setups: dict[str, Setup], law: str, cc: str, ramp: Ramp) -> Setup:
    name = f"map/{law}/{ramp.begin:g}+{ramp.extent:g}"
    setup = add_setup(setups, name, ramp.queue, ("reno", cc), twins=TWINS)
    setup.settings += ('record.points="0 s"', 'record.state="off"')
    for value in VALUES:
        value.prepare(setup)
    return setup


def _values(results: Results, used: dict[Ramp, Setup], value: Value) -> Array:
    """Means by extent (rows) and beginning (columns); NaN where nothing was run."""
    means = [summary_of_all(value.values(results, used[ramp])).mean for ramp in RAMPS]
    return np.array([math.nan if v is None else v for v in means]).reshape(len(EXTENTS_MS), len(BEGINS_MS))


def _rows(results: Results, law: str, name: str, used: dict[Ramp, Setup]) -> list[Row]:
    """The mail's four ramps, and how large the fair part of the map is."""
    rows = []
    for ramp_name, ramp in mails_ramps().items():
        for value in VALUES:
            what = f"{name}, {ramp_name}: {value.what.format(first='Reno', second=name)}"
            seen = value.values(results, used[ramp])
            rows.append(
                trial_row(
                    f"map/{law}/{ramp_name}/{value.id}", "map", what, None, None, seen, value.unit, scale=value.scale
                )
            )
    shares = _values(results, used, SHARE)
    delays = _values(results, used, DELAY_P95)
    finite = np.isfinite(shares)
    fair = finite & (shares >= FAIR.low) & (shares <= FAIR.high)
    part = float(fair.sum() / finite.sum()) if finite.any() else None
    what = f"{name}: part of the map's ramps with which Reno has {FAIR_TEXT} of the throughput"
    rows.append(Row(f"map/{law}/fair", "map", what, None, part, None, "", "info"))
    if fair.any():
        best = int(np.argmin(np.where(fair, delays, np.inf)))
        ramp = RAMPS[best]
        note = f"from {ramp.begin:g} to {ramp.end:g} ms, Reno's share {shares.flat[best]:.2f}"
        what = f"{name}: lowest P95 of the queueing delay among these"
        rows.append(Row(f"map/{law}/best", "map", what, None, float(delays.flat[best]), None, "ms", "info", note))
    return rows
