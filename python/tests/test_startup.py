"""What a command imports before it works: a budget of modules, which is the same on every machine, unlike a time.

The times themselves are in docs/speed.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

#: Libraries that take a tenth of a second or more to load.
HEAVY = {"matplotlib", "numpy", "scipy", "PIL", "pandas", "polars", "pyarrow", "rich", "jinja2", "IPython", "optuna"}

#: Runs a command in this interpreter, and prints the modules that it imported.
PROGRAM = """
import contextlib, io, json, sys
before = set(sys.modules)
with contextlib.redirect_stdout(io.StringIO()):
    from windtunnel.cli.app import app
    try:
        app(sys.argv[1:], prog_name="windtunnel")
    except SystemExit as end:
        assert not end.code, end.code
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported(*arguments: object, cwd: Path) -> set[str]:
    """The modules that ``windtunnel ARGUMENTS`` imports, beyond those that the interpreter starts with."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def heavy(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["--version"], 130), (["--help"], 145), (["schema"], 130), (["check", "two.toml"], 155)],
)
def test_quick_commands(scenario: Path, arguments: list[str], most: int) -> None:
    """Commands that compute nothing load no heavy library, and few modules at all."""
    modules = imported(*arguments, cwd=scenario.parent)
    assert not heavy(modules)
    assert len(modules) <= most, f"{len(modules)} modules, at most {most}"


def test_run_draws_nothing(scenario: Path) -> None:
    """`run` writes tables and page; it does not load what draws figures, what reads tables or compiles templates, nor
    what only Python users ask for.
    """
    modules = imported("run", "two.toml", cwd=scenario.parent)
    assert heavy(modules) == {"numpy", "rich"}
    assert "windtunnel.experiment.measures.language" not in modules, "there are no claims"
    assert len(modules) <= 350, f"{len(modules)} modules, at most 350"
    assert heavy(imported("run", "two.toml", "--json", cwd=scenario.parent)) == {"numpy"}


def test_sweep_draws_nothing(scenario: Path) -> None:
    """`sweep --dry-run` computes with NumPy; Dask is not loaded before it is needed."""
    text = 'scenario = "two.toml"\n[metrics]\nuse = "queue.utilization"\n'
    (scenario.parent / "campaign.toml").write_text(text)
    modules = imported("sweep", "campaign.toml", "--dry-run", cwd=scenario.parent)
    assert heavy(modules) == {"numpy"}
    assert "distributed" not in {name.partition(".")[0] for name in modules}


def test_sweep_is_light(scenario: Path) -> None:
    """Its intervals and comparisons, tables and page are made without what takes a second to load."""
    text = 'scenario = "two.toml"\nseeds = 3\noffsets = true\nbaseline = { "flow.0.cc" = "reno" }\n'
    axes = '[axes.grid]\n"flow.0.cc" = ["reno", "cubic"]\n[metrics]\nuse = "queue.utilization"\n'
    (scenario.parent / "campaign.toml").write_text(text + axes)
    modules = imported("sweep", "campaign.toml", "--no-cache", cwd=scenario.parent)
    assert heavy(modules) <= {"numpy", "rich", "jinja2"}


def test_the_package_is_light(tmp_path: Path) -> None:
    """Building and checking scenarios in Python needs no heavy library; a run needs NumPy alone."""
    program = (
        "import sys, windtunnel as wt;"
        "s = wt.Scenario(duration='1 s', bottleneck={'rate': '1 Mbit/s'}, flows=[{'cc': 'reno', 'rtt': '20 ms'}]);"
        "s.check(); print(*sys.modules); s.run(); print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    checked, ran = (set(line.split()) for line in done.stdout.splitlines())
    assert not heavy(checked)
    assert heavy(ran) == {"numpy"}


#: The command line where no extra is installed.
LIGHT = """
import sys
for name in "pyarrow matplotlib PIL fontTools pandas polars scipy optuna cmaes distributed".split():
    sys.modules[name] = None
from windtunnel.cli import main
main()
"""


def light(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """``windtunnel ARGUMENTS`` without extras."""
    command = [sys.executable, "-c", LIGHT, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)


def test_what_works_without_extras(scenario: Path) -> None:
    """Runs, campaigns (resumed, too), their pages and comparisons, exports, captures and packs: all without extras."""
    folder = scenario.parent
    text = 'scenario = "two.toml"\nseeds = 2\nbaseline = { "flow.0.cc" = "reno" }\n'
    axes = '[axes.grid]\n"flow.0.cc" = ["reno", "cubic"]\n[metrics]\nuse = "queue.utilization"\n'
    (folder / "campaign.toml").write_text(text + axes)
    for command in (
        ("run", "two.toml", "--set", "record.packets=true", "--out", "run"),
        ("sweep", "campaign.toml", "--out", "swept", "--jobs", "2", "--pages", "1"),
        ("sweep", "campaign.toml", "--out", "swept", "--processes", "--force"),
        ("compare", "swept", "swept", "--page", "compared.html"),
        ("compare", "run", "run"),
        ("export", "run", "--csv", "csv", "--parquet", "parquet", "--pcapng", "run.pcapng", "--points", "all"),
        ("explain", "run.pcapng", "--page", "explained"),
        ("evaluate", "rfc9743", "--cc", "vegas", "--quick", "--only", "5.1.2", "--out", "pack"),
    ):
        done = light(*command, cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
    assert done.stdout.startswith("no figures, which need matplotlib: pip install 'matplotlib>=3.8'")
    assert "no figures, which need matplotlib" in (folder / "pack" / "report.html").read_text(encoding="utf-8")
    assert not (folder / "pack" / "figures").exists() and (folder / "pack" / "data" / "runs.parquet").exists()
    assert {file.name for file in folder.glob("csv/*")} >= {"flows.csv", "queues.csv", "packets.csv"}


@pytest.mark.parametrize(
    ("command", "library"),
    [
        (("plot", "nowhere", "--panel", "cwnd"), "matplotlib"),
        (("run", "two.toml", "--figures", "--out", "drawn"), "matplotlib"),
        (("reproduce", "mds", "--quick", "--out", "drawn"), "matplotlib"),
        (("conform", "quinn", "--out", "drawn"), "matplotlib"),
        (("tune", "mds-tau.toml", "--out", "drawn"), "optuna"),
        (("sweep", "campaign.toml", "--dask", "--out", "drawn"), "distributed"),
    ],
)
def test_what_needs_an_extra_says_so_first(scenario: Path, command: tuple[str, ...], library: str) -> None:
    """Nothing is computed before (a plan may be told), and the last line says what to install."""
    folder = scenario.parent
    text = 'scenario = "two.toml"\nseeds = 1\n[metrics]\nuse = "queue.utilization"\n'
    (folder / "campaign.toml").write_text(text)
    tuning = Path(__file__).parents[2] / "scenarios/hunts/mds-tau.toml"
    done = light(*(tuning if each == "mds-tau.toml" else each for each in command), cwd=folder)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    message = done.stderr.splitlines()[-1]
    assert f"needs {library}, which is not installed: pip install '" in message and f"'{library}>=" in message
    assert not (folder / "drawn").exists()
