"""The kernels in the cache: one folder each, which appears whole or not at all.

A folder is named after version, HZ and the start of the kernel's SHA-256. It holds the kernel (``linux``), its
configuration (``config``) and what is known of it (``kernel.json``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.engine.cache import place
from windtunnel.errors import InputError, did_you_mean

#: The file that says what the kernel of a folder is.
FACTS = "kernel.json"
#: Digits of the hash in a folder's name.
_DIGITS = 12

NONE = "there is no kernel here; `windtunnel kernel build` makes one, from Debian's source, in about 20 minutes"


@dataclass(frozen=True)
class Kernel:
    """A kernel and how it came to be. ``inputs`` is a hash of all that decides its bytes; empty if that is unknown."""

    version: str
    hz: int
    sha256: str
    source: str
    compiler: str
    has: dict[str, tuple[str, ...]]
    lacks: dict[str, tuple[str, ...]]
    inputs: str
    folder: Path

    @property
    def name(self) -> str:
        """Version, HZ, and the start of the hash."""
        return f"{self.version}-hz{self.hz}-{self.sha256[:_DIGITS]}"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its version."""
        return _ordered(self.version)[0]

    @property
    def program(self) -> Path:
        """The kernel itself: a program of the user."""
        return self.folder / "linux"

    def lacking(self) -> list[str]:
        """What it lacks, in words: `qdisc dualpi2`, `CONFIG_BPF_JIT`."""
        return [
            f"{kind} {name}" if kind != "option" else f"CONFIG_{name}"
            for kind, names in self.lacks.items()
            for name in names
        ]

    def require(self, kind: str, name: str) -> None:
        """Refuse a controller or a qdisc that the kernel does not have. Raises InputError."""
        if name not in self.has[kind]:
            raise InputError(f"Linux {self.version} has no {kind} `{name}`{did_you_mean(name, self.has[kind])}")

    def facts(self) -> dict[str, Any]:
        """What the file of facts has."""
        facts = asdict(self)
        del facts["folder"]
        return facts


def folder() -> Path:
    """Where kernels are kept: in the cache, so never in results."""
    return place().resolve() / "kernels"


def kernels() -> list[Kernel]:
    """All kernels, the newest version first, of one version HZ 1000 before others."""
    return sorted(_found(), key=lambda kernel: (_ordered(kernel.version), kernel.hz, kernel.sha256), reverse=True)


def _found() -> Iterator[Kernel]:
    if not folder().is_dir():
        return
    for each in folder().iterdir():
        try:
            yield read(each)
        except (OSError, ValueError, TypeError, KeyError):
            continue  # a stage, or what another program put there


def read(path: Path) -> Kernel:
    """The kernel of a folder. Raises OSError, ValueError, TypeError or KeyError where there is none."""
    facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
    for key in ("has", "lacks"):
        facts[key] = {str(kind): tuple(map(str, names)) for kind, names in facts[key].items()}
    kernel = Kernel(**facts, folder=path)
    if kernel.name != path.name or not kernel.program.is_file():
        raise ValueError(path)
    return kernel


def choose(wanted: str | None = None) -> Kernel:
    """The kernel of a name, a version or a folder; without one the newest. Raises InputError, which says what to do."""
    if wanted is not None and (Path(wanted) / FACTS).is_file():
        try:
            return whole(read(Path(wanted).resolve()))
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(f"{wanted}: is not a folder that `windtunnel kernel build` made") from None
    there = kernels()
    if not there:
        raise InputError(NONE)
    if wanted is None:
        return whole(there[0])
    return whole(matching(wanted, there)[0])


def matching(wanted: str, there: list[Kernel]) -> list[Kernel]:
    """Those whose name starts with ``wanted`` at a whole part of it, or whose hash does. Raises InputError."""
    start = re.compile(re.escape(wanted) + r"(?![0-9a-zA-Z])")
    matches = [k for k in there if start.match(k.name) or (len(wanted) >= 6 and k.sha256.startswith(wanted))]
    if not matches:
        names = ", ".join(kernel.name for kernel in there) or "none"
        raise InputError(f"there is no kernel `{wanted}`; there is: {names}")
    return matches


def whole(kernel: Kernel) -> Kernel:
    """The kernel, if its file is what was built. Raises InputError."""
    if digest(kernel.program) != kernel.sha256:
        raise InputError(f"{kernel.program}: is damaged; `windtunnel kernel remove {kernel.name}`, and build it again")
    return kernel


def keep(made: Kernel) -> Kernel:
    """Move a folder that is complete to its place; the same kernel there stays as it is."""
    target = folder() / made.name
    if not target.exists():
        (made.folder / FACTS).write_text(json.dumps(made.facts(), indent=2) + "\n", encoding="utf-8")
        made.folder.rename(target)
    return replace(made, folder=target)


def remove(kernel: Kernel) -> None:
    """Remove a kernel. What would make it a kernel goes first, so that an interrupt leaves none that is half there."""
    (kernel.folder / FACTS).unlink()
    shutil.rmtree(kernel.folder)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ordered(version: str) -> tuple[tuple[int, ...], str]:
    """What versions are ordered by: their numbers, then the rest."""
    numbers = re.match(r"[0-9.]*", version)
    assert numbers is not None
    return tuple(int(part) for part in numbers[0].split(".") if part), version
