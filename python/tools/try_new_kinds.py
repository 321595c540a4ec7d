"""Adds a controller, an AQM and an element to a copy of the repository, and runs the tests there that go through all
kinds: ``python python/tools/try_new_kinds.py``.

Each is one file of ``new_kinds`` next to this script, its ``mod`` and a line in a list of kinds, as CONTRIBUTING.md
says. No test may need a change for that. The copy is in a temporary folder, with the compiled dependencies of
``target`` as links; nothing is left behind. Arguments are names of crates (``cc``, ``qdisc``, ``sim``, ``scenario``);
without, all are tested. That takes several minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = Path(__file__).with_name("new_kinds")


@dataclass(frozen=True)
class NewKind:
    """A file of ``new_kinds``, and where it belongs."""

    module: str
    params: str
    folder: str
    #: The file with the ``mod`` lines and the list of kinds.
    list_of_kinds: str


KINDS = (
    NewKind("mimd", "MimdParams", "crates/cc/src/windowed/avoidance", "crates/cc/src/windowed/avoidance/mod.rs"),
    NewKind("lifetime", "LifetimeParams", "crates/qdisc/src/aqm", "crates/qdisc/src/aqm.rs"),
    NewKind("loss_trains", "LossTrainsParams", "crates/sim/src/element", "crates/sim/src/element/mod.rs"),
)

#: The tests of each crate that go through all kinds: arguments of ``cargo test``.
TESTS = {
    "cc": ["--test", "suite", "--", "properties", "extremes", "schema", "loss_based::a_loss_leaves", "refusals"],
    "qdisc": ["--test", "qdisc"],
    "sim": ["--lib", "element"],
    "scenario": ["--test", "scenario", "--", "--skip", "whole"],
}


def main(crates: list[str]) -> None:
    """Add the kinds, and run the tests of these crates."""
    with tempfile.TemporaryDirectory(prefix="windtunnel-new-kinds-") as folder:
        copy = Path(folder, "repository")
        _copy(copy)
        for kind in KINDS:
            _add(kind, copy)
        target = Path(folder, "target")
        _link_dependencies(target)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        failed = [crate for crate in crates if not _test(crate, copy, environment)]
    if failed:
        sys.exit(f"a new kind needs more than a file and a line: tests of {', '.join(failed)} fail")
    print(f"{len(KINDS)} new kinds, each a file and a line: all tests of {', '.join(crates)} pass")


def _copy(copy: Path) -> None:
    """The files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, copy / name)


def _add(kind: NewKind, copy: Path) -> None:
    """The file, its ``mod``, and a line at the end of the list of kinds."""
    shutil.copy(FILES / f"{kind.module}.rs", copy / kind.folder)
    file = copy / kind.list_of_kinds
    before, start, after = file.read_text(encoding="utf-8").partition("kinds! {\n")
    listed, end, rest = after.partition("\n}\n")
    before = before.replace("\nmod ", f"\nmod {kind.module};\nmod ", 1)
    file.write_text(f"{before}{start}{listed}\n    {kind.module}: {kind.params};{end}{rest}", encoding="utf-8")


def _link_dependencies(target: Path) -> None:
    """What is compiled of other projects, as links; what cargo keeps about it, as copies."""
    compiled = REPOSITORY / "target" / "debug"
    for folder, copy in ((".fingerprint", shutil.copy2), ("build", shutil.copy2), ("deps", os.symlink)):
        if (compiled / folder).is_dir():
            shutil.copytree(
                compiled / folder,
                target / "debug" / folder,
                copy_function=copy,
                ignore=shutil.ignore_patterns("*windtunnel*"),
                symlinks=True,
            )


def _test(crate: str, copy: Path, environment: dict[str, str]) -> bool:
    command = ["cargo", "test", "--offline", "-p", f"windtunnel-{crate}", *TESTS[crate]]
    return subprocess.run(command, cwd=copy, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    main(sys.argv[1:] or list(TESTS))
