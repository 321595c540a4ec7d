"""Several files in one command, as a user types them: a result for each, and nothing of any if one of them is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from conftest import HUNG, PROGRAM, SCENARIO, Cli, environment, refused, snapshot

from windtunnel import Scenario, load

LONG = SCENARIO.replace('"5 s"\nseed', '"20000 s"\nseed').replace("20 Mbps", "1 Gbps")


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    """Two scenarios that differ in their seed."""
    for name, seed in (("one.toml", 1), ("other.toml", 2)):
        (tmp_path / name).write_text(SCENARIO.replace("seed = 7", f"seed = {seed}"), encoding="utf-8")
    return "one.toml", "other.toml"


def test_run_writes_a_folder_for_each(cli: Cli, two: tuple[str, str], tmp_path: Path) -> None:
    """Each has the result of its own scenario; --out names the folder that holds them."""
    done = cli("run", *two)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.endswith("report.html")] == [
        "results/one/report.html",
        "results/other/report.html",
    ]
    assert [load(tmp_path / "results" / name).summary["seed"] for name in ("one", "other")] == [1, 2]
    assert load(tmp_path / "results" / "other").digest == Scenario.from_file(tmp_path / "other.toml").run().digest
    assert cli("run", *two, "--out", "all/of/them").returncode == 0
    assert {p.name for p in (tmp_path / "all" / "of" / "them").iterdir()} == {"one", "other"}


def test_run_prints_a_document_for_each(cli: Cli, two: tuple[str, str], tmp_path: Path) -> None:
    """With --json, one document follows the other, and nothing is written."""
    before = snapshot(tmp_path)
    text = cli("run", *two, "--json").stdout
    first, end = json.JSONDecoder().raw_decode(text)
    second = json.loads(text[end:])
    assert [first["meta"]["seed"], second["meta"]["seed"]] == [1, 2]
    assert snapshot(tmp_path) == before


def test_one_wrong_file_leaves_everything_unwritten(cli: Cli, two: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(SCENARIO.replace("20 Mbps", "20"), encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "one.toml").write_text(SCENARIO, encoding="utf-8")
    before = snapshot(tmp_path)
    refused(cli("run", *two, "wrong.toml"), "wrong.toml:7")
    refused(cli("run", *two, "nowhere.toml"), "nowhere.toml", "no such file")
    refused(cli("check", *two, "wrong.toml"), "wrong.toml:7")
    refused(cli("run", "one.toml", "elsewhere/one.toml"), "one.toml and elsewhere/one.toml", "results/one", "--out")
    refused(cli("run", *two, "--memory", "1 kB"), "one.toml: needs", "--memory")
    assert cli("run").returncode == 2
    assert snapshot(tmp_path) == before
    assert cli("run", "other.toml").returncode == 0
    before = snapshot(tmp_path)
    refused(cli("run", *two), "results/other", "exists already")
    assert snapshot(tmp_path) == before


def test_an_interrupt_says_what_is_complete(two: tuple[str, str], tmp_path: Path) -> None:
    """What was finished before Ctrl-C stays and is named; of the run that was stopped nothing stays."""
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    command = [sys.executable, *PROGRAM, "run", two[0], "long.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment(), text=True) as process:
        end = time.monotonic() + 60
        while not (tmp_path / "results" / "one").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HUNG)
    assert process.returncode == 130
    assert "stopped; complete are results/one" in errors
    assert "Traceback" not in errors
    assert [p.name for p in (tmp_path / "results").iterdir()] == ["one"]


def test_check_names_each(cli: Cli, two: tuple[str, str]) -> None:
    """Each resolved scenario follows a comment with its file's name."""
    done = cli("check", *two)
    assert done.returncode == 0, done.stderr
    empty, first, second = done.stdout.replace("# one.toml\n", "\0").replace("# other.toml\n", "\0").split("\0")
    assert empty == ""
    assert [tomllib.loads(first)["seed"], tomllib.loads(second)["seed"]] == [1, 2]
    assert [line for line in done.stderr.splitlines() if line.endswith(".toml:")] == ["one.toml:", "other.toml:"]


def test_plot_draws_each(cli: Cli, two: tuple[str, str], tmp_path: Path) -> None:
    """A figure for each folder; a folder that cannot be drawn leaves none."""
    assert cli("run", *two).returncode == 0
    refused(cli("plot", "results/one", "results/other", "--out", "x.png"), "--out")
    refused(cli("plot", "results/one", "results/none"), "results/none", "no such folder")
    refused(cli("plot", "results/one", "results/../results/one"), "one.png", "--out")
    assert not list(tmp_path.glob("*.png"))
    done = cli("plot", "results/one", "results/other", "--panel", "cwnd")
    assert (done.returncode, done.stdout) == (0, "one.png\nother.png\n")
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("one.png", "other.png"))
    assert not list(tmp_path.glob(".*"))


def test_explain_answers_for_each(cli: Cli, two: tuple[str, str], tmp_path: Path) -> None:
    """One explanation after the other; nothing if one cannot be read; a page is of one trace."""
    assert cli("run", *two).returncode == 0
    folders = ("results/one", "results/other")
    alone = cli("explain", folders[1]).stdout
    assert cli("explain", *folders).stdout.endswith("\n\n" + alone)
    refused(cli("explain", *folders, "two.pcap"), "two.pcap")
    refused(cli("explain", *folders, "--page", "x.html"), "--page")
    assert not (tmp_path / "x.html").exists()
