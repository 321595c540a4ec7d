"""A data set that was written, for Python: its tables, and what is said of the whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.campaign.dataset import MANIFEST, SCHEMA_VERSION, is_dataset
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
        """A row for each run."""
        return self._table("runs")

    @property
    def flows(self) -> pa.Table:
        """A row for each flow of each run."""
        return self._table("flows")

    @property
    def cells(self) -> pa.Table:
        """A row for each metric of each cell, and each baseline."""
        return self._table("cells")

    @property
    def notes(self) -> list[str]:
        """What is to be said of the whole."""
        return list(self.document["notes"])

    def _table(self, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        return pq.read_table(self.path / f"{name}.parquet")


def load(path: str | Path) -> CampaignResult:
    """Read a data set back. Raises InputError if it is none, or of a newer version."""
    path = Path(path)
    if not is_dataset(path):
        raise InputError(f"{path}: is no data set of a campaign: it has no {MANIFEST} of one")
    document = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    if document.get("schema_version", 0) > SCHEMA_VERSION:
        raise InputError(f"{path}: was written by a newer version of windtunnel")
    return CampaignResult(path, document)
