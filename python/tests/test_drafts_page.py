"""The page on drafts and RFCs: it is made of the sources as they are, and knows each draft that they name."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
TOOL: Any = import_module("drafts")


def test_the_page_is_that_of_the_sources() -> None:
    """``python docs/drafts.py`` would write the page as it stands."""
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page()


def test_drafts_are_found_with_their_versions() -> None:
    """By hand, from the heads of three files: a number, a commit, and a file of tests with the algorithm's name."""
    drafts, rfcs = TOOL.collect()
    assert drafts["draft-kazuho-ccwg-cuback"].versions == ["-00"]
    assert drafts["draft-ietf-ccwg-ratelimited-increase"].versions == ["01025d8"]
    assert Path("crates/cc/tests/suite/c4.rs") in drafts["draft-huitema-ccwg-c4-spec"].tests
    assert Path("crates/cc/src/windowed/slow_start/resume.rs") in rfcs[9959].files


def test_every_draft_needs_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that names a draft without an entry stops the page, and so does an entry that no source names."""
    entries = TOOL.newest()
    monkeypatch.setattr(TOOL, "newest", lambda: {**entries, "draft-without-a-source": {"newer": ""}})
    with pytest.raises(ValueError, match="draft-without-a-source"):
        TOOL.page()
    del entries["draft-chung-ccwg-search"]
    monkeypatch.setattr(TOOL, "newest", lambda: entries)
    with pytest.raises(ValueError, match="draft-chung-ccwg-search"):
        TOOL.page()
