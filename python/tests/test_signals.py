"""Signals that end a command: what happens at the moments that a kill at random seldom meets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import HUNG, environment
from traces import CAPTURES

from windtunnel.explain import explain

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")

#: The start of each program: ``kill(number)`` is a signal that comes at this very moment.
START = """\
import os, signal, sys, threading, time
from windtunnel.cli.signals import end_cleanly, exit_code_of, leave
def kill(number=signal.SIGTERM):
    os.kill(os.getpid(), number)
"""

IN_A_TEXT = """\\
def command():
    try:
        exec("kill(signal.SIGINT)")
    finally:
        kill(signal.SIGTERM)
end_cleanly()
leave(exit_code_of(command))
"""
MAKING_A_STAGE = """\\
from pathlib import Path
from windtunnel import stage
def created(*arguments, real=os.open):
    opened = real(*arguments)
    if str(arguments[0]).endswith(".lock"):
        kill(signal.SIGINT)
    return opened
def command():
    os.open = created
    with stage.stage_for(Path("place")):
        time.sleep(60)
end_cleanly()
leave(exit_code_of(command))
"""

LOST = """\
class Lost:
    def __del__(self):
        kill()
def command():
    Lost()
    time.sleep(60)
end_cleanly()
leave(exit_code_of(command))
"""
SWALLOWED = """\
def library(result=0):
    try:
        kill()
    except:
        # It goes on for a while, and has its own exceptions.
        for _ in range(10):
            time.sleep(0.01)
    return result
def command():
    library()
    time.sleep(60)
end_cleanly()
leave(exit_code_of(command))
"""
SLOW_TO_CLEAN_UP = """\
import contextlib, pathlib
@contextlib.contextmanager
def folder():
    try:
        yield
    finally:
        for _ in range(10):
            with contextlib.suppress(OSError):
                os.unlink("missing")
            time.sleep(0.03)
        print("cleaned up")
def command():
    with folder():
        kill()
end_cleanly()
leave(exit_code_of(command))
"""
#: The main thread, which waits for a lock, does not receive it.
IN_ANOTHER_THREAD = """\
def thread():
    asked.wait()
    time.sleep(0.1)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
asked = threading.Event()
def command():
    threading.Thread(target=thread).start()
    asked.set()
    threading.Event().wait()
end_cleanly()
leave(exit_code_of(command))
"""
FAILS = """\
def command():
    try:
        kill()
    finally:
        raise FileNotFoundError("a socket that is gone")
end_cleanly()
leave(exit_code_of(command))
"""
FAILS_IN_A_THREAD = """\
def thread():
    asked.wait()
    raise FileNotFoundError("a socket that is gone")
asked = threading.Event()
def command():
    other = threading.Thread(target=thread)
    other.start()
    try:
        kill()
    finally:
        asked.set()
        other.join()
end_cleanly()
leave(exit_code_of(command))
"""
AFTERWARDS = """\
import atexit
from windtunnel.cli import main
atexit.register(kill)
sys.argv = ["windtunnel", "--version"]
main()
"""
#: A run in another thread, which is in a Python function that the core calls when the signal ends the wait for it. What
#: the interpreter takes down at its end takes longer than that function. Python 3.12 and before then ends the thread
#: there.
IN_THE_CORE = """\
from concurrent.futures import ThreadPoolExecutor
from windtunnel import _core
SCENARIO = 'duration = "1 s"\\nbottleneck = { rate = "10 Mbit/s" }\\nflow = [{ cc = "reno", rtt = "20 ms" }]'
called = threading.Event()
def progress(share):
    called.set()
    time.sleep(0.5)
    return True
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(1.5)
sys.modules["late"] = type(sys)("late")
sys.modules["late"].it = Late()
def command():
    with ThreadPoolExecutor(1) as executor:
        executor.submit(_core.run, SCENARIO, progress=progress)
        called.wait()
        threading.Timer(0.1, kill).start()
end_cleanly()
leave(exit_code_of(command))
"""
#: As the core asks numpy for its functions, for the first array that it hands out: the crate `numpy` panics if it does
#: not get them.
ASKING_NUMPY = """\
import types
import numpy
from windtunnel import _core
SCENARIO = 'duration = "1 s"\\nbottleneck = { rate = "10 Mbit/s" }\\nflow = [{ cc = "reno", rtt = "20 ms" }]'
class Functions(types.ModuleType):
    @property
    def _ARRAY_API(self):
        kill()
        time.sleep(60)
name = ("numpy._core" if int(numpy.__version__.split(".")[0]) > 1 else "numpy.core") + ".multiarray"
sys.modules[name] = Functions(name)
def command():
    _core.run(SCENARIO).tables()
end_cleanly()
leave(exit_code_of(command))
"""
#: A library has registered a function that never returns.
STUCK_AT_THE_END = """\
import atexit
atexit.register(threading.Event().wait)
def command():
    print("said", end="")
    kill()
end_cleanly()
leave(exit_code_of(command))
"""
#: Just after the server of workers has forked one, before the pool knows of it.
STARTING_A_WORKER = """\
from multiprocessing import popen_forkserver
from windtunnel.workers import pool
launch, started = popen_forkserver.Popen._launch, []
def _launch(self, process):
    launch(self, process)
    started.append(process)
    if "ForkServerProcess" in type(process).__name__ and process._target is not os.getpid:
        kill()
def command():
    with pool(1) as executor:
        executor.submit(time.sleep, 600).result()
if __name__ == "__main__":
    popen_forkserver.Popen._launch = _launch
    end_cleanly()
    leave(exit_code_of(command))
"""
WORKING = """\
from windtunnel.workers import pool
def command():
    with pool(1) as executor:
        executor.submit(os.getpid).result()
        print("ready", flush=True)
        executor.submit(time.sleep, 1).result()
        print("still here", flush=True)
        executor.submit(time.sleep, 600).result()
if __name__ == "__main__":
    end_cleanly()
    leave(exit_code_of(command))
"""


def started(program: str, folder: Path) -> subprocess.Popen[str]:
    """A program, in a group of processes of its own."""
    (folder / "program.py").write_text(START + program, encoding="utf-8")
    env = {**environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    "program",
    [
        LOST,
        SWALLOWED,
        IN_ANOTHER_THREAD,
        FAILS,
        FAILS_IN_A_THREAD,
        AFTERWARDS,
        STARTING_A_WORKER,
        IN_THE_CORE,
        ASKING_NUMPY,
    ],
    ids=[
        "lost",
        "swallowed",
        "in another thread",
        "fails",
        "fails in a thread",
        "afterwards",
        "starting a worker",
        "in the core",
        "asking numpy",
    ],
)
def test_a_signal_at_a_bad_moment(program: str, tmp_path: Path) -> None:
    """In a destructor, where Python drops exceptions; in a library that goes on after any; received by another thread,
    while the main one waits for a lock; where the clean-up fails
    because of it; after all is done; while a process starts, which would miss what its parent removes; while a thread
    computes; where the core cannot go on because of it. The exit code says which signal it was, and nothing else is
    said.
    """
    with started(program, tmp_path) as process:
        _, said = process.communicate(timeout=HUNG)
    assert (process.returncode, said) == (128 + signal.SIGTERM, "")


def test_a_slow_clean_up_is_left_alone(tmp_path: Path) -> None:
    """The exception is not raised again while it, or one that came of it, is handled."""
    with started(SLOW_TO_CLEAN_UP, tmp_path) as process:
        said = process.communicate(timeout=HUNG)
    assert (process.returncode, *said) == (128 + signal.SIGTERM, "cleaned up\n", "")


def test_what_is_registered_for_the_end_is_bounded(tmp_path: Path) -> None:
    """After a signal nothing that a library does at the end holds the process up, and what was said is not lost."""
    with started(STUCK_AT_THE_END, tmp_path) as process:
        said = process.communicate(timeout=HUNG)
    assert (process.returncode, *said) == (128 + signal.SIGTERM, "said", "")


@pytest.mark.parametrize("program", [IN_A_TEXT, MAKING_A_STAGE], ids=["in a text", "making a stage"])
def test_ctrl_c_at_a_bad_moment(program: str, tmp_path: Path) -> None:
    """In a text that Python executes, after which it would end by the signal, and where a file has just been made. A
    second signal soon after the first is a part of it.
    """
    with started(program, tmp_path) as process:
        _, said = process.communicate(timeout=HUNG)
    assert (process.returncode, said) == (128 + signal.SIGINT, "")
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["program.py"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_terminal_tells_all_processes(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C and the end of a terminal reach workers too, the server that forks them and the one that counts
    semaphores, and may reach them first: they go on until the command has cleaned up, and none has anything to say.
    """
    with started(WORKING, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        others = [each for each in members(process.pid) if each != process.pid]
        assert len(others) >= 3
        for each in others:
            os.kill(each, number)
        assert process.stdout.readline() == "still here\n"
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=HUNG)
    assert (process.returncode, said) == (128 + number, "")


#: A capture of more than a pipe holds: once all but its end is written, the command is reading.
LIVE = (CAPTURES / "reno-at-sender.pcap").read_bytes()
WRITTEN = 150_000


@contextmanager
def live(first: bytes, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """``windtunnel explain -``, which has read most of ``first`` and waits for more."""
    command = [sys.executable, "-m", "windtunnel", "explain", "-", *options]
    env = {**environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=env, **pipes, start_new_session=True) as process:
        assert process.stdin is not None
        process.stdin.write(first)
        process.stdin.flush()
        yield process
        if process.poll() is None:
            process.kill()


def test_ctrl_c_ends_a_live_capture() -> None:
    """The writer has the signal, too, and writes what it has kept back: the answers are those about the whole capture,
    although the signal came in the middle of it. A wrapper's echo of the signal changes nothing.
    """
    with live(LIVE[:WRITTEN], "--json") as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        out, said = process.communicate(LIVE[WRITTEN:], timeout=HUNG)
    assert (process.returncode, said) == (0, b"")
    whole = json.loads(explain(CAPTURES / "reno-at-sender.pcap").to_json())
    assert {**json.loads(out), "path": "", "title": ""} == {**whole, "path": "", "title": ""}


def test_a_live_capture_whose_writer_goes_on() -> None:
    """Ctrl-C gives the answers within 2 s of reading, and a note that there was more."""
    with live(LIVE[:WRITTEN], "--json") as process:
        process.send_signal(signal.SIGINT)
        # Not the end of the stream: the test holds the pipe open.
        assert process.wait(HUNG) == 0
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
    assert "ended by Ctrl-C" in document["notes"][0]
    assert any("ends in the middle of a packet" in note for note in document["notes"])
    assert document["flows"][0]["overflow"]["events"] > 0


def test_ctrl_c_twice_ends_the_command() -> None:
    with live(LIVE[:WRITTEN]) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(HUNG) == 128 + signal.SIGINT
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_a_live_capture_that_is_killed() -> None:
    """The writer ends in the middle of a packet: answers, and the place."""
    with live(LIVE[:WRITTEN]) as process:
        out, said = process.communicate(timeout=HUNG)
    assert (process.returncode, said) == (0, b"")
    assert b"ends in the middle of a packet at byte 149" in out
    assert b"Which controller?" in out


def test_ctrl_c_before_anything_can_be_told() -> None:
    """No answer was given: the exit code says which signal it was, and the message why there is none."""
    # Packets of loopback that are no TCP: ARP's are shorter than a header.
    packet = LIVE[24:32] + (40).to_bytes(4, "little") * 2 + bytes(40)
    with live(LIVE[:24] + packet * 3000) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        out, said = process.communicate(timeout=HUNG)
    assert (process.returncode, out) == (128 + signal.SIGINT, b"")
    assert b"has no TCP connection with data among 3000 packets" in said


def members(group: int) -> list[int]:
    """The processes of a group."""
    try:
        listed = subprocess.run(["ps", "-e", "-o", "pid=,pgid="], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("needs ps")
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return [process for process, its_group in pairs if its_group == group]
