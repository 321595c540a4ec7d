"""Titles and names from scenarios, as text in figures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from windtunnel.printable import printable


def legible(text: str) -> str:
    """The text as Matplotlib draws it literally: without control characters, formulas, or labels that legends would
    leave out.
    """
    text = printable(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


@contextmanager
def boxes_for_missing_glyphs() -> Iterator[None]:
    """The font draws a box for a character that it lacks, such as an emoji; silence Matplotlib's warning about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
