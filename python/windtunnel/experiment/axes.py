"""An axis: its name and its values. Each value is a few settings of the scenario.

An axis is a key of the scenario by its dotted path, as ``--set`` has it, with its values. Or it has a name of its own,
and ``keys`` that all get the same value; or its values are sets of settings with names, for what differs in several
ways at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from windtunnel._core import quantity
from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.ranges import expand, is_range

_KEYS = ("key", "keys", "values", "range")
_VALUE_KEYS = ("name", "set")


@dataclass(frozen=True)
class Value:
    """A value of an axis: what it is called, the settings that it stands for, and its number, if it is one."""

    label: str
    settings: tuple[str, ...]
    number: float | None = None


@dataclass(frozen=True)
class Axis:
    """An axis. ``keys``: the keys of the scenario that it sets, unless its values are sets of settings."""

    name: str
    keys: tuple[str, ...]
    values: tuple[Value, ...]

    @classmethod
    def of(cls, name: str, spec: object) -> Axis:
        """An axis from a list of values, a range, or a table with ``key`` or ``keys``, and ``values`` or ``range``.

        Raises InputError.
        """
        if not name:
            raise InputError("an axis needs a name: the key that it varies, such as bottleneck.rate")
        keys: tuple[str, ...] = (name,)
        values = spec
        if isinstance(spec, Mapping) and not is_range(spec):
            for key in spec:
                if key not in _KEYS:
                    raise InputError(f"`{key}` is no key of an axis; its keys are {', '.join(_KEYS)}, or those of a "
                                     f"range{did_you_mean(key, _KEYS)}")  # fmt: skip
            if "key" in spec and "keys" in spec:
                raise InputError("`key` and `keys` are the same: give one of them")
            keys = _keys(spec.get("keys", spec.get("key", name)))
            if ("values" in spec) == ("range" in spec):
                raise InputError("an axis needs either `values` or `range`")
            values = spec.get("values", spec.get("range"))
        if is_range(values):
            values = expand(dict(values))  # type: ignore[call-overload]
        if hasattr(values, "tolist"):  # an array of NumPy
            values = values.tolist()
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise InputError(f"{values!r} is not allowed: a list of values, or a range {{ from, to, steps }}")
        if not values:
            raise InputError("has no values")
        parsed = tuple(_value(keys, value) for value in values)
        if len({value.label for value in parsed}) < len(parsed):
            twice = next(v.label for i, v in enumerate(parsed) if v.label in {w.label for w in parsed[:i]})
            raise InputError(f"the value {twice} is there twice")
        return cls(name, keys, parsed)

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers or quantities."""
        return all(value.number is not None for value in self.values)


def _keys(value: object) -> tuple[str, ...]:
    keys = (value,) if isinstance(value, str) else value
    if not isinstance(keys, Sequence) or not keys or not all(isinstance(key, str) and key for key in keys):
        raise InputError(f"keys: {value!r} is not allowed: keys of the scenario, such as bottleneck.rate")
    return tuple(keys)


def _value(keys: Iterable[str], value: Any) -> Value:
    if isinstance(value, Mapping) and "set" in value:
        return _named(value)
    text = inline(value)
    label = value if isinstance(value, str) else text
    return Value(label, tuple(f"{key}={text}" for key in keys), _number(value))


def _named(value: Mapping[str, Any]) -> Value:
    """A value that is a set of settings."""
    for key in value:
        if key not in _VALUE_KEYS:
            raise InputError(f"`{key}` is no key of a named value; its keys are name, set")
    name, settings = value.get("name"), value["set"]
    if not isinstance(name, str) or not name:
        raise InputError("a value with `set` needs a `name`")
    if not isinstance(settings, Mapping):
        raise InputError(
            f'set: {settings!r} is not allowed: keys with values, such as {{ "bottleneck.rate" = "1 Gbit/s" }}'
        )
    return Value(name, tuple(f"{key}={inline(v)}" for key, v in settings.items()))


def _number(value: object) -> float | None:
    """A number, or a quantity in seconds, bytes or bits per second."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return quantity(value)
        except ValueError:
            return None
    return None


def inline(value: Any) -> str:
    """A value as TOML on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{json.dumps(str(k))} = {inline(v)}" for k, v in value.items()) + " }"
        case Sequence():
            return "[" + ", ".join(map(inline, value)) + "]"
    if hasattr(value, "tolist"):  # a number of NumPy
        return inline(value.tolist())
    raise InputError(f"{value!r} is not allowed: text, a number, true or false, a list or a table")


@dataclass(frozen=True)
class Block:
    """Axes that vary together. Of a grid, all combinations; of a zip, the first values, then the second, and so on."""

    kind: Literal["grid", "zip"]
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if not self.axes:
            raise InputError(f"{self.kind}: has no axes")
        if self.kind == "zip" and len({len(axis.values) for axis in self.axes}) > 1:
            counts = ", ".join(f"{axis.name} has {len(axis.values)}" for axis in self.axes)
            raise InputError(f"zip: its axes need equally many values: {counts}")


def grid(axes: Mapping[str, Any]) -> Block:
    """All combinations of the values of ``axes``: ``grid({"bottleneck.rate": ["10 Mbit/s", "1 Gbit/s"]})``."""
    return Block("grid", axes_of(axes))


def zipped(axes: Mapping[str, Any]) -> Block:
    """The values of ``axes`` side by side: the first of each, then the second of each."""
    return Block("zip", axes_of(axes))


def axes_of(table: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Axes by name. Raises InputError that starts with the name."""
    axes = []
    for name, spec in table.items():
        try:
            axes.append(Axis.of(name, spec))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    return tuple(axes)
