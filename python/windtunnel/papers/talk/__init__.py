"""The suite of "How TCP congestion control algorithms work" (SharkFest'19): its gallery, its claims, its tables."""

from __future__ import annotations

from windtunnel.papers.data_folder import TALK
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite
from windtunnel.papers.talk.bbr import bbr_groups
from windtunnel.papers.talk.catalogue import catalogue_group, tables
from windtunnel.papers.talk.cheating import cheating_groups
from windtunnel.papers.talk.claims import claims_groups
from windtunnel.papers.talk.collateral import collateral_groups
from windtunnel.papers.talk.convergence import convergence_groups
from windtunnel.papers.talk.efficiency import efficiency_groups
from windtunnel.papers.talk.fairness import fairness_groups
from windtunnel.papers.talk.gallery import gallery_groups
from windtunnel.papers.talk.numbers import numbers_group
from windtunnel.papers.talk.responses import responses_groups
from windtunnel.papers.talk.shapes import shapes_group
from windtunnel.papers.talk.startup import startup_groups


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part."""
    setups: dict[str, Setup] = {}
    groups = [
        catalogue_group(),
        numbers_group(),
        *gallery_groups(setups, quick=quick),
        *collateral_groups(setups, quick=quick),
        *efficiency_groups(setups, quick=quick),
        *convergence_groups(setups, quick=quick),
        *responses_groups(setups, quick=quick),
        *bbr_groups(setups, quick=quick),
        shapes_group(setups),
        *startup_groups(setups, quick=quick),
        *fairness_groups(setups, quick=quick),
        *cheating_groups(setups, quick=quick),
        *claims_groups(setups, quick=quick),
    ]
    notes = f"{TALK.text('notes.md')}\n\n{tables()}"
    return Suite("talk", "How TCP congestion control algorithms work", setups, groups, notes, _aliases(groups))


def _aliases(groups: list[Group]) -> dict[str, list[str]]:
    """``gallery`` for all controllers, ``claims`` for P35 to P48."""
    return {
        "gallery": [g.id for g in groups if g.id.startswith("gallery-")],
        "claims": [g.id for g in groups if g.title.startswith(f"{g.id}: ")],
    }
