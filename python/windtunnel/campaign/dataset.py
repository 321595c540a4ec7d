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
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel import _core
from windtunnel._core import MemoryLimitError, ScenarioError
from windtunnel.atomic import staged
from windtunnel.campaign.columns import OF_FLOW, AxisColumns, known, number_at
from windtunnel.campaign.conduct import Conductor
from windtunnel.campaign.plan import Cell, Plan, Replica
from windtunnel.campaign.summarise import CELL_COLUMNS, Findings, summarise
from windtunnel.claims.decide import Decided
from windtunnel.escape import csv_cell
from windtunnel.experiment.runs import Record
from windtunnel.input_file import document_of

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
MANIFEST = "campaign.json"
#: Rows that are in memory at a time.
_ROWS = 20_000


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
        flows: list[dict[str, Any]] = []
        with (
            _Writer(stage / "runs.parquet", _run_schema(conductor, axes)) as runs,
            _Writer(stage / "flows.parquet", _flow_schema(axes)) as flow_rows,
        ):
            for number, (cell, replica, record) in enumerate(_records(conductor)):
                row = _run_row(conductor, number, cell, replica, record, axes.of(cell))
                runs.add(row)
                flows = _flow_rows(row, record, axes.of(cell))
                for flow in flows:
                    flow_rows.add(flow)
        findings = summarise(conductor)
        _write_cells(stage, findings, axes)
        manifest = _manifest(conductor, findings)
        if findings.claims:
            (stage / "claims.json").write_text(_claims(findings.claims), encoding="utf-8")
        _write_pages(stage, conductor, findings, json.loads(manifest), page, pages)
        # Written last, because this file makes the folder a data set.
        (stage / MANIFEST).write_text(manifest, encoding="utf-8")
    return findings


def _records(conductor: Conductor) -> Iterator[tuple[Cell, Replica, Record]]:
    """All runs in the order of the plan."""
    for cell in conductor.plan.cells():
        replicas = conductor.plan.replicas(0, conductor.units(cell.number))
        for replica, record in zip(replicas, conductor.records(cell.number), strict=True):
            yield cell, replica, record


def _run_schema(conductor: Conductor, axes: AxisColumns) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([
        ("run", pa.int64()), ("cell", pa.int64()), *axes.schema(), ("seed", pa.uint64()), ("offset", pa.int32()),
        ("digest", pa.string()), ("packets", pa.int64()), ("stalled", pa.bool_()), ("foreign", pa.string()),
        *((name, pa.float64()) for name, _ in conductor.campaign.metrics), ("error", pa.string()),
    ])  # fmt: skip


def _run_row(
    conductor: Conductor, number: int, cell: Cell, replica: Replica, record: Record, axes: dict[str, Any]
) -> dict[str, Any]:
    problems, metrics = [], {}
    for name, metric in conductor.campaign.metrics:
        value, problem = record.value(metric)
        metrics[name] = known(value)
        if problem:
            problems.append(f"{name}: {problem}")
    summary = record.summary
    return {
        "run": number,
        "cell": cell.number,
        **axes,
        "seed": summary.get("seed", replica.seed),
        "offset": replica.offset,
        "digest": record.digest or None,
        "packets": summary.get("packets"),
        "stalled": None if record.error else summary["stalled"] is not None,
        "foreign": ", ".join(record.foreign) or None,
        **metrics,
        "error": record.error or "; ".join(problems) or None,
    }


def _flow_schema(axes: AxisColumns) -> pa.Schema:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([
        ("run", pa.int64()), ("cell", pa.int64()), *axes.schema(), ("seed", pa.uint64()), ("offset", pa.int32()),
        ("digest", pa.string()), ("flow", pa.int32()), ("flow_name", text), ("cc", text), ("application", text),
        *((name, pa.float64()) for name in OF_FLOW),
    ])  # fmt: skip


def _flow_rows(run: dict[str, Any], record: Record, axes: dict[str, Any]) -> list[dict[str, Any]]:
    shared = {key: run[key] for key in ("run", "cell", *axes, "seed", "offset", "digest")}
    return [
        {
            **shared,
            "flow": index,
            "flow_name": flow["name"],
            "cc": flow.get("cc"),
            "application": flow.get("application"),
            **{name: number_at(flow, path) for name, path in OF_FLOW.items()},
        }
        for index, flow in enumerate(record.summary.get("flows", ()))
    ]


def _write_cells(stage: Path, findings: Findings, axes: AxisColumns) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    types = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
    # pyarrow's CSV has no dictionaries.
    plain = [(name, pa.string() if pa.types.is_dictionary(kind) else kind) for name, kind in axes.schema()]
    schema = pa.schema([("cell", pa.int64()), *plain, *((name, types[kind]) for name, kind in CELL_COLUMNS.items())])
    rows = [{**axes.of(row.cell), "cell": row.cell.number, **row.values} for row in findings.rows]
    table = pa.Table.from_pylist(rows, schema=schema)
    pq.write_table(table, stage / "cells.parquet", compression="zstd", write_page_checksum=True)
    csv.write_csv(_as_csv(table), stage / "cells.csv")


def _as_csv(table: pa.Table) -> pa.Table:
    """The table with names and texts as CSV must have them: axes and their values are the campaign's own words."""
    import pyarrow as pa

    columns = [
        pa.array(map(csv_cell, column.to_pylist()), pa.string()) if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=[str(csv_cell(name)) for name in table.column_names])


def _write_pages(
    stage: Path, conductor: Conductor, findings: Findings, document: dict[str, Any], command: str, pages: int
) -> None:
    """The report, and the pages of some runs."""
    from windtunnel.campaign.page import write_page, write_run_page
    from windtunnel.campaign.page.runs import chosen

    rows = ({**row.values, "cell": row.cell.number} for row in findings.rows)
    written = []
    for address in chosen(rows, pages) if pages else ():
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


class _Writer:
    """Rows to a Parquet file, a bounded number of them in memory."""

    def __init__(self, file: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._schema, self._columns = schema, self._empty(schema.names)
        self._writer = pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True)
        self._count = 0

    @staticmethod
    def _empty(names: Iterable[str]) -> dict[str, list[Any]]:
        return {name: [] for name in names}

    def add(self, row: dict[str, Any]) -> None:
        for name, column in self._columns.items():
            column.append(row[name])
        self._count += 1
        if self._count == _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.table(self._columns, schema=self._schema))
        self._columns, self._count = self._empty(self._columns), 0

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._count:
            self._flush()
        self._writer.close()
