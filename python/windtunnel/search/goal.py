"""What a hunt looks for: a property of a run that an expression measures, and from where on it is a find."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from windtunnel.campaign.errors import CampaignError
from windtunnel.errors import did_you_mean
from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.measures import Condition, Expression, MetricError
from windtunnel.experiment.measures.language import python_of

KEYS = ("minimize", "maximize", "below", "above", "violate")


@dataclass(frozen=True)
class Goal:
    """``quantity`` outside of ``limits`` is a find; the further outside, the better."""

    text: str
    label: str
    """The quantity as reports have it."""
    quantity: Expression
    limits: Limits

    @classmethod
    def of(cls, table: object) -> Goal:
        """From the table ``[find]``. Raises CampaignError."""
        if not isinstance(table, Mapping):
            raise CampaignError(["find"], f"{table!r} is not allowed: a table", table)
        for key in table:
            if key not in KEYS:
                problem = f"is not a key here; the keys are {', '.join(KEYS)}{did_you_mean(key, KEYS)}"
                raise CampaignError(["find", key], problem, key)
        chosen = [key for key in ("minimize", "maximize", "violate") if key in table]
        if len(chosen) != 1:
            raise CampaignError(["find"], "needs one of minimize, maximize and violate")
        kind = chosen[0]
        text = table[kind]
        if not isinstance(text, str):
            raise CampaignError(["find", kind], f"{text!r} is not allowed: an expression as text", text)
        try:
            if kind == "violate":
                _refuse(table, ("below", "above"), "`violate` has its own limits")
                condition = Condition.parse(text)
                return cls(f"not ({text})", _label(text), condition.quantity, condition.limits)
            quantity = Expression.parse(text)
        except MetricError as error:
            raise CampaignError(["find", kind], f"{text!r}: {error}", text) from None
        limit, other = ("below", "above") if kind == "minimize" else ("above", "below")
        _refuse(table, (other,), f"`{kind}` has `{limit}`")
        if limit not in table:
            raise CampaignError(["find"], f"`{kind}` needs `{limit}`: the value from which on it is a find")
        number = _number(table, limit)
        limits = Limits(low=number) if limit == "below" else Limits(high=number)
        return cls(f"{text} {'<' if limit == 'below' else '>'} {number:g}", text, quantity, limits)

    def holds(self, value: float) -> bool:
        """Whether a value is a find; not NaN."""
        return not math.isnan(value) and not self.limits.hold(value)

    def score(self, value: float) -> float:
        """What a sampler minimizes: how far from a find a value is."""
        return min(value - self.limits.low, self.limits.high - value)

    def value(self, values: Iterable[float]) -> float:
        """The value of several runs: their median, so that one lucky run is no find. NaN if half of them have none."""
        every = list(values)
        finite = [value for value in every if math.isfinite(value)]
        return median(finite) if 2 * len(finite) > len(every) else math.nan


def _label(condition: str) -> str:
    """The quantity of a condition that can be read: what it compares."""
    node = python_of(condition)
    assert isinstance(node, ast.Compare)
    if len(node.ops) == 2:
        return ast.unparse(node.comparators[0])
    right = node.comparators[0]
    is_limit = isinstance(right, ast.List | ast.Constant)
    return ast.unparse(node.left) if is_limit else f"{ast.unparse(node.left)} - ({ast.unparse(right)})"


def _refuse(table: Mapping[str, Any], keys: Iterable[str], why: str) -> None:
    for key in keys:
        if key in table:
            raise CampaignError(["find", key], f"is not allowed here: {why}", key)


def _number(table: Mapping[str, Any], key: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CampaignError(["find", key], f"{value!r} is not allowed: a number", value)
    return float(value)
