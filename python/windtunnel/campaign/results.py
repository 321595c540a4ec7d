"""A data set that was written, for Python: its tables, and the notes on the whole. If its files do not fit
together, a message says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.campaign.dataset import MANIFEST, SCHEMA_VERSION, is_dataset
from windtunnel.campaign.model import SCENARIO
from windtunnel.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CampaignResult:
    """A campaign's data set in the folder ``path``. ``document`` is its ``campaign.json``."""

    path: Path
    document: dict[str, Any] = field(repr=False)

    @property
    def runs(self) -> pa.Table:
        """A row for each run. Raises InputError, as all tables do, if the file is damaged."""
        import pyarrow as pa

        metrics = dict.fromkeys(self.document["metrics"], pa.float64())
        return self._table("runs", {
            "run": pa.int64(), "seed": pa.uint64(), "offset": pa.int32(), "digest": pa.string(), "error": pa.string(),
            **dict.fromkeys(self._axes()), **metrics,
        })  # fmt: skip

    @property
    def flows(self) -> pa.Table:
        """A row for each flow of each run."""
        import pyarrow as pa

        return self._table("flows", {"run": pa.int64(), "flow": pa.int32(), "flow_name": pa.string()})

    @property
    def cells(self) -> pa.Table:
        """A row for each metric of each cell, and each baseline."""
        import pyarrow as pa

        from windtunnel.campaign.columns import CELL_COLUMNS, LATER

        types = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
        columns = {name: types[kind] for name, kind in CELL_COLUMNS.items() if name not in LATER}
        return self._table("cells", {**dict.fromkeys(self._axes()), **columns})

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

    def _table(self, name: str, columns: Mapping[str, pa.DataType | None]) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        from windtunnel.contract import read_arrow

        file = self.path / f"{name}.parquet"
        table = read_arrow(file, {"cell": pa.int64(), **columns})
        ends = pc.min_max(table.column("cell")).as_py()
        if table.num_rows and (table.column("cell").null_count or ends["min"] < 0 or ends["max"] >= self.cell_count):
            raise InputError(f"{file}: has rows of cells that {MANIFEST} does not have: one of the files is another's")
        return table


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
