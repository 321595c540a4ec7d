"""The suite's data: scenario files, experiments, notes. They are in ``data``, next to this file."""

from __future__ import annotations

from pathlib import Path

from windtunnel.papers.data_folder import DataFolder

ROOT = Path(__file__).parent / "data"

_data = DataFolder(ROOT)
template, toml, text = _data.template, _data.toml, _data.text
