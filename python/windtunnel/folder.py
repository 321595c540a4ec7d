"""The result folder: its contract, writing it, and reading it back.

| file | content |
|---|---|
| ``summary.json`` | see :meth:`windtunnel.result.RunResult.document` |
| ``scenario.toml`` | the scenario with every default; running it again gives the same digest |
| ``flows.parquet``, ``queues.parquet`` | time series at the recording interval |
| all ``*.parquet`` | first ``scenario``, ``seed``, ``digest``; ``flow_name`` and ``queue_name`` next to numbers |
| ``cc.parquet``, ``aqm.parquet`` | the state of controllers and of queues, where any of them has one |
| ``transfers.parquet`` | each transfer that was completed, where flows make transfers |
| ``packets.parquet`` | every packet at every place, where the scenario records packets |
| ``payloads.parquet`` | the payload of each packet over a real stack, where the scenario records payloads |
| ``points/*.parquet`` | single events, thinned: one file per ``*_points`` table |
| ``events/*.parquet`` | every event, where the scenario records events |
| ``report.html`` | the interactive report |
| ``qlog/*.sqlog`` | the sender's log of each TCP flow, where it was asked for |
| ``figure.png``, ``figure.svg`` | the four-panel figure, where it was asked for |
| ``flows.flent.gz``, ``capture.pcapng`` | of an emulation: for Flent; all packets, where it was asked for |

A run that did not reach its end leaves ``NAME.incomplete`` instead (:mod:`windtunnel.incomplete`): ``summary.json``
with ``"incomplete": true``, ``scenario.toml``, and a folder of parts for each table that had many rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from windtunnel.atomic import check_free, staged
from windtunnel.errors import InputError, reason
from windtunnel.extras import need
from windtunnel.input_file import document_of
from windtunnel.keyed import write_table
from windtunnel.parts import tables_in
from windtunnel.result import RunResult
from windtunnel.stored import Files, StoredTables
from windtunnel.table import Table

_SUBFOLDERS = {"_points": "points", "_events": "events"}
FIGURE_FORMATS = ("png", "svg")
_SUMMARY = "summary.json"


def is_result(folder: Path) -> bool:
    """Whether a folder was written by :func:`save`, in any version, even if its tables are damaged."""
    from windtunnel.contract import is_summary

    return is_summary(document_of(folder / _SUMMARY))


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse a place where :func:`save` could not write, before a long run starts. Raises InputError."""
    try:
        check_free(path, force=force, ours=is_result)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None


def save(
    result: RunResult,
    path: Path,
    *,
    force: bool = False,
    figures: bool = False,
    qlog: Mapping[str, Any] | None = None,
    more: Callable[[Path], None] | None = None,
) -> Path:
    """Write the result folder; it appears complete or not at all. Returns its path.

    Never overwrites without ``force``; with it, overwrites only a result folder. ``figures`` adds the four-panel
    figure as PNG and SVG, ``qlog`` the logs of its flows, with these options; ``more`` writes other
    files into the folder.
    Raises InputError if the place is taken, cannot be written to, or the disk is full.
    """
    load_libraries(figures=figures)
    with staged(path, force=force, ours=is_result) as stage:
        (stage / "scenario.toml").write_text(result.meta["scenario_toml"], encoding="utf-8")
        for name in result.tables:
            file = stage / _table_file(name)
            file.parent.mkdir(exist_ok=True)
            write_table(result, name, file, path.name)
        if figures:
            _write_figures(result, stage)
        if qlog is not None:
            _write_logs(result, stage / "qlog", qlog)
        if more is not None:
            more(stage)
        from windtunnel.report import write_report

        write_report(result, stage / "report.html", title=result.title or path.name)
        # Written last, because this file makes the folder a result folder.
        with (stage / _SUMMARY).open("w", encoding="utf-8") as text:
            text.writelines(result.json_pieces())
    return path


def load(path: str | Path, *, lazily: Collection[str] = ()) -> RunResult:
    """Read a result folder back. Raises InputError if it is not one, is damaged, or is of a newer version.

    ``lazily``: tables that are only read when they are asked for; until then their files must stay.
    """
    from windtunnel.contract import check_tables, read_summary, read_table, read_text

    path = Path(path)
    _check_folder(path)
    document = read_summary(path / _SUMMARY)
    meta = {**document["meta"], "scenario_toml": read_text(path / "scenario.toml")}
    if document.get("incomplete"):
        return _incomplete(path, document, meta)
    files = sorted(f for pattern in ("*.parquet", "*/*.parquet") for f in path.glob(pattern))
    later = {file.stem: (file,) for file in files if file.stem in lazily}
    read = {file.stem: read_table(file) for file in files if file.stem not in later}
    check_tables(path, read, document)
    summary = {key: meta[key] for key in ("duration_s", "seed", "digest", "packets", "events")}
    for part in ("flows", "queues", "windows"):
        summary[part] = document[part]
    # Version 1 did not have these.
    summary["stalled"] = document.get("stalled")
    summary["impairments"] = document.get("impairments") or []
    summary["changes"] = document.get("changes") or []
    summary["notes"] = document.get("notes") or []
    summary["fairness"] = document.get("fairness") or []
    summary["claims"] = document.get("claims") or []
    return RunResult(summary, StoredTables({**read, **later}) if later else read, meta)


def _incomplete(path: Path, document: Mapping[str, Any], meta: dict[str, Any]) -> RunResult:
    """What a run recorded that did not reach its end."""
    from windtunnel.contract import TABLES

    summary = {
        "duration_s": meta["duration_s"], "seed": meta["seed"], "digest": "", "packets": 0, "events": 0,
        "stalled": None, "flows": document["flows"], "queues": document["queues"],
        **{part: [] for part in ("windows", "impairments", "changes", "notes", "fairness", "claims")},
    }  # fmt: skip
    title = f"{meta.get('title') or path.stem} (incomplete)"
    tables: dict[str, Table | Files] = {**{name: Table() for name in TABLES}, **tables_in(path)}
    return RunResult(summary, StoredTables(tables), {**meta, "title": title, "incomplete": True, "digest": ""})


def _check_folder(path: Path) -> None:
    """Refuse a path that is not a result folder. Raises InputError."""
    try:
        what = None if os.path.lexists(path / _SUMMARY) else "is not a result folder: it has no summary.json"
        if what and not path.exists():
            what = "there is no such folder"
    except OSError as error:
        what = f"cannot be read: {reason(error)}"
    except ValueError:  # a NUL in the name
        what = "is not the name of a folder"
    if what:
        raise InputError(f"{path}: {what}")


def _table_file(name: str) -> Path:
    for suffix, folder in _SUBFOLDERS.items():
        if name.endswith(suffix):
            return Path(folder, f"{name}.parquet")
    return Path(f"{name}.parquet")


def load_libraries(*, figures: bool) -> None:
    """Load what :func:`save` needs before anything is half-written, because a lack of memory here may end the process.

    OpenBLAS does not return from its first use if it gets no memory.
    """
    import numpy as np

    import windtunnel.report

    np.linalg.inv(np.eye(2))
    if figures:
        need("matplotlib", "a figure")
        import windtunnel.figures  # noqa: F401


def _write_logs(result: RunResult, folder: Path, options: Mapping[str, Any]) -> None:
    """The logs of those flows that have any: a run of datagrams is a result, too."""
    from windtunnel.export.qlog import left_out, write_qlog

    if len(left_out(result)) < len(result.flows):
        folder.mkdir()
        write_qlog(result, folder, **options)


def _write_figures(result: RunResult, stage: Path) -> None:
    from windtunnel.figures import four_panel, write_figures

    write_figures(four_panel(result), [stage / f"figure.{extension}" for extension in FIGURE_FORMATS])
