"""Comparisons of expressions: ``p99(queue.sojourn_ms) < 5``, ``ratio(a, b) in [0.9, 1.1]``.

A condition is a quantity and the limits in which it should be, so that it can be decided of the mean of several runs,
with an interval. A comparison of two quantities is one of their difference with 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.measures.language import NONE, Expression, MetricError, node_of, python_of


@dataclass(frozen=True)
class Condition:
    """A quantity, and the limits within which it should be."""

    text: str
    quantity: Expression
    limits: Limits

    @classmethod
    def parse(cls, text: str, names: Mapping[str, Expression] = NONE) -> Condition:
        """``names`` are expressions that it may name. Raises MetricError."""
        parsed = cls._of_python(text, python_of(text, names))
        # What was declared of a metric holds for a claim about it.
        declared = next((each for each in names.values() if each.root == parsed.quantity.root), None)
        return parsed if declared is None else replace(parsed, quantity=replace(parsed.quantity, kind=declared.kind))

    @classmethod
    def _of_python(cls, text: str, node: ast.expr) -> Condition:
        if not isinstance(node, ast.Compare):
            raise MetricError("is no comparison: write <, <=, >, >= or in [low, high]")
        match node.ops, node.comparators:
            case [ast.In()], [ast.List(elts=[low, high])]:
                limits = Limits(_constant(low), _constant(high))
                if not limits.low <= limits.high:
                    raise MetricError(f"in [{limits.low:g}, {limits.high:g}]: the first limit is above the second")
                return cls(text, Expression.of_python(node.left), limits)
            case [op], [right]:
                return cls._one_sided(text, node.left, op, right)
            case [(ast.Lt() | ast.LtE()) as first, (ast.Lt() | ast.LtE()) as second], [middle, right]:
                if type(first) is type(second):
                    least, most = _constant(node.left), _constant(right)
                    limits = Limits(least, most, strict=isinstance(first, ast.Lt))
                    return cls(text, Expression.of_python(middle), limits)
        raise MetricError("is no comparison that can be decided: write <, <=, >, >=, a <= x <= b, or in [low, high]")

    @classmethod
    def _one_sided(cls, text: str, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
        if not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            raise MetricError("is no comparison that can be decided: write <, <=, >, >=, or in [low, high]")
        try:
            quantity, limit = left, _constant(right)
        except MetricError:
            quantity, limit = ast.BinOp(left, ast.Sub(), right), 0.0
        strict = isinstance(op, ast.Lt | ast.Gt)
        below = isinstance(op, ast.Lt | ast.LtE)
        limits = Limits(high=limit, strict=strict) if below else Limits(low=limit, strict=strict)
        return cls(text, Expression.of_python(quantity), limits)


def _constant(node: ast.expr) -> float:
    """A limit: a number, or arithmetic on numbers."""
    try:
        return Expression.of("", node_of(node)).value(None)  # type: ignore[arg-type]
    except (MetricError, AttributeError):
        raise MetricError(f"`{ast.unparse(node)}` is no limit: a number is needed") from None
