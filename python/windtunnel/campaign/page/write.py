"""The page of a data set: the notes on the whole, and the columns that the script draws."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from markupsafe import Markup

from windtunnel.campaign.page.cells import COUNTS, Rows, grid_of, rows_of
from windtunnel.campaign.page.cells import baseline_name as name_of
from windtunnel.campaign.page.distributions import panel
from windtunnel.campaign.page.grid import AxisValues, Grid, Places
from windtunnel.campaign.page.runs import FOLDER, Address
from windtunnel.contract import read_columns
from windtunnel.experiment.verdict import word_of
from windtunnel.report.columns import Columns
from windtunnel.report.page import script_json
from windtunnel.report.page import write_page as write_html
from windtunnel.report.panels import encoded
from windtunnel.report.templates import render
from windtunnel.report.text import grouped, setting

if TYPE_CHECKING:
    from windtunnel.table import Table
    from windtunnel.texts import Texts

PAGE = "report.html"
#: Points of all distributions together; a point takes 11 bytes.
_POINTS = 50_000
_LEAST_POINTS, _MOST_POINTS = 12, 400
#: Failed runs whose messages the page has; the others are in ``runs.parquet``.
_MOST_ERRORS = 200
#: Units of axes of quantities, the greatest first, by what their labels end in.
_UNITS = (
    (("bit/s", "bps"), (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))),
    (("s",), (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))),
    (("B",), (("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))),
)


def write_page(folder: Path, document: Mapping[str, Any], command: str, written: Sequence[Address] = ()) -> None:
    """Write ``report.html`` of the data set in ``folder``, whose ``campaign.json`` is ``document``.

    ``command``, with the folder and the address of a run, writes the run's page; those of ``written`` are there
    already.
    """
    runs = read_columns(folder / "runs.parquet", {}, only={"cell", *document["metrics"]})
    cell = np.asarray(runs["cell"])
    said = {
        "title": document["title"] or "Campaign",
        "facts": list(_facts(document, len(np.unique(cell)))),
        "failed": document["failed"],
        "notes": document["notes"],
        "claims": list(_claims(folder)),
    }
    run_pages = {
        "command": command,
        "folder": FOLDER,
        "written": [str(each) for each in written],
        "errors": _errors(folder, cell),
    }
    html = page_of(document, read_columns(folder / "cells.parquet", {}), runs, said, run_pages)
    write_html(folder / PAGE, html)


def page_of(
    document: Mapping[str, Any],
    cells: Table,
    runs: Table,
    said: Mapping[str, Any],
    run_pages: Mapping[str, Any],
    overlaid: str = "",
) -> str:
    """The page of cells. ``cells`` and ``runs`` have the columns of ``cells.parquet`` and ``runs.parquet`` that a
    page needs; ``said`` has the notes on the whole, ``run_pages`` where the pages of runs are.

    ``overlaid`` names the axis whose values are laid over each other: the first is what the others are compared with.
    """
    cell = np.unique(np.asarray(cells["cell"]))
    grid = grid_of(document, len(cell))
    rows = rows_of(cells, grid, document)
    columns = Columns()
    panels = [encoded(each, columns) for each in _distributions(document, cells, runs)]
    axes = [_axis(axis, index) for index, axis in _with_dimensions(grid)]
    laid_over = next((len(axis["labels"]) for axis in axes if axis["name"] == overlaid), 1)
    meta = {
        "axes": axes,
        "overlaid": next((index for index, axis in enumerate(axes) if axis["name"] == overlaid), -1),
        "metrics": [{"name": name, "text": text} for name, text in _explained(document, cells)],
        "baselines": [name_of(each) for each in document["baselines"]],
        "confidence": document["statistics"]["confidence"],
        "binned": grid.is_binned,
        "rows": len(rows.cell),
        "columns": _columns(rows, columns),
        "distributions": panels,
        **run_pages,
    }
    return render(
        "sweep",
        "sweep.html.j2",
        {
            **said,
            "overlaid": overlaid,
            "metrics": list(_explained(document, cells)),
            "panels": panels,
            "binned": _binned_note(grid, len(cell) // laid_over, is_overlaid=bool(overlaid)),
            "footer": f"windtunnel {document['version']}",
            "meta_json": script_json(meta),
            "data": Markup(columns.base64()),
        },
    )


def _explained(document: Mapping[str, Any], cells: Table) -> Iterator[tuple[str, str]]:
    """Each metric with its expression, its unit, and what its means and intervals are."""
    methods: dict[str, dict[str, None]] = {}
    if "method" in cells:
        for metric, method in zip(*(cells[name].tolist() for name in ("metric", "method")), strict=True):
            if method:
                methods.setdefault(metric, {})[method] = None
    for name, text in document["metrics"].items():
        unit = document.get("units", {}).get(name, "")
        yield (
            name,
            "; or ".join([f"{text}{f' in {unit}' if unit else ''}", *methods.get(name, ())]).replace("; or", ":", 1),
        )


def _with_dimensions(grid: Grid) -> Iterator[tuple[int, AxisValues]]:
    axes = iter(grid.axes)
    for index, dimension in enumerate(grid.dimensions):
        yield from ((index, next(axes)) for _ in dimension.axes)


def _axis(axis: AxisValues, dimension: int) -> dict[str, Any]:
    unit, factor = _unit(axis)
    return {
        "name": axis.name,
        "labels": list(axis.labels),
        "numbers": [number / factor for number in axis.numbers if number is not None] if axis.numeric else None,
        "unit": unit,
        "log": axis.log,
        "dimension": dimension,
    }


def _unit(axis: AxisValues) -> tuple[str, float]:
    """In what the numbers of an axis are shown, and how many of its base unit that is; a plain number has no unit."""
    text = axis.labels[0].partition(" to ")[0]
    units = next((units for ends, units in _UNITS if text.endswith(ends)), None)
    least = min((number for number in axis.numbers if number), key=abs, default=1.0)
    if not axis.numeric or units is None:
        return "", 1.0
    return next(((unit, factor) for unit, factor in units if factor <= abs(least)), units[-1])


def _columns(rows: Rows, columns: Columns) -> dict[str, Any]:
    """References to the columns; one without any value is left out."""
    small = {"metric": rows.metric, "baseline": rows.baseline}
    small |= {f"axis{index}": axis for index, axis in enumerate(rows.axes)}
    out = {name: columns.add(values, "u32" if len(values) and values.max() > 65_535 else "u16")
           for name, values in small.items()}  # fmt: skip
    out |= {name: columns.add(values, "u32") for name, values in (("cell", rows.cell), ("cells", rows.cells))}
    out |= {name: columns.add(rows.counts[name], "u32") for name in COUNTS if name in rows.counts}
    return out | {name: columns.add(v, "f64") for name, v in rows.values.items() if np.isfinite(v).any()}


def _distributions(document: Mapping[str, Any], table: Table, runs: Table) -> Iterator[Any]:
    """A panel for each metric, from its values in all runs and its means in the cells of these runs."""
    grid = Grid.of(document)
    of_run = np.asarray(runs["cell"])
    ran = np.isin(np.asarray(table["cell"]), of_run)
    metrics = list(document["metrics"])
    which = cast("Texts", table["metric"]).among(metrics)
    curves = 2 * sum(min(12, len(axis.labels)) for axis in grid.axes) + 2
    points = min(_MOST_POINTS, max(_LEAST_POINTS, _POINTS // (curves * max(1, len(metrics)))))
    for index, metric in enumerate(metrics):
        of_cells = table.part(ran & (which == index), ["cell", "mean"])
        cell, mean = (np.asarray(of_cells[name]) for name in ("cell", "mean"))
        # A cell has a row for each baseline, with the same mean.
        cell, first = np.unique(cell, return_index=True)
        means = (cell, mean[first].astype(np.float64))
        values = (of_run, np.asarray(runs[metric]).astype(np.float64))
        yield panel(f"cdf{index}", metric, grid, values, means, points, _compared(document))


def _compared(document: Mapping[str, Any]) -> frozenset[str]:
    """The axes that baselines are of."""
    return frozenset(axis for baseline in document["baselines"] for axis in baseline)


def _errors(folder: Path, cells: Places) -> list[tuple[str, str, bool]]:
    """The addresses and messages of the first runs that failed, or (False) only lack a metric."""
    table = read_columns(folder / "runs.parquet", {}, only={"run", "cell", "digest", "error"})
    first = np.flatnonzero(cast("Texts", table["error"]).at >= 0)[:_MOST_ERRORS]
    # Runs of a cell are neighbours.
    return [
        (
            str(Address(row["cell"], row["run"] - int(np.searchsorted(cells, row["cell"])))),
            row["error"],
            not row["digest"],
        )
        for row in table.part(first).records()
    ]


def _claims(folder: Path) -> Iterator[dict[str, str]]:
    """The claims, and how many cells have each verdict."""
    file = folder / "claims.json"
    for claim in json.loads(file.read_text(encoding="utf-8")) if file.is_file() else ():
        counts = Counter(cell["verdict"] for cell in claim["cells"])
        yield {
            **claim,
            "kind": word_of(claim["verdict"]).kind,
            "cells": ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()),
        }


def _facts(document: Mapping[str, Any], cells: int) -> Iterator[str]:
    chosen, until = document["statistics"], document["until"]
    yield f"{grouped(cells)} cell{'' if cells == 1 else 's'}"
    yield f"{grouped(document['runs'])} run{'' if document['runs'] == 1 else 's'}"
    if until is not None:
        yield f"until each interval is within {setting(100 * until['ci'])} % of its mean, at most {until['max']} runs"
    offsets = document["offsets"]
    if offsets:
        yield "other start offsets for each seed" if offsets is True else f"{offsets} start offsets for each seed"
    yield f"{setting(100 * chosen['confidence'])} % intervals ({chosen['interval']})"
    if document["baselines"]:
        yield f"baseline: {' and '.join(name_of(each) for each in document['baselines'])}"
        yield f"p corrected by {chosen['correction']}" if chosen["correction"] != "none" else "p not corrected"


def _binned_note(grid: Grid, cells: int, *, is_overlaid: bool) -> str:
    if not grid.is_binned:
        return ""
    widths = ", ".join(f"{each.width} of {each.axes[0].name}" for each in grid.dimensions if each.width > 1)
    alone = "each cell alone is in the cells.csv of its campaign" if is_overlaid else (
        "each cell alone is in cells.parquet and cells.csv; --only AXIS=VALUE makes a page of some"
    )  # fmt: skip
    return (
        f"{grouped(cells)} cells are too many for a page: neighbours are shown as one ({widths} together), with "
        f"the mean of all their values, the least and the greatest; {alone}."
    )
