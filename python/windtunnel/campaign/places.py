"""The lines of a TOML text, by key: for messages, because Python's TOML parser keeps no places.

A statement is a header or a key with its value, which may go on for several lines. A place inside of a value is that of
the first line in which its own key is seen, or else that of the statement.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*(.*?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\-\s])+?)\s*=""")
_LAST = re.compile(r"at line (\d+)")


@dataclass
class Lines:
    """The first and last line of each statement, by path."""

    text: str
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        header: Path = ()
        counts: Counter[Path] = Counter()
        for first, last, statement in _statements(self.text):
            if match := _HEADER.match(statement):
                keys = _keys(match[2])
                if match[1] == "[[":
                    keys = (*_inside(keys[:-1], counts), keys[-1])
                    header = (*keys, counts[keys])
                    counts[keys] += 1
                else:
                    header = _inside(keys, counts)
                self.spans.setdefault(header, (first, last))
            elif match := _KEY.match(statement):
                self.spans[(*header, *_keys(match[1]))] = (first, last)

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of a path, or of the nearest thing around it."""
        wanted = flat(path)
        for length in range(len(wanted), 0, -1):
            if (span := self.spans.get(wanted[:length])) is not None:
                return self._inside(span, wanted[length:])
        return None

    def line_of_axis(self, name: str) -> int | None:
        """The line of an axis by its name, in whatever block it is."""
        for path, (first, _) in self.spans.items():
            # A key with dots that is not in quotes has become several.
            if path[0] == "axes" and ".".join(str(p) for p in path).endswith(f".{name}"):
                return first
        return self.line(["axes"])

    def _inside(self, span: tuple[int, int], rest: Path) -> int:
        lines = self.text.split("\n")
        for part in reversed(rest):
            if isinstance(part, str):
                for number in range(span[0], span[1] + 1):
                    if part in lines[number - 1]:
                        return number
        return span[0]


def _statements(text: str) -> Iterator[tuple[int, int, str]]:
    """First line, last line and text of each statement. The text is valid TOML."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        first = number
        if not lines[number].strip() or lines[number].lstrip().startswith("#"):
            number += 1
            continue
        statement = lines[number]
        # A value that is not complete is no TOML.
        while not _HEADER.match(lines[first]) and number + 1 < len(lines) and not _is_whole(statement):
            number += 1
            statement += "\n" + lines[number]
        yield first + 1, number + 1, statement
        number += 1


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _keys(text: str) -> Path:
    """The parts of a dotted key."""
    try:
        node: Any = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return flat([text])
    keys: list[str] = []
    while isinstance(node, dict):
        ((key, node),) = node.items()
        keys.append(key)
    return flat(keys)


def flat(path: Sequence[str | int]) -> Path:
    """A path whose steps have no dots: `flow.0.rtt` is the same with quotes as without."""
    return tuple(step for part in path for step in (part.split(".") if isinstance(part, str) else [part]))


def _inside(keys: Path, counts: Counter[Path]) -> Path:
    """Where the header of a table within arrays of tables is: in their last entries."""
    path: Path = ()
    for key in keys:
        path = (*path, key)
        if counts[path]:
            path = (*path, counts[path] - 1)
    return path


def line_of_error(error: tomllib.TOMLDecodeError) -> int | None:
    """The line that Python's message of a syntax error names."""
    match = _LAST.search(str(error))
    return int(match[1]) if match else None
