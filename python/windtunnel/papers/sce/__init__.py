"""The suite of the mail "SCE ramps" (J. Morton, July 2019): its eight graphs, a map of ramps, and its statements."""

from __future__ import annotations

from windtunnel.papers import claims
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.sce.graphs import graph_groups
from windtunnel.papers.sce.plan import SENDERS, add_setup, cake, ramp_key, twins
from windtunnel.papers.sce.ramp_map import map_groups
from windtunnel.papers.sce.thresholds import thresholds_group
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite, figures_and_claims


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: the graphs and claims with five runs of each, three values of N, no map."""
    setups: dict[str, Setup] = {}
    groups = [group for sender in SENDERS for group in graph_groups(setups, sender, quick=quick)]
    groups += [thresholds_group(setups, sender, quick=quick) for sender in SENDERS]
    if not quick:
        groups += map_groups(setups)
    groups += _claims(setups, quick=quick)
    return Suite("sce", "SCE ramps", setups, groups, SCE.text("notes.md"), figures_and_claims(groups))


def _claims(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim and sender; ``setups`` must contain the graphs' setups."""
    data = SCE.toml("claims.toml")

    def make(name: str) -> Setup:
        run = data["run"][name]
        queue = cake(run["queue"], ramp_key(run["ramp"]) if "ramp" in run else None)
        return add_setup(setups, name, queue, run["flows"], twins=twins(quick=quick))

    for name in data["run"]:
        make(name)
    remarks = ("", "Reno-SCE halves at CE")
    listed = [
        claims.about(claim, "sender", sender.suffix, sender.suffix, remark)
        for sender, remark in zip(SENDERS, remarks, strict=True)
        for claim in data["claim"]
    ]
    return claims.claims_groups(listed, setups, make, quick=quick)
