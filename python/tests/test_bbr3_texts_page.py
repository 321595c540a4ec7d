"""The page on BBR's texts: its numbers and its picture are those of the cells that were kept."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("bbr3_texts")


def test_the_page_is_made_of_the_cells() -> None:
    """``bbr3_texts.py --page`` would write the page as it stands; cells that are missing stop it."""
    cells = TOOL.kept()
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(cells)
    with pytest.raises(ValueError, match="goodput"):
        TOOL.page([cell for cell in cells if cell["metric"] != "goodput"])


def test_the_picture_is_drawn_from_the_cells() -> None:
    """The committed picture has the hash of what the kept cells draw."""
    assert TOOL.drawn.digest(TOOL.picture(TOOL.kept())) == TOOL.drawn.kept(TOOL.PICTURE)
