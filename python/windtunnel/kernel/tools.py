"""The programs that building a kernel needs: which are missing, and how one runs so that nothing of it survives."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.errors import InputError, RunFailedError, cut
from windtunnel.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Programs by the package of Debian that has them. The kernel's own scripts take `ld` and `nm` from the compiler's.
BUILD = {
    "make": "make", "cc": "gcc", "ld": "binutils", "flex": "flex", "bison": "bison", "bc": "bc", "tar": "tar",
    "xz": "xz-utils",
}  # fmt: skip
DEBIAN = {"apt-get": "apt", "dpkg-deb": "dpkg"}
#: The guest's own are the host's: it mounts the host's files.
GUEST = {"ip": "iproute2", "tc": "iproute2", "sh": "dash", "sleep": "coreutils"}

#: Where programs for administrators are; an ordinary user's PATH may lack it.
ADMINISTRATION = ("/usr/local/sbin", "/usr/sbin", "/sbin")

#: Lines kept of a program's output, for the message if it fails.
_KEPT = 40
_WRONG = re.compile(r"\berror\b|\*\*\*|^E: |^tar: (?!Exiting)", re.IGNORECASE)


def path() -> str:
    """PATH, with the folders for administrators."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])


def require(programs: dict[str, str], what: str) -> None:
    """Refuse to begin without these programs. Raises InputError, which says how to install them."""
    missing = [program for program in programs if shutil.which(program, path=path()) is None]
    if missing:
        packages = " ".join(dict.fromkeys(programs[program] for program in missing))
        raise InputError(f"{what} needs {', '.join(missing)}: apt-get install {packages}")


def run(
    words: Sequence[str | Path],
    *,
    folder: Path,
    environment: dict[str, str] | None = None,
    line: Callable[[str], None] = lambda _: None,
) -> str:
    """Run a program to its end; returns its output; ``line`` gets each line of it. Raises RunFailedError.

    All that it starts belongs to one group, which ends with this function, however it ends.
    """
    kept: deque[str] = deque(maxlen=_KEPT)
    wrong = ""
    with group(words, folder=folder, environment=environment or {"PATH": path()}) as process:
        assert process.stdout is not None
        for text in process.stdout:
            text = text.rstrip()
            kept.append(text)
            if not wrong and _WRONG.search(text):
                wrong = text
            line(text)
        code = process.wait()
    if code != 0:
        said = wrong or next(filter(None, reversed(kept)), f"exit code {code}")
        raise RunFailedError(f"{Path(words[0]).name} failed: {cut(said, 300)}")
    return "\n".join(kept)


@contextmanager
def group(words: Sequence[str | Path], *, folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process with a group of its own, whose output is a pipe. The whole group is ended with the block."""
    process: subprocess.Popen[str] | None = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                [str(word) for word in words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        yield process
    finally:
        if process is not None:
            with uninterrupted():
                # The group outlives its first process where another is still in it.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()
