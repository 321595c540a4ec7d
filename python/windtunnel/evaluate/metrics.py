"""What to measure of a run, as an expression that is data: ``p95(windows.measured.queue.sojourn_ms)``.

A path starts at ``flows``, ``flow``, ``queues`` or ``queue``, at ``windows.NAME`` followed by one of these, or at
``duration_s``. The flows of a table with ``count`` are called ``name-1``, ``name-2``, ...; ``flows.name`` is all of
them. Python's own parser reads the text, and everything in it that is not listed here is refused.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from windtunnel.errors import did_you_mean
from windtunnel.metrics import jain_index

Value: TypeAlias = "float | Mapping[str, Any] | list[Any]"

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b if b else math.nan,
}
_OF_MANY: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda x: sum(x) / len(x),
    "count": lambda x: float(len(x)),
    "jain": lambda x: float(jain_index(np.asarray(x))),
}
_RECORDS = {"flows": "flows", "flow": "flows", "queues": "queues", "queue": "queues", "fairness": "fairness"}


class MetricError(ValueError):
    """A metric that is wrong, or that a run does not have. ``str(error)`` says what."""


@dataclass(frozen=True)
class Expression:
    """An expression over a run's summary."""

    text: str
    root: ast.expr

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Raises MetricError for what is no expression at all."""
        try:
            return cls(text, ast.parse(text.strip(), mode="eval").body)
        except SyntaxError:
            raise MetricError(f"{text!r} is no expression") from None

    def value(self, summary: Mapping[str, Any]) -> float:
        """Its value; NaN where the run has none. Raises MetricError."""
        return _number(_value(self.root, summary), self.text)


def _value(node: ast.expr, summary: Mapping[str, Any]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _resolve(_path(node), summary)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = (_number(_value(side, summary), ast.unparse(side)) for side in (left, right))
            return _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, summary), ast.unparse(operand))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [_value(argument, summary) for argument in arguments])
    raise MetricError(f"`{ast.unparse(node)}` is not allowed here")


def _call(name: str, values: Sequence[Value]) -> float:
    if re.fullmatch(r"p\d+", name):
        return _call("max", [_leaf(values[0], name)])
    if name == "ratio":
        above, below = (_number(v, "ratio()") for v in values)
        return above / below if below else math.nan
    if name == "abs":
        return abs(_number(values[0], "abs()"))
    if name not in _OF_MANY:
        raise MetricError(f"there is no function `{name}`{did_you_mean(name, [*_OF_MANY, 'ratio', 'abs', 'p95'])}")
    numbers = [n for v in values for n in (_numbers(v, name) if isinstance(v, list) else [_number(_of(v, name), name)])]
    return _OF_MANY[name](numbers) if numbers and all(map(math.isfinite, numbers)) else math.nan


def _of(value: Value, name: str) -> Value:
    """``mean`` of a distribution is the summary's own."""
    return value[name] if isinstance(value, Mapping) and name in value else value


def _numbers(values: Sequence[Any], name: str) -> list[float]:
    return [_number(_of(v, name), name) for v in values]


def _leaf(value: Value, key: str) -> Value:
    if isinstance(value, list):
        return [_leaf(v, key) for v in value]
    if isinstance(value, Mapping):
        return math.nan if value.get(key) is None else float(value[key])
    return value


def _path(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                parts.append(name)
                node = inner
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                parts.append(name)
                node = inner
            case _:
                raise MetricError(f"`{ast.unparse(node)}` is no path")
    return [node.id, *reversed(parts)]


def _resolve(path: Sequence[str], summary: Mapping[str, Any]) -> Value:
    """What a path names. Raises MetricError."""
    shown, rest, scope = ".".join(path), list(path), summary
    if rest[0] == "windows":
        windows = {w["name"]: w for w in summary["windows"]}
        if len(rest) < 2 or rest[1] not in windows:
            raise MetricError(f"{shown}: there is no such window; there are {', '.join(windows)}")
        scope, rest = windows[rest[1]], rest[2:]
    if rest and rest[0] in ("duration_s", "packets"):
        return float(scope[rest[0]])
    if not rest or rest[0] not in _RECORDS:
        raise MetricError(f"{shown}: a path starts with windows, {', '.join(_RECORDS)} or duration_s")
    records = scope[_RECORDS[rest[0]]]
    if rest[0] in ("flow", "queue") and len(records) != 1:
        raise MetricError(f"{shown}: there are {len(records)}: name one of them")
    chosen, keys = _chosen(records, rest[1:], rest[0], shown)
    values = [_descend(record, keys, shown) for record in chosen]
    return values if len(values) != 1 else values[0]


def _chosen(
    records: Sequence[Mapping[str, Any]], rest: Sequence[str], root: str, shown: str
) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """The records that a path means, and the rest of it."""
    if root in ("flow", "queue") or not rest:
        return records, rest
    name = rest[0]
    named = [r for r in records if r["name"] == name or re.fullmatch(re.escape(name) + r"-\d+", r["name"])]
    if named:
        return named, rest[1:]
    if records and name not in records[0]:
        raise MetricError(f"{shown}: none is named `{name}`; there are {', '.join(r['name'] for r in records[:10])}")
    return records, rest


def _descend(record: Any, keys: Sequence[str], shown: str) -> Value:
    for key in keys:
        if record is None:
            return math.nan
        if not isinstance(record, Mapping) or key not in record:
            there = ", ".join(record) if isinstance(record, Mapping) else "no more keys"
            raise MetricError(f"{shown}: there is no `{key}`; there are {there}")
        record = record[key]
    if record is None:
        return math.nan
    return record if isinstance(record, Mapping) else float(record)


def _number(value: Value, of: str) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping) and "mean" in value:
        return math.nan if value["mean"] is None else float(value["mean"])
    raise MetricError(f"{of}: one number is needed: write a function of it, such as mean() or sum()")
