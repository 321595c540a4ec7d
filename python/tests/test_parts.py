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

from windtunnel import InputError, RunResult, Scenario, Table, _core, contract, load
from windtunnel.bench.child import taken_by
from windtunnel.coarse import ROWS
from windtunnel.contract import read_table
from windtunnel.export import write_pcapng, write_qlog
from windtunnel.export.packets import POINTS
from windtunnel.folder import save
from windtunnel.panels import Run, packets
from windtunnel.report import write_report
from windtunnel.stored import OF_PACKETS, StoredTables, coarse, parts

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
#: With more packets than that.
PACKETS = """\
title = "Many packets"
duration = "{duration}"
record = {{ packets = true, points = "20 ms" }}
flow = [{{ name = "a", cc = "cubic", rtt = "20 ms" }}, {{ name = "b", cc = "reno", rtt = "30 ms" }}]
[bottleneck]
rate = "50 Mbit/s"
queue = {{ kind = "pie" }}
impair = [
    {{ kind = "loss", probability = "0.1 %" }}, {{ kind = "duplication", probability = "0.1 %" }},
    {{ kind = "reordering" }},
]
"""


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


def refuse_whole_packets(*files: Path, name: str | None = None) -> Table:
    """Stands for ``read_table``."""
    assert (name or files[0].stem) not in OF_PACKETS, "the table is read as a whole"
    return read_table(*files, name=name)


def test_packets_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets that left are those of a run that keeps all, and so are logs, capture and page, which are made of a part
    at a time.
    """
    text = PACKETS.format(duration="14 s")
    result, whole = Scenario.from_toml(text).run(), _core.run(text)
    assert result.digest == whole.digest
    assert isinstance(result.tables, StoredTables)
    kept = RunResult(result.summary, whole.tables, result.meta)
    assert len(result.tables.files("packets")) > 3
    with monkeypatch.context() as patch:
        patch.setattr(contract, "read_table", refuse_whole_packets)
        for name, each in (("left", result), ("kept", kept)):
            (tmp_path / name).mkdir()
            write_qlog(each, tmp_path / name, points=POINTS)
            write_pcapng(each, tmp_path / name / "pcapng", points=POINTS)
            write_report(each, tmp_path / name / "report.html")
    for file in (tmp_path / "kept").iterdir():
        assert file.read_bytes() == (tmp_path / "left" / file.name).read_bytes(), file.name
    assert {1, 2, 3} & set(whole.tables["packets"]["drop"].tolist()) >= {2, 3}
    for column, values in whole.tables["packets"].items():
        np.testing.assert_array_equal(result.tables["packets"][column], values, strict=True)


def test_panels_of_more_packets_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many dots those stay that draw the same picture: the first and every extreme."""
    result = Scenario.from_toml(PACKETS.format(duration="4 s")).run()
    every = [(s.t, s.y) for s in packets.delays(Run(result))]
    all_sent = packets.sequence(Run(result))
    monkeypatch.setattr(packets, "MOST", 4000)
    few = [(s.t, s.y) for s in packets.delays(Run(result))]
    sent = packets.sequence(Run(result))
    assert sum(len(t) for t, _ in few) <= 4000 < sum(len(t) for t, _ in every) / 2
    for (t, y), (times, delays) in zip(few, every, strict=True):
        assert (t[0], y.min(), y.max()) == (times[0], delays.min(), delays.max())
        assert set(zip(t, y, strict=True)) <= set(zip(times, delays, strict=True))
    assert sent is not None and all_sent is not None
    for fewer, all_of in zip(sent.choices, all_sent.choices, strict=True):
        assert [s.key for s in fewer.series] == [s.key for s in all_of.series]
        assert fewer.series[0].y.max() == all_of.series[0].y.max()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_run_with_packets_that_is_killed(tmp_path: Path) -> None:
    """Packets that were recorded until a kill can be read and exported, and are the beginning of all."""
    (tmp_path / "long.toml").write_text(PACKETS.format(duration="3000 s"), encoding="utf-8")
    command = [sys.executable, "-m", "windtunnel", "run", "long.toml", "--qlog", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    kept = tmp_path / "out.incomplete"
    deadline = time.monotonic() + 120
    while not len(list(kept.glob("packets/*.parquet"))) > 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    result = load(kept)
    whole = _core.run(PACKETS.format(duration="14 s")).tables["packets"]
    for column, values in result.tables["packets"].items():
        shared = min(len(values), len(whole[column]))
        assert shared >= 3 << 15
        np.testing.assert_array_equal(values[:shared], whole[column][:shared])
    assert write_qlog(result, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    """What was recorded until a kill can be read, is marked as incomplete, and is the beginning of the whole; the next
    run replaces it, and leaves nothing but its result. Until then no other run takes its place.
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
    second = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert second.stderr.splitlines()[-1] == (
        "error: out.incomplete: another run records there; --out names another place"
    )
    assert process.poll() is None
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


def peak_of_run(tmp_path: Path, text: str, *arguments: str) -> float:
    """The peak memory of ``windtunnel run`` in MB."""
    (tmp_path / "large.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "windtunnel", "run", "large.toml", "--force", *arguments]
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


@pytest.mark.long
def test_peak_memory_of_logs(tmp_path: Path) -> None:
    """``run --qlog`` takes about as much memory for three minutes at 50 Mbit/s as for one: a run that kept its packets
    took 370 and 1030 MB.
    """
    minute, three = (peak_of_run(tmp_path, PACKETS.format(duration=t), "--qlog") for t in ("60 s", "180 s"))
    assert minute < 200
    assert three < 1.5 * minute
