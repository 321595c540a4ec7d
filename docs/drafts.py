"""The page on drafts and RFCs: ``python docs/drafts.py`` writes ``docs/drafts.md``.

What is implemented is read from the heads of the source files, which name their texts, and from the sources that
``windtunnel list`` prints; the tests that name a text are listed with it. ``drafts.toml`` says what newer texts are
known, and what they change: it has each draft that the sources name, and no other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = HERE / "drafts.md"
NEWEST = HERE / "drafts.toml"

HEAD = """# Drafts and RFCs

Which text each algorithm follows, where it is, which tests name it, and what newer texts change. Written by
`python docs/drafts.py` from the heads of the sources; `docs/drafts.toml` has what is known of newer texts. If a draft
is missing, or its version is old, please open an issue.

## Drafts

"""
RFCS = """
## RFCs

"""
#: A draft, with the number of its version and the commit of a copy that follow.
DRAFT = re.compile(r"(draft-[a-z][a-z0-9-]*?[a-z0-9])(?:-(\d\d))?(?![\w-])(?=([^;]{0,70}))")
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,12}\b")
RFC = re.compile(r"RFC (\d{3,5})\b")
SOURCE = re.compile(r'"x-source"\s*=\s*"([^"]*)"')


@dataclass
class Text:
    """What the repository has of a draft or RFC."""

    versions: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    tests: list[Path] = field(default_factory=list)


def sources() -> Iterator[tuple[Path, str]]:
    """The files that implement something, each with its head and its source in listings."""
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        text = path.read_text(encoding="utf-8")
        head = re.match(r"(?://!.*\n)*", text)
        words = " ".join(line.removeprefix("//!").strip() for line in (head[0] if head else "").splitlines())
        yield path.relative_to(ROOT), "; ".join([words, *SOURCE.findall(text)])


def tests() -> Iterator[tuple[Path, str]]:
    """The files of tests, and what is tested within sources."""
    for path in sorted([*ROOT.glob("crates/*/tests/**/*.rs"), *ROOT.glob("python/tests/test_*.py")]):
        yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        text = path.read_text(encoding="utf-8")
        if path.name == "tests.rs":
            yield path.relative_to(ROOT), text
        elif "#[cfg(test)]\nmod tests {" in text:
            yield path.relative_to(ROOT), text.partition("#[cfg(test)]\nmod tests {")[2]


def collect() -> tuple[dict[str, Text], dict[int, Text]]:
    """The drafts by name and the RFCs by number that sources name."""
    drafts: dict[str, Text] = {}
    rfcs: dict[int, Text] = {}
    for path, words in sources():
        for name, number, after in DRAFT.findall(words):
            text = drafts.setdefault(name, Text())
            commit = COMMIT.search(after)
            version = " ".join(filter(None, [number and f"-{number}", commit and commit[0][:7]]))
            if version and version not in text.versions:
                text.versions.append(version)
            _add(text.files, path)
        for number in map(int, RFC.findall(words)):
            _add(rfcs.setdefault(number, Text()).files, path)
    tested = list(tests())
    for path, words in tested:
        for name in {name for name, _, _ in DRAFT.findall(words)} & drafts.keys():
            _add(drafts[name].tests, path)
        for number in set(map(int, RFC.findall(words))) & rfcs.keys():
            _add(rfcs[number].tests, path)
    # Tests next to an implementation, and those with its name, are its own, whatever they name.
    for text in drafts.values():
        for path, _ in tested:
            if any(_belongs(path, file) for file in text.files):
                _add(text.tests, path)
    return drafts, rfcs


def _belongs(test: Path, file: Path) -> bool:
    """Whether a file of tests is in the file, next to it, or has the name of its algorithm."""
    name = file.parent.name if file.stem in ("mod", "params") else file.stem
    if test.parts[2] == "src":
        return test in (file, file.with_suffix("") / "tests.rs", file.parent / "tests.rs") and test.suffix == ".rs"
    return test.parts[:2] == file.parts[:2] and name in (test.stem, test.parent.name)


def _add(paths: list[Path], path: Path) -> None:
    if path not in paths:
        paths.append(path)


def _paths(paths: list[Path], most: int = 3) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(f"`{path.as_posix()}`" for path in paths[:most]) + more


def newest() -> dict[str, Mapping[str, str]]:
    """What is known of newer texts, by draft."""
    return tomllib.loads(NEWEST.read_text(encoding="utf-8"))


def page() -> str:
    """The page. Raises ValueError if a draft of the sources has no entry in ``drafts.toml``, or an entry no draft."""
    drafts, rfcs = collect()
    entries = newest()
    if odd := drafts.keys() ^ entries.keys():
        raise ValueError(f"docs/drafts.toml and the sources differ in {', '.join(sorted(odd))}")
    lines = [
        HEAD + "| draft | implemented | where | tests | newer text, and what it changes |",
        "|---|---|---|---|---|",
    ]
    for name, text in sorted(drafts.items()):
        versions = ", ".join(text.versions) or "no number in the source"
        lines.append(
            f"| {name} | {versions} | {_paths(text.files)} | {_paths(text.tests)} | {entries[name]['newer']} |"
        )
    lines += [RFCS + "| RFC | where | tests |", "|---|---|---|"]
    for number, text in sorted(rfcs.items()):
        link = f"[{number}](https://www.rfc-editor.org/rfc/rfc{number})"
        lines.append(f"| {link} | {_paths(text.files)} | {_paths(text.tests)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
