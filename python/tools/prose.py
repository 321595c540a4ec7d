"""Looks for phrases that read as a translation, and for long lines of Markdown: ``python python/tools/prose.py``.

``prose.toml`` has the phrases, with the words to write instead, and the files that may have them. Each hit is a line
``file:line: phrase: write X (why)``. The exit code is 1 if there are any.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
RULES = HERE / "prose.toml"

#: The files that are read, and those that are not: pages that are written from other texts, and the phrases themselves.
ENDINGS = (".md", ".rs", ".py", ".toml")
SKIPPED = ("docs/validation.md", "docs/packs/*.md", "python/tools/prose.toml")

#: Parts of a line of Markdown that cannot be broken: code, images and the targets of links.
_UNBROKEN = re.compile(r"`[^`]*`|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)")
_COMMENT = re.compile(r"<!--.*?-->")
_MARKER = re.compile(r"^\s*(?:[-*+>]|\d+\.)?\s*")


@dataclass(frozen=True)
class Phrase:
    """A phrase, what to write instead and why, and the paths that may have it, each with a reason."""

    pattern: re.Pattern[str]
    instead: str
    why: str
    exempt: dict[str, str] = field(default_factory=dict)

    def hits(self, path: str, lines: list[str]) -> Iterator[str]:
        """A message for each place in a file."""
        if _is_exempt(path, self.exempt):
            return
        for number, line in enumerate(lines, 1):
            for match in self.pattern.finditer(line):
                yield f"{path}:{number}: {match[0].strip()}: write {self.instead} ({self.why})"


def phrases(rules: dict[str, Any]) -> list[Phrase]:
    """The phrases of the file."""
    return [
        Phrase(re.compile(rule["pattern"], re.IGNORECASE), rule["instead"], rule["why"], rule.get("except", {}))
        for rule in rules["phrase"]
    ]


def long_lines(path: str, lines: list[str], most: int) -> Iterator[str]:
    """A message for each line that is too long and can be broken; not in tables, code, headings and written counts."""
    fenced = indented = counted = False
    before = ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("```"):
            fenced = not fenced
        counted = text.startswith("<!-- counts:") or (counted and not text.startswith("<!-- end of counts"))
        starts = not before or bool(_COMMENT.fullmatch(before))
        indented = line.startswith("    ") and (indented or starts)
        before = text
        if fenced or indented or counted or text.startswith(("|", "#", "![", "[![")):
            continue
        shown = _COMMENT.sub("", line)
        if len(shown) > most and " " in _UNBROKEN.sub("x", _MARKER.sub("", shown)).strip():
            yield f"{path}:{number}: {len(shown)} characters: write at most {most} (a diff shows what changed)"


def _is_exempt(path: str, exempt: dict[str, str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in exempt)


def files() -> list[str]:
    """The texts of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    skipped = dict.fromkeys(SKIPPED, "")
    return [path for path in listed.stdout.splitlines() if path.endswith(ENDINGS) and not _is_exempt(path, skipped)]


def main() -> int:
    """Print all hits."""
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))
    known, wrapping = phrases(rules), rules["lines"]
    found = []
    for path in files():
        lines = (REPOSITORY / path).read_text(encoding="utf-8").splitlines()
        for phrase in known:
            found += phrase.hits(path, lines)
        if path.endswith(".md") and not _is_exempt(path, wrapping["except"]):
            found += long_lines(path, lines, wrapping["most"])
    for message in found:
        print(message)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
