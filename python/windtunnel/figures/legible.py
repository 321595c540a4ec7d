"""Titles and names from scenarios, as texts of a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from windtunnel.printable import printable


def legible(text: str) -> str:
    """The text as Matplotlib draws it literally: no control character, no formula, no label that legends leave out."""
    text = printable(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


@contextmanager
def boxes_for_missing_glyphs() -> Iterator[None]:
    """The font draws a box for a character that it lacks, an emoji for instance; Matplotlib need not warn of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
