"""``windtunnel sweep`` as typed: its data set, failures, interrupts, the cache."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from campaigns import BASE, FILE, base, campaign
from conftest import HUNG, PROGRAM, Cli, environment

from windtunnel import Campaign, InputError, Scenario, grid
from windtunnel.campaign.results import load
from windtunnel.campaign.sweep import journal_of, sweep
from windtunnel.engine.cache import Store
from windtunnel.engine.processes import Processes
from windtunnel.engine.threads import Threads
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Record

NAMES = ("runs.parquet", "flows.parquet", "cells.parquet", "cells.csv", "campaign.json")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    path = tmp_path / "campaign.toml"
    path.write_text(FILE)
    return path


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in NAMES)


def test_data_set(cli: Cli, file: Path, tmp_path: Path) -> None:
    """A row for each run, with what a run of its own gives: digest, metrics, flows."""
    done = cli("sweep", file.name)
    assert done.returncode == 0, done.stderr
    assert "6 cells, 18 runs" in done.stderr and "disk:" in done.stderr
    assert "18 of 18 runs" in done.stdout and done.stdout.endswith("results/campaign\n")
    dataset = load(tmp_path / "results" / "campaign")
    runs, flows = dataset.runs.to_pylist(), dataset.flows.to_pylist()
    assert (len(runs), len(flows), dataset.cells.num_rows) == (18, 36, 18)
    assert [row["run"] for row in runs] == list(range(18))
    assert {row["bottleneck.rate"]: row["bottleneck.rate.number"] for row in runs} == {
        "5 Mbit/s": 5e6, "10 Mbit/s": 1e7, "20 Mbit/s": 2e7,
    }  # fmt: skip
    row = runs[-1]
    assert (row["flow.a.cc"], row["bottleneck.rate"], row["seed"], row["offset"]) == ("cubic", "20 Mbit/s", 3, 3)
    settings = ["flow.a.cc=cubic", "bottleneck.rate=20 Mbit/s", "seed=3"]
    from windtunnel.start_offsets import starts

    scenario = base().override(*settings)
    alone = scenario.override(*starts(scenario.resolve(), 3)).run()
    assert row["digest"] == alone.digest
    for name, metric in campaign().metrics:
        assert row[name] == metric.value(alone)
    assert flows[-1]["flow_name"] == "b" and flows[-1]["goodput_mbps"] == alone.flows[1]["goodput_mbps"]
    assert flows[-1]["rtt_ms.p99"] == alone.flows[1]["rtt_ms"]["p99"]
    assert flows[-1]["digest"] == alone.digest


def test_cells(tmp_path: Path) -> None:
    """The statistics of a cell are those of its runs; the baseline's row is that of the same rate."""
    dataset = campaign().run(tmp_path / "out", jobs=2)
    cells, runs = dataset.cells.to_pylist(), dataset.runs.to_pylist()
    row = next(r for r in cells if r["cell"] == 4 and r["metric"] == "share")
    values = [r["share"] for r in runs if r["cell"] == 4]
    others = [r["share"] for r in runs if r["cell"] == 1]
    assert row["mean"] == pytest.approx(math.prod(values) ** (1 / 3)) and row["kind"] == "ratio"
    assert row["min"] == min(values) and row["count"] == 3
    assert row["baseline_cell"] == 1 and row["baseline"] == "flow.a.cc = reno"
    assert row["difference"] == pytest.approx(math.prod(values) ** (1 / 3) - math.prod(others) ** (1 / 3))
    assert row["mean_low"] < row["mean"] < row["mean_high"] and row["p_corrected"] >= row["p"]
    baseline = next(r for r in cells if r["cell"] == 1 and r["metric"] == "share")
    assert baseline["difference"] is None and baseline["p"] is None
    text = (tmp_path / "out" / "cells.csv").read_text().splitlines()
    assert len(text) == 19 and text[0].startswith('"cell","flow.a.cc","bottleneck.rate"')


def test_places_give_the_same(tmp_path: Path) -> None:
    """One thread, several, processes: the same files, byte for byte."""
    for name, backend in (("one", Threads(1)), ("many", Threads(4)), ("processes", Processes(2))):
        sweep(campaign(), tmp_path / name, backend=backend, use_cache=False)
    assert same(tmp_path / "one", tmp_path / "many") and same(tmp_path / "one", tmp_path / "processes")
    # The report, too: of a campaign that was made in Python it names no place.
    assert len({(tmp_path / name / "report.html").read_bytes() for name in ("one", "many", "processes")}) == 1


def test_table(cli: Cli, file: Path, tmp_path: Path) -> None:
    """At 80 columns no name is cut, units are next to the metrics, and hidden rows are counted."""
    done = cli("sweep", file, "--out", tmp_path / "a", "--rows", "5")
    assert done.returncode == 0, done.stderr
    assert "\u2026" not in done.stdout and "..." not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "rows" not in line and "scale" not in line)
    # Next to the name, or below it where the numbers need the room.
    assert re.search(r"delay( +[\d.]+ .*\n +| )\(ms\)", done.stdout)
    head = done.stdout[: done.stdout.index("reno")].split()
    assert {"flow.a.cc", "bottleneck", ".rate", "metric", "mean", "interval", "difference", "corrected"} <= set(head)
    hidden = re.search(r"(\d+) of (\d+) rows are not shown: (.*cells\.csv) has all", done.stdout)
    assert hidden and (int(hidden[1]), int(hidden[2])) == (13, 18) and Path(hidden[3]).exists()
    assert "share: geometric mean; Student's t of the logarithms" in done.stdout
    every = cli("sweep", file, "--out", tmp_path / "b", "--rows", "0")
    assert "not shown" not in every.stdout and every.stdout.count("(ms)") == 12


def test_dry_run(cli: Cli, file: Path, tmp_path: Path) -> None:
    """Nothing is written, and an unknown metric is found all the same."""
    done = cli("sweep", file.name, "--dry-run")
    assert done.returncode == 0 and "18 runs" in done.stderr and "first run" in done.stderr and done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"base.toml", "campaign.toml", "cache"}
    file.write_text(FILE.replace("p90(queue.sojourn)", "p90(queue.sojurn)"))
    for more in (["--dry-run"], []):
        done = cli("sweep", file.name, *more)
        assert done.returncode == 2
        assert "campaign.toml:14: metrics.tail" in done.stderr and "did you mean `sojourn_ms`" in done.stderr
    assert not (tmp_path / "results").exists()


def test_options(cli: Cli, shell: Cli, file: Path, tmp_path: Path) -> None:
    """--only, --set, the standard input, --force, and what excludes each other."""
    done = shell("sweep", "-", "--out", "x", "--only", "flow.a.cc=cubic", "--set", "duration=0.5 s", input=FILE)
    assert done.returncode == 0, done.stderr
    dataset = load(tmp_path / "x")
    assert dataset.runs.num_rows == 9 and set(dataset.runs["flow.a.cc"].to_pylist()) == {"cubic"}
    assert dataset.document["scenarios"]["scenario"]["duration"] == "500 ms"
    done = cli("sweep", file.name, "--out", "x")
    assert done.returncode == 2 and "--force" in done.stderr
    assert cli("sweep", file.name, "--out", "x", "--force").returncode == 0
    done = cli("sweep", file.name, "--out", "y", "--dask", "--processes")
    assert done.returncode == 2 and "exclude each other" in done.stderr
    done = cli("sweep", file.name, "--out", "y", "--only", "flow.a.cc")
    assert done.returncode == 2 and "AXIS=VALUE" in done.stderr
    done = cli("sweep", file.name, "--out", "y", "--quick")
    assert done.returncode == 2 and "campaign.toml: quick: is missing" in done.stderr
    assert not (tmp_path / "y").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    done = cli("sweep", file.name, "--out", "mine", "--force")
    assert done.returncode == 2 and (tmp_path / "mine" / "thesis.tex").exists()


def test_the_quick_part(cli: Cli, file: Path, tmp_path: Path) -> None:
    """Its seeds and its values of axes; other axes are whole, and `--only` may ask for other values of its axes."""
    file.write_text(f'quick = {{ seeds = [2], only = {{ "flow.a.cc" = ["cubic"] }} }}\n{FILE}')
    for out, more, cc in (("x", [], "cubic"), ("y", ["--only", "flow.a.cc=reno"], "reno")):
        assert cli("sweep", file.name, "--out", out, "--quick", *more).returncode == 0
        runs = load(tmp_path / out).runs
        assert runs.num_rows == 3 and set(runs["seed"].to_pylist()) == {2}
        assert set(runs["flow.a.cc"].to_pylist()) == {cc}


def test_an_axis_may_give_what_the_scenario_lacks(cli: Cli, tmp_path: Path) -> None:
    """A base without an RTT is not a scenario by itself: the manifest has it as it is in its first cell."""
    text = BASE.replace('rtt = "20 ms"\n', "", 1)
    (tmp_path / "base.toml").write_text(text)
    file = tmp_path / "c.toml"
    file.write_text(
        'scenario = "base.toml"\n[axes.grid]\n"flow.a.rtt" = ["10 ms", "30 ms"]\n[metrics]\nx = "duration_s"'
    )
    assert cli("sweep", file, "--dry-run").returncode == 0
    done = cli("sweep", file, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert [flow["rtt"] for flow in document["scenarios"]["scenario"]["flow"]] == ["10 ms", "40 ms"]


def test_a_failed_run_is_a_row(tmp_path: Path) -> None:
    """Offsets put the start of a flow with a round trip of minutes beyond the end: that is said in its row."""
    wanted = campaign(axes=[grid({"flow.b.rtt": ["40 ms", "10 min"]})], baseline={"flow.b.rtt": "40 ms"})
    dataset = wanted.run(tmp_path / "out", use_cache=False)
    good, bad = dataset.runs.to_pylist()[:3], dataset.runs.to_pylist()[3:]
    assert all(row["error"] is None and row["digest"] for row in good)
    assert all("before the end of the run" in row["error"] and row["digest"] is None for row in bad)
    assert [r["failed"] for r in dataset.cells.to_pylist()] == [0, 0, 0, 3, 3, 3]
    assert "3 of 6 runs failed" in dataset.notes[0]


def test_exit_code_of_failures(cli: Cli, file: Path) -> None:
    file.write_text(FILE.replace('"bottleneck.rate" = { from', '"flow.b.rtt" = ["40 ms", "10 min"]\n#'))
    done = cli("sweep", file.name)
    assert done.returncode == 1 and "failed" in done.stdout


def test_runs_that_are_all_the_same_are_told(tmp_path: Path) -> None:
    """Seeds without anything random give the same run; offsets are the remedy, which the note names."""
    dataset = campaign(offsets=False).run(tmp_path / "same")
    assert set(dataset.cells["distinct"].to_pylist()) == {1}
    assert any("are all the same" in note and "offsets = true" in note for note in dataset.notes)
    assert not campaign().run(tmp_path / "other").notes


def test_phases_are_told_apart(tmp_path: Path) -> None:
    """Nothing is random here, so that with offsets crossed with seeds all variance is that of the offsets."""
    dataset = campaign(seeds=2, offsets=4, baseline=()).run(tmp_path / "out")
    rows = [row for row in dataset.cells.to_pylist() if row["metric"] == "share"]
    assert {row["count"] for row in rows} == {4} and {row["runs"] for row in rows} == {8}
    assert all(row["offset_share"] == 1.0 for row in rows)
    assert any(row["phase_locked"] for row in rows) and any("phase-locked" in note for note in dataset.notes)


def test_runs_are_added_until_intervals_are_narrow(tmp_path: Path) -> None:
    """A cell has more runs than at first if its interval is wide, and stops once it is narrow, or at the bound: 5 runs,
    half as many again (8), 12.
    """
    dataset = campaign(until="ci 30 %", max_runs=12).run(tmp_path / "out")
    rows = dataset.cells.to_pylist()
    counts = {row["cell"]: row["count"] for row in rows}
    assert set(counts.values()) == {5, 8, 12}
    wide = set()
    for row in rows:
        half = max(row["mean_high"] - row["mean"], row["mean"] - row["mean_low"])
        if half > 0.3 * abs(row["mean"]):
            wide.add(row["cell"])
            assert counts[row["cell"]] == 12
    assert wide and any(
        f"{len(wide)} of 6 cells" in note and "wider than `until` asks" in note for note in dataset.notes
    )
    again = campaign(until="ci 30 %", max_runs=12).run(tmp_path / "again", jobs=1, use_cache=False)
    assert again.runs.equals(dataset.runs)


def test_what_was_run_is_not_run_again(tmp_path: Path) -> None:
    """The cache is shared by campaigns; a metric of the summary that is added needs no run, one of a table does."""
    first, _ = sweep(campaign(), tmp_path / "a")
    assert first.count.reused == 0
    metrics = {name: metric.text for name, metric in campaign().metrics}
    more, _ = sweep(campaign(seeds=4, metrics={**metrics, "use": "queue.utilization"}), tmp_path / "b")
    assert (more.count.done, more.count.reused) == (24, 18)
    table, _ = sweep(campaign(metrics={"x": "p75(queue.sojourn)"}), tmp_path / "c")
    assert table.count.reused == 0
    nothing, _ = sweep(campaign(), tmp_path / "d", use_cache=False)
    assert nothing.count.reused == 0 and same(tmp_path / "a", tmp_path / "d")


def test_other_files_are_other_runs(tmp_path: Path) -> None:
    """A trace that a scenario names is a part of its content."""
    trace = tmp_path / "rate.trace"
    text = BASE.replace('rate = "10 Mbit/s"', 'rate = { trace = "rate.trace" }')
    (tmp_path / "s.toml").write_text(text)
    digests = []
    for content in ("1\n2\n3\n", "1\n5\n9\n"):
        trace.write_text(content)
        wanted = Campaign(tmp_path / "s.toml", metrics=["queue.throughput"])
        conductor, _ = sweep(wanted, tmp_path / "out", force=True)
        assert conductor.count.reused == 0
        digests += load(tmp_path / "out").runs["digest"].to_pylist()
    assert digests[0] != digests[1]


def test_ctrl_c_keeps_what_is_done(file: Path, tmp_path: Path) -> None:
    """SIGINT in the middle: exit code 130, no data set; the same command continues, and the result is as without."""
    file.write_text(FILE.replace("seeds = 3", "seeds = 100"))
    command = [sys.executable, *PROGRAM, "sweep", file.name, "--no-cache", "--set", "duration=3 s"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    out = tmp_path / "results" / "campaign"
    journal = Path(f"{journal_of(out)}-wal")
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 50_000):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HUNG)
    assert process.returncode == 130 and "continue" in errors
    assert not out.exists() and journal_of(out).exists()
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reused = int(done.stdout.split("runs, ")[1].split(" known")[0])
    assert 0 < reused < 600
    assert not journal_of(out).exists()
    changed = campaign(seeds=100).override("duration=3 s")
    sweep(changed, tmp_path / "whole", use_cache=False)
    for name in ("runs.parquet", "flows.parquet", "cells.parquet"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_memory_is_constant(tmp_path: Path) -> None:
    """A thousand runs keep no more Python objects than a hundred: records are not collected."""
    import gc

    def objects(seeds: int) -> int:
        gc.collect()
        before = len(gc.get_objects())
        conductor, _ = sweep(campaign(seeds=seeds).override("duration=0.05 s"), tmp_path / "out", force=True)
        gc.collect()
        assert conductor.count.done == 6 * seeds
        return len(gc.get_objects()) - before

    objects(5)
    assert objects(170) - objects(17) < 500


def test_recording_less_changes_nothing() -> None:
    """What runs of campaigns do not record is not missed: digest and summary are those of a full run."""
    from windtunnel.experiment.runs import recording

    full, least = base().run(), base().override(*recording(frozenset())).run()
    assert full.digest == least.digest
    kept = ("flows", "queues", "windows", "impairments", "packets", "stalled", "duration_s", "seed")
    assert all(full.summary[key] == least.summary[key] for key in kept)
    rows = [sum(len(table["time_s"]) for table in run.tables.values()) for run in (full, least)]
    assert rows[1] < rows[0] / 10


def test_record_round_trip() -> None:
    record = Record(base().run().summary, {"p90(queue.sojourn)": 3.5}, {}, "d", ("controller x",))
    again = Record.decode(record.encode())
    assert again == record
    assert again.value(Expression.parse("p90(queue.sojourn)")) == (3.5, "")
    assert again.value(Expression.parse("queue.utilization"))[0] == record.summary["queues"][0]["utilization"]
    assert not again.answers(["p91(queue.sojourn)"]) and again.answers(["p90(queue.sojourn)"])


def test_loading_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data set"):
        load(tmp_path)
    (tmp_path / "campaign.json").write_text(json.dumps({"kind": "campaign", "schema_version": 99}))
    with pytest.raises(InputError, match="newer version"):
        load(tmp_path)


def test_scenario_from_table() -> None:
    import tomllib

    assert Scenario.from_table(tomllib.loads(BASE)) == base()


def test_files_are_parquet_that_others_read(tmp_path: Path) -> None:
    """Names of axes with dots are plain columns; a missing value is null."""
    campaign().run(tmp_path / "out")
    schema = pq.read_schema(tmp_path / "out" / "runs.parquet")
    assert schema.names[:6] == ["run", "cell", "flow.a.cc", "bottleneck.rate", "bottleneck.rate.number", "seed"]
    frame = pq.read_table(tmp_path / "out" / "runs.parquet").to_pandas()
    assert frame.groupby("flow.a.cc", observed=True)["share"].mean().notna().all()


EXAMPLES = sorted(Path(__file__).parents[2].glob("scenarios/campaigns/*.toml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(cli: Cli, example: Path) -> None:
    """Each campaign that the repository ships is valid, and its first run has all its metrics."""
    done = cli("sweep", example, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "all metrics are known" in done.stderr


def test_there_are_examples() -> None:
    assert EXAMPLES


def test_controllers_of_python(cli: Cli, file: Path, tmp_path: Path) -> None:
    """A plugin's controller runs in processes, and its runs are not kept for others: its code may change."""
    plugin = Path(__file__).parents[2] / "examples" / "python-controller" / "delay_aimd.py"
    file.write_text(FILE.replace('["reno", "cubic"]', '["reno", "delay-aimd"]').replace("seeds = 3", "seeds = 2"))
    for out, expected in (("a", "12 of 12 runs\n"), ("b", "12 of 12 runs, 6 known from before\n")):
        done = cli("sweep", file.name, "--plugin", plugin, "--out", out)
        assert done.returncode == 0 and expected in done.stdout, done.stderr + done.stdout
    assert same(tmp_path / "a", tmp_path / "b")
    assert set(load(tmp_path / "a").runs["foreign"].to_pylist()) == {None, "controller delay-aimd"}


def test_hostile_names(cli: Cli, file: Path, tmp_path: Path) -> None:
    """No control character of a title, an axis, a value or a flow reaches the terminal; the data set has them."""
    name = r"\u001b[31mred\u0007"
    text = FILE.replace("CUBIC and Reno", name).replace('"delay"', "").replace("share =", f'"{name}" =')
    file.write_text(
        text.replace("[axes.grid]", f'[axes.grid]\n"{name}x" = {{ key = "flow.b.name", values = ["{name}", "b"] }}')
    )
    done = cli("sweep", file.name)
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr
    # The metric names a flow that cells with another name do not have: their rows say so.
    assert done.returncode == 2 and "no flow is named `b`" in done.stderr
    file.write_text(text)
    done = cli("sweep", file.name)
    assert done.returncode == 0 and "\x1b" not in done.stdout and r"\x1b" in done.stdout
    assert "\x1b[31mred\x07" in load(tmp_path / "results" / "campaign").runs.column_names


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_ends_a_sweep_loses_nothing(number: signal.Signals, file: Path, tmp_path: Path) -> None:
    """The journal is whole, and nothing else is there. SIGKILL leaves SQLite's own log too, which SQLite recovers."""
    file.write_text(FILE.replace("seeds = 3", "seeds = 1000"))
    command = [sys.executable, *PROGRAM, "sweep", file.name, "--no-cache", "--set", "duration=5 s"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    journal = journal_of(tmp_path / "results" / "campaign")
    log = Path(f"{journal}-wal")
    deadline = time.monotonic() + 60

    def wait_for_more_than(size: int) -> None:
        while not (log.exists() and log.stat().st_size > size):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)

    # Transactions are half a second apart: when a later one is written, the first one with outcomes is whole.
    wait_for_more_than(20_000)
    time.sleep(0.3)
    wait_for_more_than(log.stat().st_size)
    process.send_signal(number)
    assert process.wait(30) == (128 + number if number == signal.SIGTERM else -number)
    left = {path.name for path in (tmp_path / "results").iterdir()}
    assert left <= {journal.name, f"{journal.name}-wal"} and journal.name in left
    store = Store(journal, alone=True)
    assert len(store) > 0
    store.remove()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that cannot be written costs nothing but time; a journal that cannot be is the end, with a message."""
    from windtunnel.campaign import sweep as module

    def full(path: Path, *arguments: object, **options: object) -> Store:
        store = Store(path, *arguments, **options)  # type: ignore[arg-type]
        store._file.execute("PRAGMA max_page_count=4")
        return store

    monkeypatch.setattr(module.cache, "shared", lambda: full(tmp_path / "shared"))
    conductor, _ = sweep(campaign(), tmp_path / "out")
    assert conductor.count.done == 18 and (tmp_path / "out" / "runs.parquet").exists()
    monkeypatch.setattr(module.cache, "Store", full)
    with pytest.raises(OSError, match="disk is full") as error:
        sweep(campaign(), tmp_path / "other")
    assert str(error.value.filename).endswith(".other.unfinished") and not (tmp_path / "other").exists()


def test_a_damaged_journal(tmp_path: Path) -> None:
    journal_of(tmp_path / "out").write_bytes(b"nothing" * 1000)
    with pytest.raises(InputError, match="remove that file"):
        sweep(campaign(), tmp_path / "out")
    assert journal_of(tmp_path / "out").exists()
