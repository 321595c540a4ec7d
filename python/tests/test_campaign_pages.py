"""The pages on campaigns: their tables are those of the cells that were kept."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("campaign_pages")


@pytest.mark.parametrize("name", TOOL.PAGES)
def test_the_page_is_made_of_the_cells(name: str) -> None:
    """``--page`` would write the page as it stands; a metric without cells stops it."""
    cells = TOOL.kept(name)
    assert (TOOL.HERE / f"{name}.md").read_text(encoding="utf-8") == TOOL.page(name, cells)
    metric = next(iter(TOOL.PAGES[name].values())).metric
    with pytest.raises(ValueError, match=metric):
        TOOL.page(name, [cell for cell in cells if cell["metric"] != metric])


@pytest.mark.parametrize("name", TOOL.PICTURES)
def test_the_picture_is_drawn_from_the_cells(name: str) -> None:
    """The committed picture has the hash of what the kept cells draw."""
    assert TOOL.drawn.digest(TOOL.picture(name, TOOL.kept(name))) == TOOL.drawn.kept(TOOL.HERE / f"{name}.png")


def test_a_table() -> None:
    """Two rows and two columns by hand, with a difference and without."""
    cells = [
        {"metric": "m", "row": row, "column": column, "mean": "1.25", "low": "1", "high": "1.5"}
        | {"difference": d, "difference_low": d, "difference_high": d}
        for row in ("a", "b")
        for column, d in (("x", ""), ("y", "0.5"))
    ]
    table = TOOL.Table("m", ("row",), "column", digits=2, change="y")
    head, _, first, _ = TOOL.rows(table, cells).splitlines()
    assert head == "| row | x | y | y less x |"
    assert first == "| a | 1.25 (1.00 to 1.50) | 1.25 (1.00 to 1.50) | +0.50 (+0.50 to +0.50) |"
    narrow = TOOL.Table("m", ("row",), "column", digits=2, narrow=True)
    assert TOOL.rows(narrow, cells).splitlines()[2] == "| a | 1.25 ± 0.25 | 1.25 ± 0.25 |"
