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
    """`sweep --dry-run` computes with NumPy; neither Dask nor what writes tables is loaded before it is needed."""
    text = 'scenario = "two.toml"\n[metrics]\nuse = "queue.utilization"\n'
    (scenario.parent / "campaign.toml").write_text(text)
    modules = imported("sweep", "campaign.toml", "--dry-run", cwd=scenario.parent)
    assert heavy(modules) == {"numpy"}
    assert "distributed" not in {name.partition(".")[0] for name in modules}


def test_sweep_needs_no_scipy(scenario: Path) -> None:
    """Its intervals and comparisons are made without what takes a second to load."""
    text = 'scenario = "two.toml"\nseeds = 3\noffsets = true\nbaseline = { "flow.0.cc" = "reno" }\n'
    axes = '[axes.grid]\n"flow.0.cc" = ["reno", "cubic"]\n[metrics]\nuse = "queue.utilization"\n'
    (scenario.parent / "campaign.toml").write_text(text + axes)
    assert "scipy" not in heavy(imported("sweep", "campaign.toml", "--no-cache", cwd=scenario.parent))


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
