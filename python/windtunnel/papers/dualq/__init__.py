"""The suite of "Disproof of 'Throughput Bonus' or 'Fast-Lane' Objection": the slides' runs and conclusions."""

from __future__ import annotations

from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.dualq.claims import claims_groups
from windtunnel.papers.dualq.tables import slide_groups, table_groups
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite

TITLE = "Disproof of the 'Throughput Bonus' Objection"


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: five runs of each setup, DualPI2 with both base RTTs, PI2 with one."""
    setups: dict[str, Setup] = {}
    tables = table_groups(setups, quick=quick)
    groups = [*slide_groups(setups), *tables, *claims_groups(setups, quick=quick)]
    return Suite("dualq", TITLE, setups, groups, DUALQ.text("notes.md"), _aliases(groups))


def _aliases(groups: list[Group]) -> dict[str, list[str]]:
    """``figures``, ``claims``, and the claims about one run with every meaning: ``K56`` for K56a, K56a-40ms, ..."""
    aliases = {
        "figures": [g.id for g in groups if not g.title.startswith("Claim")],
        "claims": [g.id for g in groups if g.title.startswith("Claim")],
    }
    for group in groups:
        stem = group.id.partition("-")[0].rstrip("abcdef")
        if group.title.startswith("Claim") and stem != group.id:
            aliases.setdefault(stem, []).append(group.id)
    return aliases
