"""The commands that take long, interrupted at random moments: each ends soon, says so by its exit code, shows no
traceback and leaves nothing half-written; and the same command, given again, goes on to its end.

How soon is not a matter of the machine. From the signal on, the attack computes next to the command, a fixed piece of
work over and over (``crates/calibration``), and counts how often. That is its clock: it stands still as the command
does where other processes have the processors, and goes at the speed of the machine.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzz.attacks import samples
from fuzz.attacks.captures import write_transfers
from fuzz.attacks.kills import HEARD, hear
from fuzz.attacks.program import INSIDES, PROGRAM, Fault, environment, leftovers
from windtunnel import _core

#: What a user is promised, in seconds of a machine like that of docs/speed.md that has nothing else to do.
SOON_S = 2.0
#: Holds that such a machine carries out in a second.
HOLDS_PER_S = 20e6
#: Holds between two looks whether the command has ended: some milliseconds.
_LOOK = 100_000
#: A command that has not ended after this long hangs, however busy the machine is.
HANGS_S = 60.0
#: Runs for each signal; some end before it comes.
_TRIES = 4


@dataclass(frozen=True)
class Command:
    """A command as a user types it, in a folder that ``prepare`` has filled; the full size is for the long test."""

    name: str
    arguments: tuple[str, ...]
    prepare: Callable[[Path, bool], None]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    #: None if it came to its end before it got a signal.
    number: signal.Signals | None
    at_s: float
    #: From the signal to the end, by the wall and by the attack's clock.
    took_s: float
    clock_s: float
    code: int
    #: It said something after the signal.
    spoke: bool


def interrupt(command: Command, moments: int, stream: random.Random, *, full: bool) -> list[Ended]:
    """The command, interrupted ``moments`` times in one folder by signals in turn, then left to end. Raises Fault."""
    with tempfile.TemporaryDirectory(prefix="windtunnel-interrupted-") as name:
        folder = Path(name)
        command.prepare(folder, full)
        # How long it takes, without what it will find in the cache.
        whole = _run(command, folder, folder / "cache of another", None, 0.0)
        check(command, whole, folder)
        ended: list[Ended] = []
        signals, latest = _in_turn(stream), whole.took_s
        for _ in range(_TRIES * moments):
            end = _run(command, folder, folder / "cache", next(signals), stream.uniform(0, latest))
            check(command, end, folder)
            if end.number is not None:
                ended.append(end)
            else:
                # It found what had been done in the cache.
                latest = min(latest, end.took_s)
            if len(ended) == moments:
                break
        check(command, _run(command, folder, folder / "cache", None, 0.0), folder)
        return ended


def summary(command: Command, ended: list[Ended]) -> str:
    """How soon it ended, in a line."""
    if not ended:
        return f"{command.name}: came to its end each time"
    clock, wall = ([getattr(end, name) for end in ended] for name in ("clock_s", "took_s"))
    said = f"median {statistics.median(clock):.2f} s, greatest {max(clock):.2f} s of {SOON_S:g} s"
    return f"{command.name}: {len(ended)} signals, {said}; {max(wall):.2f} s by the wall"


def _in_turn(stream: random.Random) -> Iterator[signal.Signals]:
    while True:
        yield from stream.sample(HEARD, len(HEARD))


def _run(command: Command, folder: Path, cache: Path, number: signal.Signals | None, delay: float) -> Ended:
    """Run the command, and send it a signal ``delay`` seconds after it can handle one. Raises Fault if it hangs."""
    with (folder / "said").open("wb") as said:
        began = time.monotonic()
        process = subprocess.Popen(
            (*PROGRAM, *command.arguments),
            cwd=folder,
            env=environment(WINDTUNNEL_CACHE=str(cache)),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            preexec_fn=hear,
            start_new_session=True,
        )
        clock, silent, sent = 0.0, 0, None
        try:
            if number is not None:
                _wait_for_handlers(process)
                try:
                    process.wait(delay)
                except subprocess.TimeoutExpired:
                    began = time.monotonic()
                    silent = (folder / "said").stat().st_size
                    # A terminal tells all processes of a command, `kill` only one.
                    (os.killpg if delay * 1e6 % 2 >= 1 else os.kill)(process.pid, number)
                    sent = number
                    clock = _computing_beside(process)
            process.wait(HANGS_S if number is not None else None)
        except subprocess.TimeoutExpired:
            raise Fault(f"{command.name}: does not end after {number!r} at {delay:.3f} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    took = time.monotonic() - began
    spoke = (folder / "said").stat().st_size > silent
    return Ended(sent, delay, took, clock, process.returncode, spoke)


def check(command: Command, end: Ended, folder: Path) -> None:
    """Check what must hold, however it ended. Raises Fault."""
    said = (folder / "said").read_text(encoding="utf-8", errors="replace")
    signalled = f"{end.number!r} at {end.at_s:.3f} s, {end.took_s:.2f} s ({end.clock_s:.2f} s of computing)"
    how = f"{command.name}: {signalled}: exit code {end.code}: {said[-2000:]}"
    # Without the code of the signal only a command ends that has done its work, and said so: all say something at the
    # end. The interpreter takes its handlers back then.
    done = end.code in (0, 1)
    if end.number is not None:
        done = end.code == 128 + end.number or (end.code in (0, 1, -end.number) and not end.spoke)
    if not done:
        raise Fault(f"an exit code that says something else: {how}")
    if INSIDES.search(said):
        raise Fault(f"shows its inside: {how}")
    if left := leftovers(folder):
        raise Fault(f"half-written {left} stay behind: {how}")
    if end.clock_s > SOON_S:
        raise Fault(f"ends late: {how}")


def _wait_for_handlers(process: subprocess.Popen[bytes]) -> None:
    """Until the program handles signals; before that there is nothing to clean up."""
    status = Path(f"/proc/{process.pid}/status")
    while status.exists() and process.poll() is None:
        caught = next((line for line in status.read_text().splitlines() if line.startswith("SigCgt")), "SigCgt: 0")
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.002)


def _computing_beside(process: subprocess.Popen[bytes]) -> float:
    """Compute until the process ends; returns how long it took by that clock. Raises TimeoutExpired if it hangs."""
    holds, began = 0, time.monotonic()
    while process.poll() is None:
        if time.monotonic() - began > HANGS_S:
            raise subprocess.TimeoutExpired(process.args, HANGS_S)
        _core.holds(_LOOK)
        holds += _LOOK
    return holds / HOLDS_PER_S


# --- the commands --------------------------------------------------------------------------------------------------

_SWEEP = """\
scenario = "attack.toml"
seeds = %d
[axes.grid]
"flow.0.rtt" = ["10 ms", "20 ms", "40 ms"]
[metrics]
use = "queues.bottleneck.utilization"
"""
_HUNT = """\
scenario = "attack.toml"
runs = %d
space = { "flow.0.rtt" = { from = "10 ms", to = "200 ms" } }
find = { minimize = "queues.bottleneck.utilization", below = 0.1 }
"""
_TUNE = """\
scenario = "attack.toml"
runs = %d
space = { "bottleneck.queue.target" = { from = "2 ms", to = "20 ms" } }
paths.grid = { "flow.0.rtt" = ["10 ms", "20 ms"] }
held_out.grid = { "flow.0.rtt" = ["15 ms"] }
objectives.use = { maximize = "queues.bottleneck.utilization" }
"""


def _file(text: str, short: int, full: int) -> Callable[[Path, bool], None]:
    def prepare(folder: Path, is_full: bool) -> None:
        samples.write_scenario(folder)
        (folder / "file.toml").write_text(text % (full if is_full else short), encoding="utf-8")

    return prepare


def _scenario(folder: Path, full: bool) -> None:
    file = samples.write_scenario(folder)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("300 ms", "120 s" if full else "20 s"), encoding="utf-8")


def _nothing(folder: Path, full: bool) -> None:
    del folder, full


def _capture(folder: Path, full: bool) -> None:
    """A capture of 200 MB, or of 8."""
    write_transfers(folder / "big.pcap", 200_000_000 if full else 8_000_000)


COMMANDS = (
    Command("run", ("run", "attack.toml", "--out", "out", "--force"), _scenario),
    Command("sweep", ("sweep", "file.toml", "--out", "out", "--force"), _file(_SWEEP, 30, 300)),
    Command("hunt", ("hunt", "file.toml", "--out", "out", "--force"), _file(_HUNT, 40, 300)),
    Command("tune", ("tune", "file.toml", "--out", "out", "--force"), _file(_TUNE, 12, 60)),
    Command(
        "evaluate",
        ("evaluate", "rfc9743", "--cc", "vegas", "--quick", "--only", "7.10", "--out", "out", "--force"),
        _nothing,
    ),
    Command("reproduce", ("reproduce", "mds", "--quick", "--only", "fig3a", "--out", "out", "--force"), _nothing),
    Command("explain", ("explain", "big.pcap", "--page", "page.html", "--force"), _capture),
)
