"""Looks for phrases that read as a translation, names of variables that say nothing, and long lines of Markdown:
``python python/tools/prose.py``.

``prose.toml`` has the phrases and names, with what to write instead, and the files that may have them. Each hit is a
line ``file:line: phrase: write X (why)``. The exit code is 1 if there are any.
"""

from __future__ import annotations

import ast
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
CODE = (".rs", ".py", ".ts")
SKIPPED = ("docs/validation.md", "docs/packs/*.md", "python/tools/prose.toml")

#: Parts of a line of Markdown that cannot be broken: code, images and the targets of links.
_UNBROKEN = re.compile(r"`[^`]*`|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)")
_COMMENT = re.compile(r"<!--.*?-->")
#: How Rust (a declaration, a loop, a closure) and TypeScript (a declaration) bind a name; ``NAME`` stands for it.
_BINDINGS = {
    ".rs": r"(?:\blet (?:[^=;{]*[ (&,])?|\bfor (?:(?! in )[^;{])*?|(?:[(=,]\s*|move )\|(?:[^|]*[ (&,])?)"
    r"(?<![.:])\bNAME\b(?!::)",
    ".ts": r"\b(?:const|let) (?:\[[^\]=]*)?\bNAME\b",
}
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


@dataclass(frozen=True)
class Names:
    """Words that name no variable and no parameter, and the paths where they still do, each with a reason."""

    words: tuple[str, ...]
    instead: str
    why: str
    exempt: dict[str, str] = field(default_factory=dict)

    def hits(self, path: str, lines: list[str]) -> Iterator[str]:
        """A message for each place in a file of code where one of the words is bound."""
        if path.endswith(CODE) and not _is_exempt(path, self.exempt):
            bound = _of_python(lines) if path.endswith(".py") else _of_pattern(Path(path).suffix, lines, self.words)
            for number, name in bound:
                if name in self.words:
                    yield f"{path}:{number}: {name}: write {self.instead} ({self.why})"


def _of_python(lines: list[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse("\n".join(lines))):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.MatchAs(name=str() as name):
                yield node.lineno, name


def _of_pattern(suffix: str, lines: list[str], words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    pattern = re.compile(_BINDINGS[suffix].replace("NAME", f"({'|'.join(words)})"))
    for number, line in enumerate(lines, 1):
        yield from ((number, match[1]) for match in pattern.finditer(line.partition("//")[0]))


def phrases(rules: dict[str, Any]) -> list[Phrase]:
    """The phrases of the file."""
    return [
        Phrase(re.compile(rule["pattern"], re.IGNORECASE), rule["instead"], rule["why"], rule.get("except", {}))
        for rule in rules["phrase"]
    ]


def names_of(rules: dict[str, Any]) -> Names:
    """The names of the file."""
    rule = rules["names"]
    return Names(tuple(rule["words"]), rule["instead"], rule["why"], rule.get("except", {}))


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
    """The texts and the code of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    read, skipped = (*ENDINGS, *CODE), dict.fromkeys(SKIPPED, "")
    return [path for path in listed.stdout.splitlines() if path.endswith(read) and not _is_exempt(path, skipped)]


def main() -> int:
    """Print all hits."""
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))
    forbidden, names, wrapping = phrases(rules), names_of(rules), rules["lines"]
    hits: list[str] = []
    for path in files():
        lines = (REPOSITORY / path).read_text(encoding="utf-8").splitlines()
        for phrase in forbidden if path.endswith(ENDINGS) else ():
            hits += phrase.hits(path, lines)
        hits += names.hits(path, lines)
        if path.endswith(".md") and not _is_exempt(path, wrapping["except"]):
            hits += long_lines(path, lines, wrapping["most"])
    for message in hits:
        print(message)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
