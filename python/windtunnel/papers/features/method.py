"""Methods by name, and when two are one. The data call them in the language of measures: ``max(10, 30)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from windtunnel.experiment.measures.language import MetricError, call_of
from windtunnel.papers.features.view import Axis, View

Method = Callable[..., float]
F = TypeVar("F", bound=Method)

#: Every method by the name under which the data refers to it.
METHODS: dict[str, Method] = {}
#: By method: the one that it is another name of, and the arguments that this one has first.
_FIRST = {"first_fall_t": "fall_t", "first_mark_t": "mark_t"}
#: Extremes of a whole panel: its axis ends at the peak of a series, which may be that of the only one.
_EXTREME = {"peak", "axis_y_max"}


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


def identity(panel: str, flow: str, method: str, axis: Axis) -> str:
    """What is measured. Extremes of a panel's series are one here; whether they are the same shows in their values."""
    name, arguments = call_of(method)
    if name in _EXTREME:
        return f"{panel} peak"
    if name in _FIRST:
        name, arguments = _FIRST[name], [1.0, *arguments]
    if panel == "summary":
        return f"{flow} {method}"
    listed = ", ".join(str(float(a)) if isinstance(a, int | float) else repr(a) for a in arguments)
    return f"{panel} {flow} {name}({listed}) in pixels of {axis.bin_width:.6g} s and {axis.step:.6g}"
