"""The page on emulations: made of the numbers that are kept, with no more agreement than they show."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("emulated")


def test_the_page_is_made_of_the_numbers() -> None:
    """``emulated.py --page`` would write the page as it stands."""
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(TOOL.numbers())


def test_the_picture_is_drawn_from_the_numbers() -> None:
    """The committed picture has the hash of what the kept numbers draw."""
    assert TOOL.drawn.digest(TOOL.picture(TOOL.numbers())) == TOOL.drawn.kept(TOOL.PICTURE)


def test_all_runs_are_there() -> None:
    """Each controller over each queue, on both sides; a measured run has its lateness."""
    rows = TOOL.numbers()
    cells = [(row["cc"], row["queue"], row["side"], int(row["draw"])) for row in rows]
    draws = {"measured": TOOL.MEASURED, "simulated": TOOL.SIMULATED}
    assert cells == [
        (cc, queue, side, draw)
        for cc in TOOL.CONTROLLERS
        for queue in TOOL.QUEUES
        for side, count in draws.items()
        for draw in range(count)
    ]
    assert all(float(row["goodput_mbps"]) < 20.0 for row in rows)
    assert all(bool(row["late_p99_us"]) == (row["side"] == "measured") for row in rows)
