"""The steps of ``make test`` and their budgets, with steps that only pretend to work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
BUDGETS = {"lint": 100.0, "test": 300.0}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """Runs the tool: CPU seconds of each step, exit codes, and seconds of each calibration as shares of its
    reference.
    """
    monkeypatch.syspath_prepend(str(TOOLS))
    import steps as tool

    def main(cpu: dict[str, float], codes: dict[str, int] | None = None, speeds: tuple[float, ...] = (1.0,)) -> int:
        left = list(speeds)

        def calibrate() -> float:
            return tool.REFERENCE_S * (left.pop(0) if len(left) > 1 else left[0])

        def run(name: str) -> tuple[tool.Step, int]:
            return tool.Step(name, 1.0, cpu[name]), (codes or {}).get(name, 0)

        return tool.main(list(cpu), run=run, calibrate=calibrate, budgets=BUDGETS)

    yield main


def test_a_step_has_a_budget(steps: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """Up to 133 s of 100 s nothing is said; beyond, a message says which step, and by how much, after all have run.
    Beyond 200 s that is an error. A step without a budget takes what it takes.
    """
    assert steps({"install": 9999, "lint": 133, "test": 250}) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert [line.split() for line in said.out.splitlines()] == [
        ["step", "seconds", "CPU", "budget"],
        ["install", "1", "9999"],
        ["lint", "1", "133", "100"],
        ["test", "1", "250", "300"],
        ["all", "3", "10382"],
    ]
    assert steps({"lint": 134, "test": 250}) == 0
    said = capsys.readouterr()
    assert said.err == "warning: lint took 134 s of CPU time, 34 % more than its budget of 100 s\n"
    assert "test" in said.out
    assert steps({"lint": 201, "test": 250}) == 1
    said = capsys.readouterr()
    assert said.err == "error: lint took 201 s of CPU time, 101 % more than its budget of 100 s\n"
    assert "test" in said.out


def test_budgets_follow_the_speed_of_the_machine(steps: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """Where the calibration takes twice as long, so may a step; where it takes half as long, a step has half of the
    time. Calibrations before and after a step count alike: 1 and 3 make 2.
    """
    assert steps({"lint": 390}, speeds=(2.0,)) == 0
    assert steps({"lint": 390}, speeds=(1.0, 3.0)) == 0
    capsys.readouterr()
    assert steps({"lint": 410}, speeds=(1.0, 3.0)) == 1
    assert "105 % more than its budget of 200 s" in capsys.readouterr().err
    assert steps({"lint": 110}, speeds=(0.5,)) == 1
    assert "120 % more than its budget of 50 s" in capsys.readouterr().err


def test_a_step_that_fails_ends_all(steps: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit code is the tool's, and the steps after it do not run."""
    assert steps({"lint": 1, "test": 1, "install": 1}, codes={"test": 2}) == 2
    assert "install" not in capsys.readouterr().out


def test_budgets_are_of_targets_of_make_test() -> None:
    """A budget for a target that does not run would never be exceeded."""
    makefile = (TOOLS.parents[1] / "Makefile").read_text(encoding="utf-8")
    (line,) = (line for line in makefile.splitlines() if "tools/steps.py" in line)
    import steps as tool

    assert set(tool.BUDGETS) <= set(line.split("steps.py")[1].split())


def test_the_calibration_is_work() -> None:
    """It takes CPU time; how much is the machine's affair."""
    import steps as tool

    assert tool.calibrate() > 0
