"""The plan: the cells of a campaign, counted from 0, and the runs of a cell.

A cell is made when it is asked for, so that a campaign of a million takes no memory.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.model import SCENARIO, Base, Campaign
from windtunnel.campaign.twin import HERE, LINUX, Runner, kernel_of
from windtunnel.errors import InputError, did_you_mean
from windtunnel.experiment.axes import Axis, Block, Value
from windtunnel.scenario import Scenario
from windtunnel.start_offsets import starts

Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """A variant of a scenario: the values of all axes, in their order, with the scenario's own if there are several."""

    number: int
    base: Base
    values: tuple[Value, ...]
    runner: Runner = HERE

    @property
    def settings(self) -> tuple[str, ...]:
        """What the axes set."""
        return tuple(setting for value in self.values for setting in value.settings)

    @property
    def scenario(self) -> Scenario:
        """The scenario with these settings, as its runner is given it."""
        return self.runner.scenario(self.base.scenario.override(*self.settings))

    @property
    def variant(self) -> Variant:
        """What its runs have in common."""
        return Variant(self.scenario, self.runner)


@dataclass(frozen=True)
class Replica:
    """One run of a cell: the seed (None: the scenario's own), and which start offsets (0: the scenario's own starts).

    ``unit``: runs of the same unit are not independent of each other.
    """

    seed: int | None
    offset: int
    unit: int


@dataclass(frozen=True)
class _Dimension:
    """Axes on which a cell has one index: one axis of a grid, or all of a zip. ``indices`` are the wanted ones."""

    axes: tuple[Axis, ...]
    size: int
    indices: Sequence[int]


class Plan:
    """The cells of a campaign; ``only`` keeps those that have these values, by axis.

    A cell's number has its indices on all dimensions as digits: the scenario's first, and the last axis varies first.
    Raises InputError, also where the campaign needs a kernel and there is none.
    """

    def __init__(self, campaign: Campaign, only: Mapping[str, Sequence[str]] | None = None) -> None:
        self.campaign = campaign
        self.kernel = kernel_of(campaign.twin)
        several = len(campaign.bases) > 1
        self.axes = ((SCENARIO,) if several else ()) + tuple(axis.name for axis in campaign.axes)
        self._only = {} if only is None else {name: set(labels) for name, labels in only.items()}
        self._seeds: tuple[int | None, ...] = campaign.seeds or (None,)
        self._greatest = max(campaign.seeds or (0,))
        self._check_only()
        self._bases = _Dimension((), len(campaign.bases), _kept(campaign.bases, self._only.get(SCENARIO)))
        self._dimensions = [self._bases, *(each for block in campaign.blocks for each in self._of_block(block))]
        if not self.wanted():
            raise InputError("--only: no cell has all of these values: those of a zip are side by side")

    def _of_block(self, block: Block) -> Iterator[_Dimension]:
        together = [block.axes] if block.kind == "zip" else [(axis,) for axis in block.axes]
        for axes in together:
            size = len(axes[0].values)
            indices: Sequence[int] = range(size)
            for axis in axes:
                if axis.name in self._only:
                    wanted = self._only[axis.name]
                    indices = [index for index in indices if axis.values[index].label in wanted]
            yield _Dimension(axes, size, indices)

    def __len__(self) -> int:
        """The number of cells, those included that ``only`` leaves out."""
        return self.campaign.cell_count

    def wanted(self) -> int:
        """The number of cells that ``only`` keeps."""
        return math.prod(len(each.indices) for each in self._dimensions)

    def wanted_cell(self, index: int) -> Cell:
        """A cell by its index among those that ``only`` keeps."""
        digits = _digits(index, [len(each.indices) for each in self._dimensions])
        return self.cell(self._number([each.indices[d] for each, d in zip(self._dimensions, digits, strict=True)]))

    def index_of(self, number: int) -> int | None:
        """The index of a cell among those that ``only`` keeps; None for another one."""
        index = 0
        for each, digit in zip(self._dimensions, _digits(number, [d.size for d in self._dimensions]), strict=True):
            at = bisect_left(each.indices, digit)
            if at == len(each.indices) or each.indices[at] != digit:
                return None
            index = index * len(each.indices) + at
        return index

    def places(self, indices: Places) -> tuple[Places, list[Places]]:
        """The numbers of cells by their indices, and for each name of ``axes`` the places of its values."""
        numbers, by_axis, width = np.zeros_like(indices), list[Places](), self.wanted()
        for each in self._dimensions:
            width //= len(each.indices)
            places = np.asarray(each.indices, np.int64)[indices // width % len(each.indices)]
            numbers = numbers * each.size + places
            several = len(self.campaign.bases) > 1 if each is self._bases else len(each.axes)
            by_axis += [places] * several
        return numbers, by_axis

    def cells(self) -> Iterator[Cell]:
        """The cells that ``only`` keeps; the last axis varies first."""
        return (self.cell(self._number(indices)) for indices in product(*(each.indices for each in self._dimensions)))

    def samples(self, most: int) -> Iterator[Cell]:
        """Cells in which each value of each axis comes; of axes with very many values evenly chosen ones, so that there
        are about ``most`` cells.
        """
        if not self.wanted():
            return
        first = [each.indices[0] for each in self._dimensions]
        yield self.cell(self._number(first))
        for at, each in enumerate(self._dimensions):
            step = max(1, len(each.indices) * len(self._dimensions) // most)
            for index in each.indices[step::step]:
                yield self.cell(self._number([*first[:at], index, *first[at + 1 :]]))

    def _number(self, indices: Sequence[int]) -> int:
        number = 0
        for each, index in zip(self._dimensions, indices, strict=True):
            number = number * each.size + index
        return number

    def cell(self, number: int) -> Cell:
        """A cell by its number."""
        base, *indices = _digits(number, [each.size for each in self._dimensions])
        chosen = self.campaign.bases[base]
        values = [Value(chosen.name, ())] if len(self.campaign.bases) > 1 else []
        for each, index in zip(self._dimensions[1:], indices, strict=True):
            values += [axis.values[index] for axis in each.axes]
        return Cell(number, chosen, tuple(values), self._runner(values))

    def _runner(self, values: Sequence[Value]) -> Runner:
        """What runs a cell; the sides of a twin are the last axis."""
        if self.kernel is None:
            return HERE
        return Runner(self.kernel) if values[-1].label == LINUX else Runner(is_twin=True)

    def baseline_of(self, cell: Cell, baseline: Sequence[tuple[str, str]]) -> int:
        """The number of the cell that ``cell`` is compared to: as it is, but with the baseline's values."""
        wanted = dict(baseline)
        base, *indices = _digits(cell.number, [each.size for each in self._dimensions])
        if SCENARIO in wanted and len(self.campaign.bases) > 1:
            base = [b.name for b in self.campaign.bases].index(wanted[SCENARIO])
        pairs = zip(self._dimensions[1:], indices, strict=True)
        return self._number([base, *(_with(each, index, wanted) for each, index in pairs)])

    def first_units(self) -> int:
        """How many units a cell starts with."""
        campaign = self.campaign
        crossed = not isinstance(campaign.offsets, bool)
        return campaign.offsets if crossed else len(campaign.seeds or (0,))

    def replicas(self, first: int, past: int) -> Iterator[Replica]:
        """The runs of the units ``first`` to before ``past``."""
        each = self.runs_of_unit()
        return map(self.replica, range(first * each, past * each))

    def replica(self, index: int) -> Replica:
        """A run by its index in its cell; beyond the seeds that were given, with one of the next ones."""
        seeds, offsets = self._seeds, self.campaign.offsets
        if not isinstance(offsets, bool):
            unit, which = divmod(index, len(seeds))
            return Replica(seeds[which], unit + 1, unit)
        seed = seeds[index] if index < len(seeds) else self._greatest + 1 + index - len(seeds)
        return Replica(seed, index + 1 if offsets else 0, index)

    def runs_of_unit(self) -> int:
        """How many runs a unit has."""
        return 1 if isinstance(self.campaign.offsets, bool) else len(self.campaign.seeds or (0,))

    def _check_only(self) -> None:
        labels = {axis.name: [v.label for v in axis.values] for axis in self.campaign.axes}
        if SCENARIO in self.axes:
            labels[SCENARIO] = [base.name for base in self.campaign.bases]
        for name, wanted in self._only.items():
            if name not in labels:
                names = ", ".join(labels) or "none"
                raise InputError(f"--only {name}: is no axis; there are {names}{did_you_mean(name, labels)}")
            for label in wanted - set(labels[name]):
                hint = did_you_mean(label, labels[name])
                raise InputError(f"--only {name}={label}: the axis has {', '.join(labels[name][:20])}{hint}")


class Variant:
    """The scenario of a cell, what runs it, and the settings of its runs."""

    def __init__(self, scenario: Scenario, runner: Runner = HERE) -> None:
        self.scenario, self.runner = scenario, runner

    def settings(self, seed: int | None, offset: int) -> tuple[str, ...]:
        """The settings of a run. Raises ScenarioError."""
        chosen = () if seed is None else (f"seed={seed}",)
        return (*chosen, *starts(self._resolved, offset)) if offset else chosen

    @cached_property
    def _resolved(self) -> dict[str, Any]:
        """All runs need it to know when flows start."""
        return self.scenario.resolve()


def scenario_of(cell: Cell, replica: Replica) -> Scenario:
    """The scenario of a run. Raises ScenarioError."""
    variant = cell.variant
    return variant.scenario.override(*variant.settings(replica.seed, replica.offset))


def _digits(number: int, sizes: Sequence[int]) -> list[int]:
    digits = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        digits.append(digit)
    return digits[::-1]


def _kept(bases: Sequence[Base], names: set[str] | None) -> Sequence[int]:
    return [index for index, base in enumerate(bases) if names is None or base.name in names]


def _with(dimension: _Dimension, index: int, wanted: Mapping[str, str]) -> int:
    """The index that has the wanted values, and else ``index``."""
    named = [axis for axis in dimension.axes if axis.name in wanted]
    if not named:
        return index
    return next(p for p in range(dimension.size) if all(a.values[p].label == wanted[a.name] for a in named))
