"""Kills at random moments: a result is complete or absent, and the next run removes what the last one left."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

from fuzz.attacks import samples
from fuzz.attacks.campaign import Attack
from fuzz.attacks.program import PROGRAM, Fault, environment, judge, leftovers, run

#: Signals that the program handles: it cleans up at once, and its exit code says so.
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*HEARD, signal.SIGKILL)

#: A run with its figures takes less time than this, unless the machine is busy.
LATEST_S = 4.0


def attempt(stream: random.Random, folder: Path) -> None:
    """A run, killed; then another one in the same place."""
    kill(stream, folder, SIGNALS)


def kill(stream: random.Random, folder: Path, signals: tuple[signal.Signals, ...]) -> None:
    """A run that gets one of ``signals`` after a random time. Raises Fault."""
    samples.write_scenario(folder)
    number, delay = stream.choice(signals), stream.uniform(0, LATEST_S)
    existed = stream.random() < 0.5
    if existed:
        samples.write_results(folder)
    arguments = ("run", "attack.toml", "--out", "run", "--force", "--set", f"duration={stream.choice([0.3, 3, 300])} s")
    process = subprocess.Popen(
        (*PROGRAM, *arguments),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=hear,
    )
    time.sleep(delay)
    process.send_signal(number)
    try:
        _, said = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Fault(f"does not end after {number.name} at {delay:.3f} s") from None
    how = f"{number.name} at {delay:.3f} s: exit code {process.returncode}: {said.decode(errors='replace')[-1000:]}"
    if process.returncode not in (0, -number, 128 + number):
        raise Fault(f"an exit code that says something else: {how}")
    # Before the program can handle a signal there is nothing to clean up, and nothing to report.
    if process.returncode == 128 + number and b"Traceback" in said:
        raise Fault(f"shows its inside: {how}")
    if number in HEARD and (left := leftovers(folder)):
        raise Fault(f"half-written {left} stay behind: {how}")
    _check_results(folder, existed, how)
    judge(run(folder, "run", "attack.toml", "--out", "run", "--force"), folder)


def hear() -> None:
    """Restores the signals to what they are on a terminal: a shell starts background jobs with some of them ignored."""
    for number in HEARD:
        signal.signal(number, signal.SIG_DFL)


def _check_results(folder: Path, existed: bool, how: str) -> None:
    if not (folder / "run").exists():
        if existed:
            raise Fault(f"the results that were there are lost: {how}")
        return
    done = run(folder, "export", "run", "--csv", "csv")
    if done.code != 0:
        raise Fault(f"a result folder that is not whole: {how}: {done.err}")


ATTACK = Attack("kills", attempt)
