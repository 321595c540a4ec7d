"""The result folder: its contract, writing it, and reading it back.

| file | content |
|---|---|
| ``summary.json`` | ``schema_version``, ``meta``, ``stalled``, ``flows``, ``queues``, ``impairments``, ``windows`` |
| ``scenario.toml`` | the scenario with every default; running it again gives the same digest |
| ``flows.parquet``, ``queues.parquet`` | time series at the recording interval |
| ``cc.parquet``, ``aqm.parquet`` | the state of controllers and of queues, where any of them has such |
| ``transfers.parquet`` | each transfer that was completed, where flows make such |
| ``packets.parquet`` | every packet at every place, where the scenario records packets |
| ``points/*.parquet`` | single events, thinned: one file per ``*_points`` table |
| ``events/*.parquet`` | every event, where the scenario records events |
| ``report.html`` | the interactive report |
| ``figure.png``, ``figure.svg`` | the four-panel figure |
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from windtunnel.atomic import check_free, staged
from windtunnel.errors import InputError, reason
from windtunnel.result import SCHEMA_VERSION, RunResult, Table

_SUBFOLDERS = {"_points": "points", "_events": "events"}
FIGURE_FORMATS = ("png", "svg")


def is_result(folder: Path) -> bool:
    """Whether a folder was written by :func:`save`."""
    try:
        document = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "schema_version" in document


def check_place(path: Path, *, force: bool) -> None:
    """Refuse a place where :func:`save` could not write, before a long run starts. Raises InputError."""
    try:
        check_free(path, force=force, ours=is_result)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None


def save(result: RunResult, path: Path, *, force: bool = False, figures: bool = True) -> Path:
    """Write the result folder; it appears complete or not at all. Returns its path.

    Never overwrites without ``force``; with it, overwrites only a result folder. ``figures=False`` omits PNG and SVG.
    Raises InputError if the place is taken, cannot be written to, or the disk is full.
    """
    with staged(path, force=force, ours=is_result) as stage:
        (stage / "scenario.toml").write_text(result.meta["scenario_toml"], encoding="utf-8")
        for name in result.tables:
            _write_table(result, name, stage / _table_file(name))
        if figures:
            _write_figures(result, stage)
        from windtunnel.report import write_report

        write_report(result, stage / "report.html", title=result.title or path.name)
        # Written last, because this file makes the folder a result folder.
        (stage / "summary.json").write_text(result.to_json(), encoding="utf-8")
    return path


def load(path: str | Path) -> RunResult:
    """Read a result folder back. Raises InputError if it is not one, or is of a newer version."""
    path = Path(path)
    document = _read_summary(path)
    meta = dict(document["meta"])
    try:
        meta["scenario_toml"] = (path / "scenario.toml").read_text(encoding="utf-8")
        files = sorted(f for pattern in ("*.parquet", "*/*.parquet") for f in path.glob(pattern))
        tables = {file.stem: _read_table(file) for file in files}
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {why}") from None
    summary = {key: meta[key] for key in ("duration_s", "seed", "digest", "packets", "events")}
    for part in ("flows", "queues", "windows"):
        summary[part] = document[part]
    # Version 1 did not have these.
    summary["stalled"] = document.get("stalled")
    summary["impairments"] = document.get("impairments", [])
    return RunResult(summary, tables, meta)


def _table_file(name: str) -> Path:
    for suffix, folder in _SUBFOLDERS.items():
        if name.endswith(suffix):
            return Path(folder, f"{name}.parquet")
    return Path(f"{name}.parquet")


def _write_table(result: RunResult, name: str, file: Path) -> None:
    import pyarrow.parquet as pq

    file.parent.mkdir(exist_ok=True)
    pq.write_table(result.table(name), file, compression="zstd")


def _read_table(file: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except pa.ArrowInvalid as error:
        raise InputError(f"{file}: is not a Parquet file: {error}") from None
    return {name: table[name].to_numpy() for name in table.column_names}


def _write_figures(result: RunResult, stage: Path) -> None:
    from windtunnel.figures import four_panel, write_figure

    figure = four_panel(result)
    for extension in FIGURE_FORMATS:
        write_figure(figure, stage / f"figure.{extension}")


def _read_summary(path: Path) -> dict[str, Any]:
    """``summary.json``, checked for the keys that :func:`load` needs."""
    file = path / "summary.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "there is no such folder" if not path.exists() else "is not a result folder: it has no summary.json"
        raise InputError(f"{path}: {what}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None
    except ValueError as error:
        raise InputError(f"{file}: is not JSON: {error}") from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise InputError(f"{file}: is not the summary of a run: it has no schema_version")
    if version > SCHEMA_VERSION:
        raise InputError(f"{file}: has schema version {version}; this windtunnel reads up to {SCHEMA_VERSION}")
    missing = [key for key in ("meta", "flows", "queues", "windows") if key not in document]
    missing += [k for k in ("duration_s", "seed", "digest", "packets", "events") if k not in document.get("meta", {})]
    if missing:
        raise InputError(f"{file}: is not the summary of a run: {', '.join(missing)} missing")
    summary: dict[str, Any] = document
    return summary
