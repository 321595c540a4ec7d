"""Texts whose numbers and pictures come from runs, never by hand: lessons of the course, scenarios of the gallery.

Each is a folder with its text (``README.md``), its scenario and its picture. A number of the text that comes from a
run is written ``**9.7**<!-- flows[0].goodput_mbps -->``: what stands in the comment is computed from the run's summary
and shown with as many digits as stand there. Changes of the scenario follow a bar, as ``--set`` takes them:
``<!-- flows[0].rtos | flow[0].cc=tahoe -->``. The picture is what ``windtunnel plot`` draws with the options of
the line ``<!-- picture: --panel cwnd -->``.

``python docs/measured.py`` writes numbers and pictures anew; ``--check`` only compares the numbers. The tests of
the project do the latter.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PIL import Image

import windtunnel

DOCS = Path(__file__).parent

#: A number of the text and where it comes from.
NUMBER = re.compile(r"\*\*(-?[\d.]+)\*\*<!-- (?P<expression>[^|>]+?)(?: \| (?P<changes>.+?))? -->")

#: The options of the picture.
PICTURE = re.compile(r"<!-- picture: (.*?) -->")

#: The colours of a picture's file: lines, their edges and a few marks need no more, and it is a third as large.
COLOURS = 64

#: What an expression may use beside the summary's parts.
FUNCTIONS = {"min": min, "max": max, "sum": sum, "len": len, "abs": abs}


def scenario_of(folder: Path) -> Path:
    """The scenario of a text. It has the folder's name, so that each run has its own folder in ``results``."""
    return folder / f"{folder.name}.toml"


def folders(kind: str) -> list[Path]:
    """The folders of the ``course`` or of the ``gallery``, in order."""
    return [path.parent for path in sorted((DOCS / kind).glob("*/README.md"))]


@cache
def summary(scenario: Path, changes: str | None) -> SimpleNamespace:
    """The summary of a run of the scenario with these changes."""
    run = windtunnel.Scenario.from_file(scenario, overrides=shlex.split(changes or "")).run()
    parts: SimpleNamespace = json.loads(json.dumps(run.summary), object_hook=lambda table: SimpleNamespace(**table))
    return parts


def value(scenario: Path, expression: str, changes: str | None) -> float:
    """The value of an expression in a run."""
    names: dict[str, Any] = {"__builtins__": {}, **FUNCTIONS, **vars(summary(scenario, changes))}
    return float(eval(expression, names))


def filled(folder: Path) -> str:
    """The text with the numbers of its runs."""

    def number(match: re.Match[str]) -> str:
        shown = match[1]
        digits = len(shown.partition(".")[2])
        new = f"{value(scenario_of(folder), match['expression'], match['changes']):.{digits}f}"
        return match[0].replace(f"**{shown}**", f"**{new}**", 1)

    return NUMBER.sub(number, (folder / "README.md").read_text(encoding="utf-8"))


def draw(folder: Path) -> None:
    """Draws the picture."""
    options = PICTURE.search((folder / "README.md").read_text(encoding="utf-8"))
    if options is None:
        return
    with tempfile.TemporaryDirectory() as temporary:
        result = f"{temporary}/run"
        drawn = f"{temporary}/picture.png"
        for arguments in (
            ["run", str(scenario_of(folder)), "--out", result],
            ["plot", result, "--out", drawn, *shlex.split(options[1])],
        ):
            subprocess.run([sys.executable, "-m", "windtunnel", *arguments], check=True, capture_output=True)
        with Image.open(drawn) as picture:
            few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(folder / "picture.png", optimize=True)


def main() -> int:
    """Writes or checks all texts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the numbers, write nothing")
    parser.add_argument("name", nargs="*", help="only these: the course, the gallery, or names of folders in them")
    arguments = parser.parse_args()
    stale = 0
    for folder in (*folders("course"), *folders("gallery")):
        if arguments.name and not {folder.name, folder.parent.name} & set(arguments.name):
            continue
        new = filled(folder)
        if new != (folder / "README.md").read_text(encoding="utf-8"):
            stale += 1
            print(f"{folder.name}: numbers differ")
        if not arguments.check:
            (folder / "README.md").write_text(new, encoding="utf-8")
            draw(folder)
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
