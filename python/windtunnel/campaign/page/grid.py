"""The places of cells on the axes, from their numbers; and bins: neighbouring values of an axis that the page shows as
one, where a page of all cells would be too large.

Values are put together along the dimension that has most of them, numbers before names, and the axes of a zip together,
because a cell has one place on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.model import SCENARIO

Places = npt.NDArray[np.int64]

#: Numbers whose greatest is this many times their least are on a logarithmic axis, if they are spaced so.
_LOG_RATIO = 8.0


@dataclass(frozen=True)
class AxisValues:
    """An axis: the label of each value, and its number where it has one. ``keys`` of the scenario that it sets."""

    name: str
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]

    @property
    def numeric(self) -> bool:
        """Whether all values are different numbers."""
        numbers = {number for number in self.numbers if number is not None}
        return len(numbers) == len(self.numbers)

    @property
    def log(self) -> bool:
        """Whether its numbers are spaced rather by factors than by differences."""
        numbers = sorted(number for number in self.numbers if number is not None)
        if not self.numeric or len(numbers) < 3 or numbers[0] <= 0 or numbers[-1] / numbers[0] < _LOG_RATIO:
            return False
        return _unevenness([math.log(n) for n in numbers]) < _unevenness(numbers)

    def binned(self, width: int) -> AxisValues:
        """The same axis with ``width`` neighbours as one value."""
        if width == 1:
            return self
        labels, numbers = [], []
        for first in range(0, len(self.labels), width):
            together, values = self.labels[first : first + width], self.numbers[first : first + width]
            labels.append(together[0] if len(together) == 1 else f"{together[0]} to {together[-1]}")
            numbers.append(_middle(values, log=self.log))
        return replace(self, labels=tuple(labels), numbers=tuple(numbers))


def _unevenness(numbers: Sequence[float]) -> float:
    """The largest step by the mean one."""
    steps = [b - a for a, b in pairwise(numbers)]
    return max(steps) * len(steps) / (sum(steps) or 1.0)


def _middle(numbers: Sequence[float | None], *, log: bool) -> float | None:
    first, last = numbers[0], numbers[-1]
    if first is None or last is None or any(number is None for number in numbers):
        return None
    return math.sqrt(first * last) if log else (first + last) / 2


@dataclass(frozen=True)
class Dimension:
    """Axes on which a cell has one and the same place: one of a grid, or all of a zip. ``width`` values are one bin."""

    axes: tuple[AxisValues, ...]
    width: int = 1

    @property
    def size(self) -> int:
        """The number of places."""
        return len(self.axes[0].labels)

    @property
    def bins(self) -> int:
        """The number of bins."""
        return -(-self.size // self.width)


@dataclass(frozen=True)
class Grid:
    """All dimensions, in the order in which cells are counted: the last varies first."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Grid:
        """The grid of a data set's ``campaign.json``."""
        scenarios = tuple(document["scenarios"])
        axes = [AxisValues(SCENARIO, (), scenarios, (None,) * len(scenarios))]
        blocks: dict[int, list[AxisValues]] = {}
        kinds = {}
        for axis in document["axes"]:
            values = axis["values"]
            kinds[axis["block"]] = axis["kind"]
            blocks.setdefault(axis["block"], []).append(
                AxisValues(axis["name"], tuple(axis["keys"]), tuple(v["label"] for v in values),
                           tuple(v["number"] for v in values))
            )  # fmt: skip
        dimensions = [Dimension(tuple(axes))] if len(scenarios) > 1 else []
        for block, members in blocks.items():
            if kinds[block] == "zip":
                dimensions.append(Dimension(tuple(members)))
            else:
                dimensions += [Dimension((axis,)) for axis in members]
        return cls(tuple(dimensions))

    @property
    def axes(self) -> tuple[AxisValues, ...]:
        """The axes as they are shown, with bins for values."""
        return tuple(axis.binned(each.width) for each in self.dimensions for axis in each.axes)

    @property
    def is_binned(self) -> bool:
        """Whether a value on the page may represent several."""
        return any(each.width > 1 for each in self.dimensions)

    @property
    def bins(self) -> int:
        """The number of places in all dimensions."""
        return math.prod(each.bins for each in self.dimensions)

    def fitting(self, most: int) -> Grid:
        """The grid with at most ``most`` places: bins grow where there are most of them."""
        dimensions = list(self.dimensions)
        while math.prod(each.bins for each in dimensions) > max(1, most):
            widest = max(range(len(dimensions)), key=lambda i: _worth_binning(dimensions[i]))
            dimensions[widest] = replace(dimensions[widest], width=dimensions[widest].width + 1)
        return Grid(tuple(dimensions))

    def places(self, cells: Places) -> list[Places]:
        """For each dimension the positions of the cells in it, in bins."""
        places, rest = [], cells
        for each in reversed(self.dimensions):
            rest, positions = np.divmod(rest, each.size)
            places.append(positions // each.width)
        return places[::-1]

    def by_axis(self, places: Sequence[Places]) -> list[Places]:
        """The positions on each axis, from those in each dimension."""
        return [positions for each, positions in zip(self.dimensions, places, strict=True) for _ in each.axes]


def _worth_binning(dimension: Dimension) -> tuple[bool, int]:
    """Numbers before names, as long as there is something to see of them; then the most values."""
    numeric = any(axis.numeric for axis in dimension.axes)
    return (dimension.bins > 1 and (numeric or dimension.bins > 64), dimension.bins)
