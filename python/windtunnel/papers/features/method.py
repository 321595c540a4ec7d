"""Methods by name, and the small notation in which the data names them: ``max(10, 30)``."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TypeVar

from windtunnel.papers.features.view import View

Method = Callable[..., float]
F = TypeVar("F", bound=Method)

#: Every method by the name under which the data refers to it.
METHODS: dict[str, Method] = {}


class MethodError(ValueError):
    """A method that does not exist or is not written as ``name(number, ...)``."""


def method(function: F) -> F:
    """Register a method under its own name without a trailing underscore (``max_`` is ``max``)."""
    METHODS[function.__name__.rstrip("_")] = function
    return function


def parse(text: str) -> tuple[str, list[float | str]]:
    """``"max(10, inf)"`` is ``("max", [10.0, inf])``; text arguments are quoted."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise MethodError(f"not a method: {text!r}") from error
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords):
        raise MethodError(f"not a method: {text!r}")
    return node.func.id, [_argument(a, text) for a in node.args]


def _argument(node: ast.expr, text: str) -> float | str:
    if isinstance(node, ast.Name) and node.id == "inf":
        return math.inf
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    raise MethodError(f"an argument of {text!r} is neither a number nor text")


def evaluate(view: View, text: str) -> float:
    """The value of the method ``text`` on ``view``; NaN where the run has nothing to measure."""
    name, arguments = parse(text)
    if name not in METHODS:
        raise MethodError(f"no method {name!r} in {text!r}")
    return float(METHODS[name](view, *arguments))
