"""What the command line refuses: wrong files, scenarios and settings, and places that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM, SCENARIO, Cli, environment, refused, snapshot

# --- wrong files ---------------------------------------------------------------------------------------------------


def make(kind: str, folder: Path) -> str:
    """Make a file that is not a scenario; returns the path to type."""
    path = folder / "bad.toml"
    if kind == "missing":
        (folder / "reno-and-cubic.toml").write_text(SCENARIO, encoding="utf-8")
        return "reno-an-cubic.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "not utf-8":
        path.write_bytes(b'title = "x"\n# caf\xe9\n')
    elif kind == "utf-16":
        path.write_text(SCENARIO, encoding="utf-16")
    elif kind == "1 GB":
        with path.open("wb") as file:
            file.truncate(10**9)
    elif kind == "endless":
        return "/dev/zero"
    elif kind == "no toml":
        path.write_text("title = ", encoding="utf-8")
    elif kind == "below a file":
        path.write_text("", encoding="utf-8")
        return "bad.toml/x.toml"
    elif kind == "empty":
        path.write_text("", encoding="utf-8")
    return path.name


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(
    ("kind", "fragments"),
    [
        ("missing", ["reno-an-cubic.toml", "no such file", "did you mean `reno-and-cubic.toml`?"]),
        ("folder", ["bad.toml", "is a folder"]),
        ("not utf-8", ["bad.toml:2", "not UTF-8", "0xe9", "offset 17"]),
        ("utf-16", ["bad.toml:1", "not UTF-8", "looks like UTF-16"]),
        ("1 GB", ["bad.toml", "too large", "1000 MB", "at most 10 MB"]),
        ("endless", ["/dev/zero", "is a device", "regular file"]),
        ("no toml", ["bad.toml"]),
        ("below a file", ["bad.toml/x.toml", "not a folder"]),
        ("empty", ["bad.toml"]),
    ],
)
def test_wrong_files(cli: Cli, tmp_path: Path, command: str, kind: str, fragments: list[str]) -> None:
    """A path without a scenario is refused with its name and the reason, and nothing is written."""
    name = make(kind, tmp_path)
    before = snapshot(tmp_path)
    refused(cli(command, name), *fragments)
    assert snapshot(tmp_path) == before


def test_unreadable_file(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """A file without read permission; for root, who may read everything, a file that the kernel lets no user read."""
    scenario.chmod(0)
    if os.access(scenario, os.R_OK):
        name = "/proc/self/mem"
        if not Path(name).exists():
            pytest.skip("needs a file that root cannot read")
    else:
        name = scenario.name
    refused(cli("run", name), name, "cannot be read")


# --- wrong scenarios -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("[bottleneck]", "[botleneck]", ["two.toml:6", "botleneck", "bottleneck"]),
        ('burst = "5 ms"', 'brust = "5 ms"', ["two.toml:8", "brust", "burst"]),
        (
            'name = "reno"\ncc = { kind = "reno"',
            'name = "reno"\ncc = { kind = "renoo"',
            ["two.toml:12", "renoo", "reno"],
        ),
        ('kind = "deltim"', 'kind = "deltin"', ["two.toml:8", "deltin", "deltim"]),
        ('"20 Mbps"', '"20 Mbsp"', ["two.toml:7", "Mbsp"]),
        ('"20 Mbps"', '"20"', ["two.toml:7", "20", "unit"]),
        ('"20 Mbps"', '"20000000 bps"', ["two.toml:7", "bps"]),
        ('"20 Mbps"', '"-20 Mbps"', ["two.toml:7", "-20 Mbps"]),
        ('"20 Mbps"', '"0 Mbps"', ["two.toml:7", "0 Mbps"]),
        ('"20 Mbps"', '"NaN Mbps"', ["two.toml:7", "NaN"]),
        ("tau = 64 }\n\n", "tau = 0 }\n\n", ["two.toml:8", "tau", "0"]),
        ("tau = 64 }\n\n", "tau = nan }\n\n", ["two.toml:8", "tau"]),
        ('rtt = "20 ms"\n\n[[flow]]', 'rtt = "0 ms"\n\n[[flow]]', ["two.toml:13", "rtt", "0 ms"]),
        ('name = "mds"', 'name = "mds"\nstart = "6 s"', ["two.toml:17", "start", "6 s"]),
        ('name = "mds"', 'name = "reno"', ["two.toml", "name", "reno"]),
        ('to = "5 s"', 'to = "1 s"', ["two.toml", "1 s"]),
        ("seed = 7", 'seed = "seven"', ["two.toml:3", "seed"]),
        ('duration = "5 s"', 'duration = "5 s', ["two.toml:2"]),
    ],
)
def test_wrong_scenarios(cli: Cli, scenario: Path, tmp_path: Path, old: str, new: str, fragments: list[str]) -> None:
    """The message gives file, line, key and value; the exit code is 2; nothing is written."""
    assert SCENARIO.count(old) == 1
    scenario.write_text(SCENARIO.replace(old, new), encoding="utf-8")
    before = snapshot(tmp_path)
    refused(cli("run", scenario.name), *fragments)
    assert snapshot(tmp_path) == before


def test_a_scenario_without_flows(cli: Cli, scenario: Path) -> None:
    scenario.write_text(SCENARIO.split("[[flow]]")[0], encoding="utf-8")
    refused(cli("run", scenario), "flow")


@pytest.mark.parametrize(
    ("setting", "fragments"),
    [
        ("seed", ["seed", "="]),
        ("sead=1", ["sead", "seed"]),
        ('bottleneck.rate="fast"', ["fast"]),
        ('flow.9.rtt="1 ms"', ["flow", "9"]),
    ],
)
def test_wrong_settings(cli: Cli, scenario: Path, tmp_path: Path, setting: str, fragments: list[str]) -> None:
    """Values of --set are checked like those of the file."""
    before = snapshot(tmp_path)
    refused(cli("run", scenario, "--set", setting), *fragments)
    assert snapshot(tmp_path) == before


def test_usage_errors(cli: Cli) -> None:
    """A command or option that does not exist is also wrong input."""
    for arguments in (["fly"], ["run"], ["run", "x.toml", "--fast"], ["bench", "--repeat", "0"], ["plot"]):
        done = cli(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "Error" in done.stderr or "Usage" in done.stderr


# --- places that cannot be written ----------------------------------------------------------------------------------


def test_output_places(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """A file in the way, another person's folder with --force, a file as parent: refused, and nothing changes."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work", encoding="utf-8")
    before = snapshot(tmp_path)
    refused(cli("run", scenario, "--out", "file"), "file", "exists already")
    refused(cli("run", scenario, "--out", "file", "--force"), "file", "not a folder")
    refused(cli("run", scenario, "--out", "home", "--force"), "home", "other files")
    refused(cli("run", scenario, "--out", "file/below"), "file/below", "not a folder")
    refused(cli("run", scenario, "--out", "n" * 300), "too long")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "command",
    [
        ("reproduce", "{}"),
        ("run", "two.toml", "--plugin", "{}"),
        ("run", "{}"),
        ("plot", "{}"),
        ("run", "two.toml", "--out", "{}"),
    ],
    ids=" ".join,
)
def test_names_that_no_file_can_have(cli: Cli, scenario: Path, command: tuple[str, ...]) -> None:
    """A name that is longer than any file system allows gets a message, wherever a name is accepted."""
    refused(cli(*(word.format("n" * 5000) for word in command)), "n" * 5000)


def test_a_file_to_write_with_too_long_a_name(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """The same holds for files that are written at once."""
    before = snapshot(tmp_path)
    refused(cli("plot", folder, "--out", f"{'n' * 300}.png"), "too long")
    refused(cli("export", folder, "--ss", "n" * 300), "too long")
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_stdout_on_a_full_disk(shell: Cli, scenario: Path) -> None:
    """`windtunnel ... > file` on a full disk gives one message."""
    for arguments in (["run", scenario, "--json"], ["list"], ["schema"], ["check", scenario]):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = shell(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr == "error: standard output cannot be written: the disk is full\n"


def test_closed_pipe_is_silent() -> None:
    """`windtunnel list | head -1` ends quietly: the reader has read all it wanted."""
    for arguments in (["list"], ["schema"], ["list", "--json"], ["--help"]):
        command = [sys.executable, *PROGRAM, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(timeout=60) == 0
