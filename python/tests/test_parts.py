"""Runs whose tables are too many for memory: rows leave while the run goes on, and nothing else changes."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import environment

from windtunnel import InputError, RunResult, Scenario, _core, load
from windtunnel.bench.child import taken_by
from windtunnel.coarse import ROWS
from windtunnel.folder import save
from windtunnel.stored import StoredTables, coarse, parts

#: With so short intervals that rows take more than what stays in memory.
SCENARIO = """\
title = "Many rows"
duration = "{duration}"
record = {{ interval = "0.1 ms" }}
bottleneck = {{ rate = "10 Mbit/s", queue = {{ kind = "pie" }} }}
flow = [{{ name = "a", cc = "cubic", rtt = "20 ms" }}, {{ name = "b", cc = "reno", rtt = "30 ms" }}]
"""
TEXT = SCENARIO.format(duration="8 s")
LEAVING = ("flows", "queues", "cc", "aqm")


@pytest.fixture(scope="module")
def many() -> RunResult:
    return Scenario.from_toml(TEXT).run()


def test_the_same_tables(many: RunResult) -> None:
    """The rows that left and those that stayed are those of a run that keeps all, in the same order."""
    whole = _core.run(TEXT)
    assert many.digest == whole.digest
    assert isinstance(many.tables, StoredTables)
    assert all(len(many.tables.files(name)) > 1 for name in LEAVING)
    assert list(many.tables) == list(whole.tables)
    for name, columns in whole.tables.items():
        assert list(many.tables[name]) == list(columns)
        for column, values in columns.items():
            np.testing.assert_array_equal(many.tables[name][column], values, strict=True)


def test_parts_are_read_one_by_one() -> None:
    """Functions that need rows once never hold a table: its parts are the table."""
    tables = Scenario.from_toml(TEXT).run().tables
    assert isinstance(tables, StoredTables)
    read = [part["time_s"] for part in parts(tables, "flows", ["time_s"])]
    assert len(read) > 2 and tables.files("flows"), "the table is still in its files"
    np.testing.assert_array_equal(np.concatenate(read), tables["flows"]["time_s"])


def test_result_folder(many: RunResult, tmp_path: Path) -> None:
    """Files have the columns that name run, flows and queues, and are the same bytes for each run; read back, they are
    the tables.
    """
    first = save(many, tmp_path / "first")
    second = save(Scenario.from_toml(TEXT).run(), tmp_path / "second")
    for file in first.glob("**/*.parquet"):
        assert file.read_bytes() == (second / file.relative_to(first)).read_bytes(), file
    table = pq.read_table(first / "flows.parquet")
    assert table.column_names[:6] == ["scenario", "seed", "digest", "time_s", "flow", "flow_name"]
    assert set(table["digest"].to_pylist()) == {many.digest} and set(table["scenario"].to_pylist()) == {"Many rows"}
    assert table["flow_name"].to_pylist()[:4] == ["a", "b", "a", "b"]
    assert pq.ParquetFile(first / "flows.parquet").metadata.num_row_groups > 1
    again = load(first)
    for name, columns in many.tables.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(again.tables[name][column], values, strict=True)


def test_pictures_have_sums_means_and_extremes(many: RunResult) -> None:
    """A long table has fewer rows for pictures, in which counts add up to the same, and nothing lies outside."""
    fewer = coarse(many.tables)
    whole, few = many.tables["flows"], fewer["flows"]
    assert ROWS / 2 < few.rows <= ROWS + 4 and few.rows < whole.rows
    for flow in (0, 1):
        mine, of = whole["flow"] == flow, few["flow"] == flow
        for count in ("sent", "delivered_bytes", "lost"):
            assert few[count][of].sum() == whole[count][mine].sum() > 0
        assert np.nanmax(few["rtt_max_ms"][of]) == np.nanmax(whole["rtt_max_ms"][mine])
        assert np.nanmin(few["cwnd_min_bytes"][of]) == np.nanmin(whole["cwnd_min_bytes"][mine])
        assert few["time_s"][of][-1] == whole["time_s"][mine][-1]
        assert few["cwnd_bytes"][of][-1] == whole["cwnd_bytes"][mine][-1]
        of_each = -(-whole.rows // ROWS)
        together = whole["throughput_mbps"][mine][: of_each * (len(few["time_s"][of]) - 1)].reshape(-1, of_each)
        np.testing.assert_allclose(few["throughput_mbps"][of][:-1], together.mean(axis=1))
    assert fewer["mark_points"] is many.tables["mark_points"], "a short table is as it is"


def test_a_temporary_folder_goes_with_the_result() -> None:
    """Nothing is left of a run from Python when its result is not used any more."""
    result = Scenario.from_toml(TEXT).run()
    assert isinstance(result.tables, StoredTables)
    folder = result.tables.files("flows")[0].parent.parent
    assert folder.exists()
    del result
    gc.collect()
    assert not folder.exists()


def test_a_part_that_cannot_be_written(tmp_path: Path) -> None:
    """The run ends with the error of the operating system, or with that of the function that makes the folder."""
    with pytest.raises(FileNotFoundError):
        _core.run(TEXT, parts=(lambda flows, queues: tmp_path / "nothing", {}))

    def refuse(flows: object, queues: object) -> Path:
        raise InputError("not here")

    with pytest.raises(InputError, match="not here"):
        _core.run(TEXT, parts=(refuse, {}))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    """What was recorded until a kill can be read, is marked as incomplete, and is the beginning of the whole; the next
    run replaces it, and leaves nothing but its result.
    """
    file = tmp_path / "long.toml"
    file.write_text(SCENARIO.format(duration="3000 s"), encoding="utf-8")
    command = [sys.executable, "-m", "windtunnel", "run", "long.toml", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    kept = tmp_path / "out.incomplete"
    deadline = time.monotonic() + 120
    while not len(list(kept.glob("flows/*.parquet"))) > 1:
        assert time.monotonic() < deadline and process.poll() is None, process.communicate(timeout=9)
        time.sleep(0.1)
    process.send_signal(end)
    _, said = process.communicate()
    assert process.returncode != 0
    assert ("what was recorded until then is in out.incomplete" in said) is (end == signal.SIGINT)
    assert not (tmp_path / "out").exists()
    result = load(kept)
    assert result.meta["incomplete"] and result.title == "Many rows (incomplete)"
    assert [flow["name"] for flow in result.flows] == ["a", "b"]
    assert json.loads((kept / "summary.json").read_text())["incomplete"]
    rows = result.tables["flows"]["time_s"]
    assert len(rows) > 1 << 15
    whole = Scenario.from_toml(TEXT).run().tables["flows"]["time_s"]
    shared = min(len(rows), len(whole))
    np.testing.assert_array_equal(rows[:shared], whole[:shared])
    result.plot()
    file.write_text(TEXT, encoding="utf-8")
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "out" / "report.html").exists() and not kept.exists()


def peak_of_run(tmp_path: Path, text: str) -> float:
    """The peak memory of ``windtunnel run`` in MB."""
    (tmp_path / "large.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "windtunnel", "run", "large.toml", "--force"]
    return taken_by(command, tmp_path, environment()).peak_bytes / 1e6


DAY = """\
duration = "86400 s"
bottleneck = { rate = "1 Mbit/s", queue = { kind = "fifo", limit = "1 BDP" } }
flow = [{ cc = "cubic", rtt = "40 ms" }]
"""
MANY_FLOWS = """\
duration = "60 s"
bottleneck = { rate = "1 Gbit/s", queue = { kind = "fq_codel" } }
flow = [{ cc = "cubic", rtt = "40 ms", count = 1000 }]
"""


@pytest.mark.long
@pytest.mark.parametrize(("text", "most"), [(DAY, 200), (MANY_FLOWS, 400)], ids=["a day", "a thousand flows"])
def test_peak_memory(tmp_path: Path, text: str, most: float) -> None:
    """A day of one flow and a minute of a thousand stay within their goals, page included."""
    assert peak_of_run(tmp_path, text) < most
