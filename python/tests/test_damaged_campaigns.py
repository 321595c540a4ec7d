"""Damaged data sets of campaigns: a message that names the file, never another exception."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaigns import campaign
from conftest import Cli

from windtunnel import InputError
from windtunnel.campaign.page.runs import Address, add_page
from windtunnel.campaign.plan import Plan
from windtunnel.campaign.results import load
from windtunnel.compare.cells_page import write
from windtunnel.compare.differences import of_campaigns
from windtunnel.compare.sides import CampaignSide

FILES = ("runs.parquet", "cells.parquet", "campaign.json")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    campaign(seeds=2).run(folder / "out", jobs=2)
    return folder / "out"


@pytest.fixture
def folder(healthy: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(healthy, tmp_path / "damaged"))


def use(healthy: Path, folder: Path) -> None:
    """What reads data sets: a comparison with its page."""
    sides = [CampaignSide("a", load(healthy)), CampaignSide("b", load(folder))]
    differences = of_campaigns(*sides)
    write(folder / "page.html", sides, [differences], force=True)


def drop(folder: Path, name: str, column: str) -> None:
    table = pq.read_table(folder / name)
    pq.write_table(table.drop_columns([column]), folder / name)


def replace(folder: Path, name: str, column: str, value: Any) -> None:
    table = pq.read_table(folder / name)
    index = table.column_names.index(column)
    pq.write_table(table.set_column(index, column, pa.array([value] * table.num_rows)), folder / name)


def change(folder: Path, changed: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / "campaign.json").read_text())
    changed(document)
    (folder / "campaign.json").write_text(json.dumps(document))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "runs cut": (lambda f: (f / "runs.parquet").write_bytes((f / "runs.parquet").read_bytes()[:900]), "runs.parquet"),
    "runs missing": (lambda f: (f / "runs.parquet").unlink(), "runs.parquet: is missing"),
    "cells empty": (lambda f: (f / "cells.parquet").write_bytes(b""), "cells.parquet"),
    "a metric missing": (lambda f: drop(f, "runs.parquet", "share"), "column `share` is missing"),
    "no cells": (lambda f: drop(f, "cells.parquet", "cell"), "column `cell` is missing"),
    "a text": (lambda f: replace(f, "runs.parquet", "share", "x"), "column `share` holds string, not double"),
    "a cell too many": (lambda f: replace(f, "runs.parquet", "cell", 6), "cells that campaign.json does not have"),
    "axes": (lambda f: change(f, lambda d: d.pop("axes")), "campaign.json: is damaged: `axes` is missing"),
    "an axis": (lambda f: change(f, lambda d: d["axes"][0].pop("values")), "campaign.json: is damaged"),
    "metrics": (lambda f: change(f, lambda d: d.update(metrics=[])), "`metrics` is []"),
    "statistics": (lambda f: change(f, lambda d: d["statistics"].update(confidence="x")), "campaign.json: is damaged"),
    "a kind": (lambda f: change(f, lambda d: d["kinds"].update(share="shar")), "of the kind 'shar'"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage(healthy: Path, folder: Path, case: str) -> None:
    damage, message = DAMAGE[case]
    damage(folder)
    with pytest.raises(InputError) as error:
        use(healthy, folder)
    assert message in str(error.value) and str(folder) in str(error.value)


@pytest.mark.parametrize("name", FILES)
def test_changed_bytes(healthy: Path, folder: Path, name: str) -> None:
    """One byte that is another one, anywhere, or an end that is missing: a message, or the file can still be used."""
    rng, whole = random.Random(name), (folder / name).read_bytes()
    refused = 0
    for _ in range(12):
        position = rng.randrange(len(whole))
        changed = bytearray(whole)
        changed[position] ^= 1 << rng.randrange(8)
        (folder / name).write_bytes(bytes(changed) if rng.random() < 0.8 else whole[:position])
        try:
            use(healthy, folder)
        except InputError:
            refused += 1
    assert refused > 3


def test_page_of_a_run(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """``sweep --page`` looks the run up in the table."""
    plan = Plan(campaign(seeds=2))
    (folder / "runs.parquet").write_bytes((folder / "runs.parquet").read_bytes()[:500])
    with pytest.raises(InputError, match=r"runs\.parquet"):
        add_page(plan, folder, Address(0))
    for command in (("compare", folder, folder), ("compare", folder, folder, "--page", tmp_path / "p.html")):
        done = cli(*command)
        assert done.returncode == 2 and "runs.parquet" in done.stderr and "Traceback" not in done.stderr
