"""Ranges: values from one number or quantity to another, linear or logarithmic."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

from windtunnel._core import quantity
from windtunnel.errors import InputError, did_you_mean

#: The most values of one axis.
MOST_STEPS = 100_000
#: Significant digits of values between the ends, so that they can be read and typed.
DIGITS = 6
SPACINGS = ("linear", "log")
KEYS = ("from", "to", "steps", "step", "spacing")

_QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\D.*?)\s*")


def is_range(value: object) -> bool:
    """Whether a table of an axis is a range."""
    return isinstance(value, dict) and ("from" in value or "to" in value)


def expand(table: dict[str, Any]) -> tuple[float | int | str, ...]:
    """The values of a range: ``{from, to, steps}``, or with ``step`` in place of ``steps``. Raises InputError.

    The ends are as given, and a quantity's values have the unit of ``from``.
    """
    for key in table:
        if key not in KEYS:
            raise InputError(f"`{key}` is no key of a range; its keys are {', '.join(KEYS)}{did_you_mean(key, KEYS)}")
    for key in ("from", "to"):
        if key not in table:
            raise InputError(f"a range needs `{key}`")
    spacing = table.get("spacing", "linear")
    if spacing not in SPACINGS:
        raise InputError(f"spacing: {spacing!r} is not allowed: linear or log")
    low, high, unit = ends(table)
    if spacing == "log" and not (low > 0 and high > 0):
        raise InputError("a logarithmic range is from and to more than 0")
    steps = _steps(table, low, high, unit, spacing)
    return tuple(_shown(_at(low, high, step, steps, spacing), unit, table) for step in range(steps))


def ends(table: dict[str, Any]) -> tuple[float, float, str | None]:
    """The ends of a range as numbers in the unit of ``from``, and that unit. Raises InputError."""
    (low, unit), (high, _) = _number(table["from"]), _number(table["to"])
    if unit is not None:
        low, high = _in_unit(table["from"], unit), _in_unit(table["to"], unit)
    elif isinstance(table["to"], str):
        raise InputError(f"from {table['from']!r} to {table['to']!r}: one has a unit, and the other has none")
    if not all(map(math.isfinite, (low, high, high - low))):
        raise InputError(f"from {table['from']!r} to {table['to']!r} is too wide: they may differ by at most 1.8e308")
    return low, high, unit


def written(value: float, unit: str | None) -> float | str:
    """A number, or a quantity as files have it."""
    return value if unit is None else f"{_plain(value)} {unit}"


def _steps(table: dict[str, Any], low: float, high: float, unit: str | None, spacing: str) -> int:
    if ("steps" in table) == ("step" in table):
        raise InputError("a range needs either `steps`, the number of its values, or `step`, their distance")
    if "steps" in table:
        steps = table["steps"]
        if not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= MOST_STEPS:
            raise InputError(f"steps: {steps!r} is not allowed: a whole number from 2 to {MOST_STEPS}")
        return steps
    if spacing == "log":
        raise InputError("a logarithmic range has `steps`, the number of its values, and no `step`")
    step = _in_unit(table["step"], unit) if unit is not None else _number(table["step"])[0]
    if not step or (high - low) / step < 0:
        raise InputError(f"step: {table['step']!r} does not lead from {table['from']!r} to {table['to']!r}")
    count = (high - low) / step
    if not math.isfinite(count) or abs(count - round(count)) > 1e-6 or not 1 <= round(count) < MOST_STEPS:
        raise InputError(f"step: {table['step']!r} is not allowed: a whole number of steps, at most {MOST_STEPS}, "
                         f"from {table['from']!r} to {table['to']!r}")  # fmt: skip
    return round(count) + 1


def _at(low: float, high: float, step: int, steps: int, spacing: str) -> float:
    if step in (0, steps - 1):
        return high if step else low
    share = step / (steps - 1)
    if spacing == "linear":
        return low + (high - low) * share
    return math.exp(math.log(low) + (math.log(high) - math.log(low)) * share)


def _shown(value: float, unit: str | None, table: dict[str, Any]) -> float | int | str:
    rounded = float(f"{value:.{DIGITS}g}") if value not in (table["from"], table["to"]) else value
    if unit is not None:
        return f"{_plain(rounded)} {unit}"
    # Whole numbers stay whole: some keys allow nothing else.
    whole = isinstance(table["from"], int) and isinstance(table["to"], int) and rounded == round(rounded)
    return int(rounded) if whole else rounded


def _plain(value: float) -> str:
    """A number as units take it: without an exponent."""
    return f"{Decimal(repr(value)):f}".removesuffix(".0")


def _number(value: object) -> tuple[float, str | None]:
    """The number of a value, and its unit."""
    if isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value):
        with suppress(OverflowError):  # a whole number of more than 308 digits
            return float(value), None
    if isinstance(value, str) and (match := _QUANTITY.fullmatch(value)):
        return float(match[1]), match[2]
    raise InputError(f'{value!r} is not allowed in a range: a number, or one with a unit such as "20 ms"')


def _is_finite(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)


def _in_unit(value: object, unit: str) -> float:
    """The number of a quantity in ``unit``."""
    number, own = _number(value)
    if own == unit:
        return number
    if own is None:
        raise InputError(f"{value!r} has no unit, but the range is in {unit}")
    if _kind(unit) != _kind(own):
        raise InputError(f"{value!r} is no {_kind(unit)}, but the range is in {unit}")
    try:
        return number * quantity(f"1 {own}") / quantity(f"1 {unit}")
    except ValueError as error:
        raise InputError(f"{value!r}: {error}") from None


def _kind(unit: str) -> str:
    """What a unit is of."""
    if "bit" in unit.lower() or unit.endswith(("bps", "b/s")):
        return "rate"
    if unit.endswith("B"):
        return "amount"
    return "time" if unit.endswith(("s", "min", "h")) and unit != "packets" else f"quantity in {unit}"
