"""Runs in threads, and what stops a run: Ctrl-C, in the main thread and in others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import environment

import windtunnel as wt

#: Hours of work; with many flows, each look at a run takes longer.
ENDLESS = """
duration = "20000 s"
bottleneck = {{ rate = "1 Gbit/s", queue = {{ kind = "fifo", limit = "1 bdp" }} }}
record = {{ interval = "1000 s" }}
[[flow]]
count = {count}
cc = "cubic"
rtt = "20 ms"
"""
SHORT = ENDLESS.format(count=1).replace("20000 s", "5 s")


@pytest.mark.parametrize("count", [1, 1000])
def test_ctrl_c_stops_a_run_at_once(count: int) -> None:
    """SIGINT raises KeyboardInterrupt in the main thread within 0.2 s: in the best of five attempts, because other
    programs may have the processor.
    """
    scenario = wt.Scenario.from_toml(ENDLESS.format(count=count))
    delays = []
    for attempt in range(5):
        sent = []

        def interrupt(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3 + 0.05 * attempt, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            scenario.run()
        delays.append(time.perf_counter() - sent[0])
        timer.join()
        if delays[-1] < 0.2:
            return
    pytest.fail(f"stopped after {delays} s")


#: A run in a thread of its own, while the main thread waits for it, or has ended.
PROGRAM = """
import signal, sys, threading
import windtunnel as wt
signal.signal(signal.SIGINT, signal.default_int_handler)
scenario = wt.Scenario.from_toml(sys.argv[1])
def work():
    print(scenario.run(lambda share: print("runs", flush=True) or True).digest, flush=True)
thread = threading.Thread(target=work)
thread.start()
if sys.argv[2] == "wait":
    thread.join()
"""


def program(text: str, then: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, text, then]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment(), stdout=pipe, stderr=pipe, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_ends_a_program_whose_run_is_in_a_thread(tmp_path: Path) -> None:
    """Python tells the main thread alone of Ctrl-C. When it has ended the main thread, the run, which would take hours,
    ends as well.
    """
    with program(ENDLESS.format(count=1), "wait", tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_during_a_function_that_the_core_has_called(tmp_path: Path) -> None:
    """The interpreter does not end while a run's thread is in such a function, which aborted the process up to Python
    3.12 (docs/decisions/0043).
    """
    busy = PROGRAM.replace("flush=True) or True)", "flush=True) or sum(range(2_000_000)) > 0)")
    assert busy != PROGRAM
    command = [sys.executable, "-c", busy, ENDLESS.format(count=1), "wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


def test_a_run_outlives_the_main_thread(tmp_path: Path) -> None:
    """A main thread that has come to its end does not stop the runs of other threads."""
    with program(SHORT, "end", tmp_path) as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.splitlines()[-1] == wt.Scenario.from_toml(SHORT).run().digest


def test_other_threads_work_during_a_run() -> None:
    """A run does not hold the interpreter: another thread gets its turn all the time, and so does a second run."""
    scenario = wt.Scenario.from_toml(SHORT)
    scenario.run()
    turns: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            turns.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    scenario.run()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert len([turn for turn in turns if start < turn < end]) > 10


def test_runs_in_threads_are_the_same_runs() -> None:
    """Parallel runs have the digests that they have alone."""
    scenario = wt.Scenario.from_toml(SHORT)
    alone = [scenario.override(f"seed={seed}").run().digest for seed in (1, 2)]
    digests: dict[int, str] = {}

    def work(seed: int) -> None:
        digests[seed] = scenario.override(f"seed={seed}").run().digest

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [digests[1], digests[2]] == alone
