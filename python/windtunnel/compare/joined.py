"""Data sets of several campaigns as one, in which the campaign is an axis: what a page draws of cells, it draws of
campaigns laid over each other.

An axis has the values of all campaigns. Every cell that one of them has is in all of them: where a campaign lacks it,
its row there has no runs, so that a page can say so. The statistics of a cell are those of its own campaign, the
differences those of ``differences.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from windtunnel.campaign.columns import CELL_COLUMNS
from windtunnel.campaign.page.grid import AxisValues, Grid, Places
from windtunnel.compare.differences import Difference
from windtunnel.compare.sides import CampaignSide
from windtunnel.experiment import statistics
from windtunnel.table import Table

#: The axis of campaigns, and its name where a campaign has an axis of that name.
CAMPAIGN, OTHERWISE = "campaign", "compared campaign"

#: What makes a value of an axis the same in two campaigns: its number, or else its label.
_Identity: TypeAlias = "float | str"


@dataclass(frozen=True)
class _Side:
    """A campaign with its grid; ``cells`` are the numbers of those that were run."""

    data: CampaignSide
    grid: Grid
    cells: Places

    @classmethod
    def of(cls, data: CampaignSide) -> _Side:
        cells = np.unique(np.asarray(data.data.tables["cells"]["cell"]))
        return cls(data, Grid.of(data.data.document), cells)

    def values(self, cells: Places) -> dict[str, list[_Identity]]:
        """What cells have on each axis."""
        by_axis = self.grid.by_axis(self.grid.places(cells))
        return {
            axis.name: [_identity(axis, int(index)) for index in mine]
            for axis, mine in zip(self.grid.axes, by_axis, strict=True)
        }


def _identity(axis: AxisValues, index: int) -> _Identity:
    number = axis.numbers[index]
    return axis.labels[index] if number is None else number


class Joined:
    """The campaigns as one. All have axes of the same names, which ``differences.pairs_of`` makes sure of."""

    def __init__(self, sides: Sequence[CampaignSide], metrics: Mapping[str, str]) -> None:
        self.metrics = metrics
        self._sides = [_Side.of(side) for side in sides]
        self._names = [side.name for side in sides]
        axes = {axis.name for axis in self._sides[0].grid.axes}
        self.axis = OTHERWISE if CAMPAIGN in axes else CAMPAIGN
        self._dimensions = [self._values_of(names) for names in self._partition()]
        self._sizes = (len(sides), *(len(values) for values in self._dimensions))

    @property
    def document(self) -> dict[str, Any]:
        """As the ``campaign.json`` of such a campaign."""
        last = self._sides[-1].data.data.document
        axes = [self._axis(self.axis, "grid", -1, [(name, None) for name in self._names])]
        for block, (names, values) in enumerate(zip(self._partition(), self._dimensions, strict=True)):
            labels = [[self._label(name, value[index]) for value in values] for index, name in enumerate(names)]
            axes += [self._axis(name, "zip", block, each) for name, each in zip(names, labels, strict=True)]
        return {
            "scenarios": {"": {}},
            "axes": axes,
            "metrics": dict(self.metrics),
            "kinds": last.get("kinds", {}),
            "units": last.get("units", {}),
            "baselines": [{self.axis: self._names[0]}],
            "statistics": last["statistics"],
            "version": last["version"],
        }

    @staticmethod
    def _axis(name: str, kind: str, block: int, labels: Sequence[tuple[str, float | None]]) -> dict[str, Any]:
        values: list[dict[str, Any]] = [{"label": label, "settings": [], "number": number} for label, number in labels]
        return {"name": name, "keys": [], "kind": kind, "block": block, "values": values}

    def _partition(self) -> list[tuple[str, ...]]:
        """The axes that vary together; each alone where the campaigns do not agree on that."""
        partitions = [[tuple(axis.name for axis in d.axes) for d in side.grid.dimensions] for side in self._sides]
        if all(set(each) == set(partitions[0]) for each in partitions):
            return partitions[0]
        return [(name,) for names in partitions[0] for name in names]

    def _values_of(self, names: Sequence[str]) -> dict[tuple[_Identity, ...], int]:
        """The indices of a dimension's values: in the order of numbers where all are numbers, else as they come."""
        distinct: dict[tuple[_Identity, ...], None] = {}
        for side in self._sides:
            by_name = {axis.name: axis for axis in side.grid.axes}
            sizes = {len(by_name[name].labels) for name in names}
            for index in range(max(sizes)):
                distinct[tuple(_identity(by_name[name], index) for name in names)] = None
        values: list[tuple[_Identity, ...]] = list(distinct)
        if all(isinstance(part, float) for value in values for part in value):
            # The axes of a zip are one order: that of the first.
            values.sort(key=lambda value: value[0])
        return {value: index for index, value in enumerate(values)}

    def _label(self, name: str, value: _Identity) -> tuple[str, float | None]:
        """A value as the first campaign that has it calls it."""
        for side in self._sides:
            axis = next(axis for axis in side.grid.axes if axis.name == name)
            for index, label in enumerate(axis.labels):
                if _identity(axis, index) == value:
                    return label, axis.numbers[index]
        raise AssertionError(name)

    def _places(self, side: _Side, cells: Places) -> Places:
        """The numbers that cells of a campaign have here, but for the campaign."""
        if not self._dimensions:
            return np.zeros(len(cells), dtype=np.int64)
        values = side.values(cells)
        places = [
            np.array([where[key] for key in zip(*(values[name] for name in names), strict=True)], dtype=np.int64)
            for names, where in zip(self._partition(), self._dimensions, strict=True)
        ]
        return np.ravel_multi_index(places, self._sizes[1:]).astype(np.int64)

    @cached_property
    def cells(self) -> list[Places]:
        """Of each campaign the numbers of its cells, but for the campaign."""
        return [self._places(side, side.cells) for side in self._sides]

    @property
    def common(self) -> set[int]:
        """The cells that all have."""
        return set.intersection(*(set(each.tolist()) for each in self.cells))

    def table(self, differences: Sequence[Sequence[Difference]]) -> Table:
        """As ``cells.parquet`` of such a campaign. ``differences`` are those of each campaign but the first."""
        rows = list(self._rows(differences))
        correction = self._sides[-1].data.data.document["statistics"]["correction"]
        for row, p in zip(rows, statistics.corrected([row["p"] for row in rows], correction), strict=True):
            row["p_corrected"] = p
        return Table.from_records(rows, {"cell": int, **CELL_COLUMNS})

    def _rows(self, differences: Sequence[Sequence[Difference]]) -> Iterator[dict[str, Any]]:
        stride = int(np.prod(self._sizes[1:], dtype=np.int64))
        every = sorted(set().union(*(each.tolist() for each in self.cells)))
        nothing = dict.fromkeys(CELL_COLUMNS) | {
            "runs": 0, "failed": 0, "distinct": 0, "count": 0, "baseline": f"{self.axis} = {self._names[0]}",
        }  # fmt: skip
        for number, side in enumerate(self._sides):
            own = self._statistics(side)
            compared = self._compared(side, differences[number - 1]) if number else {}
            for cell in every:
                for metric in self.metrics:
                    row = own.get((cell, metric), {}) | compared.get((cell, metric), {})
                    yield nothing | row | {"cell": number * stride + cell, "metric": metric}

    def _statistics(self, side: _Side) -> dict[tuple[int, str], dict[str, Any]]:
        """What a campaign says about its own cells; the same for each of its baselines."""
        table = side.data.data.tables["cells"]
        # An older data set has fewer.
        columns = [name for name in list(CELL_COLUMNS)[: list(CELL_COLUMNS).index("baseline")] if name in table]
        cells = self._places(side, np.asarray(table["cell"]))
        rows = table.part(slice(None), columns).records()
        return {(int(cell), row["metric"]): row for cell, row in zip(cells, rows, strict=True)}

    def _compared(self, side: _Side, differences: Sequence[Difference]) -> dict[tuple[int, str], dict[str, Any]]:
        cells = self._places(side, np.array([each.number for each in differences], dtype=np.int64))
        compared = {}
        for cell, each in zip(cells, differences, strict=True):
            low, high = each.interval or (None, None)
            compared[int(cell), each.what] = {
                "pairs": each.pairs, "difference": each.difference, "difference_low": low, "difference_high": high,
                "p": each.p, "effect": each.effect, "dominance": each.dominance,
            }  # fmt: skip
        return compared

    def runs(self) -> Table:
        """The metrics of all runs in cells that all campaigns have: of other cells a distribution would say nothing."""
        stride = int(np.prod(self._sizes[1:], dtype=np.int64))
        parts, common = [], np.array(sorted(self.common), dtype=np.int64)
        for number, side in enumerate(self._sides):
            table = side.data.data.tables["runs"].part(slice(None), ["cell", *self.metrics])
            cells = self._places(side, np.asarray(table["cell"]))
            table["cell"] = number * stride + cells
            parts.append(table.part(np.isin(cells, common)))
        return Table({name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]})
