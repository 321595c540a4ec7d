"""Damaged result folders: for each there is one message that names the file, and readers rely on these checks."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Cli

from windtunnel import InputError, RunResult, Scenario, load
from windtunnel.export import FILE_FORMATS, FORMATS, export, export_file
from windtunnel.figures import four_panel


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with every kind of table."""
    path = {"rtt": "20 ms"}
    flows = [{"name": "cubic", "cc": "cubic", **path}, {"name": "ping", "app": "probe", **path}]
    bottleneck = {"rate": "10 Mbit/s", "queue": "pie"}
    record = {"packets": True, "interval": "50 ms"}
    run = Scenario(duration="400 ms", flows=flows, bottleneck=bottleneck, record=record).run()
    return run.save(tmp_path_factory.mktemp("healthy") / "run")


@pytest.fixture
def folder(healthy: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(healthy, tmp_path / "run"))


def change(folder: Path, *keys: str | int, to: Any = None) -> None:
    """Set or (without ``to``) delete a key of ``summary.json``."""
    document = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    parent = document
    for key in keys[:-1]:
        parent = parent[key]
    if to is None:
        del parent[keys[-1]]
    else:
        parent[keys[-1]] = to
    (folder / "summary.json").write_text(json.dumps(document), encoding="utf-8")


def column(folder: Path, name: str, values: Callable[[int], pa.Array] | None) -> None:
    """Replace or drop a column of ``flows.parquet``."""
    table = pq.read_table(folder / "flows.parquet")
    index = table.column_names.index(name)
    table = table.remove_column(index) if values is None else table.set_column(index, name, values(table.num_rows))
    pq.write_table(table, folder / "flows.parquet")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe_instead(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "summary empty": (lambda f: (f / "summary.json").write_text(""), "summary.json: is not JSON"),
    "summary cut": (lambda f: cut(f / "summary.json"), "summary.json: is not JSON"),
    "summary binary": (lambda f: (f / "summary.json").write_bytes(b"\xff\xfe"), "summary.json: is not UTF-8 text"),
    "summary deep": (lambda f: (f / "summary.json").write_text("[" * 100_000), "summary.json: is not JSON"),
    "summary nan": (lambda f: change(f, "meta", "duration_s", to=float("nan")), "summary.json: is not JSON"),
    "half a character": (lambda f: change(f, "meta", "title", to="\ud800"), "summary.json: is not JSON"),
    "summary a folder": (lambda f: folder_instead(f / "summary.json"), "summary.json: is not a file"),
    "summary a pipe": (lambda f: pipe_instead(f / "summary.json"), "summary.json: is not a file"),
    "summary of another": (lambda f: (f / "summary.json").write_text("[1]"), "is not the summary of a run"),
    "version a text": (lambda f: change(f, "schema_version", to="2"), "schema_version is not a whole number"),
    "meta a list": (lambda f: change(f, "meta", to=[1]), "meta is not an object"),
    "no digest": (lambda f: change(f, "meta", "digest"), "digest missing in meta"),
    "seed true": (lambda f: change(f, "meta", "seed", to=True), "meta.seed is not a whole number"),
    "duration 0": (lambda f: change(f, "meta", "duration_s", to=0), "meta.duration_s is no time of a run"),
    "duration 10^18 s": (lambda f: change(f, "meta", "duration_s", to=1e18), "meta.duration_s is no time of a run"),
    "seed of 67 bits": (lambda f: change(f, "meta", "seed", to=10**20), "meta.seed is out of range"),
    "title a number": (lambda f: change(f, "meta", "title", to=3), "meta.title is not a text"),
    "flows an object": (lambda f: change(f, "flows", to={}), "flows is not a list"),
    "flow a text": (lambda f: change(f, "flows", 0, to="x"), "flows[0] is not an object"),
    "flow without cc": (lambda f: change(f, "flows", 0, "cc"), "cc missing in flows[0]"),
    "class a number": (
        lambda f: change(f, "queues", 0, "classes", to=[3]),
        "queues[0].classes[0] is not an object",
    ),
    "class without name": (
        lambda f: change(f, "queues", 0, "classes", to=[{"drops": {}}]),
        "name missing in queues[0].classes[0]",
    ),
    "fewer flows": (lambda f: change(f, "flows", 1), "rows of a flow that is not one of 1"),
    "no scenario.toml": (lambda f: (f / "scenario.toml").unlink(), "scenario.toml: is missing"),
    "table empty": (lambda f: (f / "flows.parquet").write_bytes(b""), "flows.parquet: is not a Parquet file"),
    "table cut": (lambda f: cut(f / "flows.parquet"), "flows.parquet: is not a Parquet file"),
    "table a folder": (lambda f: folder_instead(f / "flows.parquet"), "flows.parquet: is not a file"),
    "table missing": (lambda f: (f / "queues.parquet").unlink(), "queues.parquet is missing"),
    "column missing": (lambda f: column(f, "srtt_ms", None), "flows.parquet: column `srtt_ms` is missing"),
    "column of texts": (lambda f: column(f, "srtt_ms", lambda n: pa.array(["x"] * n)), "`srtt_ms` holds string"),
    "flows by halves": (lambda f: column(f, "flow", lambda n: pa.array([0.5] * n)), "rows of a flow"),
    "rows without time": (
        lambda f: column(f, "time_s", lambda n: pa.array([None] * n, pa.float64())),
        "without a time",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named(folder: Path, kind: str) -> None:
    """The message names the folder or its file, and what is wrong with it."""
    damage, expected = DAMAGE[kind]
    damage(folder)
    with pytest.raises(InputError) as caught:
        load(folder)
    assert str(folder) in str(caught.value)
    assert expected in str(caught.value)


def test_on_the_command_line(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """`plot` and `export` print it, with exit code 2, and write nothing."""
    change(folder, "meta", "digest")
    before = {*tmp_path.iterdir()}
    for arguments in (["plot", folder], ["export", folder, "--csv", "c", "--ss", "s"]):
        done = cli(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: {folder}/summary.json: is not the summary of a run: digest missing in meta\n"
    assert {*tmp_path.iterdir()} == before


def places(value: Any, *way: str | int) -> list[tuple[str | int, ...]]:
    """The path to each value of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, each in inner for path in ((*way, key), *places(each, *way, key))]


ODD = (None, "x", "7 B", -1, 0, 5, 1e308, 10**40, True, [], {}, [1], [[]], {"a": 1}, [{}])


def test_what_is_read_can_be_used(healthy: Path, tmp_path: Path) -> None:
    """If a value of the summary is missing or odd, the folder is refused, or every export and figure can cope with
    it.
    """
    document = json.loads((healthy / "summary.json").read_text(encoding="utf-8"))
    original = load(healthy)
    draw = random.Random(1)
    ways = places(document)
    for n in range(120):
        *way, last = draw.choice(ways)
        changed = copy.deepcopy(document)
        parent = changed
        for key in way:
            parent = parent[key]
        parent[last] = draw.choice(ODD)
        (tmp_path / "summary.json").write_text(json.dumps(changed), encoding="utf-8")
        result = summary_of(tmp_path, original)
        if result is None:
            continue
        for kind in FORMATS if n % 10 == 0 else ():
            export(result, kind, tmp_path / kind, force=True)
        for kind in FILE_FORMATS:
            try_or_refuse(
                lambda result=result, kind=kind: export_file(result, kind, tmp_path / "x.flent.gz", force=True)
            )
        if n % 20 == 0:
            four_panel(result)


def summary_of(folder: Path, original: RunResult) -> RunResult | None:
    """The result with the summary in ``folder`` and the tables of another; None if it is refused."""
    from windtunnel.contract import check_tables, read_summary

    try:
        document = read_summary(folder / "summary.json")
        check_tables(folder, original.tables, document)
    except InputError:
        return None
    meta = document["meta"]
    summary = {**document, **{key: meta[key] for key in ("duration_s", "seed", "digest", "packets", "events")}}
    return RunResult(summary, original.tables, meta)


def try_or_refuse(write: Callable[[], object]) -> None:
    with suppress(InputError):
        write()
