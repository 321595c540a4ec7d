"""The text's claims as checks with a number. What each measures, expects and tolerates is in ``claims.toml``.

What needs real TCP endpoints, L4S or middleboxes is tried by experiments of the suite of deployment. A claim that names
``checks`` of them has their rows, and one of its own that says what they say together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from windtunnel.papers import claims, deployment
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.deployment.checklists import Line
from windtunnel.papers.experiments import Check, Experiment
from windtunnel.papers.mds import fairness
from windtunnel.papers.rows import Row
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Results

#: Perturbed runs of a claim's own setups, unless the data say how many; they are small.
PERTURBED = 4


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim; the quick suite leaves out a claim whose runs are not in ``setups``."""
    data = MDS.toml("claims.toml")

    def make(name: str) -> Setup:
        if name in data["run"]:
            run = data["run"][name]
            perturbed = int(run.get("perturbed", PERTURBED))
            return Setup(name, MDS.template(run["scenario"]), tuple(run.get("set", ())), perturbed=perturbed)
        return _table_setup(name, setups)

    tried = [claim for claim in data["claim"] if "checks" in claim]
    measured = [claim for claim in data["claim"] if "checks" not in claim]
    groups = claims.claims_groups(measured, setups, make, quick=quick)
    if not quick:
        groups += _tried_groups(tried, setups)
    order = [claim["id"] for claim in data["claim"]]
    return sorted(groups, key=lambda group: order.index(group.id))


def _tried_groups(tried: Sequence[Mapping[str, Any]], setups: dict[str, Setup]) -> list[Group]:
    """The claims that experiments of the suite of deployment try."""
    wanted = {pattern.partition("/")[0] for claim in tried for pattern in claim["checks"]}
    experiments = deployment.experiments(setups, quick=False, only=wanted)
    return [_tried(claim, experiments) for claim in tried]


def _tried(claim: Mapping[str, Any], experiments: Sequence[Experiment]) -> Group:
    """The claim's own row, then those of its experiments."""
    wanted = {experiment.id: _chosen(experiment, claim["checks"]) for experiment in experiments}
    mine = [experiment for experiment in experiments if wanted[experiment.id]]
    checks = tuple(check for experiment in mine for check in wanted[experiment.id])
    together = Line(claim["id"], claim["text"], checks, claim.get("note", ""))

    def rows(results: Results) -> list[Row]:
        own = replace(together.row("claims", results), id=claim["id"])
        return [own, *(replace(row, group="claims") for experiment in mine for row in experiment.rows(results))]

    names = sorted({name for experiment in mine for name in experiment.setups})
    return Group(claim["id"], f"Claim {claim['id']}", claim["text"], names, rows)


def _chosen(experiment: Experiment, patterns: Sequence[str]) -> list[Check]:
    """The checks with an expectation whose ids match a pattern."""
    judged = (check for check in experiment.checks if check.expected is not None)
    return [check for check in judged if any(fnmatchcase(check.id, pattern) for pattern in patterns)]


def _table_setup(name: str, setups: dict[str, Setup]) -> Setup:
    for number in (2, 3, 4, 5, 6):
        for line in fairness.read_lines(number):
            if line.id == name:
                return fairness.add_setup(setups, line, quick=False)
    raise ValueError(f"a claim names a run that does not exist: {name}")
