"""The suite of "Friendliness between AIMD Algorithms": figures 1 to 7, the formula, and the claims."""

from __future__ import annotations

from windtunnel.papers.aimd.amplitude import amplitude_group
from windtunnel.papers.aimd.claims import claims_groups
from windtunnel.papers.aimd.disturbance import disturbance_group
from windtunnel.papers.aimd.geometry import geometry_groups
from windtunnel.papers.aimd.linux import linux_group
from windtunnel.papers.aimd.markov import markov_group
from windtunnel.papers.aimd.matrix import matrix_groups
from windtunnel.papers.aimd.numbers import number_groups
from windtunnel.papers.aimd.paths import grid_groups
from windtunnel.papers.aimd.red import red_groups
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite, parts


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: the models, nine paths of figures 4 and 6, C-Reno, Linux at 40 Mbit/s,
    two factors over RED, sawteeth in detail, one and four flows, two disturbed paths.
    """
    setups: dict[str, Setup] = {}
    figures = [*geometry_groups(), *grid_groups(setups, quick=quick)]
    if not quick:
        figures += matrix_groups(setups)
    figures.sort(key=lambda group: group.id)
    models = [*number_groups(), markov_group(setups, quick=quick)]
    groups = [*models[:1], *figures, *models[1:], linux_group(setups, quick=quick), *claims_groups(setups, quick=quick)]
    groups += red_groups(setups, quick=quick)
    groups += [amplitude_group(setups, quick=quick), disturbance_group(setups, quick=quick)]
    return Suite(
        "aimd", "Friendliness between AIMD Algorithms", setups, groups, AIMD.text("notes.md"), _aliases(groups)
    )


def _aliases(groups: list[Group]) -> dict[str, list[str]]:
    """``figures``, ``claims``, ``models`` (no run needed); ``fig7`` for 7a and 7b; ``P54`` for P54a to P54f."""
    return {
        "figures": [g.id for g in groups if g.id.startswith("fig")],
        "claims": [g.id for g in groups if g.title.startswith("Claim")],
        "models": [g.id for g in groups if not g.setups],
        **parts(groups),
    }
