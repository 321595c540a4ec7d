"""Course and gallery: every number of a text is that of a run, and what it tells a reader to type works."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import windtunnel

DOCS = Path(__file__).parents[2] / "docs"

#: The most that a picture of the gallery may take: its page shows all of them.
PICTURE_BYTES = 60_000


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = _tool("measured")
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
    """A title, a command that runs the scenario next to it, a picture; the page of all has a link to it."""
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


@pytest.mark.long
@pytest.mark.parametrize("folder", [*LESSONS, *GALLERY], ids=lambda folder: folder.name)
def test_pictures_are_those_of_the_runs(folder: Path) -> None:
    """What the drawing code draws of the scenario today has the hash that is in the committed picture."""
    assert not TOOL.stale(folder), f"redraw it: python docs/measured.py {folder.name}"


def test_the_picture_of_the_page_is_that_of_today() -> None:
    """The README opens with the page as the program writes it, not as it was."""
    assert not _tool("front_page").stale(), "take it again: make front-page"


def test_a_changed_figure_has_another_hash() -> None:
    """Data, colours, marks and words count; the resolution, the font and the last digits do not."""
    drawn = TOOL.drawn

    def figure(*, y: float = 2.0, colour: str = "red", word: str = "cwnd", **look: Any) -> Figure:
        drawing = Figure(**look)
        axes = drawing.subplots()
        axes.plot([0.0, 1.0], [1.0, y], color=colour, label=word)
        axes.fill_between([0.0, 1.0], [1.0, y])
        axes.legend()
        return drawing

    same = drawn.digest(figure())
    assert same == drawn.digest(figure()) == drawn.digest(figure(y=2.0 + 1e-12)) == drawn.digest(figure(dpi=30))
    with mpl.rc_context({"font.family": "monospace"}):
        assert drawn.digest(figure()) == same
    others = [figure(y=2.01), figure(colour="blue"), figure(word="ssthresh"), figure(figsize=(3, 3))]
    assert len({same, *map(drawn.digest, others)}) == 5
