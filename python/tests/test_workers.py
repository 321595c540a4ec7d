"""Worker processes end with the process that started them, and when they are killed by SIGTERM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HUNG, environment

from windtunnel.errors import RunFailedError
from windtunnel.workers import pool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")

#: A process with a pool; it prints the process ID of its worker, which goes on working.
POOL = """\
import os, time
from windtunnel.workers import pool
if __name__ == "__main__":
    with pool(1) as executor:
        print(executor.submit(os.getpid).result(), flush=True)
        executor.submit(time.sleep, 600).result()
"""
#: The same with a separate interpreter, as the benchmark uses it.
SINGLE = """\
from windtunnel.workers import run_python
code = "import os, time; from windtunnel.workers import end_with_parent; end_with_parent();"
run_python(["-c", code + "open('pid', 'w').write(str(os.getpid())); time.sleep(60)"])
"""


@pytest.fixture(params=[POOL, SINGLE], ids=["pool", "single"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process, and the process ID of its worker."""
    (tmp_path / "main.py").write_text(request.param, encoding="utf-8")
    env = {**environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "main.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        if request.param == POOL:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        else:
            number = tmp_path / "pid"
            wait_for(lambda: number.exists() and number.read_text(encoding="utf-8") != "")
            yield process, int(number.read_text(encoding="utf-8"))
        process.kill()


def wait_for(condition: object, seconds: float = HUNG) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def runs(number: int) -> bool:
    """Whether a process exists and has not ended (an ended one may wait until its exit code is read)."""
    try:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs ps")
    return state.stdout.strip() != "" and not state.stdout.startswith("Z")


def test_a_worker_ends_with_its_parent(processes: tuple[subprocess.Popen[str], int]) -> None:
    """Not even SIGKILL, which the parent cannot report, leaves a worker behind."""
    process, worker = processes
    assert runs(worker)
    process.kill()
    wait_for(lambda: not runs(worker))


def test_a_plain_kill_ends_a_worker() -> None:
    """SIGTERM, even where the shell had it ignored; the pool says what happened."""
    old = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(RunFailedError, match="a worker process ended early"), pool(1) as executor:
            worker = executor.submit(os.getpid).result()
            future = executor.submit(time.sleep, 600)
            os.kill(worker, signal.SIGTERM)
            future.result(timeout=HUNG)
    finally:
        signal.signal(signal.SIGTERM, old)
