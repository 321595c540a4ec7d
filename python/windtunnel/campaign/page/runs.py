"""The page of a single run of a campaign, made again: the plan knows the run, and it is the same each time.

A run is named by its cell and its place in it, ``12.0``, which stays the same whatever `until` adds elsewhere.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.campaign.columns import CellRows, where
from windtunnel.campaign.dataset import is_dataset
from windtunnel.campaign.plan import Cell, Plan, Replica, scenario_of
from windtunnel.campaign.results import CampaignResult, load
from windtunnel.errors import InputError
from windtunnel.result import RunResult

#: Where the pages of runs are, in a data set.
FOLDER = "pages"


@dataclass(frozen=True, order=True)
class Address:
    """A run: the number of its cell, and its index among the cell's runs."""

    cell: int
    index: int = 0

    @classmethod
    def of(cls, text: str) -> Address:
        """From ``12.0``, or ``12`` for the first run of the cell. Raises InputError."""
        match = re.fullmatch(r"(\d{1,12})(?:\.(\d{1,9}))?", text.strip())
        if match is None:
            raise InputError(f"--page {text}: write CELL.RUN, such as 12.0: the cell's number in cells.csv, and the "
                             "place of the run in it, counted from 0")  # fmt: skip
        return cls(int(match[1]), int(match[2] or 0))

    def __str__(self) -> str:
        return f"{self.cell}.{self.index}"

    @property
    def file(self) -> str:
        """Its page, relative to the data set."""
        return f"{FOLDER}/{self}.html"


def find(plan: Plan, address: Address) -> tuple[Cell, Replica]:
    """The run. Raises InputError where the campaign has no such one."""
    if address.cell >= len(plan):
        raise InputError(f"--page {address}: the campaign has the cells 0 to {len(plan) - 1}")
    per_unit = plan.runs_of_unit()
    unit = address.index // per_unit
    most = plan.campaign.max_runs // per_unit if plan.campaign.until is not None else 0
    if unit >= max(plan.first_units(), most):
        most_runs = max(plan.first_units(), most) * per_unit
        raise InputError(f"--page {address}: a cell of the campaign has the runs 0 to {most_runs - 1} at most")
    return plan.cell(address.cell), next(islice(plan.replicas(unit, unit + 1), address.index % per_unit, None))


def write_run_page(plan: Plan, folder: Path, address: Address) -> str:
    """Simulate a run again, write its page in the data set ``folder``, and return its digest.

    Raises InputError, and what a run raises that fails.
    """
    from windtunnel.report import write_report

    cell, replica = find(plan, address)
    result = _untimed(cell.runner.run(scenario_of(cell, replica)))
    file = folder / address.file
    seed = f"seed {result.meta['seed']}" + (f", offset {replica.offset}" if replica.offset else "")
    title = plan.campaign.title or result.title or "Run"
    try:
        file.parent.mkdir(exist_ok=True)
        new = file.with_suffix(".new")
        write_report(result, new, title=f"{title}: {where(plan, cell)}, {seed}")
        new.replace(file)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror or error}") from None
    return result.digest


def _untimed(result: RunResult) -> RunResult:
    """Without how fast it was computed: nothing in a data set tells that."""
    meta = {key: value for key, value in result.meta.items() if key != "packets_per_second"}
    return RunResult(result.summary, result.tables, meta)


def add_page(plan: Plan, folder: Path, address: Address) -> tuple[Path, str]:
    """Add the page of a run to a data set that is there; returns the page, and a warning if the run is not the one that
    the data set has. Raises InputError, and what a run raises that fails.
    """
    if not is_dataset(folder):
        raise InputError(f"{folder}: is no data set; do the sweep first, or name its data set with --out")
    find(plan, address)
    recorded = _recorded(load(folder), address)
    digest = write_run_page(plan, folder, address)
    same = recorded is not None and recorded.get("digest") == digest
    warning = "" if same else (
        f"this is not the run {address} of {folder}: the campaign, or windtunnel, has changed since the sweep"
    )  # fmt: skip
    return folder / address.file, warning


def _recorded(data: CampaignResult, address: Address) -> dict[str, Any] | None:
    """What the data set says about a run."""
    runs = data.read("runs", ["digest"])
    rows = runs.part(np.asarray(runs["cell"]) == address.cell).part(slice(address.index, address.index + 1), ["digest"])
    return next(iter(rows.records()), None)


def command(file: str, options: Sequence[str] = ()) -> str:
    """What writes the page of a run, but for the folder and the address, which come last: where the report is, it
    knows itself, so that reports of the same campaign are the same wherever they were written.
    """
    return shlex.join(["windtunnel", "sweep", file, *options])


def chosen(rows: CellRows, plan: Plan, count: int) -> list[Address]:
    """Runs that are worth a page: of the cells with the greatest and the least mean of each metric, then of the others
    in their order. Cells that failed have none.
    """
    sound = np.flatnonzero(rows.column("failed") == 0)
    cell, metric, mean = (rows.column(name)[sound] for name in ("cell", "metric", "mean"))
    ends: list[int] = []
    for each in dict.fromkeys(metric.tolist()):
        mine = np.flatnonzero((metric == each) & ~np.isnan(mean))
        ends += [int(cell[mine[pick(mean[mine])]]) for pick in (np.argmax, np.argmin) if len(mine)]
    order = islice(dict.fromkeys([*ends, *cell.tolist()]), count)
    return [Address(plan.wanted_cell(each).number) for each in order]
