"""The pages on emulations: made of the numbers that are kept, with no more agreement than they show."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("emulated")
QUIC: Any = import_module("emulated_quic")


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


def test_the_page_on_quiche_has_the_table() -> None:
    """``emulated_quic.py --page`` prints the table that the page has; each side of each cell is there, and only
    measured runs have a lateness, and what the stack says about itself.
    """
    rows = QUIC.numbers()
    assert QUIC.table(rows) in (DOCS / "packs/emulated-quic.md").read_text(encoding="utf-8")
    cells = [(row["cc"], row["queue"], row["side"], int(row["draw"])) for row in rows]
    assert cells == [
        (cc, queue, side, draw)
        for cc, sides in QUIC.SIDES.items()
        for queue in QUIC.QUEUES
        for side, flow in sides.items()
        for draw in range(QUIC.SIMULATED if flow else QUIC.MEASURED)
    ]
    assert all(bool(row["late_p99_us"]) == bool(row["lost"]) == (row["side"] == "quiche") for row in rows)


def test_quiche_loses_what_our_queues_drop() -> None:
    """Each loss that quiche counts is a packet that a queue has dropped: none is lost in a device or socket."""
    for row in filter(lambda row: row["lost"], QUIC.numbers()):
        assert int(row["lost"]) == int(row["drops"]) + int(row["drops_before"]), row
