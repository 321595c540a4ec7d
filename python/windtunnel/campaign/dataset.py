"""The data set of a campaign, tidy: one table for each kind of thing, one row for each thing.

| file | a row is |
|---|---|
| ``runs.parquet`` | a run: axes, seed, offset, digest, metrics, or the message of its failure |
| ``flows.parquet`` | a flow of a run: axes, seed, offset, digest, the numbers of its summary |
| ``cells.parquet``, ``cells.csv`` | a metric of a cell: its statistics, and those of its difference from a baseline |
| ``report.html``, ``pages/`` | the report on the whole, and the pages of single runs |
| ``claims.json`` | the claims, if there are any: their verdicts, and those in each cell |
| ``campaign.json`` | the campaign, what it was run with, and the notes on the whole |

Rows are in the order of the plan, and say nothing about how the runs were made: the files are the same, byte for
byte, wherever that was and wherever the data set is; the report names the campaign file and the settings that were
given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel import _core
from windtunnel._core import MemoryLimitError, ScenarioError
from windtunnel.atomic import staged
from windtunnel.campaign.columns import AxisColumns, CellRows
from windtunnel.campaign.conduct import Conductor
from windtunnel.campaign.plan import Places, Plan
from windtunnel.campaign.rows import NUMBERS, Rows
from windtunnel.campaign.summarise import Findings, summarise
from windtunnel.claims.decide import Decided
from windtunnel.escape import csv_cell
from windtunnel.input_file import document_of
from windtunnel.table import Table, masked, stored
from windtunnel.texts import Texts

SCHEMA_VERSION = 1
MANIFEST = "campaign.json"
#: Runs whose rows are in memory at a time, and make a group of rows of a file; and such rows of cells.
_ROWS, _CELL_ROWS = 20_000, 100_000
#: The texts of a flow.
_OF_FLOW = ("flow_name", "cc", "application")


def is_dataset(folder: Path) -> bool:
    """Whether a folder was written by :func:`write`."""
    document = document_of(folder / MANIFEST)
    return isinstance(document, dict) and document.get("kind") == "campaign"


def write(conductor: Conductor, target: Path, *, force: bool, page: str = "", pages: int = 0) -> Findings:
    """Write the data set; it appears complete or not at all. Raises InputError.

    Its report tells that ``page``, with its folder and the address of a run, writes the page of the run. ``pages`` of
    them are written.
    """
    axes = AxisColumns(conductor.plan)
    with staged(target, force=force, ours=is_dataset) as stage:
        coded = axes.of_texts
        with (
            _writer(stage / "runs.parquet", coded) as runs,
            _writer(stage / "flows.parquet", [*coded, *_OF_FLOW]) as flows,
        ):
            count = 0
            for cell, rows in conductor.ledger.groups(_ROWS):
                numbers, places = conductor.plan.places(cell)
                shared = _shared(axes, rows, np.arange(count, count + len(rows)), numbers, places)
                runs(_run_columns(conductor, rows, shared))
                flows(_flow_columns(rows, shared))
                count += len(rows)
        findings = summarise(conductor)
        _write_cells(stage, conductor.plan, findings.rows, axes)
        manifest = _manifest(conductor, findings)
        if findings.claims:
            (stage / "claims.json").write_text(_claims(findings.claims), encoding="utf-8")
        _write_pages(stage, conductor, findings, json.loads(manifest), page, pages)
        # Written last, because this file makes the folder a data set.
        (stage / MANIFEST).write_text(manifest, encoding="utf-8")
    return findings


def _shared(axes: AxisColumns, rows: Rows, runs: Places, cells: Places, places: Sequence[Places]) -> Table:
    """What the rows of a run and of its flows have in common."""
    columns = rows.columns
    return Table({
        "run": runs, "cell": cells, **axes.of(places),
        "seed": masked(columns["seed"], ~columns["has_seed"]), "offset": columns["offset"],
        "digest": _text(rows, "digest"),
    })  # fmt: skip


def _run_columns(conductor: Conductor, rows: Rows, shared: Table) -> Table:
    columns, names = rows.columns, [name for name, _ in conductor.campaign.metrics]
    values = np.where(np.isfinite(columns["values"]), columns["values"], np.nan)
    return Table({
        **shared,
        "packets": masked(columns["packets"], columns["packets"] < 0),
        "stalled": masked(columns["stalled"] > 0, columns["stalled"] < 0),
        "foreign": _text(rows, "foreign"),
        **{name: values[:, at] for at, name in enumerate(names)},
        "error": Texts.of(_errors(rows, names)),
    })  # fmt: skip


def _errors(rows: Rows, names: Sequence[str]) -> list[str | None]:
    """The message of each run: of its failure, or which metrics it does not have."""
    errors: list[str | None] = [rows.texts[index] if index >= 0 else None for index in rows.columns["error"].tolist()]
    for row in np.unique(rows.columns["run"]).tolist():
        problems = [f"{names[at]}: {why}" for at, why in rows.problems(row) if at < len(names)]
        errors[row] = errors[row] or "; ".join(problems) or None
    return errors


def _flow_columns(rows: Rows, shared: Table) -> Table:
    columns = rows.columns
    of_run = np.repeat(np.arange(len(rows)), columns["flows"])
    return Table({
        **shared.part(of_run),
        "flow": columns["flow"],
        **{name: _text(rows, name) for name in _OF_FLOW},
        **{name: columns["numbers"][:, at] for at, name in enumerate(NUMBERS)},
    })  # fmt: skip


def _text(rows: Rows, name: str) -> Texts:
    return Texts(rows.columns[name], rows.texts)


@contextmanager
def _writer(file: Path, coded: Sequence[str] = ()) -> Iterator[Callable[[Table], None]]:
    """Writes rows to a Parquet file, each time as a group. Texts of ``coded`` are places in a list there, too."""
    writer = _core.TableWriter(file, list(coded))
    yield lambda table: writer.write(stored(table))
    writer.finish()


def _write_cells(stage: Path, plan: Plan, rows: CellRows, axes: AxisColumns) -> None:
    with _writer(stage / "cells.parquet") as parquet:
        for first in range(0, max(1, len(rows)), _CELL_ROWS):
            past = min(first + _CELL_ROWS, len(rows))
            cells, places = plan.places(rows.column("cell")[first:past])
            table = Table({"cell": cells, **axes.of(places), **rows.table(first, past)})
            parquet(table)
            _core.write_csv(stage / "cells.csv", stored(_as_csv(table)), append=first > 0)


def _as_csv(table: Table) -> Table:
    """The table with names and texts as CSV must have them: axes and their values are the campaign's own words."""
    return Table({
        str(csv_cell(name)): Texts(column.at, [str(csv_cell(word)) for word in column.words])
        if isinstance(column, Texts) else column
        for name, column in table.items()
    })  # fmt: skip


def _write_pages(
    stage: Path, conductor: Conductor, findings: Findings, document: dict[str, Any], command: str, pages: int
) -> None:
    """The report, and the pages of some runs."""
    from windtunnel.campaign.page import write_page, write_run_page
    from windtunnel.campaign.page.runs import chosen

    written = []
    for address in chosen(findings.rows, conductor.plan, pages) if pages else ():
        # A page records all, which may need more memory than the run: then the command for it says so.
        with suppress(ScenarioError, MemoryLimitError):
            write_run_page(conductor.plan, stage, address)
            written.append(address)
    write_page(stage, document, command, written)


def _claims(decided: Iterable[Decided]) -> str:
    document = [
        {"name": each.claim.name, "text": each.claim.text, "check": each.claim.condition.text,
         "verdict": each.word, "cells": [decision.document() for decision in each.decisions]}
        for each in decided
    ]  # fmt: skip
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _manifest(conductor: Conductor, findings: Findings) -> str:
    campaign = conductor.campaign
    document = {
        "kind": "campaign",
        "schema_version": SCHEMA_VERSION,
        "version": _core.__version__,
        "title": campaign.title,
        "scenarios": _scenarios(conductor.plan),
        "axes": [
            {"name": axis.name, "keys": list(axis.keys), "block": block, "kind": kind.kind,
             "values": [{"label": v.label, "settings": list(v.settings), "number": v.number} for v in axis.values]}
            for block, kind in enumerate(campaign.blocks) for axis in kind.axes
        ],
        "seeds": None if campaign.seeds is None else list(campaign.seeds),
        "offsets": campaign.offsets,
        "metrics": {name: metric.text for name, metric in campaign.metrics},
        "kinds": {name: metric.kind for name, metric in campaign.metrics},
        "units": {name: metric.unit for name, metric in campaign.metrics},
        "claims": [
            {"name": claim.name, "text": claim.text, "check": claim.condition.text,
             "where": {axis: list(labels) for axis, labels in claim.where}}
            for claim in campaign.claims
        ],
        "twin": None if conductor.plan.kernel is None else conductor.plan.kernel.name,
        "baselines": [dict(baseline) for baseline in campaign.baselines],
        "until": None if campaign.until is None else {"ci": campaign.until.share, "max": campaign.max_runs},
        "statistics": campaign.statistics.__dict__,
        "runs": conductor.count.done,
        "failed": conductor.count.failed,
        "notes": findings.notes,
    }  # fmt: skip
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _scenarios(plan: Plan) -> dict[str, dict[str, Any] | None]:
    """The scenarios with every default. One to which an axis adds what it needs is shown as its first cell has it; None
    where that is wrong too.
    """
    resolved: dict[str, dict[str, Any] | None] = {}
    each = len(plan) // len(plan.campaign.bases)
    for index, base in enumerate(plan.campaign.bases):
        resolved[base.name] = None
        for scenario in (base.scenario, base.scenario.override(*plan.cell(index * each).settings)):
            with suppress(ScenarioError):
                resolved[base.name] = scenario.resolve()
                break
    return resolved
