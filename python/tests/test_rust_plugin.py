"""The example of a crate outside the workspace is built, tested and run with the workspace's compiled dependencies."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

# Building it takes a minute.
pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "rust-plugin"


def cargo(command: str, *arguments: str) -> str:
    """Returns what cargo prints. It runs offline: the workspace has all that the example needs, in the versions of its
    lock file.
    """
    shutil.copyfile(ROOT / "Cargo.lock", EXAMPLE / "Cargo.lock")
    done = subprocess.run(
        ["cargo", command, "--quiet", "--offline", "--target-dir", str(ROOT / "target"), *arguments],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_algorithms_do_what_they_say() -> None:
    assert "test result: ok. 8 passed" in cargo("test")


def test_the_program_runs_its_scenario() -> None:
    lines = cargo("run", "--", "rust-plugin.toml", "duration=5 s").splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["sqrt", "ledbat", "probe"]
    assert lines[3].startswith("digest ")


def test_the_program_lists_them() -> None:
    listing = json.loads(cargo("run", "--", "--list"))
    names = {entry["name"] for entries in listing.values() for entry in entries}
    assert {"my-ledbat", "my-binomial", "my-limited", "k-step", "small-first", "reno", "fifo"} <= names
