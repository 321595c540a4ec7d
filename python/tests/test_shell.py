"""Each command in a process of its own, as a shell starts it, once with success and once refused. Most tests run
commands in the process of the tests (`in_process.py`): here both must say and write the same.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path

import pytest
from conftest import SCENARIO, Cli, environment, snapshot
from in_process import in_process

from windtunnel import RunResult
from windtunnel.cli.app import _COMMANDS, main

#: Files that commands are given here. They run little: the commands themselves are tested elsewhere.
FILES = {
    "two.toml": SCENARIO,
    "campaign.toml": 'scenario = "two.toml"\n[metrics]\nuse = "queue.utilization"\n',
    "hunt.toml": (
        'scenario = "two.toml"\nruns = 3\nspace = { "flow.0.rtt" = { from = "10 ms", to = "20 ms" } }\n'
        'find = { minimize = "queue.utilization", below = 0.1 }\n'
    ),
    "tune.toml": (
        'scenario = "two.toml"\nruns = 3\nspace = { "flow.0.rtt" = { from = "10 ms", to = "20 ms" } }\n'
        'paths.grid = { "flow.1.rtt" = ["10 ms"] }\nheld_out.grid = { "flow.1.rtt" = ["15 ms"] }\n'
        'objectives.use = { maximize = "queue.utilization" }\n'
    ),
}

#: Command lines by command: one that succeeds, and one that is refused.
LINES = {
    "run": ("run two.toml --out new --threads 2", "run two.toml --threads 0"),
    "lab": ("lab --help", "lab nowhere.toml"),
    "sweep": ("sweep campaign.toml", "sweep campaign.toml --only x"),
    "compare": ("compare two.toml two.toml", "compare two.toml"),
    "hunt": ("hunt hunt.toml --dry-run", "hunt two.toml"),
    "tune": ("tune tune.toml --dry-run", "tune two.toml"),
    "check": ("check two.toml", "check nowhere.toml"),
    "schema": ("schema", "schema --fast"),
    "list": ("list controllers", "list contrllers"),
    "plot": ("plot folder --panel cwnd", "plot folder --panel x"),
    "export": ("export folder --csv csv", "export folder"),
    "explain": ("explain folder", "explain two.toml"),
    "reproduce": ("reproduce aimd --only losses", "reproduce aimd --only x"),
    "evaluate": ("evaluate rfc9743 --cc vegas --quick --only 7.10", "evaluate rfc9743 --queue pie"),
    "conform": ("conform quinn --only 9002-7.2", "conform quin"),
    "flowgrind": ("flowgrind -T s=1", "flowgrind -T s=x"),
    "kernel": ("kernel status", "kernel test"),
    "twin": ("twin --help", "twin two.toml --only linux"),
    "emulate": ("emulate --help", "emulate two.toml --bound 1"),
    "validate": ("validate --help", "validate --only linus"),
    "bench": ("bench --only W1 --no-instructions", "bench --only W77"),
}

#: What no two runs have in common: how long they took; of the bench, every number.
TIMES = re.compile(r"simulated in .* packets/s")
NUMBERS = re.compile(r"\d+(\.\d+)?|[a-z]+ (?=packets/s)")


def test_all_commands_are_here() -> None:
    assert LINES.keys() == _COMMANDS.keys()


@pytest.fixture
def two(result: RunResult, tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same files, and a result."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for file, text in FILES.items():
            (tmp_path / name / file).write_text(text, encoding="utf-8")
        result.save(tmp_path / name / "folder")
    return tmp_path / "a", tmp_path / "b"


@pytest.mark.parametrize("command", LINES)
def test_both_ways_are_the_same(
    command: str, two: tuple[Path, Path], shell: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code, both streams and the files that are written; only times differ."""
    varies = NUMBERS if command == "bench" else TIMES
    for line, code in zip(LINES[command], (0, 2), strict=True):
        theirs = shell(*line.split(), cwd=two[0], env={**environment(), "WINDTUNNEL_CACHE": str(two[0] / "cache")})
        monkeypatch.setenv("WINDTUNNEL_CACHE", str(two[1] / "cache"))
        ours = in_process(line.split(), cwd=two[1], env=environment())
        assert theirs.returncode == code, theirs.stderr
        told = [(done.returncode, varies.sub("", done.stdout), varies.sub("", done.stderr)) for done in (theirs, ours)]
        assert told[0] == told[1]
        assert snapshot(two[0]).keys() == snapshot(two[1]).keys()
        if code == 2:
            assert theirs.stdout == ""
            assert "Traceback" not in theirs.stderr


def state() -> list[object]:
    """What a command could change in the process of the tests, with the next free descriptor."""
    free = os.dup(2)
    os.close(free)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    hooks = [sys.unraisablehook, threading.excepthook]
    return [free, *handlers, *hooks, sys.argv, sys.stdin, sys.stdout, sys.stderr, Path.cwd(), dict(os.environ)]


@pytest.mark.parametrize("line", ["list controllers", "check nowhere.toml"])
def test_nothing_stays_behind(cli: Cli, line: str) -> None:
    """After a command, the process of the tests is as it was before."""
    before = state()
    cli(*line.split())
    assert state() == before


def test_a_defect_is_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that no command expects ends with its traceback and exit code 1, as in a process of its own."""

    def app(prog_name: str) -> None:
        raise ZeroDivisionError(prog_name)

    monkeypatch.setitem(main.__globals__, "app", app)
    done = cli("schema")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Traceback") and done.stderr.endswith("ZeroDivisionError: windtunnel\n")
