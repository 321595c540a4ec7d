"""The page on MDS in a real kernel has the numbers that are kept."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("sce_kernel")


def test_the_page_has_the_table() -> None:
    """``sce_kernel.py --page`` prints the table that the page has."""
    assert TOOL.table() in (DOCS / "packs/sce-kernel.md").read_text(encoding="utf-8")
