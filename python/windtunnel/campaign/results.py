"""A data set that was written, for Python: its tables, and the notes on the whole. If its files do not fit
together, a message says so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from windtunnel.campaign.columns import CELL_COLUMNS, LATER
from windtunnel.campaign.dataset import MANIFEST, SCHEMA_VERSION, is_dataset
from windtunnel.campaign.model import SCENARIO
from windtunnel.errors import InputError
from windtunnel.extras import library
from windtunnel.table import Table

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True)
class CampaignResult:
    """A campaign's data set in the folder ``path``. ``document`` is its ``campaign.json``."""

    path: Path
    document: dict[str, Any] = field(repr=False)

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """The tables ``runs``, ``flows`` and ``cells``, of NumPy arrays; each is read when it is asked for.

        That raises InputError if the file is damaged.
        """
        return _Tables(self)

    @property
    def runs(self) -> pa.Table:
        """A row for each run, as a ``pyarrow.Table``. Raises InputError, as all tables do, if the file is damaged, and
        MissingExtraError if pyarrow is not installed.
        """
        return self._arrow("runs")

    @property
    def flows(self) -> pa.Table:
        """A row for each flow of each run."""
        return self._arrow("flows")

    @property
    def cells(self) -> pa.Table:
        """A row for each metric of each cell, and each baseline."""
        return self._arrow("cells")

    def read(self, name: str, only: Collection[str] | None = None) -> Table:
        """A table, or only some of its columns. Raises InputError."""
        from windtunnel.contract import read_columns

        file = self.path / f"{name}.parquet"
        columns = {"cell": "int64", **self._columns(name)}
        table = read_columns(file, columns, only=None if only is None else {"cell", *only})
        cell = cast("npt.NDArray[Any]", table["cell"])
        if len(cell) and (np.ma.is_masked(cell) or cell.min() < 0 or cell.max() >= self.cell_count):
            raise InputError(f"{file}: has rows of cells that {MANIFEST} does not have: one of the files is another's")
        return table

    def _columns(self, name: str) -> dict[str, str | None]:
        """The columns that a table must have, and their types as Arrow calls them; None for any."""
        axes: dict[str, str | None] = dict.fromkeys(self._axes())
        if name == "runs":
            metrics = dict.fromkeys(self.document["metrics"], "double")
            of_run = {"run": "int64", "seed": "uint64", "offset": "int32", "digest": "string", "error": "string"}
            return {**of_run, **axes, **metrics}
        if name == "flows":
            return {"run": "int64", "flow": "int32", "flow_name": "string"}
        types = {float: "double", int: "int64", str: "string", bool: "bool"}
        return {**axes, **{name: types[kind] for name, kind in CELL_COLUMNS.items() if name not in LATER}}

    def _arrow(self, name: str) -> pa.Table:
        library("pyarrow", f"CampaignResult.{name}")
        self.read(name)
        import pyarrow.parquet as pq

        return pq.read_table(self.path / f"{name}.parquet")

    @property
    def notes(self) -> list[str]:
        """The notes on the whole."""
        return list(self.document["notes"])

    @property
    def cell_count(self) -> int:
        """How many cells the campaign has."""
        from windtunnel.campaign.page.grid import Grid

        count = 1
        for dimension in Grid.of(self.document).dimensions:
            count *= dimension.size
        return count

    def _axes(self) -> list[str]:
        names = [axis["name"] for axis in self.document["axes"]]
        return [SCENARIO, *names] if len(self.document["scenarios"]) > 1 else names


class _Tables(Mapping[str, Table]):
    """The tables of a data set, which are read when they are asked for."""

    _NAMES = ("runs", "flows", "cells")

    def __init__(self, data: CampaignResult) -> None:
        self._data = data
        self._read: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._NAMES:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = self._data.read(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


def load(path: str | Path) -> CampaignResult:
    """Read a data set back. Raises InputError if it is none, is damaged, or of a newer version."""
    path = Path(path)
    if not is_dataset(path):
        raise InputError(f"{path}: is no data set of a campaign: it has no {MANIFEST} of one")
    document = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    version = document.get("schema_version", 0)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise InputError(f"{path}: was written by a newer version of windtunnel")
    _check(path / MANIFEST, document)
    return CampaignResult(path, document)


#: What readers take from the manifest, and its kinds.
_NEEDED: dict[str, type | tuple[type, ...]] = {
    "version": str, "title": str, "scenarios": dict, "axes": list, "offsets": (bool, int), "metrics": dict,
    "baselines": list, "statistics": dict, "failed": int, "notes": list,
}  # fmt: skip


def _check(file: Path, document: Mapping[str, Any]) -> None:
    """Refuse a manifest that readers cannot use. Raises InputError."""
    for key, kind in _NEEDED.items():
        if key not in document:
            raise InputError(f"{file}: is damaged: `{key}` is missing")
        if not isinstance(document[key], kind):
            raise InputError(f"{file}: is damaged: `{key}` is {document[key]!r:.40}")
    chosen = document["statistics"]
    sound = (
        document["scenarios"]
        and isinstance(chosen.get("confidence"), float)
        and 0 < chosen["confidence"] < 1
        and chosen.get("interval") in ("t", "bootstrap")
        and isinstance(chosen.get("correction"), str)
        and all(isinstance(text, str) for text in [*document["metrics"].values(), *document["notes"]])
        and all(isinstance(table, dict) for table in document["baselines"])
        and all(isinstance(document.get(key, {}), dict) for key in ("kinds", "units"))
        and all(map(_is_axis, document["axes"]))
    )
    if not sound:
        raise InputError(f"{file}: is damaged: its axes, metrics or statistics are none")
    for name, kind in document.get("kinds", {}).items():
        from windtunnel.experiment.scales import KINDS

        if kind not in KINDS:
            raise InputError(f"{file}: is damaged: the metric `{name}` is of the kind {kind!r}")


def _is_axis(axis: object) -> bool:
    match axis:
        case {"name": str(), "keys": [*keys], "block": int(), "kind": "grid" | "zip", "values": [_, *_] as values}:
            return all(isinstance(key, str) for key in keys) and all(map(_is_value, values))
    return False


def _is_value(value: object) -> bool:
    match value:
        case {"label": str(), "settings": list(), "number": None | int() | float()}:
            return True
    return False
