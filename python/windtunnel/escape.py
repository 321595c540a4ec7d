"""Text from scenarios, results and file names as each kind of file must have it: one function for each target.

Titles, names and sentences come from files that others wrote. In a script, a table or markup they are data, whatever
they look like. Writers get such text through these functions and nowhere else; apart from them there are

* terminals: :func:`windtunnel.printable.printable`;
* HTML: Jinja's ``autoescape``, and ``report/page.py`` for the JSON of a page;
* figures: :func:`windtunnel.figures.legible.legible` (Matplotlib itself escapes what SVG needs);
* JSON and TOML: their libraries, which both have an escape for every character; captures: pcapng's own lengths;
* qlog: the writer of its records, ``crates/export/src/qlog/record.rs``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from windtunnel.printable import printable

#: Characters that XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: What a spreadsheet takes for the start of a formula, and what it does not: a number, perhaps with a unit.
_FORMULA = re.compile(r"[\s\x00]*[=+\-@]")
_QUANTITY = re.compile(r"[+-]?\d[\d.]*(?:[eE][+-]?\d+)?(?: ?(?:%|[A-Za-z]+(?:/s)?))?")


def comment(text: object) -> str:
    """A comment of a shell script, of TOML, or of any other format in which ``#`` starts one: always one line."""
    return f"# {printable(str(text))}".rstrip()


def shell(words: Iterable[object]) -> str:
    """A command of a POSIX shell in which each word is that word."""
    return shlex.join(map(str, words))


def shell_variable(name: str) -> str:
    """A name in capitals that a shell variable can have after a letter."""
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def markdown(text: object) -> str:
    """Text that means itself in Markdown, also in a table and as a link's words."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", printable(str(text)))


def markdown_code(text: object) -> str:
    """Text as code in Markdown, between backticks: text there cannot be escaped, so backticks become quotes."""
    return f"`{printable(str(text)).replace('`', chr(39))}`"


def xml(text: object) -> str:
    """Text for an XML library, which escapes markup but accepts characters that no XML file may hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", str(text))


def csv_cell(value: object) -> object:
    """A value of a CSV file: text that a spreadsheet would compute gets an apostrophe in front, which spreadsheets take
    for "this is text". Numbers, also with a unit, stay as they are.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _QUANTITY.fullmatch(value):
        return "'" + value
    return value


def file_name(text: str) -> str:
    """A part of a file name that every system accepts."""
    return re.sub(r"[^A-Za-z0-9-]", "_", text)
