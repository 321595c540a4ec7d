"""Gates: conditions under which a comparison fails, such as
``p99(queue.sojourn_ms) > 1.1 * baseline(p99(queue.sojourn_ms))``.

They are in the language of metrics; ``baseline(...)`` is the same of the baseline. Of campaigns, names of metrics stand
for their expressions, and a gate is judged in each cell by the mean over its pairs of runs: it fails where the whole
interval is where it should not be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from windtunnel.claims.decide import Decided, Decision, of_values
from windtunnel.claims.model import Claim
from windtunnel.compare.differences import is_crossed, metrics_of, pairs_of, units
from windtunnel.compare.sides import CampaignSide, RunSide
from windtunnel.errors import InputError
from windtunnel.experiment.measures import Condition, Expression, MetricError
from windtunnel.experiment.measures.language import Node
from windtunnel.experiment.scales import Scale


def parse(text: str, metrics: dict[str, str]) -> Condition:
    """A gate; ``metrics`` are those of the campaigns. Raises InputError."""
    try:
        return Condition.parse(text, {name: Expression.parse(metric) for name, metric in metrics.items()})
    except MetricError as error:
        raise InputError(f"--fail-if {text!r}: {error}") from None


def of_runs(texts: Sequence[str], baseline: RunSide, candidate: RunSide) -> list[Decided]:
    """Gates judged by two runs. Raises InputError for what the runs do not have."""
    gates = []
    for text in texts:
        gate = parse(text, {})
        try:
            value = gate.quantity.value(candidate.result, baseline.result)
        except MetricError as error:
            raise InputError(f"--fail-if {text!r}: {error}") from None
        gates.append(_decided(gate, candidate.name, [of_values(_claim(gate, candidate.name), [value], 0.95, "t")]))
    return gates


def of_campaigns(texts: Sequence[str], baseline: CampaignSide, candidate: CampaignSide) -> list[Decided]:
    """Gates judged in each cell. Raises InputError for what is no metric of both campaigns."""
    metrics, chosen = metrics_of(baseline, candidate), candidate.data.document["statistics"]
    roots = {Expression.parse(metric).root: name for name, metric in metrics.items()}
    gates = []
    for text in texts:
        gate, decisions = parse(text, metrics), []
        for cell, pairs in pairs_of(baseline, candidate):
            try:
                values = [gate.quantity.value(_values(roots, b), _values(roots, a)) for a, b in pairs]
            except MetricError as error:
                raise InputError(f"--fail-if {text!r}: {error}; there are {', '.join(metrics)}") from None
            scale = Scale.of(gate.quantity.kind)
            independent = units([b for _, b in pairs], values, crossed=is_crossed(candidate), scale=scale)
            d = of_values(_claim(gate, ""), independent, chosen["confidence"], chosen["interval"], scale=scale)
            decisions.append(replace(d, cell=(("cell", cell or "all"),)))
        gates.append(_decided(gate, candidate.name, decisions))
    return gates


def _values(roots: dict[Node, str], row: dict[str, Any]) -> dict[Node, float]:
    return {root: math.nan if row[name] is None else float(row[name]) for root, name in roots.items()}


def _claim(gate: Condition, name: str) -> Claim:
    return Claim(name, gate.text, gate)


def _decided(gate: Condition, name: str, decisions: Sequence[Decision]) -> Decided:
    return Decided(_claim(gate, name), tuple(decisions))


def failing(gates: Sequence[Decided]) -> list[tuple[Decided, Decision]]:
    """What fails: where the condition surely holds, and where there is nothing to judge it by."""
    return [(gate, d) for gate in gates for d in gate.decisions if d.verdict == "agrees" or d.mean is None]


def words(decision: Decision) -> str:
    """What was measured, after the cell in which it was."""
    return "".join(f"{label}: " for _, label in decision.cell if label != "all") + decision.words()
