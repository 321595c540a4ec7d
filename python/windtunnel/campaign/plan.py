"""The plan: the cells of a campaign, counted from 0, and the runs of a cell.

A cell is made when it is asked for, so that a campaign of a million takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.campaign.axes import Block, Value
from windtunnel.campaign.model import SCENARIO, Base, Campaign, rows_of
from windtunnel.errors import InputError, did_you_mean
from windtunnel.scenario import Scenario
from windtunnel.start_offsets import starts


@dataclass(frozen=True)
class Cell:
    """A variant of a scenario: the values of all axes, in their order, with the scenario's own if there are several."""

    number: int
    base: Base
    values: tuple[Value, ...]

    @property
    def settings(self) -> tuple[str, ...]:
        """What the axes set."""
        return tuple(setting for value in self.values for setting in value.settings)


@dataclass(frozen=True)
class Replica:
    """One run of a cell: the seed (None: the scenario's own), and which start offsets (0: the scenario's own starts).

    ``unit``: runs of the same unit are not independent of each other.
    """

    seed: int | None
    offset: int
    unit: int


class Plan:
    """The cells of a campaign; ``only`` keeps those that have these values, by axis."""

    def __init__(self, campaign: Campaign, only: Mapping[str, Sequence[str]] | None = None) -> None:
        self.campaign = campaign
        several = len(campaign.bases) > 1
        self.axes = ((SCENARIO,) if several else ()) + tuple(axis.name for axis in campaign.axes)
        self._sizes = [len(campaign.bases), *map(rows_of, campaign.blocks)]
        self._only = {} if only is None else {name: set(labels) for name, labels in only.items()}
        self._check_only()

    def __len__(self) -> int:
        """The number of cells, those included that ``only`` leaves out."""
        return self.campaign.cell_count

    def wanted(self) -> int:
        """The number of cells that ``only`` keeps."""
        return len(self) if self.is_whole else sum(1 for _ in self.cells())

    @property
    def is_whole(self) -> bool:
        """Whether no cell is left out."""
        return not self._only

    def cells(self) -> Iterator[Cell]:
        """The cells; the last axis varies first."""
        return (cell for cell in map(self.cell, range(len(self))) if self.is_wanted(cell))

    def is_wanted(self, cell: Cell) -> bool:
        """Whether ``only`` keeps a cell."""
        labels = dict(zip(self.axes, (value.label for value in cell.values), strict=True))
        return all(labels[name] in wanted for name, wanted in self._only.items())

    def cell(self, number: int) -> Cell:
        """A cell by its number."""
        base, *rows = _digits(number, self._sizes)
        chosen = self.campaign.bases[base]
        values = [Value(chosen.name, ())] if len(self.campaign.bases) > 1 else []
        for block, row in zip(self.campaign.blocks, rows, strict=True):
            places = _places(block, row)
            values += [axis.values[place] for axis, place in zip(block.axes, places, strict=True)]
        return Cell(number, chosen, tuple(values))

    def baseline_of(self, cell: Cell, baseline: Sequence[tuple[str, str]]) -> int:
        """The number of the cell that ``cell`` is compared to: as it is, but with the baseline's values."""
        wanted = dict(baseline)
        base, *rows = _digits(cell.number, self._sizes)
        if SCENARIO in wanted and len(self.campaign.bases) > 1:
            base = [b.name for b in self.campaign.bases].index(wanted[SCENARIO])
        rows = [_with(block, row, wanted) for block, row in zip(self.campaign.blocks, rows, strict=True)]
        number = 0
        for size, digit in zip(self._sizes, [base, *rows], strict=True):
            number = number * size + digit
        return number

    def first_units(self) -> int:
        """How many units a cell starts with."""
        campaign = self.campaign
        crossed = not isinstance(campaign.offsets, bool)
        return campaign.offsets if crossed else len(campaign.seeds or (0,))

    def replicas(self, first: int, past: int) -> Iterator[Replica]:
        """The runs of the units ``first`` to before ``past``; beyond the seeds that were given, the next ones."""
        campaign = self.campaign
        seeds: tuple[int | None, ...] = campaign.seeds or (None,)
        for unit in range(first, past):
            if not isinstance(campaign.offsets, bool):
                yield from (Replica(seed, unit + 1, unit) for seed in seeds)
                continue
            known = max((seed for seed in seeds if seed is not None), default=0)
            seed = seeds[unit] if unit < len(seeds) else known + 1 + unit - len(seeds)
            yield Replica(seed, unit + 1 if campaign.offsets else 0, unit)

    def runs_of_unit(self) -> int:
        """How many runs a unit has."""
        return 1 if isinstance(self.campaign.offsets, bool) else len(self.campaign.seeds or (0,))

    def _check_only(self) -> None:
        labels = {axis.name: [v.label for v in axis.values] for axis in self.campaign.axes}
        if SCENARIO in self.axes:
            labels[SCENARIO] = [base.name for base in self.campaign.bases]
        for name, wanted in self._only.items():
            if name not in labels:
                known = ", ".join(labels) or "none"
                raise InputError(f"--only {name}: is no axis; there are {known}{did_you_mean(name, labels)}")
            for label in wanted - set(labels[name]):
                hint = did_you_mean(label, labels[name])
                raise InputError(f"--only {name}={label}: the axis has {', '.join(labels[name][:20])}{hint}")


def scenario_of(cell: Cell, replica: Replica) -> Scenario:
    """The scenario of a run. Raises ScenarioError."""
    scenario = cell.base.scenario.override(*cell.settings)
    if replica.seed is not None:
        scenario = scenario.override(f"seed={replica.seed}")
    if replica.offset:
        scenario = scenario.override(*starts(scenario.resolve(), replica.offset))
    return scenario


def _digits(number: int, sizes: Sequence[int]) -> list[int]:
    digits = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        digits.append(digit)
    return digits[::-1]


def _places(block: Block, row: int) -> list[int]:
    """The place of the value of each axis."""
    if block.kind == "zip":
        return [row] * len(block.axes)
    return _digits(row, [len(axis.values) for axis in block.axes])


def _with(block: Block, row: int, wanted: Mapping[str, str]) -> int:
    """The row that has the wanted values, and else those of ``row``."""
    named = [(place, axis) for place, axis in enumerate(block.axes) if axis.name in wanted]
    if not named:
        return row
    labels = {axis.name: [v.label for v in axis.values] for _, axis in named}
    if block.kind == "zip":
        rows = range(len(block.axes[0].values))
        return next(r for r in rows if all(labels[a.name][r] == wanted[a.name] for _, a in named))
    places = _places(block, row)
    for place, axis in named:
        places[place] = labels[axis.name].index(wanted[axis.name])
    number = 0
    for axis, place in zip(block.axes, places, strict=True):
        number = number * len(axis.values) + place
    return number
