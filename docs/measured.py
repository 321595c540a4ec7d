"""Texts whose numbers and pictures come from runs, never by hand: lessons of the course, scenarios of the gallery.

Each is a folder with its text (``README.md``), its scenario and its picture. A number of the text that comes from a
run is written ``**9.7**<!-- flows[0].goodput_mbps -->``: the expression is computed from the run's summary
and shown with the same number of digits. Changes of the scenario follow a bar, as ``--set`` takes them:
``<!-- flows[0].rtos | flow[0].cc=tahoe -->``. The picture is what ``windtunnel plot`` draws with the options of
the line ``<!-- picture: --panel cwnd -->``.

``python docs/measured.py`` writes numbers and pictures anew; ``--check`` only compares them. The tests of the project
do the latter, for pictures in ``make test-long``.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from matplotlib.figure import Figure

import windtunnel
from windtunnel.cli.plot import plot

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import drawn  # noqa: E402

#: A number of the text and where it comes from.
NUMBER = re.compile(r"\*\*(-?[\d.]+)\*\*<!-- (?P<expression>[^|>]+?)(?: \| (?P<changes>.+?))? -->")

#: The options of the picture.
PICTURE = re.compile(r"<!-- picture: (.*?) -->")

#: Functions that an expression may use in addition to the summary's parts.
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


@contextmanager
def drawing(folder: Path) -> Iterator[tuple[Path, Figure]]:
    """What ``windtunnel plot`` draws for a text: the file, which is there meanwhile, and the figure."""
    options = PICTURE.search((folder / "README.md").read_text(encoding="utf-8"))
    assert options is not None, folder
    with tempfile.TemporaryDirectory() as temporary, drawn.figures() as figures:
        result, file = Path(temporary) / "run", Path(temporary) / "picture.png"
        windtunnel.Scenario.from_file(scenario_of(folder)).run().save(result)
        with redirect_stdout(StringIO()):
            plot.main([str(result), "--out", str(file), *shlex.split(options[1])], standalone_mode=False)
        yield file, figures[-1]


def draw(folder: Path) -> None:
    """Draws the picture."""
    with drawing(folder) as (file, figure):
        drawn.keep(file, figure, folder / "picture.png")


def stale(folder: Path) -> bool:
    """Whether the picture is not what its scenario and the drawing code of today give."""
    with drawing(folder) as (_, figure):
        return drawn.digest(figure) != drawn.kept(folder / "picture.png")


def main() -> int:
    """Writes or checks all texts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare numbers and pictures, write nothing")
    parser.add_argument("name", nargs="*", help="only these: the course, the gallery, or names of folders in them")
    arguments = parser.parse_args()
    differ = 0
    for folder in (*folders("course"), *folders("gallery")):
        if arguments.name and not {folder.name, folder.parent.name} & set(arguments.name):
            continue
        new = filled(folder)
        if new != (folder / "README.md").read_text(encoding="utf-8"):
            differ += 1
            print(f"{folder.name}: numbers differ")
        if arguments.check and stale(folder):
            differ += 1
            print(f"{folder.name}: the picture is another")
        if not arguments.check:
            (folder / "README.md").write_text(new, encoding="utf-8")
            draw(folder)
    return 1 if arguments.check and differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
