"""Our own programs for the guest (``programs/*.c``), compiled on this machine and kept by the hash of their sources."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from windtunnel.engine.cache import place
from windtunnel.kernel.tools import require, run
from windtunnel.stage import stage_for, sweep

#: The programs, and the library that takes the place of the host's random numbers.
NAMES = (
    *("guest-init", "guest-controllers", "guest-offload", "guest-flow", "guest-datagrams", "guest-queue"),
    *("guest-capture", "guest-random.so"),
)

#: Where their sources are.
SOURCES = Path(__file__).with_name("programs")


def programs() -> Path:
    """The folder with the compiled programs. Raises InputError without a compiler, and RunFailedError."""
    target = place().resolve() / "guests" / _hash()
    if target.is_dir():
        return target
    require({"cc": "gcc"}, "compiling the guest's programs")
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent)
    with stage_for(target) as stage:
        stage.path.mkdir()
        for name in NAMES:
            library = ["-shared", "-fPIC"] if name.endswith(".so") else []
            run(["cc", "-O2", "-Wall", *library, "-o", str(stage.path / name), str(_source(name))], folder=stage.path)
        if not target.is_dir():  # another process may have been faster
            stage.path.rename(target)
    return target


@cache
def sources() -> dict[str, bytes]:
    """The source of each program."""
    return {name: _source(name).read_bytes() for name in NAMES}


@cache
def _hash() -> str:
    return hashlib.sha256(b"\0".join(sources().values())).hexdigest()[:12]


def _source(name: str) -> Path:
    return SOURCES / f"{name.removesuffix('.so')}.c"
