"""Logarithmic axes with labels that read well: plain numbers where they are short, and enough of them."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator

# Factors of a power of ten that are labelled, by how many decades the axis has: many, some, one, and less than that.
_FACTORS = ((3.0, (1,)), (1.5, (1, 3)), (0.7, (1, 2, 5)), (0.0, (1, 2, 3, 4, 5, 6, 8)))
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def set_log(axes: Axes, low: float, high: float) -> None:
    """Make the ordinate logarithmic, from ``low`` to ``high``; neither needs to be a power of ten."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    _label(axes.yaxis, low, high)


def set_log_x(axes: Axes, low: float, high: float) -> None:
    """The same for the abscissa."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    _label(axes.xaxis, low, high)


def ticks(low: float, high: float) -> tuple[list[float], list[float]]:
    """The places with labels and those without."""
    decades = math.log10(high / low)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = [digit * 10.0**e for e in range(first, last + 1) for digit in range(1, 10)]
    inside = [v for v in every if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    factors = next(f for least, f in _FACTORS if decades >= least)
    step = max(1, round(decades / 6))
    labelled = [v for v in inside if _digit(v) in factors and (decades < 3 or round(math.log10(v)) % step == 0)]
    if len(labelled) < 2:
        labelled = _linear(low, high)
    return labelled, [v for v in inside if v not in labelled]


def text(value: float) -> str:
    """A tick's label: a plain number, where that is short, else a power of ten."""
    if 1e-3 <= value < 1e6:
        return f"{value:.12g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = value / 10.0**exponent
    factor = "" if abs(digit - 1) < 1e-9 else rf"{digit:g}\cdot"
    return f"${factor}10^{{{exponent}}}$"


def _label(axis: Axis, low: float, high: float) -> None:
    labelled, others = ticks(low, high)
    axis.set_major_locator(FixedLocator(labelled))
    axis.set_major_formatter(FixedFormatter([text(v) for v in labelled]))
    axis.set_minor_locator(FixedLocator(others))
    axis.set_minor_formatter(FixedFormatter([""] * len(others)))


def _digit(value: float) -> int:
    return round(value / 10.0 ** math.floor(math.log10(value) + 1e-9))


def _linear(low: float, high: float) -> list[float]:
    """Round numbers at equal distances, for less than a decade."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * (1 - 1e-9))
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
