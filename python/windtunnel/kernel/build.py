"""From a source to a kernel in the cache.

All happens in a stage inside the cache, which goes with everything in it if the command is interrupted; the finished
kernel is then renamed into its place. The same source, HZ, options and compiler give the same bytes: what a kernel's
build usually takes from its surroundings (the time, the user, the host, a counter) is fixed, and of the environment
nothing is passed on but PATH.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from platform import machine

from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel.kept import Kernel, digest, folder, keep, kernels
from windtunnel.kernel.options import features, fragment
from windtunnel.kernel.programs import programs
from windtunnel.kernel.source import NEEDED, Source, from_package, from_user, prepare, unpack
from windtunnel.kernel.tools import BUILD, path, require, run
from windtunnel.stage import stage_for, sweep

#: Linux's usual values: 1000 in Debian's kernels since 6.12 and on desktops, 250 in Ubuntu's and many servers'.
HZ = (1000, 250)

#: What the build puts into the kernel.
_FIXED = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01 00:00:00",
    "KBUILD_BUILD_USER": "windtunnel",
    "KBUILD_BUILD_HOST": "windtunnel",
    "KBUILD_BUILD_VERSION": "1",
}

#: make's line for an object that it makes.
_OBJECT = re.compile(r"^\s+(CC|AS|LD|AR|HOSTCC|HOSTLD)\s")


@dataclass
class Steps:
    """What is said while a kernel is made: ``say`` has each step, ``moved`` is called with each object."""

    say: Callable[[str], None]
    moved: Callable[[Steps], None] = lambda _: None
    objects: int = 0
    started: float = field(default_factory=time.monotonic)

    def line(self, text: str) -> None:
        """A line of make's."""
        if _OBJECT.match(text):
            self.objects += 1
            self.moved(self)

    def words(self) -> str:
        """How far it is."""
        return f"{self.objects} objects made, {time.monotonic() - self.started:.0f} s"


@dataclass(frozen=True)
class Built:
    """A kernel; whether it was there before."""

    kernel: Kernel
    was_there: bool


def build(*, hz: int, package: str | None, source: Path | None, jobs: int, steps: Steps, again: bool = False) -> Built:
    """Make a kernel. ``again``: also one that is there. Raises InputError and RunFailedError."""
    check_machine()
    require(BUILD, "building a kernel")
    folder().mkdir(parents=True, exist_ok=True)
    sweep(folder())
    _check_space(folder())
    with stage_for(folder() / "new") as stage:
        stage.path.mkdir()
        came = from_user(source) if source else from_package(package, stage.path / "package", steps.say)
        compiler = _compiler()
        inputs = _inputs(came, hz, compiler)
        for kernel in kernels():
            if inputs and kernel.inputs == inputs and not again:
                return Built(kernel, was_there=True)
        tree = stage.path / "source"
        unpack(came, tree, steps.say)
        version = prepare(tree, hz)
        steps.say(f"compiling Linux {version}, HZ {hz}")
        config = compile_kernel(tree, jobs, steps)
        listed = features(config, hz)
        ready = stage.path / "ready"
        ready.mkdir()
        shutil.copyfile(tree / "linux", ready / "linux")
        (ready / "linux").chmod(0o755)
        (ready / "config").write_text(config, encoding="utf-8")
        sha256 = digest(ready / "linux")
        programs()
        kernel = Kernel(version, hz, sha256, came.words, compiler, listed.has, listed.lacks, inputs, ready)
        return Built(keep(kernel), was_there=False)


def compile_kernel(tree: Path, jobs: int, steps: Steps) -> str:
    """Configure and compile a source; returns its configuration. The check comes first: compiling takes long."""
    wanted = tree / "windtunnel.config"
    wanted.write_text(fragment(), encoding="utf-8")
    environment = {"PATH": path(), **_FIXED}
    with_options = {**environment, "KCONFIG_ALLCONFIG": str(wanted)}
    run(["make", "ARCH=um", "allnoconfig"], folder=tree, environment=with_options)
    config = (tree / ".config").read_text(encoding="utf-8")
    hz = re.search(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)
    features(config, int(hz[1]) if hz else 0)
    run(["make", "ARCH=um", f"-j{jobs}", "linux"], folder=tree, environment=environment, line=steps.line)
    if not (tree / "linux").is_file():
        raise RunFailedError("make ended without a kernel")
    return config


def check_machine() -> None:
    """User-Mode Linux runs on Linux on x86-64. Raises InputError elsewhere."""
    if sys.platform != "linux" or machine() != "x86_64":
        raise InputError("the kernel runs as a process only on Linux on x86-64 (User-Mode Linux)")


def _check_space(where: Path) -> None:
    free = shutil.disk_usage(where).free
    if free < NEEDED:
        raise InputError(
            f"{where}: a build takes {NEEDED >> 30} GB while it lasts, and {free / (1 << 30):.1f} GB are free"
        )


def _compiler() -> str:
    """The compiler in its own words."""
    text = subprocess.run(
        ["cc", "--version"], capture_output=True, text=True, check=True, env={"PATH": path(), "LC_ALL": "C"}
    ).stdout
    return text.partition("\n")[0].strip()


def _inputs(source: Source, hz: int, compiler: str) -> str:
    """A hash of what decides a kernel's bytes; empty if the source may change."""
    if not source.sha256:
        return ""
    parts = [source.sha256, str(hz), compiler, fragment(), *_FIXED.values()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
