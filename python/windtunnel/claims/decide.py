"""Decides claims: confirmed, refuted or undecided.

Over several runs, the mean of the claim's quantity has an interval. The claim is confirmed where the whole interval is
within its limits, refuted where none of it is, and undecided otherwise: then the runs are too few, or too different, to
tell. A single run has one value, and no interval: the claim is decided for this run alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from windtunnel.claims.model import Claim, condition_of, default_name
from windtunnel.experiment.measures import MetricError
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.verdict import Verdict, of_interval, together, word, word_of

if TYPE_CHECKING:
    from windtunnel.result import RunResult


@dataclass(frozen=True)
class Decision:
    """A claim about a run or a cell: ``count`` values of its quantity, their mean, its interval, and why there is none.

    ``cell`` are the values of the axes, by name; none for a single run.
    """

    verdict: Verdict
    count: int
    mean: float | None
    interval: tuple[float, float] | None = None
    why: str = ""
    cell: tuple[tuple[str, str], ...] = ()
    method: str = ""
    """What the mean and its interval are, in words."""

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return word(self.verdict, "statement").text

    def words(self) -> str:
        """What was measured: ``4.2 (3.9 to 4.5, 8 runs)``."""
        if self.mean is None:
            return self.why or "no value"
        if self.count == 1:
            return f"{self.mean:.4g} (one run)"
        span = "no interval" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        return f"{self.mean:.4g} ({span}, {self.count} runs)"

    def where(self) -> str:
        """The cell in words."""
        return ", ".join(f"{axis} = {label}" for axis, label in self.cell)

    def document(self) -> dict[str, Any]:
        """As plain data."""
        low, high = self.interval or (None, None)
        return {
            "cell": dict(self.cell), "verdict": self.word, "count": self.count, "mean": self.mean, "low": low,
            "high": high, "method": self.method, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True)
class Decided:
    """A claim and its decisions: one for each cell that it is about, or the one of a single run."""

    claim: Claim
    decisions: tuple[Decision, ...]

    @property
    def verdict(self) -> Verdict:
        """Of all cells together."""
        return together(decision.verdict for decision in self.decisions)

    @property
    def word(self) -> str:
        """The verdict as people read it."""
        return word(self.verdict, "statement").text


def is_passed(decided: Iterable[Decided], *, undecided: bool) -> bool:
    """Whether no claim is refuted; nor undecided, unless ``undecided`` ones pass."""
    good = {"agrees", "undecided"} if undecided else {"agrees"}
    return all(each.verdict in good for each in decided)


def of_values(
    claim: Claim,
    values: Sequence[float],
    confidence: float,
    interval: Literal["t", "bootstrap"],
    why: str = "",
    scale: Scale = PLAIN,
) -> Decision:
    """The decision by independent values; one that is not a number counts for nothing."""
    from windtunnel.experiment.statistics import mean as mean_of
    from windtunnel.experiment.statistics import mean_interval, method

    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return Decision("undecided", 0, None, why=why or "no run has a value")
    if len(finite) == 1:
        value = finite[0]
        return Decision(of_interval(claim.condition.limits, (value, value)), 1, value)
    mean, bounds = mean_of(finite, scale), mean_interval(finite, confidence, interval, scale)
    verdict = of_interval(claim.condition.limits, bounds)
    return Decision(verdict, len(finite), mean, bounds, method=method(finite, interval, scale))


def of_run(result: RunResult) -> list[dict[str, Any]]:
    """The claims of a run's scenario, decided by its one value each; plain data, as in ``summary.json``."""
    scenario = result.meta.get("scenario") or {}
    rows = []
    for index, table in enumerate(scenario.get("claim", ())):
        claim = of_scenario(index, table)
        value, why = math.nan, ""
        try:
            value = claim.condition.quantity.value(result)
        except MetricError as error:
            why = str(error)
        decision = of_values(claim, [value], 0.95, "t", why or "the run has no value of this")
        rows.append({
            "name": claim.name, "text": claim.text, "check": claim.condition.text, "verdict": decision.word,
            "value": decision.mean, "why": decision.why,
        })  # fmt: skip
    return rows


def of_scenario(index: int, table: Mapping[str, Any]) -> Claim:
    """A claim of a scenario that the core has read. Raises ClaimError."""
    return Claim(table.get("name") or default_name(index), table["text"], condition_of(table["check"], {}))


def decided_run(result: RunResult) -> list[Decided]:
    """The claims of a run as those of a campaign of one cell and one run."""
    return [
        Decided(
            of_scenario(index, each),
            (
                Decision(
                    word_of(each["verdict"]).verdict, int(each["value"] is not None), each["value"], why=each["why"]
                ),
            ),
        )
        for index, each in enumerate(result.claims)
    ]
