"""Course and gallery: every number of a text is that of a run, and what it tells a reader to type works."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

import windtunnel

DOCS = Path(__file__).parents[2] / "docs"

#: The most that a picture of the gallery may take: its page shows all of them.
PICTURE_BYTES = 60_000


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measured", DOCS / "measured.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool()
LESSONS: list[Path] = TOOL.folders("course")
GALLERY: list[Path] = TOOL.folders("gallery")


def _text(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [*LESSONS, *GALLERY], ids=lambda folder: folder.name)
def test_numbers_are_those_of_the_runs(folder: Path) -> None:
    """``measured.py`` would write the text as it stands, and there is something that it writes."""
    text = _text(folder)
    assert TOOL.NUMBER.search(text)
    assert TOOL.filled(folder) == text


@pytest.mark.parametrize("folder", [*LESSONS, *GALLERY], ids=lambda folder: folder.name)
def test_a_page_is_whole(folder: Path) -> None:
    """A title, a command that runs the scenario beside it, a picture; the page of all has a link to it."""
    text = _text(folder)
    assert re.match(r"# .+\n", text)
    assert f"    windtunnel run docs/{folder.parent.name}/{folder.name}/{folder.name}.toml\n" in text
    assert TOOL.PICTURE.search(text) and "](picture.png)" in text
    assert (folder / "picture.png").stat().st_size > 10_000
    assert f"({folder.name}/README.md)" in _text(folder.parent)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_whole(lesson: Path) -> None:
    """A question, what to see, an exercise and its answer."""
    text = _text(lesson)
    assert re.match(r"# \d+\. .*\?\n", text)
    for part in ("## What to see", "## Exercise", "<summary>Answer</summary>", "</details>"):
        assert part in text


def test_the_gallery_is_light() -> None:
    """At least 20 scenarios, and small pictures."""
    assert len(GALLERY) >= 20
    assert {path.parent for path in (DOCS / "gallery").glob("*/*.toml")} == set(GALLERY)
    heavy = [folder.name for folder in GALLERY if (folder / "picture.png").stat().st_size >= PICTURE_BYTES]
    assert not heavy


@pytest.mark.parametrize("folder", [*LESSONS, *GALLERY], ids=lambda folder: folder.name)
def test_changes_that_texts_propose_are_valid(folder: Path) -> None:
    """Every ``--set`` of the text is accepted, each alone."""
    for setting in re.findall(r"`(--set [^`]+)`", _text(folder)):
        changes = [word for word in shlex.split(setting) if word != "--set"]
        windtunnel.Scenario.from_file(TOOL.scenario_of(folder), overrides=changes).check()
