"""The course's numbers and pictures: from its scenarios, never by hand.

A lesson is a folder with its text (``README.md``), its scenario and its picture. A number of the text that comes from a
run is written ``**9.7**<!-- flows[0].goodput_mbps -->``: what stands in the comment is computed from the run's summary
and shown with as many digits as stand there. Changes of the scenario follow a bar, as ``--set`` takes them:
``<!-- flows[0].rtos | flow[0].cc=tahoe -->``. The picture is what ``windtunnel plot`` draws with the options of
the line ``<!-- picture: --panel cwnd -->``.

``python docs/course/course.py`` writes numbers and pictures anew; ``--check`` only compares the numbers. The tests of
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
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import windtunnel

COURSE = Path(__file__).parent

#: A number of the text and where it comes from.
NUMBER = re.compile(r"\*\*(-?[\d.]+)\*\*<!-- (?P<expression>[^|>]+?)(?: \| (?P<changes>.+?))? -->")

#: The options of the lesson's picture.
PICTURE = re.compile(r"<!-- picture: (.*?) -->")

#: What an expression may use beside the summary's parts.
FUNCTIONS = {"min": min, "max": max, "sum": sum, "len": len, "abs": abs}


def lessons() -> Iterator[Path]:
    """The folders of the lessons, in order."""
    return (path.parent for path in sorted(COURSE.glob("[0-9][0-9]-*/README.md")))


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


def filled(lesson: Path) -> str:
    """The lesson's text with the numbers of its runs."""

    def number(match: re.Match[str]) -> str:
        shown = match[1]
        digits = len(shown.partition(".")[2])
        new = f"{value(lesson / 'scenario.toml', match['expression'], match['changes']):.{digits}f}"
        return match[0].replace(f"**{shown}**", f"**{new}**", 1)

    return NUMBER.sub(number, (lesson / "README.md").read_text(encoding="utf-8"))


def draw(lesson: Path) -> None:
    """Draws the lesson's picture."""
    options = PICTURE.search((lesson / "README.md").read_text(encoding="utf-8"))
    if options is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        result = f"{folder}/run"
        picture = str(lesson / "picture.png")
        for arguments in (
            ["run", str(lesson / "scenario.toml"), "--out", result],
            ["plot", result, "--out", picture, "--force", *shlex.split(options[1])],
        ):
            subprocess.run([sys.executable, "-m", "windtunnel", *arguments], check=True, capture_output=True)


def main() -> int:
    """Writes or checks all lessons."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the numbers, write nothing")
    parser.add_argument("lesson", nargs="*", help="only these folders")
    arguments = parser.parse_args()
    stale = 0
    for lesson in lessons():
        if arguments.lesson and lesson.name not in arguments.lesson:
            continue
        new = filled(lesson)
        if new != (lesson / "README.md").read_text(encoding="utf-8"):
            stale += 1
            print(f"{lesson.name}: numbers differ")
        if not arguments.check:
            (lesson / "README.md").write_text(new, encoding="utf-8")
            draw(lesson)
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
