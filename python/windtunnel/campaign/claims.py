"""The claims of a campaign, decided in each cell that they are about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windtunnel.campaign.conduct import of_units
from windtunnel.claims.decide import Decided, Decision, of_values
from windtunnel.claims.model import Claim
from windtunnel.experiment.scales import PLAIN

if TYPE_CHECKING:
    from windtunnel.campaign.conduct import Conductor
    from windtunnel.campaign.plan import Cell


def decide(conductor: Conductor) -> list[Decided]:
    """All claims of a campaign whose runs are done. Cells that ``--only`` leaves out are not decided."""
    claims = conductor.campaign.claims
    by_claim: list[list[Decision]] = [[] for _ in claims]
    if claims:
        for cell in conductor.plan.cells():
            labels = dict(zip(conductor.plan.axes, (value.label for value in cell.values), strict=True))
            about = [
                index
                for index, claim in enumerate(claims)
                if all(labels[axis] in wanted for axis, wanted in claim.where)
            ]
            for index, decision in zip(
                about, _in_cell(conductor, cell, [claims[p] for p in about], labels), strict=True
            ):
                by_claim[index].append(decision)
    return [Decided(claim, tuple(decisions)) for claim, decisions in zip(claims, by_claim, strict=True)]


def _in_cell(conductor: Conductor, cell: Cell, claims: list[Claim], labels: dict[str, str]) -> list[Decision]:
    if not claims:
        return []
    values: list[dict[int, list[float]]] = [{} for _ in claims]
    why = ["" for _ in claims]
    scales = [PLAIN for _ in claims]
    first = True
    per_unit = conductor.plan.runs_of_unit()
    for number, record in enumerate(conductor.records(cell.number)):
        if first and not record.error:
            first, scales = False, [record.scale(claim.condition.quantity) for claim in claims]
        for index, claim in enumerate(claims):
            value, problem = record.value(claim.condition.quantity)
            values[index].setdefault(number // per_unit, []).append(value)
            why[index] = why[index] or problem or record.error
    chosen = conductor.campaign.statistics
    pairs = tuple(labels.items())
    decisions = [
        of_values(claim, of_units(by_unit, scale), chosen.confidence, chosen.interval, reason, scale)
        for claim, by_unit, reason, scale in zip(claims, values, why, scales, strict=True)
    ]
    return [replace(decision, cell=pairs) for decision in decisions]
