"""The suite's data: controllers, commands, published counts, claims, scenarios, notes. They are in ``data`` here."""

from __future__ import annotations

from pathlib import Path

from windtunnel.papers.data_folder import DataFolder

ROOT = Path(__file__).parent / "data"

_data = DataFolder(ROOT)
template, table, toml, text = _data.template, _data.table, _data.toml, _data.text
