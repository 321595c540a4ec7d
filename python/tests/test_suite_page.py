"""The page of a paper suite (windtunnel.report.write_suite_page), as a reader finds it in a browser."""

import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from headless import drive

from windtunnel.report import FigureRow, SuiteFigure, write_suite_page

NASTY = "</script><!--<script>alert(1)</script> \"quoted\" 'single' & Ümläut \N{RIGHTWARDS ARROW} \u2028"


def tiny_png() -> bytes:
    """A white pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff")) + chunk(b"IEND", b"")
    )


def row(name: str, published: float | str | None, measured: float, verdict: Any, **more: Any) -> FigureRow:
    difference = measured - published if isinstance(published, float) else None
    base: FigureRow = {
        "id": name,
        "what": f"value {name}",
        "published": published,
        "measured": measured,
        "difference": difference,
        "tolerance": 2.0,
        "unit": "Mbit/s",
        "verdict": verdict,
        "note": "",
        "interval": None,
    }
    return {**base, **more}  # type: ignore[typeddict-item]


ROWS = [
    row("r1", 47.2, 47.9, "within", interval=(46.8, 48.5)),
    row("r2", 51.0, 45.3, "outside", note=NASTY),
    row("r3", "yes", 0.3, "info"),
    row("r4", 10.0, 10.1, "within"),
]
FIGURES: list[SuiteFigure] = [
    {"id": "t2", "title": "Table 2", "caption": NASTY, "png": None, "rows": [0, 1]},
    {
        "id": "f2",
        "title": "Figure 2",
        "caption": "",
        "png": tiny_png(),
        "rows": ["r3"],
        "links": [("run", "runs/f2/report.html")],
    },
]


def test_suite_page(tmp_path: Path) -> None:
    """Counts, sections, the filter, sorting, the embedded figure and the link work as a reader expects."""
    path = tmp_path / "suite.html"
    write_suite_page(
        path,
        title="Suite",
        notes_html="<p id='n'>Why <em>so</em></p>",
        summary_rows=ROWS,
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
          seen.link = $("section a").getAttribute("href");
          seen.notes = $("#n em").textContent;
          seen.note = $("tr[data-row=r2] .note").textContent;
          $("#only-outside").click();
          Object.assign(seen, { outside: shown(), left: sections(), count: $("#filter-count").textContent });
          $("#only-outside").click();
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
    assert seen["tally"] == ["2", "1", "1"]
    assert seen["all"] == seen["again"] == ["r1", "r2", "r3", "r4"]
    assert seen["sections"] == ["t2", "f2", "further-values"]
    assert seen["image"] == 1
    assert seen["link"] == "runs/f2/report.html"
    assert seen["notes"] == "so"
    assert seen["note"] == NASTY
    assert (seen["outside"], seen["left"], seen["count"]) == (["r2"], ["t2"], "1 row shown")
    assert seen["search"] == ["r4"]
    assert (seen["up"], seen["down"]) == (["r2", "r1"], ["r1", "r2"])


@pytest.mark.parametrize(
    ("rows", "figures", "message"),
    [
        ([row("a", 1.0, 1.0, "good")], [], "verdict"),
        ([row("a", 1.0, 1.0, "within")] * 2, [], "same id"),
        ([], [{**FIGURES[0], "rows": ["r9"]}], "r9"),
        (ROWS, [{**FIGURES[1], "links": [("x", "https://example.org/")]}], "beside"),
        (ROWS, [{**FIGURES[1], "links": [("x", "javascript:alert(1)")]}], "beside"),
    ],
)
def test_suite_page_refuses(tmp_path: Path, rows: Any, figures: Any, message: str) -> None:
    """Input that would give a wrong page is refused before anything is written."""
    path = tmp_path / "suite.html"
    with pytest.raises(ValueError, match=message):
        write_suite_page(path, title="Suite", notes_html="", summary_rows=rows, figures=figures)
    assert not path.exists()
