"""The course: every number of its lessons is that of a run, and what it tells a student to type works."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

import windtunnel

COURSE = Path(__file__).parents[2] / "docs/course"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("course", COURSE / "course.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()
LESSONS = list(TOOL.lessons())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_numbers_are_those_of_the_runs(lesson: Path) -> None:
    """``course.py`` would write the text as it stands, and there is something that it writes."""
    text = (lesson / "README.md").read_text(encoding="utf-8")
    assert TOOL.NUMBER.search(text)
    assert TOOL.filled(lesson) == text


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_whole(lesson: Path) -> None:
    """A question, a command that runs the lesson's scenario, a picture, what to see, an exercise and its answer."""
    text = (lesson / "README.md").read_text(encoding="utf-8")
    assert re.match(r"# \d+\. .*\?\n", text)
    assert f"    windtunnel run docs/course/{lesson.name}/scenario.toml\n" in text
    assert TOOL.PICTURE.search(text) and "](picture.png)" in text
    assert (lesson / "picture.png").stat().st_size > 10_000
    for part in ("## What to see", "## Exercise", "<summary>Answer</summary>", "</details>"):
        assert part in text
    assert f"({lesson.name}/README.md)" in (COURSE / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_changes_that_exercises_propose_are_valid(lesson: Path) -> None:
    """Every ``--set`` of the text is accepted, each alone."""
    text = (lesson / "README.md").read_text(encoding="utf-8")
    for setting in re.findall(r"`(--set [^`]+)`", text):
        words = shlex.split(setting)
        changes = [word for word in words if word != "--set"]
        windtunnel.Scenario.from_file(lesson / "scenario.toml", overrides=changes).check()
