"""Installs a wheel as a user would, into an empty virtual environment, and works there: first with what it needs alone,
then with extras.

``python try_wheel.py FOLDER`` takes the newest wheel in the folder. No Rust toolchain is within reach, nothing is built
from source, and the repository is not on the path. Prints the wheel's name and size, what each library takes, and the
time of commands; fails if the run differs from the one of this interpreter, if the environment is too large, or if a
command that needs an extra does not say so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
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


_CAMPAIGN = """\
scenario = "first.toml"
seeds = 3
baseline = { "flow.0.cc" = "reno" }
[axes.grid]
"flow.0.cc" = ["reno", "cubic"]
[metrics]
use = "queue.utilization"
"""
_HUNT = Path(__file__).parents[2] / "scenarios/hunts/bbr3-starves-cubic.toml"
#: What a fresh environment may take, in MB, and how long its commands may take to begin, in seconds.
_LARGEST, _LONGEST = 200, 2.0
#: What needs an extra: each says before it works what installs it.
_EXTRAS = {
    "plot": ("plot", "run"),
    "run": ("run", "first.toml", "--figures", "--out", "drawn"),
    "reproduce": ("reproduce", "mds", "--quick"),
    "conform": ("conform", "quinn"),
    "hunt": ("hunt", str(_HUNT)),
    "dask": ("sweep", "campaign.toml", "--dask", "--out", "by-dask"),
}


def main(folder: Path) -> None:
    """Install the newest wheel of the folder, and use it without and with what is optional."""
    wheel = max(folder.glob("windtunnel-*.whl"), key=lambda file: file.stat().st_mtime).resolve()
    assert _NAME.fullmatch(wheel.name), f"{wheel.name} is not a wheel for other machines"
    with tempfile.TemporaryDirectory() as directory:
        program = _install(wheel, Path(directory, "venv"))
        sizes = _sizes(program.parents[1])
        for name, text in (("first", _SCENARIO), ("campaign", _CAMPAIGN)):
            Path(directory, f"{name}.toml").write_text(text, encoding="utf-8")
        digest = json.loads(_run(program, "run", "first.toml", "--json", cwd=directory))["meta"]["digest"]
        took = _light(program, Path(directory))
        for what, command in _EXTRAS.items():
            said = _refused(program, *command, cwd=directory)
            assert "which is not installed: pip install '" in said, f"{what}: {said}"
        assert not Path(directory, "drawn").exists() and not Path(directory, "by-dask").exists()
        _pip(program, "install", "--quiet", "--only-binary", ":all:", f"{wheel}[arrow,plot]", cwd=directory)
        _run(program, "plot", "run", "--out", "run.png", cwd=directory)
        _python(program, "import windtunnel; windtunnel.load('run').table('flows')", cwd=directory)
        _python(program, "from windtunnel.campaign.results import load; load('swept').runs.to_pylist()", cwd=directory)
        assert (program.parents[1] / "share" / "man" / "man1" / "windtunnel-run.1").exists()
    from windtunnel import Scenario

    assert digest == Scenario.from_toml(_SCENARIO).run().digest
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB: installed and ran, digest {digest}")
    for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
        print(f"{size / 1e6:7.1f} MB  {name}")
    total = sum(sizes.values()) / 1e6
    print(f"{total:7.1f} MB  in all, at most {_LARGEST}")
    print(*(f"{seconds:.2f} s  {what}" for what, seconds in took.items()), sep="\n")
    assert total <= _LARGEST
    assert took["import windtunnel"] <= _LONGEST and took["windtunnel --help"] <= _LONGEST


def _light(program: Path, folder: Path) -> dict[str, float]:
    """What works without extras, and how long it takes."""
    took = {}
    for what, work in {
        "import windtunnel": lambda: _python(program, "import windtunnel", cwd=folder),
        "windtunnel --help": lambda: _run(program, "--help", cwd=folder),
        "windtunnel run": lambda: _run(program, "run", "first.toml", "--out", "run", cwd=folder),
        "windtunnel sweep": lambda: _run(program, "sweep", "campaign.toml", "--out", "swept", cwd=folder),
    }.items():
        started = time.perf_counter()
        work()
        took[what] = time.perf_counter() - started
    assert (folder / "run" / "report.html").exists() and (folder / "swept" / "report.html").exists()
    _run(program, "compare", "swept", "swept", "--page", "compared.html", cwd=folder)
    _run(program, "export", "run", "--csv", "csv", "--parquet", "parquet", cwd=folder)
    _run(program, "run", "first.toml", "--set", "record.packets=true", "--out", "packets", cwd=folder)
    _run(program, "export", "packets", "--pcapng", "packets.pcapng", cwd=folder)
    _run(program, "explain", "packets.pcapng", cwd=folder)
    program_of_tables = (
        "import windtunnel; r = windtunnel.load('run'); assert r.tables['flows'].rows; "
        "from windtunnel.campaign.results import load; assert load('swept').tables['cells'].records()"
    )
    _python(program, program_of_tables, cwd=folder)
    return took


def _sizes(environment: Path) -> dict[str, int]:
    """The bytes of each library; pip's are not windtunnel's."""
    (packages,) = (
        environment.glob("lib/python*/site-packages") if os.name == "posix" else [environment / "Lib/site-packages"]
    )
    sizes: dict[str, int] = {}
    for file in packages.rglob("*"):
        name = file.relative_to(packages).parts[0].partition("-")[0].partition(".")[0]
        if file.is_file() and name not in ("pip", "setuptools", "_distutils_hack"):
            sizes[name] = sizes.get(name, 0) + file.stat().st_size
    return sizes


def _install(wheel: Path, directory: Path) -> Path:
    """Install the wheel and what it depends on; returns the program."""
    venv.create(directory, with_pip=True)
    program = directory / ("Scripts" if sys.platform == "win32" else "bin") / "windtunnel"
    _pip(program, "install", "--quiet", "--only-binary", ":all:", str(wheel), cwd=directory)
    return program


def _pip(program: Path, *arguments: str, cwd: str | Path) -> None:
    _run(program.with_name("python"), "-m", "pip", *arguments, cwd=cwd)


def _python(program: Path, text: str, *, cwd: str | Path) -> str:
    return _run(program.with_name("python"), "-c", text, cwd=cwd)


def _run(program: Path, *arguments: str, cwd: str | Path) -> str:
    done = _start(program, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _refused(program: Path, *arguments: str, cwd: str | Path) -> str:
    """What a command says that is refused."""
    done = _start(program, *arguments, cwd=cwd)
    assert done.returncode == 2, f"{arguments}: {done.returncode}, {done.stdout}{done.stderr}"
    return done.stderr


def _start(program: Path, *arguments: str, cwd: str | Path) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CARGO", "RUST"))}
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env={**kept, "PATH": os.pathsep.join(("/usr/bin", "/bin")) if os.name == "posix" else kept["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
