"""However an emulation ends, nothing of it stays on the machine."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import HUNG, PROGRAM, environment
from emulations import CLIENT, SCENARIO, SERVER, descendants, left_of, needs_namespaces, networks, program

from windtunnel import load

pytestmark = needs_namespaces

#: A far command that leaves processes behind which nothing but the end of their namespace would end.
STUBBORN = "trap '' TERM INT HUP; (sleep 1000 &); sleep 1000"


@contextmanager
def started(tmp_path: Path, *arguments: str, ready: int) -> Iterator[tuple[subprocess.Popen[str], set[int], set[int]]]:
    """An emulation in a session of its own, its processes once there are as many as ``ready``, and their networks."""
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    words = [sys.executable, *PROGRAM, "emulate", str(file), "--bound", "10 min", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), start_new_session=True, **pipes) as process:
        try:
            until = time.monotonic() + 60
            below: set[int] = set()
            while len(below) < ready or len(networks(below)) < 2:
                assert process.poll() is None and time.monotonic() < until, process.communicate()
                time.sleep(0.05)
                below = descendants(process.pid)
            yield process, below, networks(below)
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], below: set[int], of_networks: set[int], within_s: float) -> None:
    """Nothing is left after this time."""
    until = time.monotonic() + within_s
    while left := left_of(below, of_networks):
        if time.monotonic() > until:
            process.kill()
            pytest.fail(f"left after {within_s:g} s: {left}")
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_its_end(number: signal.Signals, tmp_path: Path) -> None:
    """All is gone within a second, also a command that ignores signals and what it has left behind. The result of the
    time until then is complete, because an emulation has no other end.
    """
    # Two processes for each end, the shell and two that sleep.
    with started(tmp_path, "--serve", f"sh -c {shlex.quote(STUBBORN)}", ready=7) as (process, below, of_networks):
        time.sleep(2.5)  # a command that listens nowhere is waited for
        process.send_signal(number)
        ended(process, below, of_networks, 1.0)
        _, said = process.communicate(timeout=HUNG)
        assert process.returncode == 0, said
        result = load(tmp_path / "results/path-emulated")
        assert result.meta["emulation"]["signal"] == number.name
        assert 0 < result.meta["duration_s"] < 60
        assert "Traceback" not in said


def test_ctrl_c_reaches_the_command_too(tmp_path: Path) -> None:
    """A terminal signals all of its processes. The near command ends by it, and the exit code says so.

    The result stays.
    """
    with started(tmp_path, "--", "sleep", "1000", ready=5) as (process, below, of_networks):
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        ended(process, below, of_networks, 1.0)
        _, said = process.communicate(timeout=HUNG)
        assert process.returncode == 128 + signal.SIGINT, said
        assert load(tmp_path / "results/path-emulated").meta["emulation"]["commands"]["near"] == "sleep 1000"


@pytest.mark.parametrize("moment_s", [0.0, 0.1, 0.2, 0.4, 1.0])
def test_killed_at_any_moment(moment_s: float, tmp_path: Path) -> None:
    """SIGKILL leaves no process and no network, whenever it comes; and no result."""
    with started(tmp_path, "--serve", f"sh -c {shlex.quote(STUBBORN)}", ready=2) as (process, below, of_networks):
        time.sleep(moment_s)
        below, of_networks = below | descendants(process.pid), of_networks | networks(descendants(process.pid))
        process.kill()
        process.wait()
        ended(process, below, of_networks, 1.0)
        assert list((tmp_path / "results").glob("*")) == [] if (tmp_path / "results").exists() else True


def test_an_end_that_dies(tmp_path: Path) -> None:
    """If something kills one of the ends, the command says so, and takes the other one down."""
    with started(tmp_path, ready=4) as (process, below, of_networks):
        time.sleep(0.5)
        os.kill(max(below), signal.SIGKILL)
        _, said = process.communicate(timeout=HUNG)
        assert process.returncode == 1
        assert "end was ended from outside" in said and "Traceback" not in said
        ended(process, below, of_networks, 1.0)


def test_killed_after_rows_have_left(tmp_path: Path) -> None:
    """As after a run, what was recorded is in a folder that says that it is not complete."""
    client = program(tmp_path, "client", CLIENT.replace("500_000", "1_000_000_000"))
    serve = shlex.join(program(tmp_path, "server", SERVER))
    fast = ("--set", "bottleneck.rate='200 Mbit/s'", "--set", "flow.0.rtt='1 ms'", "--set", "record.packets=true")
    with started(tmp_path, *fast, "--serve", serve, "--", *client, ready=6) as (process, below, of_networks):
        folder = tmp_path / "results/path-emulated.incomplete"
        until = time.monotonic() + 60
        while not list(folder.glob("packets/*.parquet")):
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.1)
        process.kill()
        process.wait()
        ended(process, below, of_networks, 1.0)
        result = load(folder)
        assert result.meta["incomplete"] and len(result.tables["packets"]["t_ns"]) > 0
