"""The suite of the mail "SCE ramps" (J. Morton, July 2019): its eight graphs, a map of ramps, and its statements."""

from __future__ import annotations

from windtunnel.papers.data_folder import SCE
from windtunnel.papers.sce.claims import claims_groups
from windtunnel.papers.sce.graphs import graph_groups
from windtunnel.papers.sce.plan import SENDERS
from windtunnel.papers.sce.ramp_map import map_groups
from windtunnel.papers.sce.thresholds import thresholds_group
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: the graphs and claims with five runs of each, three values of N, no map."""
    setups: dict[str, Setup] = {}
    groups = [group for sender in SENDERS for group in graph_groups(setups, sender, quick=quick)]
    groups += [thresholds_group(setups, sender, quick=quick) for sender in SENDERS]
    if not quick:
        groups += map_groups(setups)
    groups += claims_groups(setups, quick=quick)
    return Suite("sce", "SCE ramps", setups, groups, SCE.text("notes.md"), _aliases(groups))


def _aliases(groups: list[Group]) -> dict[str, list[str]]:
    """``figures``, ``claims``, and the claims about one graph: ``K47`` for K47a to K47d, with each sender."""
    aliases = {
        "figures": [g.id for g in groups if not g.title.startswith("Claim")],
        "claims": [g.id for g in groups if g.title.startswith("Claim")],
    }
    for group in groups:
        stem = group.id.partition("-")[0].rstrip("abcdef")
        if group.title.startswith("Claim") and stem != group.id:
            aliases.setdefault(stem, []).append(group.id)
    return aliases
