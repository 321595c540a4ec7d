"""The pages on BBR's texts: their numbers and pictures are those of the cells that were kept."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOLS: tuple[Any, ...] = (import_module("bbr3_texts"), import_module("bbr3_text_points"))
tools = pytest.mark.parametrize("tool", TOOLS, ids=[tool.__name__ for tool in TOOLS])


@tools
def test_the_page_is_made_of_the_cells(tool: Any) -> None:
    """``--page`` would write the page as it stands; cells that are missing stop it."""
    cells = tool.kept()
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(cells)
    with pytest.raises(ValueError, match="goodput"):
        tool.page([cell for cell in cells if cell["metric"] != "goodput"])


@tools
def test_the_picture_is_drawn_from_the_cells(tool: Any) -> None:
    """The committed picture has the hash of what the kept cells draw."""
    assert tool.drawn.digest(tool.picture(tool.kept())) == tool.drawn.kept(tool.PICTURE)
