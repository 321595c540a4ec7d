"""The claims of a campaign, decided in each cell that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from windtunnel.campaign.conduct import of_units, scales_of
from windtunnel.claims.decide import Decided, Decision, of_values

if TYPE_CHECKING:
    from windtunnel.campaign.conduct import Conductor


def decide(conductor: Conductor) -> list[Decided]:
    """All claims of a campaign whose runs are done. Cells that ``--only`` leaves out are not decided."""
    plan, claims = conductor.plan, conductor.campaign.claims
    by_claim: list[list[Decision]] = [[] for _ in claims]
    for cell in range(plan.wanted()) if claims else ():
        labels = dict(zip(plan.axes, (value.label for value in plan.wanted_cell(cell).values), strict=True))
        about = [
            index for index, claim in enumerate(claims) if all(labels[axis] in wanted for axis, wanted in claim.where)
        ]
        for index, decision in zip(about, _in_cell(conductor, cell, about, labels), strict=True):
            by_claim[index].append(decision)
    return [Decided(claim, tuple(decisions)) for claim, decisions in zip(claims, by_claim, strict=True)]


def _in_cell(conductor: Conductor, cell: int, about: Sequence[int], labels: dict[str, str]) -> list[Decision]:
    if not about:
        return []
    rows, first = conductor.ledger.rows(cell), len(conductor.campaign.metrics)
    failed = rows.columns["error"] >= 0
    scales = scales_of(conductor.quantities, rows, int(failed.argmin()))
    problems: dict[int, str] = {}
    for row in range(len(rows)):
        of_run = dict(rows.problems(row))
        for index in about:
            problem = of_run.get(first + index, "") or rows.text("error", row)
            problems[index] = problems.get(index, "") or problem
    chosen, per_unit, pairs = conductor.campaign.statistics, conductor.plan.runs_of_unit(), tuple(labels.items())
    decisions = []
    for index in about:
        scale = scales[first + index]
        units = of_units(rows.columns["values"][:, first + index], per_unit, scale).tolist()
        claim = conductor.campaign.claims[index]
        decision = of_values(claim, units, chosen.confidence, chosen.interval, problems[index], scale)
        decisions.append(replace(decision, cell=pairs))
    return decisions
