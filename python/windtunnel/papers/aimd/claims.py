"""The text's claims, P49 to P53 and J29. P49, which covers a whole grid, is defined here, others in ``claims.toml``."""

from __future__ import annotations

from windtunnel.experiment.verdict import Verdict
from windtunnel.papers import claims
from windtunnel.papers.aimd.markov import QUEUES, add_setup, setup_name
from windtunnel.papers.aimd.paths import GRIDS, RATES, RENO, RTTS, ratios
from windtunnel.papers.aimd.plan import LOW, fair_mbps, starts, steady
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.features import Axis
from windtunnel.papers.rows import Row, compare, spread
from windtunnel.papers.setups import Picture, Setup
from windtunnel.papers.suite import Group, Results

#: The run of ``claims.toml`` that the quick suite also has.
QUICK_RUN = "p53"

#: The claim whose run is shown, and the seconds shown: about four sawteeth.
SHOWN, SHOWN_S = "P53a", (100.0, 120.0)

#: "Up to about 15:1", to half a unit of the last digit.
LARGEST_RATIO, PRECISION = 15.0, 0.5


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim; ``setups`` must contain the grid's setups."""
    data = AIMD.toml("claims.toml")

    def make(name: str) -> Setup:
        for queue in QUEUES:
            if name == setup_name(queue, 0.7):
                return add_setup(setups, queue, 0.7)
        run = data["run"][name]
        setup = Setup(name, AIMD.template(run["scenario"]), tuple(run.get("set", ())))
        setup.twins = starts(setup, quick=quick)
        return setup

    if quick:
        setups[QUICK_RUN] = make(QUICK_RUN)
    listed = claims.claims_groups(data["claim"], setups, make, quick=quick)
    for group in listed:
        if group.id == SHOWN:
            _show(group, setups[group.setups[0]])
    return listed if quick else [*_bloated(setups), *listed]


def _show(group: Group, setup: Setup) -> None:
    """The run of a claim, as a picture and as a report."""
    begin, end = SHOWN_S
    tops = {"throughput": 50.0, "sojourn": 50.0, "cwnd": 300e3, "mark": 50.0}
    zoom = tuple((panel, Axis(begin, end, 0.0, top)) for panel, top in tops.items())
    setup.pictures.append(Picture(group.id, f"{group.title}: {group.caption}", zoom))
    group.png = lambda results: results.picture(setup.name, group.id)
    group.report = setup.name


def _bloated(setups: dict[str, Setup]) -> list[Group]:
    """P49: over the grid of figure 3."""
    grid = GRIDS[0]
    used = {(rate, rtt): setups[grid.setup(rate, rtt)] for rate in RATES for rtt in RTTS}
    slow = {path: setup for path, setup in used.items() if path[0] == RATES[0]}

    def largest(results: Results) -> list[Row]:
        by_path = {path: ratios(results, setup, path[0]) for path, setup in used.items()}
        count = min(map(len, by_path.values()))
        values = [max(v[k] for v in by_path.values()) for k in range(count)]
        where = max(by_path, key=lambda p: by_path[p][0]) if count else None
        note = f"largest at {where[0]} Mbit/s, {where[1]} ms" if where else ""
        return [compare("P49a", "claims", ratio, LARGEST_RATIO, PRECISION, values, "", note)]

    def starved(results: Results) -> list[Row]:
        lows = [
            results.values(setup.name, setup.index(steady("quantile", RENO, LOW, fair_mbps(rate, 2))))
            for (rate, _), setup in slow.items()
        ]
        values = [min(each) for each in zip(*lows, strict=False)]
        measured = values[0] if values else None
        verdict: Verdict = "agrees" if values and min(values) > 0 else "differs"
        note = "smallest P1 of the normalised rate; a starved flow has seconds without any delivery"
        return [Row("P49b", "claims", alive, "> 0", measured, None, "", verdict, note, spread(values))]

    ratio = "CUBIC outcompetes Reno by up to about 15:1 in bloated buffers"
    alive = f"Reno does not starve in bloated buffers at low link rates ({RATES[0]} Mbit/s)"
    return [
        Group("P49a", "Claim P49a", ratio, [c.name for c in used.values()], largest, statement=True),
        Group("P49b", "Claim P49b", alive, [c.name for c in slow.values()], starved, statement=True),
    ]
