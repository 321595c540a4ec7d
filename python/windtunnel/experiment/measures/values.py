"""What a path can name in a result: a number, numbers of several flows or queues, a column, a distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from windtunnel.metrics import Array


class MetricError(ValueError):
    """A metric that is wrong, or that a run does not have. ``str(error)`` says what."""


class NotToldError(MetricError):
    """A metric of a state that a run's controller does not have or tell, so that such a run cannot show it."""


@dataclass(frozen=True)
class Distribution:
    """What the summary says about a distribution: ``{min, mean, p50, p99, ...}``; and the column that it is of."""

    name: str
    numbers: Mapping[str, float | None]
    column: Callable[[], Array] | None = None
    """Its values in a table, at the table's resolution, where there is one."""


#: Several values are those of all flows or queues, in their order.
Value: TypeAlias = "float | Array | Distribution | list[float | Distribution]"


def reduce(name: str, value: Value, key: str | None, function: Callable[[Array], float]) -> float:
    """``function`` of a value's numbers. ``key`` is its name in distributions (``p99``), which the core counted."""
    if isinstance(value, Distribution):
        return of_distribution(name, value, key, function)
    if isinstance(value, list):
        numbers = [v if isinstance(v, float) else of_distribution(name, v, key, function) for v in value]
        if any(isinstance(v, Distribution) for v in value) and name not in _OF_SEVERAL:
            raise MetricError(f"{name}() of several distributions says little: name a flow or queue")
        return function(np.asarray(numbers))
    return function(finite(np.atleast_1d(np.asarray(value, dtype=np.float64))))


#: Functions whose value for all is that of the values for each.
_OF_SEVERAL = {"min", "max", "mean"}


def of_distribution(name: str, value: Distribution, key: str | None, function: Callable[[Array], float]) -> float:
    """The summary's own number if it has one, which is of every packet; else that of the table."""
    if key is not None and key in value.numbers:
        number = value.numbers[key]
        return float("nan") if number is None else float(number)
    if value.column is None:
        raise MetricError(f"{name}({value.name}) is not known: there are {', '.join(value.numbers)}")
    return function(finite(value.column()))


def finite(values: Array) -> Array:
    """Without NaN, which stands for a missing value."""
    return values[~np.isnan(values)]
