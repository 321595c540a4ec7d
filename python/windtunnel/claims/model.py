"""A claim: what it says, the comparison of metrics that decides it, and the cells of a campaign that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.errors import cut, did_you_mean
from windtunnel.experiment.measures import Condition, Expression, MetricError

KEYS = ("text", "check", "name", "where")


class ClaimError(ValueError):
    """A claim that is wrong: which of its keys, and what is wrong there."""

    def __init__(self, path: Sequence[str | int], problem: str, value: object = None) -> None:
        self.path, self.value = tuple(path), value
        super().__init__(problem)


@dataclass(frozen=True)
class Claim:
    """A statement in words, and the condition under which it is true.

    ``where``: the values that axes of a campaign must have in the cells that the claim is about.
    """

    name: str
    text: str
    condition: Condition
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()


def condition_of(check: str, names: Mapping[str, Expression]) -> Condition:
    """The condition of a claim; ``names`` are metrics that it may name. Raises ClaimError."""
    try:
        condition = Condition.parse(check, names)
        if condition.quantity.compares:
            raise MetricError("baseline() is known only where two are compared: in `windtunnel compare --fail-if`")
        return condition
    except MetricError as error:
        raise ClaimError(["check"], f"{cut(check)!r}: {error}", check) from None


def claims_of(value: object, names: Mapping[str, Expression], axes: Mapping[str, Sequence[str]]) -> tuple[Claim, ...]:
    """The claims of a campaign, with the labels of its axes' values. Raises ClaimError."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ClaimError([], f"{value!r} is not allowed: a list of claims, each with `text` and `check`", value)
    claims: list[Claim] = []
    for index, table in enumerate(value):
        try:
            claim = _claim(index, table, names, axes)
        except ClaimError as error:
            raise ClaimError([index, *error.path], str(error), error.value) from None
        if any(claim.name == other.name for other in claims):
            raise ClaimError([index, "name"], f"{claim.name!r} is the name of another claim: names must differ")
        claims.append(claim)
    return tuple(claims)


def _claim(index: int, table: Any, names: Mapping[str, Expression], axes: Mapping[str, Sequence[str]]) -> Claim:
    if isinstance(table, Claim):
        return table
    if not isinstance(table, Mapping):
        raise ClaimError([], f"{table!r} is not allowed: a table with `text` and `check`", table)
    for key in table:
        if key not in KEYS:
            problem = f"is not a key here; the keys are {', '.join(KEYS)}{did_you_mean(str(key), KEYS)}"
            raise ClaimError([str(key)], problem, key)
    for key in ("text", "check"):
        if key not in table:
            raise ClaimError([key], "is required")
    for key in ("text", "check", "name"):
        value = table.get(key, "-")
        if not isinstance(value, str) or not value.strip():
            raise ClaimError([key], f"{value!r} is not allowed: a text", value)
    name = str(table.get("name", default_name(index)))
    return Claim(name, table["text"], condition_of(table["check"], names), _where(table.get("where", {}), axes))


def default_name(index: int) -> str:
    """What a claim without a name is called."""
    return f"claim-{index + 1}"


def _where(where: object, axes: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    from windtunnel.experiment.axes import inline

    if not isinstance(where, Mapping):
        problem = f'{where!r} is not allowed: values of axes, such as {{ cc = "reno" }}'
        raise ClaimError(["where"], problem, where)
    pairs = []
    for axis, wanted in where.items():
        if axis not in axes:
            names = ", ".join(axes) or "none"
            raise ClaimError(["where", axis], f"is no axis; there are {names}{did_you_mean(axis, axes)}", axis)
        values = wanted if isinstance(wanted, list | tuple) else [wanted]
        labels = tuple(value if isinstance(value, str) else inline(value) for value in values)
        for label in labels:
            if label not in axes[axis]:
                shown = ", ".join(axes[axis][:20])
                hint = did_you_mean(label, axes[axis])
                raise ClaimError(["where", axis], f"{label!r} is no value of this axis: {shown}{hint}", label)
        pairs.append((str(axis), labels))
    return tuple(pairs)
