"""The page on the L4S stack of 2020: its numbers are those that were kept, and of rows of the suite."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from windtunnel.papers import l4s_tests
from windtunnel.papers.suite import Results

PACKS = Path(__file__).parents[2] / "docs" / "packs"
sys.path.insert(0, str(PACKS))
TOOL: Any = import_module("l4s_tests")


def test_the_page_is_made_of_the_numbers() -> None:
    """``l4s_tests.py --page`` would write the page as it stands; no reference is left, no number is kept in vain."""
    rows = TOOL.rows_of(TOOL.NUMBERS)
    text = TOOL.PAGE.read_text(encoding="utf-8")
    assert text == TOOL.page(rows)
    assert "{{" not in text and "\N{HORIZONTAL ELLIPSIS}" not in text
    assert TOOL.needed(rows) == rows


def test_the_picture_is_drawn_from_the_numbers() -> None:
    """The committed picture has the hash of what the kept numbers draw."""
    assert TOOL.drawn.digest(TOOL.picture(TOOL.rows_of(TOOL.NUMBERS))) == TOOL.drawn.kept(TOOL.PICTURE)


def test_the_numbers_are_of_rows_of_the_suite() -> None:
    """Every kept number has a row of that id; a row that is missing stops the page."""
    suite = l4s_tests.suite(quick=False)
    ids = {row.id for group in suite.groups for row in group.rows(Results([]))}
    rows = TOOL.rows_of(TOOL.NUMBERS)
    assert {row.id for row in rows} <= ids
    with pytest.raises(ValueError, match="dualpi2-10/count-all"):
        TOOL.page([row for row in rows if row.id != "dualpi2-10/count-all"])
    with pytest.raises(KeyError, match="bursty/cubic-today-1-0"):
        TOOL.picture([row for row in rows if row.id != "bursty/cubic-today-1-0"])
