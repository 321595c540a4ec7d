"""The command line as a user types it: what it prints and writes; `test_cli_refusals.py` has what it refuses."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import HUNG, PROGRAM, SCENARIO, Cli, environment, refused, snapshot

from windtunnel import Scenario, load

LONG = SCENARIO.replace('"5 s"\nseed', '"20000 s"\nseed').replace("20 Mbps", "1 Gbps")


def png_size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, from its header (RFC 2083, section 4.1.1)."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


# --- run -----------------------------------------------------------------------------------------------------------


MIXED = """\
duration = "3 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "fifo", limit = "30 packets" } }

[[flow]]
name = "cubic"
cc = "cubic"
rtt = "40 ms"

[[flow]]
name = "file"
cc = "reno"
rtt = "20 ms"
app = { kind = "transfer", size = "500 kB" }

[[flow]]
name = "ping"
rtt = "20 ms"
app = "probe"
"""


def shown(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """The tables that ``run`` prints: cells by table, row and heading."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    heads: list[str] = []
    for row, following in zip(rows, [*rows[1:], [""]], strict=True):
        if set(following[0]) == {"\N{BOX DRAWINGS LIGHT HORIZONTAL}"}:
            heads = row
        elif len(row) == len(heads) > 1:
            tables.setdefault(heads[0], {})[row[0]] = dict(zip(heads[1:], row[1:], strict=True))
    return tables


def test_run_shows_what_the_flows_did(cli: Cli, tmp_path: Path) -> None:
    """For a TCP with loss, the tables show recovery, transfers and datagrams as in the summary, and no columns where
    nothing happened.
    """
    (tmp_path / "mixed.toml").write_text(MIXED, encoding="utf-8")
    done = cli("run", "mixed.toml")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[:-2])
    tables = shown(done.stdout)
    cubic, file, ping = load(tmp_path / "results" / "mixed").flows
    assert list(tables) == ["flow", "recovery", "transfers", "by size", "datagrams", "queue"]
    assert list(tables["flow"]["cubic"]) == ["Mbit/s", "active", "cwnd kB", "RTT ms", "P99 ms"]
    assert tables["flow"]["ping"]["cwnd kB"] == "\N{EN DASH}"
    assert list(tables["recovery"]) == ["cubic", "file"]
    told = tables["recovery"]["cubic"]
    assert told["lost"] == str(cubic["drops"]["full"])
    assert told["retrans."] == str(cubic["retransmits"]) != "0"
    assert told["episodes"] == str(cubic["loss_episodes"])
    assert told["limited by"] == "cwnd 99 %"
    assert list(tables["transfers"]) == ["file"]
    assert tables["transfers"]["file"]["done"] == "1"
    assert float(tables["transfers"]["file"]["P50 ms"]) == pytest.approx(file["transfers"]["time_ms"]["p50"], rel=1e-3)
    (part,) = file["transfers"]["by_size"]
    told = tables["by size"]["file"]
    assert (told["size"], told["done"]) == ("0.1-1 MB", "1")
    # With 20 ms and the whole link's 10 Mbit/s, 500 kB would have taken 420 ms.
    assert part["slowdown"]["mean"] == pytest.approx(part["time_ms"]["mean"] / 420)
    assert float(told["slowdown"]) == pytest.approx(part["slowdown"]["mean"], rel=1e-3)
    assert tables["datagrams"]["ping"]["sent"] == str(ping["datagrams"]["sent"])
    one_way = ping["datagrams"]["one_way_ms"]["mean"]
    assert float(tables["datagrams"]["ping"]["one-way ms"]) == pytest.approx(one_way, rel=1e-3)


def test_run_shows_no_recovery_without_loss(cli: Cli, scenario: Path) -> None:
    """For loss-free endpoints, the tables show flows and queues with their marks, over the whole run and in the
    window.
    """
    tables = shown(cli("run", scenario.name).stdout)
    assert list(tables) == ["flow", "queue", "fairness"]
    assert {"SCE", "RTT ms"} <= set(tables["flow"]["mds"])
    assert "retrans." not in tables["flow"]["mds"]


def test_run_writes_the_folder(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """Without options, the result is in results/<name>; stdout has the main numbers and names the report."""
    done = cli("run", scenario.name)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # without a terminal there is no progress bar
    assert "results/two/report.html" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    folder = tmp_path / "results" / "two"
    assert {"summary.json", "report.html"} <= {f.name for f in folder.iterdir()}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["results", "two.toml"]


def test_run_from_python_and_command_line_agree(cli: Cli, scenario: Path, result: object) -> None:
    """Two runs give equal digests, and tables that are equal to the bit."""
    assert cli("run", scenario, "--out", "here").returncode == 0
    written = load(scenario.parent / "here")
    again = Scenario.from_toml(SCENARIO).run()
    assert written.digest == again.digest
    for name, columns in again.tables.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(written.tables[name][column], values, strict=True)


def test_json_prints_the_summary_and_nothing_else(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """No folder is written without --out; with it, the printed document is the written one."""
    done = cli("run", scenario, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["schema_version"] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["two.toml"]
    done = cli("run", scenario, "--json", "--out", "there")
    assert done.stdout == (tmp_path / "there" / "summary.json").read_text(encoding="utf-8")
    assert json.loads(done.stdout)["meta"]["digest"] == document["meta"]["digest"]


def test_set_changes_the_scenario(cli: Cli, scenario: Path) -> None:
    """Each --set is applied; the scenario in the summary is the changed one."""
    done = cli("run", scenario, "--json", "--set", "seed=99", "--set", 'bottleneck.rate="5 Mbps"')
    meta = json.loads(done.stdout)["meta"]
    assert meta["seed"] == 99
    assert json.loads(done.stdout)["queues"][0]["rate_mbps"] == 5


def test_figures_are_drawn_when_asked_for(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    assert cli("run", scenario, "--out", "without").returncode == 0
    assert not list((tmp_path / "without").glob("figure.*"))
    assert cli("run", scenario, "--figures", "--out", "with").returncode == 0
    assert {f.name for f in (tmp_path / "with").glob("figure.*")} == {"figure.png", "figure.svg"}


def test_existing_folder(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """An existing folder is refused before anything is simulated; --force replaces it."""
    assert cli("run", scenario).returncode == 0
    before = snapshot(tmp_path)
    refused(cli("run", scenario), "results/two", "exists already", "--force")
    assert snapshot(tmp_path) == before
    assert cli("run", scenario, "--force", "--set", "seed=8").returncode == 0
    assert load(tmp_path / "results" / "two").summary["seed"] == 8


# --- interrupts and progress ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, b"stopped"), (signal.SIGTERM, 143, b""), (signal.SIGHUP, 129, b"")],
)
def test_interrupted_run_leaves_nothing(tmp_path: Path, number: int, code: int, message: bytes) -> None:
    """Ctrl-C, SIGTERM and the end of the terminal stop a run at once; no folder, no temporary file, no traceback."""
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    command = [sys.executable, *PROGRAM, "run", "long.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment()) as process:
        time.sleep(2.0)
        assert process.poll() is None
        process.send_signal(number)
        _, errors = process.communicate(timeout=HUNG)
    assert process.returncode == code
    assert message in errors
    assert b"Traceback" not in errors
    assert [p.name for p in tmp_path.iterdir()] == ["long.toml"]


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal there is a bar with a percentage and the remaining time; stdout contains nothing but the JSON with
    --json.
    """
    pty = pytest.importorskip("pty")
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [sys.executable, *PROGRAM, "run", "long.toml", "--json"]
    env = {**environment(), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        seen, end = b"", time.monotonic() + 20
        while not (b"%" in seen and b"ETA" in seen) and time.monotonic() < end:
            if select.select([ours], [], [], 0.5)[0]:
                seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        # If the terminal were not read, the program would block.
        while select.select([ours], [], [], 5)[0]:
            try:
                if not os.read(ours, 4096):
                    break
            except OSError:  # the other end is closed
                break
        out, _ = process.communicate(timeout=HUNG)
    os.close(ours)
    assert b"Reno and Reno-MDS" in seen
    assert b"%" in seen
    assert b"ETA" in seen
    assert out == b""


# --- the other commands ----------------------------------------------------------------------------------------------


def test_check_prints_the_resolved_scenario(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """`check` prints the scenario with every default, as TOML that resolves to itself, and what a run will need."""
    done = cli("check", scenario)
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.stderr.splitlines() if line[0] != " "] == [
        "expected",
        "memory",
        "rows",
        "files",
    ]
    resolved = tomllib.loads(done.stdout)
    assert resolved["seed"] == 7
    (tmp_path / "resolved.toml").write_text(done.stdout, encoding="utf-8")
    assert cli("check", "resolved.toml").stdout == done.stdout


def test_standard_input(scenario: Path, tmp_path: Path) -> None:
    """`-` is a scenario on the standard input; messages say so, and its result is in results/stdin."""
    command = [sys.executable, *PROGRAM]

    def typed(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        options: dict[str, Any] = {"cwd": tmp_path, "env": environment(), "capture_output": True, "text": True}
        return subprocess.run([*command, *arguments], input=text, check=False, **options)

    text = scenario.read_text(encoding="utf-8")
    assert typed(text, "check", "-").stdout == Scenario.from_file(scenario).check()
    assert typed(text, "run", "-").returncode == 0
    assert load(tmp_path / "results" / "stdin").digest == Scenario.from_file(scenario).run().digest
    wrong = typed(text.replace("20 Mbps", "20"), "check", "-")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: standard input:7: ")


def test_schema_is_json(cli: Cli) -> None:
    assert "$schema" in json.loads(cli("schema").stdout)


def test_list_shows_everything(cli: Cli) -> None:
    """Every algorithm with its parameters, source and defaults, not wider than 80 columns."""
    registry = json.loads(cli("list", "--json").stdout)
    text = cli("list").stdout
    assert max(map(len, text.splitlines())) <= 80
    squeezed = "".join(text.split())
    for kind, entries in registry.items():
        assert kind.replace("_", "-").upper() in text
        for entry in entries:
            assert entry["name"] in text
            assert "".join(entry["summary"].split()) in squeezed
            assert "".join((entry["source"] or "").split()) in squeezed
            for parameter in entry["parameters"]:
                assert parameter["name"] in text


def test_list_of_a_kind_and_a_name(cli: Cli) -> None:
    """A kind, one name of a kind, or a name alone; for unknown ones the message names the nearest."""
    assert "QUEUES" not in cli("list", "controllers").stdout
    one = cli("list", "queues", "deltim", "--json")
    assert [e["name"] for e in json.loads(one.stdout)["queues"]] == ["deltim"]
    assert cli("list", "queue", "deltim", "--json").stdout == one.stdout
    assert json.loads(cli("list", "deltim", "--json").stdout)["queues"][0]["name"] == "deltim"
    refused(cli("list", "controllers", "renno"), "renno", "did you mean `reno`?")
    refused(cli("list", "contrllers"), "contrllers", "did you mean `controllers`?")


def test_plot(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """PNG and SVG are drawn whole, zoomed and in part, and never replace an existing file without --force."""
    done = cli("plot", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done.png\n", "")
    whole = png_size(tmp_path / "done.png")
    assert cli("plot", folder, "--out", "one.png", "--panel", "cwnd", "--from", "1s", "--to", "2500 ms").returncode == 0
    assert png_size(tmp_path / "one.png")[0] < whole[0]
    assert cli("plot", folder, "--format", "svg").returncode == 0
    assert (tmp_path / "done.svg").read_text(encoding="utf-8").startswith("<?xml")
    refused(cli("plot", folder), "done.png", "exists already")
    assert cli("plot", folder, "--force").returncode == 0
    assert cli("plot", folder, "--flent", "--from", "1", "--out", "flent.svg").returncode == 0
    refused(cli("plot", folder, "--flent", "--panel", "cwnd", "--out", "z.png"), "--flent", "--panel")
    more = ("--panel", "rtt", "--panel", "mark", "--scale", "linear", "--average", "0", "--out", "more.png")
    more += ("--panel", "cdf", "--choice", "cdf=throughput")
    assert cli("plot", folder, *more).returncode == 0
    refused(cli("plot", folder, "--choice", "rtt", "--out", "z.png"), "'rtt'", "PANEL=NAME")
    refused(cli("plot", folder, "--panel", "sequence", "--out", "z.png"), "'sequence'", "record.packets = true")
    refused(cli("plot", folder, "--out", "x.gif"), ".gif", "png, svg")
    refused(cli("plot", folder, "--from", "3", "--to", "2", "--out", "y.png"), "3 s to 2 s")
    refused(cli("plot", folder, "--from", "soon"), "--from", "soon")
    refused(cli("plot", tmp_path / "nowhere"), "nowhere", "no such folder")
    refused(cli("plot", tmp_path), "no summary.json")
    refused(cli("plot", folder, "--out", "no/such/z.png"), "no/such/z.png", "no such folder")
    assert not list(tmp_path.glob(".*"))


def test_export(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Each format is written into a folder of its own."""
    done = cli("export", folder, "--csv", "c", "--parquet", "p", "--xplot", "x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "c\np\nx\n", "")
    assert (tmp_path / "c" / "queues.csv").exists()
    assert (tmp_path / "p" / "queues.parquet").exists()
    assert (tmp_path / "x" / "cwnd.xpl").exists()
    refused(cli("export", folder), "--csv")
    refused(cli("export", folder, "--csv", "c"), "exists already")
    refused(cli("export", folder, "--csv", "same", "--xplot", "same"), "folder or a file of its own")
    refused(cli("export", tmp_path / "c", "--csv", "d"), "no summary.json")


def test_export_files(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Other tools' files are written, and never replace an existing one without --force; a run without packets has no
    capture.
    """
    done = cli("export", folder, "--flent", "a.flent.gz", "--ss", "s.txt", "--flowgrind", "f.txt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a.flent.gz\ns.txt\nf.txt\n", "")
    assert (tmp_path / "s.txt").read_text(encoding="utf-8").startswith("# 0.010 s\nState ")
    refused(cli("export", folder, "--ss", "s.txt"), "s.txt", "exists already", "--force")
    assert cli("export", folder, "--ss", "s.txt", "--force").returncode == 0
    refused(cli("export", folder, "--ss", "f.txt", "--flowgrind", "f.txt"), "of its own")
    refused(cli("export", folder, "--flent", "a.json"), "a.json", ".flent.gz")
    refused(cli("export", folder, "--pcapng", "x.pcapng"), "no packets", "record.packets=true")
    refused(cli("export", folder, "--pcapng", "x", "--points", "sendr"), "sendr", "did you mean `sender`?")
    assert not (tmp_path / "x.pcapng").exists()


def test_export_packets(cli: Cli, tmp_path: Path) -> None:
    """The options of a capture have their effect on its file: all points, raw IPv6, whole packets."""
    from packets import recorded

    from windtunnel.contract import COLUMNS, TABLES
    from windtunnel.folder import load as load_folder

    run = recorded()
    folder = tmp_path / "run"
    folder.mkdir()
    meta = {
        **run.meta,
        **{key: run.summary[key] for key in ("seed", "digest", "duration_s")},
        "packets": 1,
        "events": 1,
    }
    document = {"schema_version": 1, "meta": meta, **{key: run.summary[key] for key in ("flows", "queues", "windows")}}
    (folder / "summary.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "scenario.toml").write_text("", encoding="utf-8")
    pq.write_table(run.table("packets"), folder / "packets.parquet")
    for name in TABLES:
        columns = {column: pa.array([], pa.uint32()) for column in COLUMNS[name]}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    assert set(load_folder(folder).tables) == {"packets", *TABLES}
    done = cli("export", folder, "--pcapng", "s.pcapng")
    assert (done.returncode, done.stdout, done.stderr) == (0, "s.pcapng\n", "")
    capture = (
        "export",
        folder,
        "--pcapng",
        "a.pcapng",
        "--points",
        "all",
        "--link",
        "raw",
        "--ip",
        "6",
        "--snaplen",
        "0",
    )
    assert cli(*capture).returncode == 0
    small, large = ((tmp_path / name).read_bytes() for name in ("s.pcapng", "a.pcapng"))
    assert small[:4] == large[:4] == b"\x0a\x0d\x0d\x0a"
    assert len(large) > 4 * len(small)
    for name in (b"snd.cubic", b"q.bottleneck.in", b"q.bottleneck.out", b"rcv.voice"):
        assert name in large
    assert b"rcv.cubic" not in small
    refused(cli("export", folder, "--pcapng", "no/such/x.pcapng"), "no/such/x.pcapng", "there is no such folder")


def test_reproduce_knows_its_suites(cli: Cli, tmp_path: Path) -> None:
    """An unknown suite or figure is wrong input; a folder in the way is refused, and stays."""
    refused(cli("reproduce", "msd"), "msd", "mds")
    refused(cli("reproduce", "mds", "--only", "fig99"), "fig99")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    refused(cli("reproduce", "mds", "--out", "out"), "out", "exists already")
    refused(cli("reproduce", "mds", "--out", "out", "--force"), "out", "other files")
    assert (tmp_path / "out" / "thesis.tex").exists()


def test_help_and_version(cli: Cli) -> None:
    """The help names all commands; `python -m windtunnel` calls itself windtunnel."""
    text = cli("--help").stdout
    assert text.startswith("Usage: windtunnel ")
    runs = ("run", "sweep", "hunt", "tune", "compare", "reproduce", "evaluate", "validate", "bench")
    commands = (*runs, "check", "schema", "list", "plot", "export", "explain", "flowgrind")
    for command in commands:
        assert f"\n  {command} " in text
    version = cli("--version").stdout
    assert re.fullmatch(r"windtunnel 0\.\d+\.\d+(, commit [0-9a-f]{12}(\+changes)?)?\n", version)
