"""A boot of the kernel: a script goes in, the files that it wrote come out.

The guest's root is the host's, read-only and with the user's own rights; it has no device and no network of the host.

The same kernel, script and seed give the same bytes, because nothing else reaches the guest: its clock always starts at
the same time, and its random numbers come from the host's, which are those of a library that is loaded in their
place (``programs/guest-random.c``). Another seed gives other ports, sequence numbers, hashes and random losses.
The command line is mixed into random numbers too, so it is always the same, and names no folder of this run.
A guest whose processes are stopped and continued from outside (SIGSTOP, SIGCONT) panics: its processes are traced, and
the kernel takes the signal for one of theirs. Such a run fails, and writes nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from windtunnel.active_runs import counted
from windtunnel.engine.work import GoOn, always
from windtunnel.errors import RunFailedError, cut
from windtunnel.kernel.kept import Kernel
from windtunnel.kernel.programs import programs
from windtunnel.kernel.tools import GUEST, group, require

#: The kernel's command line: its memory costs only what is touched, its clock starts at a time in ns since 1970, and
#: from Linux 6.16 on there is a way to run processes that costs 40 % less than ptrace.
_SETTINGS = (
    *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "mem=768M"),
    *("time-travel=inf-cpu", "time-travel-start=1700000000000000000", "seccomp=on"),
    *("con=null", "con0=null,fd:1", "ssl=null", "init=/proc/self/cwd/programs/guest-init"),
)
#: Lines kept of what the kernel says.
_KEPT = 50
#: How tc says that it does not know a discipline.
UNKNOWN = "Unknown qdisc"
#: How often a guest in a thread is asked whether it is to go on, in seconds.
_LOOK = 0.05


@dataclass(frozen=True)
class Outcome:
    """What a boot left: the files by name, and the seconds that it took of the host."""

    files: dict[str, bytes]
    seconds: float

    def text(self, name: str) -> str:
        """A file as text; nothing if the script did not write it."""
        return self.files.get(name, b"").decode(errors="replace")


def boot(kernel: Kernel, script: str, *, seed: int = 0, limit: float = 600.0, go_on: GoOn = always) -> Outcome:
    """Boot, run ``script`` with ``sh`` in ``/run/out``, power off; the exit code of the script must be 0.

    ``limit``: seconds of the host after which the guest is ended. Raises InputError and RunFailedError, and
    KeyboardInterrupt soon after ``go_on`` has returned False.
    """
    require(GUEST, "the guest")
    started = time.monotonic()
    with counted(), tempfile.TemporaryDirectory(prefix="windtunnel-guest-") as temporary:
        folder = Path(temporary)
        shutil.copytree(programs(), folder / "programs")
        (folder / "script").write_text(script, encoding="utf-8")
        said = _run(kernel, folder, seed, limit, go_on)
        files = {each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()}
    code = files.pop("code", None)
    if code is None:
        raise RunFailedError(f"the guest ended before its script did: {cut(said, 300)}")
    outcome = Outcome(files, time.monotonic() - started)
    if code.strip() != b"0":
        why = _why(outcome.text("log")) or f"exit code {code.decode().strip()}"
        raise RunFailedError(f"the guest's script failed: {cut(why, 300)}")
    return outcome


def _why(log: str) -> str:
    """The last line that says why. ip and tc say which of their lines has failed after the reason."""
    lines = [line for line in log.splitlines() if line and not line.startswith("Command failed")]
    return with_age(lines[-1]) if lines else ""


def with_age(said: str) -> str:
    """What tc says, with the reason where it does not know a discipline of the kernel."""
    return f"{said}: the host's tc is too old" if said.startswith(UNKNOWN) else said


def _run(kernel: Kernel, folder: Path, seed: int, limit: float, go_on: GoOn) -> str:
    """Run the kernel to its end, or to the limit; returns the last that it said."""
    kept: deque[str] = deque(maxlen=_KEPT)
    # Under HOME the kernel keeps its state, in TMPDIR its memory.
    environment = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LD_PRELOAD": "./programs/guest-random.so",
        "SEED": str(seed),
    }
    ended, over, stopped = threading.Event(), threading.Event(), threading.Event()
    until = time.monotonic() + limit
    with group([kernel.program, *_SETTINGS], folder=folder, environment=environment) as process:

        def watch() -> None:
            while not ended.wait(_LOOK):
                if time.monotonic() > until:
                    over.set()
                elif not go_on():
                    stopped.set()
                else:
                    continue
                # Processes of the guest hold the pipe open, too.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            assert process.stdout is not None
            kept.extend(line.strip() for line in process.stdout if line.strip())
            process.wait()
        finally:
            ended.set()
    if stopped.is_set():
        raise KeyboardInterrupt
    if over.is_set():
        raise RunFailedError(f"the guest was ended after {limit:.0f} s")
    # What a panic prints after its reason is where it was.
    telling = [line for line in kept if "Kernel panic" in line or line.startswith("guest:")]
    return telling[0] if telling else next(reversed(kept), "it said nothing")
