"""The command lines that the documents print: found in their text, and run as a reader would type them.

A command is a line of an indented block, or a piece of code within a sentence that has arguments. The documents of a
family are read in order, and their commands run in that order in one clean folder, which has the repository's
scenarios, examples and documents. Commands that offer it get ``--quick``, runs ``--memory 4GB``. Campaigns run whole:
their claims need all seeds. Python blocks run there too.

Comments in a text say more. Each is directly above the block that it is about; the last one may also follow code
in a sentence:

``<!-- file: first.toml -->``   the block is this file: it is written, for the commands that follow
``<!-- exit code: 1 -->``       how the commands of the block end, if not with 0
``<!-- not run: REASON -->``    needs hardware, rights, hours, or something that only the reader has

``python docs/printed.py [FAMILY...]`` runs them, prints the time of each, and lists those that are not run.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from windtunnel.cli.app import app

REPOSITORY = Path(__file__).parents[1]

#: What a reader is shown to type.
PROGRAMS = ("windtunnel", ".venv/bin/windtunnel", "make", "python", "pip", "cargo", "git", "eval", "cp", "sed")

#: A word that stands for something of the reader's: ``FILE``, ``MY.py``, ``[--json]``, ``PCAP...``.
PLACEHOLDER = re.compile(r"^\[|\.\.\.|(^|/)[A-Z][A-Z_|]*(\[\w+\])?(\.[a-z]+)?$")

_COMMENT = re.compile(r"^\s*<!-- (file|exit code|not run): (.+?) -->\s*$")
_INLINE = re.compile(r"`([^`]+)`(?:<!-- not run: (.+?) -->)?")
_ASSIGNMENT = re.compile(r"^(?:[A-Z_]+=\S+ +)+")


@dataclass(frozen=True)
class Step:
    """Something to type, or a file to write, and where it is."""

    page: Path
    line: int
    kind: str  # command, python, file
    text: str
    name: str = ""  # of the file
    reason: str = ""  # why it is not run
    ends: int = 0  # with this exit code

    @property
    def words(self) -> list[str]:
        """The words of a command, without settings of the environment before them."""
        words = shlex.split(_ASSIGNMENT.sub("", self.text), comments=True)
        return ["windtunnel", *words[1:]] if words[0] == ".venv/bin/windtunnel" else words

    @property
    def general(self) -> bool:
        """A form of a command, with placeholders."""
        return any(PLACEHOLDER.search(word) for word in self.words[1:])

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def steps(page: Path) -> Iterator[Step]:
    """All steps of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    said: dict[str, str] = {}  # by the comments above the next block
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = re.match(r"^( *)```(\w*)", line)
        if fence:
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == "```")
            body = "".join(text[len(fence[1]) :] + "\n" for text in lines[number + 1 : end])
            if "file" in said:
                yield Step(page, number + 1, "file", body, name=said["file"])
            elif fence[2] == "python":
                yield Step(page, number + 1, "python", body, reason=said.get("not run", ""))
            number, said = end, {}
        elif comment := _COMMENT.match(line):
            said[comment[1]] = comment[2]
        elif line.startswith("    ") and _program(line):
            reason, ends = said.get("not run", ""), int(said.get("exit code", 0))
            yield Step(page, number + 1, "command", line.strip(), reason=reason, ends=ends)
        elif line.strip():
            said = {}
            for code in _INLINE.finditer(line):
                if _program(code[1]) and len(code[1].split()) > 2:
                    yield Step(page, number + 1, "command", code[1], reason=code[2] or "")
        number += 1


def _program(line: str) -> bool:
    return _ASSIGNMENT.sub("", line.strip()).split(" ")[0] in PROGRAMS


def _how_to() -> list[Path]:
    """The pages of the list in the how-to index, in its order."""
    docs = REPOSITORY / "docs"
    listed = (docs / "how-to/index.md").read_text(encoding="utf-8").partition(":maxdepth: 1\n\n")[2].partition("```")[0]
    return [(docs / "how-to" / f"{name}.md").resolve() for name in listed.split()]


def families() -> dict[str, list[Path]]:
    """The pages whose commands are run one after the other in one folder."""
    docs = REPOSITORY / "docs"
    return {
        "README": [REPOSITORY / "README.md"],
        "tutorial": [docs / "tutorial" / f"{name}.md" for name in ("first-run", "page", "comparison")],
        "how-to": _how_to(),
        "course": [docs / "course/README.md", *sorted(docs.glob("course/*/README.md"))],
        "gallery": [docs / "gallery/README.md", *sorted(docs.glob("gallery/*/README.md"))],
        "reference": [docs / "commands.md", docs / "notes.md", docs / "explain.md"],
        "packs": sorted(docs.glob("packs/*.md")),
        "controllers in Python": [REPOSITORY / "examples/python-controller/README.md"],
        "controllers in Rust": [REPOSITORY / "examples/rust-plugin/README.md"],
    }


def typed(step: Step) -> str:
    """The command with what makes it cheap."""
    name = step.words[1] if step.words[0] == "windtunnel" else ""
    command = app.get_command(click.Context(app), name) if name else None
    offered = {option for parameter in command.params for option in parameter.opts} if command else set()
    quick = "--quick" in offered and "--quick" not in step.words and name != "sweep"
    options = ["--quick"] if quick else []
    if name == "run" and "--memory" not in step.words:
        options.append("--memory 4GB")
    return re.sub(rf"(windtunnel {name})\b", " ".join([r"\1", *options]), step.text, count=1) if options else step.text


@dataclass
class Ran:
    """What became of a step."""

    step: Step
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    failure: str = ""

    def __str__(self) -> str:
        """One line."""
        time = f"{self.seconds:7.1f} s {self.cpu_seconds:7.1f} CPU s"
        what = f"{self.step.place}  {self.step.text.splitlines()[0]}"
        return f"{'not run':>24}  {what} ({self.step.reason})" if self.step.reason else f"{time}  {what}"


def clean(folder: Path) -> None:
    """A folder as a clone has it, as far as documents name files of it."""
    ignored = shutil.ignore_patterns("_build", "generated", "figures", "target", "__pycache__")
    for name in ("docs", "examples", "scenarios"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])


def run(family: str, folder: Path, cache: Path) -> Iterator[Ran]:
    """Run the steps of a family in the folder, those after a failure too. What runs gave is kept in ``cache``."""
    pages = families()[family]
    clean(folder)
    # The pages of examples are followed where they are.
    directory = folder / pages[0].parent.relative_to(REPOSITORY) if family.startswith("controllers") else folder
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "WINDTUNNEL_CACHE": str(cache), "MPLBACKEND": "agg", "TERM": "dumb"}
    for step in (step for page in pages for step in steps(page)):
        if step.kind == "file":
            (directory / step.name).write_text(step.text, encoding="utf-8")
        elif step.reason:
            yield Ran(step)
        elif step.kind == "python" or not step.general:
            command = [sys.executable, "-c", step.text] if step.kind == "python" else ["bash", "-c", typed(step)]
            began, used = time.monotonic(), _cpu()
            done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
            what = f"{step.place}: {step.text}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
            yield Ran(step, time.monotonic() - began, _cpu() - used, what if done.returncode != step.ends else "")


def _cpu() -> float:
    """CPU seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Runs the families, and says what was run and what was not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("family", nargs="*", help=f"only these: {', '.join(families())}")
    ran = []
    with tempfile.TemporaryDirectory() as cache:
        for family in parser.parse_args().family or families():
            with tempfile.TemporaryDirectory() as folder:
                for one in run(family, Path(folder), Path(cache)):
                    print(one, flush=True)
                    if one.failure:
                        print(one.failure, file=sys.stderr)
                    ran.append(one)
    done = [one for one in ran if not one.step.reason]
    print(f"{len(done)} commands, {len(ran) - len(done)} not run", end=", ")
    print(f"{sum(one.seconds for one in done):.0f} s, {sum(one.cpu_seconds for one in done):.0f} CPU s")
    return 1 if any(one.failure for one in done) else 0


if __name__ == "__main__":
    raise SystemExit(main())
