"""Where commands write: tables and documents to stdout, progress and messages to stderr.

All that is printed passes through here: text that came from a scenario or the file system is made printable
(``windtunnel.printable``), and a stream that cannot encode a character shows its number.
"""

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from windtunnel.errors import InputError
from windtunnel.printable import printable, printable_lines

#: Replacements for the characters beyond ASCII that windtunnel itself prints, for a stream that has only ASCII.
_ASCII = str.maketrans({"\N{EN DASH}": "-", "\N{MULTIPLICATION SIGN}": "x", "\N{PLUS-MINUS SIGN}": "+-"})

#: Unicode control characters that need no escape in JSON and TOML: C1, line separators, changes of writing direction.
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Output(Console):
    """A console for text of any origin: it prints no control characters but those of its own styles."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The text, made printable before it is laid out, so that tables stay straight."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All segments; the text of renderables that were not a ``str`` is made printable here."""
        ascii_only = (options or self.options).ascii_only
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            text = printable_lines(segment.text)
            yield Segment(text.translate(_ASCII) if ascii_only else text, segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Let a closed pipe raise, so that ``errors.py`` handles it like all other errors."""
        raise BrokenPipeError


def output() -> Console:
    """Stdout, without colours for numbers, because they would carry no meaning."""
    return Output(file=sys.stdout, highlight=False, markup=False, emoji=False)


def messages() -> Console:
    """Stderr: progress bars."""
    return Output(file=sys.stderr, highlight=False, markup=False, emoji=False)


def write_text(text: str) -> None:
    """Write JSON or TOML to stdout. Both formats have escapes for control characters; on a terminal, all of them are
    written as escapes.
    """
    if sys.stdout.isatty():
        text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
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
