"""Installs a wheel as a user would, into an empty virtual environment, and runs a scenario there.

``python try_wheel.py FOLDER`` takes the newest wheel in the folder. No Rust toolchain is within reach, nothing is built
from source, and the repository is not on the path. Prints the wheel's name and size; fails if the run differs from the
one of this interpreter.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

#: The wheel has one binary for all versions of Python from 3.11 on, and on Linux for all systems with this C library or
#: a newer one.
_NAME = re.compile(r"windtunnel-[^-]+-cp311-abi3-(manylinux_\d+_\d+_\w+|macosx_\w+|win_\w+)(\.\w+)*\.whl")
_SCENARIO = """\
title = "A first run"
duration = "1 s"
bottleneck = { rate = "10 Mbit/s", queue = "codel" }
[[flow]]
cc = "cubic"
rtt = "20 ms"
"""


def main(folder: Path) -> None:
    """Install the newest wheel of the folder, and run."""
    wheel = max(folder.glob("windtunnel-*.whl"), key=lambda file: file.stat().st_mtime)
    assert _NAME.fullmatch(wheel.name), f"{wheel.name} is not a wheel for other machines"
    with tempfile.TemporaryDirectory() as directory:
        program = _install(wheel.resolve(), Path(directory, "venv"))
        scenario = Path(directory, "first.toml")
        scenario.write_text(_SCENARIO, encoding="utf-8")
        digest = json.loads(_run(program, "run", str(scenario), "--json", cwd=directory))["meta"]["digest"]
        _run(program, "run", str(scenario), "--out", "run", cwd=directory)
        assert Path(directory, "run", "report.html").exists()
        _run(program, "plot", "run", "--out", "run.png", cwd=directory)
        assert (program.parents[1] / "share" / "man" / "man1" / "windtunnel-run.1").exists()
    from windtunnel import Scenario

    assert digest == Scenario.from_toml(_SCENARIO).run().digest
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB: installed and ran, digest {digest}")


def _install(wheel: Path, directory: Path) -> Path:
    """Install the wheel and what it depends on; returns the program."""
    venv.create(directory, with_pip=True)
    binaries = directory / ("Scripts" if sys.platform == "win32" else "bin")
    _run(binaries / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel), cwd=directory)
    return binaries / "windtunnel"


def _run(program: Path, *arguments: str, cwd: str | Path) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CARGO", "RUST"))}
    done = subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env={**kept, "PATH": os.pathsep.join(("/usr/bin", "/bin")) if os.name == "posix" else kept["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
