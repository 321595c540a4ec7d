"""A small run that many tests share, and the command line as a user types it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_process import in_process

from windtunnel import RunResult, Scenario

# A shell starts background jobs with SIGINT ignored, `nohup` with SIGHUP; what the tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

#: Arguments of the interpreter that start the command line.
PROGRAM = ("-m", "windtunnel")

SCENARIO = """\
title = "Reno and Reno-MDS"
duration = "5 s"
seed = 7
endpoints = "ideal"

[bottleneck]
rate = "20 Mbps"
queue = { kind = "deltim", burst = "5 ms", tau = 64 }

[[flow]]
name = "reno"
cc = { kind = "reno", slow_start = "essp" }
rtt = "20 ms"

[[flow]]
name = "mds"
cc = { kind = "reno", response = "mds", tau = 64, slow_start = "essp" }
rtt = "20 ms"

[[window]]
name = "late"
from = "2 s"
to = "5 s"
"""

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


#: The files that take longest. They come first, so that no process works on one while the other has nothing to do.
LONGEST = (
    "test_instructions.py", "test_rust_plugin.py", "test_attacks.py", "test_shell.py", "test_sweep.py",
    "test_papers_aimd.py", "test_bench.py", "test_golden.py", "test_measured.py", "test_captures.py", "test_search.py",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--part=1/3`` runs every third test, from the first on: so a machine does a part of what takes long."""
    parser.addoption("--part", metavar="K/N", help="every N-th test, from the K-th on")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first, and leave out what other parts have."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    if part := config.getoption("part"):
        first, step = map(int, part.split("/"))
        items[:] = items[first - 1 :: step]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user has run before changes no test, and tests leave nothing behind."""
    os.environ["WINDTUNNEL_CACHE"] = str(tmp_path_factory.mktemp("cache"))


#: Seconds after which what should have ended counts as hung. A loaded machine may stall for ten; without the end that
#: such a test asks for, what it runs takes minutes.
HUNG = 60.0


def environment() -> dict[str, str]:
    """The environment of a plain shell: the width and colours of the terminal that runs the tests have no effect."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "FORCE_COLOR", "TERM")}
    return {**kept, "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def cli(tmp_path: Path, shell: Cli) -> Cli:
    """Runs ``windtunnel ARGUMENTS`` in the test's own folder, and returns what it printed. Only what would stay behind
    in this process has one of its own: a plugin.
    """

    def run(*arguments: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        words = list(map(str, arguments))
        if "--plugin" in words:
            return shell(*words, cwd=cwd)
        return in_process(words, cwd=cwd, env=environment())

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Cli:
    """The same in a process of its own, as a user's shell starts it; ``options`` are those of `subprocess.run`."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *PROGRAM, *map(str, arguments)]
        keywords = {"cwd": tmp_path, "env": environment(), "capture_output": True, "timeout": 120, **options}
        return subprocess.run(command, text=True, check=False, **keywords)

    return run


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file in the folder of the test."""
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def result() -> Any:
    """The result of the scenario."""
    return Scenario.from_toml(SCENARIO).run()


@pytest.fixture(scope="session")
def lossy() -> RunResult:
    """CUBIC with losses, a transfer, short connections and probes, without single events."""
    path = {"rtt": "20 ms"}
    flows = [
        {"name": "cubic", "cc": "cubic", **path},
        {"name": "file", "cc": "reno", "app": {"kind": "transfer", "size": "500 kB"}, **path},
        {"name": "web", "cc": "reno", "app": {"kind": "poisson", "load": "1 Mbit/s"}, **path},
        {"name": "ping", "app": "probe", **path},
    ]
    bottleneck = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "30 packets"}}
    return Scenario(duration="3 s", flows=flows, bottleneck=bottleneck, record={"points": "0 s"}).run()


def refused(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """The command ends with exit code 2 and one message that contains the fragments; stdout is empty, and there is no
    traceback.
    """
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error")
    for fragment in fragments:
        assert fragment in done.stderr


def snapshot(folder: Path) -> dict[str, int]:
    """Every path below a folder, with its size."""
    return {str(p.relative_to(folder)): p.lstat().st_size for p in folder.rglob("*")}


@pytest.fixture
def folder(result: object, tmp_path: Path) -> Path:
    """A result folder."""
    assert isinstance(result, RunResult)
    return result.save(tmp_path / "done")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page of a made-up run."""
    from made_up import synthetic

    from windtunnel.report import write_report

    path = tmp_path / "report.html"
    write_report(synthetic(), path)
    return path
