"""Methods by name. The data call them in the language of measures: ``max(10, 30)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from windtunnel.experiment.measures.language import MetricError, call_of
from windtunnel.papers.features.view import View

Method = Callable[..., float]
F = TypeVar("F", bound=Method)

#: Every method by the name under which the data refers to it.
METHODS: dict[str, Method] = {}


def method(function: F) -> F:
    """Register a method under its own name without a trailing underscore (``max_`` is ``max``)."""
    METHODS[function.__name__.rstrip("_")] = function
    return function


def evaluate(view: View, text: str) -> float:
    """The value of the method ``text`` on ``view``; NaN where the run has nothing to measure."""
    name, arguments = call_of(text)
    if name not in METHODS:
        raise MetricError(f"no method {name!r} in {text!r}")
    return float(METHODS[name](view, *arguments))
