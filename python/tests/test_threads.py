"""One run on several threads: the result is the same, and the tool says what it did."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import HUNG, Cli, environment

from windtunnel import Scenario, _core

HOP = """
[[link]]
name = "{a}-{b}"
from = "{a}"
to = "{b}"
rate = "200 Mbit/s"
delay = "5 ms"
queue = "fq_codel"

[[flow]]
name = "{a} to {b}"
from = "{a}"
to = "{b}"
count = 4
cc = "cubic"
rtt = "20 ms"
"""

#: A flow over four bottlenecks, and others over each of them.
SEVERAL = (
    'title = "Four bottlenecks"\nduration = "{duration}"\nrecord = {{ interval = "{interval}" }}\n'
    + "".join(f'[[node]]\nname = "{name}"\n' for name in "abcde")
    + '[[flow]]\nname = "all"\nfrom = "a"\nto = "e"\ncc = "reno"\nrtt = "50 ms"\n'
)


def several(duration: str = "2 s", interval: str = "10 ms") -> str:
    hops = "".join(HOP.format(a=a, b=b) for a, b in zip("abcd", "bcde", strict=True))
    return SEVERAL.format(duration=duration, interval=interval) + hops


ONE = 'duration = "1 s"\nbottleneck = { rate = "10 Mbit/s" }\nflow = [{ cc = "reno", rtt = "20 ms" }]\n'


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_result(threads: int) -> None:
    """Digest, summary and every cell of every table are those of one thread."""
    alone, shared = _core.run(several()), _core.run(several(), threads=threads)
    assert (alone.threads, shared.threads, shared.undivided) == (1, threads, None)
    assert shared.summary == alone.summary
    assert list(shared.tables) == list(alone.tables)
    for name, columns in alone.tables.items():
        assert list(shared.tables[name]) == list(columns)
        for column, values in columns.items():
            np.testing.assert_array_equal(shared.tables[name][column], values, strict=True)


def test_the_same_rows_leave() -> None:
    """Rows that are too many for memory leave at the same times, in the same parts."""
    text = several("1 s", "0.1 ms")
    alone, shared = (Scenario.from_toml(text).run(threads=threads) for threads in (1, 2))
    files = [[file.name for file in run.tables.files("flows")] for run in (alone, shared)]  # type: ignore[attr-defined]
    assert files[0] == files[1] and len(files[0]) > 1
    for name, columns in alone.tables.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(shared.tables[name][column], values, strict=True)


def test_it_says_what_it_did(cli: Cli, tmp_path: Path) -> None:
    """One line on stderr; the files are those of one thread but for times."""
    for name, text, said in (
        ("several", several(), "2 threads shared the run"),
        ("one", ONE, "one thread had the whole run: all its links and flows are joined"),
        ("captured", several().replace("record = {", "record = { packets = true,"), "(`record.packets`)"),
    ):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        done = cli("run", f"{name}.toml", "--threads", "2", cwd=tmp_path)
        assert done.returncode == 0 and done.stderr.count(said) == 1, done.stderr
        assert said not in cli("run", f"{name}.toml", "--force", cwd=tmp_path).stderr


@pytest.mark.parametrize("number", ["0", "-1", "257", "two", "1.5"])
def test_other_numbers(cli: Cli, tmp_path: Path, number: str) -> None:
    (tmp_path / "one.toml").write_text(ONE, encoding="utf-8")
    done = cli("run", "one.toml", "--threads", number, cwd=tmp_path)
    assert done.returncode == 2 and "--threads" in done.stderr and done.stdout == ""
    assert not (tmp_path / "results").exists()


def test_memory_is_limited(cli: Cli, tmp_path: Path) -> None:
    """The limit is that of all parts together."""
    (tmp_path / "long.toml").write_text(several("1000 s"), encoding="utf-8")
    done = cli("run", "long.toml", "--threads", "2", "--memory", "1 MB", cwd=tmp_path)
    assert done.returncode == 2 and "memory" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    """It ends soon, and leaves no half of a result."""
    (tmp_path / "long.toml").write_text(several("10000 s"), encoding="utf-8")
    command = [sys.executable, "-m", "windtunnel", "run", "long.toml", "--threads", "2", "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(end)
    _, said = process.communicate(timeout=HUNG)
    assert process.returncode not in (0, 2) and "Traceback" not in said
    assert not (tmp_path / "out").exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"long.toml", "out.incomplete"}
