"""The small part of a shell's language in which flowgrind loops are published.

``for NAME in WORDS; do COMMANDS; done``, commands separated by semicolons, ``flowgrind ... | egrep PATTERN > FILE``
and ``sleep``. A slide breaks lines anywhere, so that a line break is a blank. ``$NAME`` and ``${NAME}`` are replaced,
and so is ``{$NAME}``, which a shell would leave in braces: the talk's file names have it where ``${NAME}`` is meant.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windtunnel.errors import InputError
from windtunnel.flowgrind.command import Command, read_command

_LOOP = re.compile(r"for\s+(\w+)\s+in\s+(.*?);\s*do\s+(.*?)\bdone\b", re.DOTALL)
_NAME = re.compile(r"\$\{(\w+)\}|\{\$(\w+)\}|\$(\w+)")


@dataclass(frozen=True)
class Line:
    """A flowgrind command of a script: what lines of its report are kept, and the file they go to."""

    command: Command
    pattern: str = ""
    file: str = ""

    def kept(self, report: str) -> str:
        """The lines of a report that the pattern finds."""
        if not self.pattern:
            return report
        pattern = re.compile(self.pattern)
        return "".join(line for line in report.splitlines(keepends=True) if pattern.search(line))


def read_script(text: str, variables: Mapping[str, str] | None = None) -> list[Line]:
    """The commands that the script would run, in its order. Raises InputError for what is not understood.

    ``variables`` are those that the script finds set.
    """
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    lines: list[Line] = []
    position = 0
    for loop in _LOOP.finditer(text):
        lines += _statements(text[position : loop.start()], variables or {})
        for word in shlex.split(loop[2]):
            lines += _statements(loop[3], {**(variables or {}), loop[1]: word})
        position = loop.end()
    return [*lines, *_statements(text[position:], variables or {})]


def _statements(text: str, variables: Mapping[str, str]) -> Iterator[Line]:
    for statement in text.split(";"):
        words = _words(statement, variables)
        if words and words[0] == "sudo":
            words = words[1:]
        if not words or words[0] == "sleep":
            continue
        if words[0] != "flowgrind":
            raise InputError(f"the script's command {words[0]!r} is not read; those that are: flowgrind, sleep")
        yield _line(words)


def _words(statement: str, variables: Mapping[str, str]) -> list[str]:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        if name not in variables:
            raise InputError(f"the script's variable ${name} is not set; set it in the environment")
        return variables[name]

    try:
        lexer = shlex.shlex(_NAME.sub(value, statement), posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError as error:
        raise InputError(f"the script cannot be read: {error}") from None


def _line(words: list[str]) -> Line:
    """``flowgrind ARGUMENTS [| egrep PATTERN] [> FILE]``."""
    file = pattern = ""
    if ">" in words:
        at = words.index(">")
        if len(words) != at + 2:
            raise InputError(f"the script's redirection is not read: {' '.join(words[at:])}")
        words, file = words[:at], words[at + 1]
    if "|" in words:
        at = words.index("|")
        match words[at + 1 :]:
            case ["egrep" | "grep", pattern]:
                words = words[:at]
            case others:
                raise InputError(f"the script's filter is not read: {' '.join(others)}")
    return Line(read_command(words), pattern, file)
