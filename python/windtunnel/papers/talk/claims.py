"""The talk's claims P35 to P48 as checks with a number over several runs. What each expects is in ``data/claims``.

A claim or check about controllers that this build does not have is left out; the group ``missing`` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.papers.arms import expanded
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.experiment_figure import figure_of
from windtunnel.papers.experiments import Experiment, read
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group
from windtunnel.papers.talk.controllers import registered

#: The files, in the order of the talk.
THEMES = ("storms", "reno", "high-bdp", "delay", "loss", "bbr")


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """A group for each claim."""
    return [_group(e) for e in experiments(setups, quick=quick)]


def experiments(setups: dict[str, Setup], *, quick: bool) -> list[Experiment]:
    """The claims; their arms are added to ``setups``."""
    out: list[Experiment] = []
    for theme in THEMES:
        data = TALK.toml(f"claims/{theme}.toml")
        usable = [_without_missing(e) for e in data["experiment"] if _possible(e)]
        out += read({**data, "experiment": usable}, TALK.template, setups, quick=quick)
    return out


def _without_missing(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The claim with the checks that this build can try; those of the whole suite keep their ``for``."""
    kept = []
    for check in experiment["check"]:
        if "needs" not in check:
            kept.append(check)
            continue
        names = {key: [v for v in values if _named(check["needs"], key, v)] for key, values in check["for"].items()}
        fewer = {key: [v for v in values if v in names[key]] for key, values in check.get("quick_for", {}).items()}
        kept.append({**check, "for": names, "quick_for": fewer})
    return {**experiment, "check": kept}


def _named(needs: list[str], key: str, value: object) -> bool:
    """Whether the controllers exist that ``needs`` names with this value of a repeated table."""
    return all(each.replace(f"${key}", str(value)) in registered() for each in needs if f"${key}" in each)


def _possible(experiment: Mapping[str, Any]) -> bool:
    return all(name in registered() for name in experiment.get("needs", ()))


def _group(experiment: Experiment) -> Group:
    caption = f"{experiment.claim} ({experiment.source})"
    group = Group(
        experiment.id,
        f"{experiment.id}: {experiment.title}",
        caption,
        experiment.setups,
        experiment.rows,
        statement=True,
    )
    if experiment.figure is not None:
        group.png = figure_of(experiment, experiment.figure)
    return group


def arms() -> list[dict[str, Any]]:
    """Every arm of every file, for tests."""
    return [arm for theme in THEMES for arm in expanded(TALK.toml(f"claims/{theme}.toml")["arm"])]
