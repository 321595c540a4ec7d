"""A run's summary as tables of the page: cells with the text to show and the value to sort by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.panels.run import Run
from windtunnel.report.bounded import few_rows
from windtunnel.report.grouped import places_of_groups, together
from windtunnel.report.summary_columns import TABLES, Column, Record, Table, groups

_NUMBER = (int, float)


@dataclass(frozen=True)
class TableCell:
    """A cell of the page: the text to show, and the value to sort by."""

    text: str
    sort: str
    numeric: bool


@dataclass(frozen=True)
class SummaryTable:
    """A table that is ready for the template."""

    columns: Sequence[Column]
    rows: list[list[TableCell]]
    #: What is said below it; empty if it has all rows.
    note: str = ""


def tables(part: Record, run: Run | None) -> Iterator[tuple[Table, Sequence[Record]]]:
    """The tables of a summary, or of a window of it, that have records; first that of groups, if there are any."""
    for table in TABLES if run is None or not run.grouped else (groups(run), *TABLES):
        records = table.records(part)
        if records:
            yield table, records


def summary_tables(part: Record, run: Run | None) -> list[SummaryTable]:
    """The tables of the page."""
    return [
        _of_groups(columns, records, run)
        if run is not None and run.grouped and table.of_flows
        else _of_records(columns, records, table.of_flows)
        for table, records in tables(part, run)
        for columns in [[column for column in table.columns if column.head]]
    ]


def _of_records(columns: Sequence[Column], every: Sequence[Record], of_flows: bool) -> SummaryTable:
    # Flows that are many are in groups, or were chosen.
    records, note = (every, "") if of_flows else few_rows(every)
    kept = with_values(columns, records)
    cells = [[_cell(c, value, r) for value, r in zip(values, records, strict=True)] for c, values in kept]
    return SummaryTable([c for c, _ in kept], [list(row) for row in zip(*cells, strict=True)], note)


def with_values(columns: Sequence[Column], records: Sequence[Record]) -> list[tuple[Column, list[Any]]]:
    """The columns that have something to show, with their values."""
    every = [(c, [c.get(r) for r in records]) for c in columns]
    return [(c, values) for c, values in every if any(v if c.rare else v is not None for v in values)]


def _of_groups(columns: Sequence[Column], records: Sequence[Record], run: Run) -> SummaryTable:
    """A row for each group of flows."""
    kept = with_values(columns, records)
    rows = []
    for label, mine in places_of_groups(records, run):
        cells = [TableCell(label, label, numeric=False)]
        for column, every in kept[1:]:
            values = [every[index] for index in mine]
            numbers = [value for value in values if isinstance(value, _NUMBER)]
            text = together(values, column.show)
            cells.append(TableCell(text, str(sum(numbers) / len(numbers)) if numbers else text, column.numeric))
        rows.append(cells)
    return SummaryTable([column for column, _ in kept], rows)


def _cell(column: Column, value: Any, record: Record) -> TableCell:
    text = column.show(value) if column.text is None else column.text(record)
    return TableCell(text, "" if value is None else str(value), column.numeric)
