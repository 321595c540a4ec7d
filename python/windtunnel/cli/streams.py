"""Where commands write: documents to stdout, messages to stderr.

All that is printed passes through here or through ``consoles.py``: text that came from a scenario or the file system is
made printable (``windtunnel.printable``), and a stream that cannot encode a character shows its number.
"""

import codecs
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import TextIO

from windtunnel.errors import InputError
from windtunnel.printable import printable

#: Replacements for the characters beyond ASCII that windtunnel itself prints, for a stream that has only ASCII.
ASCII = str.maketrans({"\N{EN DASH}": "-", "\N{MULTIPLICATION SIGN}": "x", "\N{PLUS-MINUS SIGN}": "+-"})

#: Unicode control characters that need no escape in JSON and TOML: C1, line separators, changes of writing direction.
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def message(line: str) -> None:
    """Write a line to stderr."""
    _write_line(sys.stderr, line)


def say(line: object) -> None:
    """Write a line to stdout, such as the place of a file that was written."""
    _write_line(sys.stdout, str(line))


def _write_line(stream: TextIO, line: str) -> None:
    text = printable(line)
    stream.write((text if (stream.encoding or "").startswith("utf") else text.translate(ASCII)) + "\n")


def write_text(text: str) -> None:
    """Write JSON or TOML to stdout. Both formats have escapes for control characters; on a terminal, all of them are
    written as escapes.
    """
    if sys.stdout.isatty():
        text = _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(text: str) -> None:
    """Write JSON to stdout; where the stream lacks a character, with JSON's escapes instead."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2)
    write_text(text)


def prepare_streams() -> None:
    """Make the standard streams fit to print on. Raises InputError if stdout is closed.

    A closed stream's number would be given to the next file that is opened, and what libraries print would end up in
    that file: the null device takes its place.
    """
    for number in (0, 1, 2):
        _keep_open(number)
    # Python has None for a stream that was closed when it started.
    closed = sys.stdout is None
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    codecs.register_error(_BY_NUMBER, _by_number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test's stand-in may be another
            stream.reconfigure(errors=_BY_NUMBER)
    if closed:
        raise InputError("standard output is closed; redirect it to a file or to /dev/null")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _keep_open(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        # The lowest free number is the one that open() returns.
        os.open(os.devnull, os.O_RDWR)


_BY_NUMBER = "windtunnel.by-number"


def _by_number(error: UnicodeError) -> tuple[str, int]:
    """What a stream prints for characters that its encoding lacks: their numbers, as TOML writes them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = map(ord, error.object[error.start : error.end])
    return "".join(f"\\u{c:04x}" if c < 0x10000 else f"\\U{c:08x}" for c in characters), error.end
