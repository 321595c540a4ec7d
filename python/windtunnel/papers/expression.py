"""Arithmetic on named quantities, for claims: ``"after / before"``, ``"min(b - a, c - b)"``. Nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from windtunnel.experiment.scales import Kind

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


def kind(text: str) -> Kind:
    """What kind of quantity it is: ``a / b`` is a ratio, ``a / (a + b)`` a share, all else plain."""
    match ast.parse(text, mode="eval").body:
        case ast.BinOp(left=above, op=ast.Div(), right=below) if _has_quantity(above) and _has_quantity(below):
            parts = [ast.dump(part) for part in _terms(below)]
            return "share" if len(parts) > 1 and all(ast.dump(part) in parts for part in _terms(above)) else "ratio"
    return "plain"


def _has_quantity(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id not in _FUNCTIONS for each in ast.walk(node))


def _terms(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _terms(left) + _terms(right)
    return [node]


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
