"""A dimension of a space: a range of numbers or quantities, or a list of values, and what it sets in the scenario.

A number that is drawn is rounded to four digits, so that what is found can be read and typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.axes import Axis, Value, inline
from windtunnel.experiment.ranges import SPACINGS, ends, is_range, written

if TYPE_CHECKING:
    import optuna

#: Values by dimension: a number in the dimension's unit, or the label of a listed value. A dimension that is not there
#: is as the scenario has it.
Coordinate: TypeAlias = float | int | str
Point: TypeAlias = dict[str, Coordinate]

DIGITS = 4
_RANGE_KEYS = ("from", "to", "spacing", "whole", "key", "keys", "when")
#: Beyond it not every whole number is a floating-point number.
_MOST_WHOLE = 2**53
_LIST_KEYS = ("values", "key", "keys", "when")


@dataclass(frozen=True)
class When:
    """A dimension exists only where another has one of these values, or a number of at least ``least``."""

    name: str
    labels: frozenset[str] = frozenset()
    least: float | None = None

    def holds(self, point: Point) -> bool:
        """Whether it exists at a point."""
        value = point.get(self.name)
        if value is None:
            return False
        if self.least is not None:
            return not isinstance(value, str) and value >= self.least
        return value in self.labels


@dataclass(frozen=True)
class Dimension:
    """A range from ``low`` to ``high``, or ``choices``."""

    name: str
    keys: tuple[str, ...] = ()
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str | None = None
    log: bool = False
    whole: bool = False
    when: When | None = None
    simplest: Coordinate | None = None
    """The value that a minimal scenario has; None where that is to leave it out."""

    @classmethod
    def of(cls, name: str, spec: object, when: When | None = None) -> Dimension:
        """From a list of values, or a table that is a range or has ``values``. Raises InputError."""
        table = dict(spec) if isinstance(spec, Mapping) else {"values": spec}
        table.pop("when", None)
        if not is_range(table):
            _check(table, _LIST_KEYS)
            axis = Axis.of(name, table)
            return cls(name, axis.keys, axis.values, when=when)
        _check(table, _RANGE_KEYS)
        for key in ("from", "to"):
            if key not in table:
                raise InputError(f"a range needs `{key}`")
        low, high, unit = ends(table)
        spacing, whole = table.get("spacing", "linear"), table.get("whole", False)
        if spacing not in SPACINGS:
            raise InputError(f"spacing: {spacing!r} is not allowed: linear or log")
        if not isinstance(whole, bool):
            raise InputError(f"whole: {whole!r} is not allowed: true for whole numbers only, or false")
        if not low < high:
            raise InputError(f"from {table['from']!r} to {table['to']!r} is no range: the first must be less")
        if spacing == "log" and low <= 0:
            raise InputError("a logarithmic range is from and to more than 0")
        if whole and (low != round(low) or high != round(high)):
            raise InputError("the ends of a range of whole numbers are whole numbers")
        if whole and max(abs(low), abs(high)) > _MOST_WHOLE:
            raise InputError(f"from {table['from']!r} to {table['to']!r}: whole numbers are at most 2^53")
        # The keys of an axis, with a value that every range has.
        keys = Axis.of(name, {**{k: table[k] for k in ("key", "keys") if k in table}, "values": [0]}).keys
        return cls(name, keys, (), low, high, unit, spacing == "log", whole, when)

    @property
    def labels(self) -> list[str]:
        """The labels of a list."""
        return [value.label for value in self.choices]

    def draw(self, trial: optuna.Trial) -> Coordinate:
        """A value from the sampler."""
        if self.choices:
            return str(trial.suggest_categorical(self.name, self.labels))
        if self.whole:
            return trial.suggest_int(self.name, round(self.low), round(self.high), log=self.log)
        return self.rounded(trial.suggest_float(self.name, self.low, self.high, log=self.log), DIGITS)

    def rounded(self, value: float, digits: int) -> float | int:
        """A number with ``digits`` digits, in the range."""
        near = min(max(float(f"{value:.{digits}g}"), self.low), self.high)
        return round(near) if self.whole else near

    def settings(self, value: Coordinate) -> tuple[str, ...]:
        """What a value sets in the scenario."""
        if self.choices:
            return next(choice.settings for choice in self.choices if choice.label == value)
        text = inline(self.written(value))
        return tuple(f"{key}={text}" for key in self.keys)

    def written(self, value: Coordinate) -> Any:
        """A value as a file has it."""
        return value if isinstance(value, str) else written(value, self.unit)

    def shown(self, value: Coordinate | None) -> str:
        """A value as reports have it."""
        if value is None:
            return "as it was"
        return value if isinstance(value, str) else f"{value:g}" if self.unit is None else str(self.written(value))

    def probes(self) -> list[Coordinate]:
        """Values all over the dimension, few: both ends, and the middle of a range."""
        if self.choices:
            return list(self.labels)
        middle = self.low**0.5 * self.high**0.5 if self.log else (self.low + self.high) / 2
        return list(dict.fromkeys(self.rounded(v, DIGITS) for v in (self.low, self.rounded(middle, 2), self.high)))

    def place(self, value: Coordinate) -> float:
        """Where in the range a number is, from 0 to 1."""
        assert not isinstance(value, str)
        if self.log:
            import math

            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _check(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise InputError(
                f"`{key}` is no key of a dimension; its keys are {', '.join(keys)}{did_you_mean(key, keys)}"
            )
