"""Runs ``windtunnel`` as a user does, and checks what must hold for any input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: The interpreter that runs the attacks also runs the program.
PROGRAM = (sys.executable, "-m", "windtunnel")
#: No command of an attack takes longer than this, unless it hangs.
LONGEST_S = 120

#: What no user should ever see: internals of the program, or a terminal that obeys a file.
INSIDES = re.compile(
    r"Traceback \(most recent|panicked at|RUST_BACKTRACE|Exception ignored|Segmentation fault|Warning:"
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Fault(AssertionError):  # noqa: N818 - it is what an attack looks for
    """A promise that was broken."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    command: tuple[str, ...]
    code: int
    out: str
    err: str


def environment(**changes: str | None) -> dict[str, str]:
    """The environment of a plain shell, with changes; ``None`` removes a variable."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "FORCE_COLOR", "TERM")}
    plain = {**kept, "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
    return {k: v for k, v in {**plain, **changes}.items() if v is not None}


def run(
    folder: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    stdout: int = subprocess.PIPE,
    prepare: Callable[[], None] | None = None,
) -> Done:
    """Run a command in a folder. Raises Fault if it hangs."""
    command = (*PROGRAM, *arguments)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=LONGEST_S,
            check=False,
            preexec_fn=prepare,
        )
    except subprocess.TimeoutExpired:
        raise Fault(f"{arguments}: hangs") from None
    text = [(part or b"").decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr)]
    return Done(tuple(arguments), done.returncode, *text)


def judge(done: Done, folder: Path) -> None:
    """Check what must hold for every command. Raises Fault."""
    said = f"{done.command}: exit code {done.code}:\n{done.out[-500:]}{done.err[-2000:]}"
    if done.code not in (0, 1, 2):
        raise Fault(f"an exit code that is not promised: {said}")
    if INSIDES.search(done.out + done.err):
        raise Fault(f"shows its inside: {said}")
    if match := CONTROL.search(done.err) or (CONTROL.search(done.out) if "--json" not in done.command else None):
        raise Fault(f"a control character {match[0]!r} reaches the terminal: {said}")
    if done.code == 2 and (done.out or not done.err.strip()):
        raise Fault(f"refused, but not by one message on stderr: {said}")
    if left := leftovers(folder):
        raise Fault(f"half-written {left} stay behind: {said}")


def leftovers(folder: Path) -> list[str]:
    """Files left behind by writes that did not finish."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob(".*") if re.search(r"\.(partial|replaced)", path.name)
    )
