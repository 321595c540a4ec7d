"""Check what changed: ``python python/tools/check.py [BASE]``.

Format, lint and types of what differs from ``BASE`` (by default: from where this branch left ``main``), and the tests
that name it. A changed file of tests runs itself; a changed module of Python runs the files of tests that import it, or
type its command; a changed crate runs its own tests. Which tests a change really needs only ``make test`` knows.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = "python/tests"
#: Where the environment of the Makefile has its programs.
BIN = Path(sys.executable).parent


def changed(base: str | None) -> list[str]:
    """Files that differ from ``base``, with those that git does not know yet; deleted ones are absent."""
    if base is None:
        base = _git("merge-base", "HEAD", "main") or ["HEAD"]
        base = base[0]
    files = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    return sorted(file for file in set(files) if (REPOSITORY / file).exists())


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def names(file: str) -> re.Pattern[str]:
    """How a file of tests names a module: by an import, or by typing the command that is in it."""
    module = PurePosixPath(file).relative_to("python/windtunnel").with_suffix("")
    parts = ["windtunnel", *(part for part in module.parts if part != "__init__")]
    ways = [rf"\b{re.escape('.'.join(parts))}\b"]
    if len(parts) > 1:
        ways.append(rf"from {re.escape('.'.join(parts[:-1]))} import [^\n]*\b{parts[-1]}\b")
    if parts[1:2] == ["cli"] and len(parts) == 3:
        ways.append(rf'\b(cli|shell)\(\s*"{parts[2]}"')
    return re.compile("|".join(ways))


def tests_of(files: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """The files of tests for changed files, given the texts of all."""
    chosen: set[str] = set()
    for file in files:
        path = PurePosixPath(file)
        if file in texts:
            chosen.add(file)
        elif path.match(f"{TESTS}/*.py"):
            # What tests share: `from campaigns import campaign`.
            helper = re.compile(rf"^(from|import) {path.stem}\b", re.MULTILINE)
            chosen |= {test for test, text in texts.items() if helper.search(text)}
        elif file.startswith("python/windtunnel/") and path.suffix == ".py":
            chosen |= {test for test, text in texts.items() if names(file).search(text)}
        elif file.startswith("python/tools/") and path.suffix == ".py":
            chosen |= {test for test, text in texts.items() if re.search(rf"\bimport {path.stem}\b", text)}
    return sorted(chosen)


def commands(files: list[str], texts: Mapping[str, str]) -> list[list[str]]:
    """What to run, the quickest first."""
    python = [file for file in files if file.endswith((".py", ".pyi", ".ipynb")) and not file.startswith("web/")]
    crates = sorted({PurePosixPath(file).parts[1] for file in files if re.match(r"crates/[^/]+/", file)})
    packages = [word for crate in crates for word in ("-p", f"windtunnel-{crate}")]
    made: list[list[str]] = []
    if packages:
        made.append(["cargo", "fmt", "--check", *packages])
    if python:
        made += [[f"{BIN}/ruff", "check", *python], [f"{BIN}/ruff", "format", "--check", *python]]
    if any(file.endswith((".md", ".rs", ".py", ".ts", ".toml")) for file in files):
        made.append([f"{BIN}/python", "python/tools/prose.py"])
    if any(file.startswith("python/windtunnel/") for file in python):
        made.append([f"{BIN}/mypy"])
    if packages:
        made.append(["cargo", "clippy", *packages, "--all-targets", "--", "-D", "warnings"])
        made.append(["cargo", "test", "--quiet", *packages])
    if tests := tests_of(files, texts):
        made.append([f"{BIN}/pytest", "-q", *tests])
    return made


def main(arguments: list[str]) -> int:
    """Run the checks one after the other; returns the exit code of the first that fails."""
    texts = {
        f"{TESTS}/{path.name}": path.read_text(encoding="utf-8") for path in (REPOSITORY / TESTS).glob("test_*.py")
    }
    for command in commands(changed(arguments[0] if arguments else None), texts):
        print("+", *(word.removeprefix(f"{BIN}/") for word in command), flush=True)
        if code := subprocess.run(command, cwd=REPOSITORY, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
