"""The page of a paper suite (windtunnel.report.write_suite_page), as a reader finds it in a browser."""

import math
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from headless import drive

from windtunnel.papers.rows import Row
from windtunnel.papers.suite_page import SuiteFigure, write_suite_page
from windtunnel.papers.suite_rows import shown

NASTY = "</script><!--<script>alert(1)</script> \"quoted\" 'single' & Ümläut \N{RIGHTWARDS ARROW} \u2028"


def tiny_png() -> bytes:
    """A white pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff")) + chunk(b"IEND", b"")
    )


def row(name: str, published: float | str | None, measured: float, verdict: Any, **more: Any) -> Row:
    return replace(Row(name, "g", f"value {name}", published, measured, 2.0, "Mbit/s", verdict), **more)


ROWS = [
    row("r1", 47.2, 47.9, "agrees", interval=(46.8, 48.5)),
    row("r2", 51.0, 45.3, "differs", note=NASTY, interval=(40.0, 50.0)),
    row("r3", "yes", 0.3, "info"),
    row("r4", 10.0, 10.1, "agrees"),
    row("P1", "> 3", 4.0, "agrees", of="statement", interval=(3.5, 4.1)),
]
FIGURES = [
    SuiteFigure("t2", "Table 2", NASTY, ["r1", "r2"], notes="<p id='beside'>of table 2</p>"),
    SuiteFigure("f2", "Figure 2", "", ["r3"], tiny_png(), [("run", "runs/f2/report.html")], remark="raw"),
    SuiteFigure("P1", "Claim P1", "it holds", ["P1"], statement=True, seen_in="f2", notes="<p>of P1</p>"),
]


def test_suite_page(tmp_path: Path) -> None:
    """Counts, sections, the filter, sorting, the embedded figure and the link work as a reader expects."""
    path = tmp_path / "suite.html"
    write_suite_page(
        path,
        title="Suite",
        notes_html="<p id='n'>Why <em>so</em></p>",
        rows=ROWS,
        figures=FIGURES,
    )
    seen = drive(
        path,
        """
        const rows = (where) => [...document.querySelectorAll(`${where} tr[data-verdict]`)];
        const shown = (where = "") => rows(where).filter((r) => !r.hidden).map((r) => r.dataset.row);
        const sections = () =>
          [...document.querySelectorAll("section.figure")].filter((s) => !s.hidden).map((s) => s.id);
        (async () => {
          await settle();
          const seen = { all: shown(), sections: sections() };
          seen.tally = [...document.querySelectorAll(".tally strong")].map((e) => e.textContent);
          seen.image = $("img").naturalWidth;
          seen.link = $("#f2 a").getAttribute("href");
          seen.statement = [...$("#statements tr[data-row=P1]").cells].map((c) => c.textContent.trim());
          seen.thumb = $("#statements .thumb").getAttribute("href");
          seen.drawn = $("#statements .thumb use").getBBox().width;
          seen.order = [...document.querySelectorAll("section")].map((s) => s.id);
          seen.beside = $("#t2 #beside").textContent;
          seen.remark = $("#f2 .soft").textContent;
          seen.notes = $("#n em").textContent;
          seen.note = $("tr[data-row=r2] .note").textContent;
          $("#only-differing").click();
          Object.assign(seen, { differing: shown(), left: sections(), count: $("#filter-count").textContent });
          $("#only-differing").click();
          seen.again = shown();
          $("#filter-text").value = "VALUE r4";
          $("#filter-text").dispatchEvent(new Event("input"));
          seen.search = shown();
          const head = [...document.querySelectorAll("#t2 th")].find((h) => h.textContent === "Measured");
          head.querySelector("button").click();
          seen.up = rows("#t2").map((r) => r.dataset.row);
          head.querySelector("button").click();
          seen.down = rows("#t2").map((r) => r.dataset.row);
          leave(seen);
        })();
        """,
    )
    # Two agree, one is confirmed, one differs, one is for information.
    assert seen["tally"] == ["2", "1", "1", "1"]
    assert seen["all"] == seen["again"] == ["P1", "r1", "r2", "r3", "r4"]
    assert seen["sections"] == ["statements", "t2", "f2", "further-values"]
    # The statements come first, each with its verdict, number, interval, picture and notes; other notes come last.
    assert seen["order"] == ["statements", "t2", "f2", "further-values", "notes"]
    cells = ["P1 value P1it holds", "confirmed", "4.000 3.500 to 4.100 Mbit/s", "> 3 \N{PLUS-MINUS SIGN}2", "", "of P1"]
    assert seen["statement"] == cells
    assert (seen["thumb"], seen["drawn"]) == ("#f2", 180)
    assert (seen["beside"], seen["remark"]) == ("of table 2", "raw")
    assert seen["image"] == 1
    assert seen["link"] == "runs/f2/report.html"
    assert seen["notes"] == "so"
    assert seen["note"] == NASTY
    assert (seen["differing"], seen["left"], seen["count"]) == (["r2"], ["t2"], "1 row shown")
    assert seen["search"] == ["r4"]
    assert (seen["up"], seen["down"]) == (["r2", "r1"], ["r1", "r2"])


@pytest.mark.parametrize(
    ("rows", "figures", "message"),
    [
        ([row("a", 1.0, 1.0, "good")], [], "verdict"),
        ([row("a", 1.0, 1.0, "agrees")] * 2, [], "same id"),
        ([], [replace(FIGURES[0], rows=["r9"])], "r9"),
        (ROWS, [replace(FIGURES[1], links=[("x", "https://example.org/")])], "next to"),
        (ROWS, [replace(FIGURES[1], links=[("x", "javascript:alert(1)")])], "next to"),
    ],
)
def test_suite_page_refuses(tmp_path: Path, rows: Any, figures: Any, message: str) -> None:
    """Input that would give a wrong page is refused before anything is written."""
    path = tmp_path / "suite.html"
    with pytest.raises(ValueError, match=message):
        write_suite_page(path, title="Suite", notes_html="", rows=rows, figures=figures)
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "at", "allowed", "interval"),
    [
        # The tolerance of 2 is half of the strip, which is 40 pixels to either side.
        ({"published": 10.0, "measured": 11.0}, 10, (-20, 20), None),
        ({"published": 10.0, "measured": 99.0, "interval": (9.0, 12.0)}, 40, (-20, 20), (-10, 20)),
        # With one limit the farthest value is at four fifths.
        ({"published": "> 3", "measured": 5.0, "limits": (3.0, math.inf)}, 32, (0, 40), None),
        (
            {"published": "< 3", "measured": 4.0, "limits": (-math.inf, 3.0), "interval": (1.0, 4.0)},
            16,
            (-40, 0),
            (-32, 16),
        ),
        ({"published": "1 to 3", "measured": 2.0, "limits": (1.0, 3.0)}, 0, (-20, 20), None),
    ],
)
def test_strips_show_what_is_allowed(more: Any, at: float, allowed: Any, interval: Any) -> None:
    """The value, its interval and the limits, on one scale."""
    strip = shown(replace(row("a", None, 0.0, "agrees", of="statement"), **more)).strip
    assert strip is not None
    assert strip.at == pytest.approx(at)
    assert strip.allowed == pytest.approx(allowed)
    assert strip.interval == (interval and pytest.approx(interval))


def test_no_strip_without_a_scale() -> None:
    """An exact value, a value at its limit, and nothing published have no scale."""
    for more in (
        {"published": 1.0, "tolerance": 0.0},
        {"published": "0", "limits": (0.0, 0.0)},
        {"published": "> 1", "limits": (1.0, math.inf)},
        {"published": None},
    ):
        assert shown(replace(row("a", None, 1.0, "info"), **more)).strip is None


def test_filters_speak_the_words_of_the_suite(tmp_path: Path) -> None:
    """Where nothing is refuted, the filter of a suite of statements says so, too; one of numbers says "differs"."""
    path = tmp_path / "suite.html"
    for of, wanted in (("statement", "Only refuted<"), ("number", "Only what differs<")):
        write_suite_page(path, title="S", notes_html="", rows=[row("a", 1.0, 1.0, "agrees", of=of)], figures=[])
        assert wanted in path.read_text()


def test_a_long_note_is_folded(tmp_path: Path) -> None:
    """A note that would make a statement's row a page high is unfolded by a click; a short one is there."""
    path = tmp_path / "suite.html"
    for length, folded in ((100, False), (2000, True)):
        claim = replace(FIGURES[2], seen_in="", notes=f"<p>{'a' * length}</p>")
        write_suite_page(path, title="S", notes_html="", rows=[ROWS[4]], figures=[claim])
        assert ("<details" in path.read_text()) == folded
