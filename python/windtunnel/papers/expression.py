"""Arithmetic on named quantities, for claims: ``"after / before"``, ``"min(b - a, c - b)"``. Nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}


def names(text: str) -> set[str]:
    """The quantities that an expression needs."""
    tree = ast.parse(text, mode="eval")
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - set(_FUNCTIONS)


def calculate(text: str, quantities: Mapping[str, float]) -> float:
    """The value of ``text``; raises ValueError for anything but arithmetic."""
    return _value(ast.parse(text, mode="eval").body, quantities, text)


def _value(node: ast.expr, quantities: Mapping[str, float], text: str) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in quantities:
            return quantities[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, quantities, text), _value(right, quantities, text))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, quantities, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(a, quantities, text) for a in args))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} in {text!r} is not arithmetic on known quantities")
