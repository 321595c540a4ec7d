"""Makes text safe for a terminal: characters that would control the terminal or forge a line become visible.

Titles, names and file names come from files that others wrote. An escape sequence in one of them could recolour, erase
or rewrite the screen, a line feed could forge a message, and a change of writing direction could reverse a word. Every
text from a scenario, a result folder or the file system is printed in this form.
"""

import re
import unicodedata

_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# Characters that may be unprintable: everything is checked except ASCII letters, digits and punctuation.
_SUSPICIOUS = re.compile(r"[^ -~]")


def printable(text: str) -> str:
    r"""The text on one line: controls, line ends and parts of undecodable file names as escapes (``\x1b``, ``\n``)."""
    return _SUSPICIOUS.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """The same for each line of a text that may have several."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    category = unicodedata.category(character)
    if category not in ("Cc", "Cs", "Zl", "Zp") and unicodedata.bidirectional(character) not in _DIRECTIONS:
        return character
    return _SHORT.get(character) or _number(character)


def _number(character: str) -> str:
    # Python represents an undecodable byte of a file name by a surrogate.
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
