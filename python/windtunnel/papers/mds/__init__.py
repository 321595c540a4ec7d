"""The suite of "Multiplicative Decrease Scaling": figures 1 to 17, tables 1 to 8, the text's claims, and variants."""

from __future__ import annotations

from windtunnel.papers.data_folder import MDS
from windtunnel.papers.experiment_figure import figure_of
from windtunnel.papers.experiments import Experiment, read
from windtunnel.papers.mds.claims import claims_groups
from windtunnel.papers.mds.fairness import fairness_groups
from windtunnel.papers.mds.figures import effects_group, figure_groups, ratedrop_group
from windtunnel.papers.mds.frequency import frequency_group
from windtunnel.papers.mds.mixes import mixes_group
from windtunnel.papers.mds.tau import tau_group
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite, parts

#: Kinds of groups, by the prefix of their IDs.
KINDS = {"fig": "figures", "table": "tables", "P": "claims", "K": "experiments"}

#: Figures of the quick suite.
QUICK_FIGURES = ("fig2", "fig3a", "fig5")


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: figures 2, 3a, 5, six cells of tables 2 to 6, and the claims they show."""
    setups: dict[str, Setup] = {}
    figures = figure_groups(setups, quick=quick)
    if quick:
        figures = [g for g in figures if g.id in QUICK_FIGURES]
        kept = {name for g in figures for name in g.setups}
        for name in [n for n in setups if n not in kept]:
            del setups[name]
        for setup in setups.values():
            setup.pictures[:] = [p for p in setup.pictures if p.id in QUICK_FIGURES]
        fairness = fairness_groups(setups, quick=True)
        tables = fairness
    else:
        tables = [
            tau_group(setups),
            *fairness_groups(setups, quick=False),
            ratedrop_group(setups),
            frequency_group(setups),
            effects_group(setups),
        ]
    groups = [*figures, *tables, *claims_groups(setups, quick=quick)]
    if not quick:
        low_rtt = read(MDS.toml("experiments/low-rtt.toml"), MDS.template, setups, quick=False)
        groups += [mixes_group(setups), *map(_experiment_group, low_rtt)]
    return Suite("mds", "Multiplicative Decrease Scaling", setups, groups, MDS.text("notes.md"), _aliases(groups))


def _experiment_group(experiment: Experiment) -> Group:
    title, caption = f"{experiment.id}: {experiment.title}", f"{experiment.claim} ({experiment.source})"
    draw = figure_of(experiment, experiment.figure) if experiment.figure is not None else lambda _: None
    return Group(experiment.id, title, caption, experiment.setups, experiment.rows, draw)


def _aliases(groups: list[Group]) -> dict[str, list[str]]:
    """``figures``, ``tables``, ``claims``, ``experiments``; ``fig3`` for 3a and 3b; ``P13`` for P13a and P13b."""
    aliases: dict[str, list[str]] = {kind: [] for kind in KINDS.values()}
    for group in groups:
        kind = next((kind for prefix, kind in KINDS.items() if group.id.startswith(prefix)), None)
        if kind is not None:
            aliases[kind].append(group.id)
    return {**aliases, **parts(groups)}
