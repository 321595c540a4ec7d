"""The page of a paper suite: published and measured values side by side, figure by figure."""

import base64
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import urlsplit

from markupsafe import Markup

from windtunnel.report.page import render, write_page
from windtunnel.report.text import NOTHING, number, setting, signed

# What each verdict says of a number or a statement, and the kind by which the page colours and filters it.
_VERDICTS = {
    "within": ("within tolerance", "within"),
    "confirmed": ("confirmed", "within"),
    "outside": ("outside tolerance", "outside"),
    "refuted": ("refuted", "outside"),
    "undecided": ("undecided", "info"),
    "info": ("for information", "info"),
}

# The strip in a row: half its width in pixels, and the share of it that the tolerance occupies.
_STRIP_HALF = 40
_STRIP_TOLERANCE = 0.5


class FigureRow(TypedDict):
    """One published value, or one claim, beside what was measured."""

    id: str
    what: str
    published: float | str | None
    measured: float | str | None
    difference: float | str | None
    tolerance: float | str | None
    unit: str
    verdict: Literal["within", "outside", "info", "confirmed", "refuted", "undecided"]
    note: str
    interval: tuple[float, float] | None


class SuiteFigure(TypedDict):
    """A figure or table of the document, with the rows that belong to it (ids, or indices into the rows)."""

    id: str
    title: str
    caption: str
    png: bytes | None
    rows: Sequence[int | str]
    links: NotRequired[Sequence[tuple[str, str]]]
    """Label and relative address of pages beside this one, such as the report of the run."""


def write_suite_page(
    path: Path,
    *,
    title: str,
    notes_html: str,
    summary_rows: Sequence[FigureRow],
    figures: Sequence[SuiteFigure],
    facts: Sequence[str] = (),
) -> None:
    """Write the page. ``facts`` is what a reader must know of all runs.

    ``notes_html`` is the suite's own markup and goes in as it is; all else is escaped.

    Raises ValueError for an unknown verdict, for a figure that names a row that does not exist, and for a link that
    leads out of the page's folder.
    """
    rows = [_row(r) for r in summary_rows]
    by_id = {r["id"]: r for r in rows}
    if len(by_id) != len(rows):
        raise ValueError("two rows have the same id")
    sections = [_section(f, rows, by_id) for f in figures]
    used = {r["id"] for s in sections for r in s["rows"]}
    rest = [r for r in rows if r["id"] not in used]
    if rest:
        head = {
            "id": "further-values",
            "title": "Further values" if sections else "Values",
            "caption": "",
            "png": None,
        }
        sections.append({**head, "links": [], "rows": rest, "tally": _tally(rest)})
    html = render(
        "suite.html.j2",
        {
            "title": title,
            "facts": facts,
            "notes": Markup(notes_html),
            "counts": _counts(rows),
            "sections": sections,
            "kinds": _kinds(rows),
        },
    )
    write_page(path, html)


def _tally(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many rows are of each kind."""
    return {kind: sum(r["kind"] == kind for r in rows) for kind in ("within", "outside", "info")}


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """How many rows have each verdict, what it says, and its kind."""
    present = {r["verdict"] for r in rows}
    plain = {"within", "outside"} if not present & {"confirmed", "refuted", "undecided"} else set()
    return [
        (sum(r["verdict"] == verdict for r in rows), text, kind)
        for verdict, (text, kind) in _VERDICTS.items()
        if verdict in present | plain
    ]


def _kinds(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each kind and the name of its filter: its verdicts that the page has."""
    present = {r["verdict"] for r in rows}
    named: dict[str, list[str]] = {"within": [], "outside": [], "info": []}
    for verdict, (_, kind) in _VERDICTS.items():
        if verdict in present:
            named[kind].append(verdict)
    return [(kind, ", ".join(verdicts) or kind) for kind, verdicts in named.items()]


def _row(row: FigureRow) -> dict[str, Any]:
    if row["verdict"] not in _VERDICTS:
        raise ValueError(f"row {row['id']}: verdict {row['verdict']!r} is none of {', '.join(_VERDICTS)}")
    interval = row.get("interval")
    return {
        **row,
        "kind": _VERDICTS[row["verdict"]][1],
        "published_text": setting(row["published"]),
        "measured_text": number(row["measured"]),
        "difference_text": _difference(row),
        "tolerance_text": _tolerance(row),
        "interval_text": f"{number(interval[0])} to {number(interval[1])}" if interval else "",
        "strip": _strip(row),
        # Sorting by difference uses its absolute size, in tolerances where there are any.
        "off": _off(row),
    }


def _tolerance(row: FigureRow) -> str:
    tolerance = row["tolerance"]
    if isinstance(tolerance, int | float):
        return f"\N{PLUS-MINUS SIGN}{setting(tolerance)}"
    return tolerance or NOTHING


def _difference(row: FigureRow) -> str:
    difference, published = row["difference"], row["published"]
    text = signed(difference)
    if isinstance(difference, int | float) and isinstance(published, int | float) and published and row["unit"] != "%":
        text += f" ({signed(100 * difference / abs(published), 2)} %)"
    return text


def _off(row: FigureRow) -> float | str:
    difference, tolerance = row["difference"], row["tolerance"]
    if not isinstance(difference, int | float) or not math.isfinite(difference):
        return ""
    if isinstance(tolerance, int | float) and tolerance > 0:
        return abs(difference) / tolerance
    return abs(difference)


def _strip(row: FigureRow) -> dict[str, float] | None:
    """Where the difference and the interval lie on a strip whose inner part is the tolerance."""
    difference, tolerance, measured = row["difference"], row["tolerance"], row["measured"]
    if not (isinstance(difference, int | float) and isinstance(tolerance, int | float) and tolerance > 0):
        return None
    if not math.isfinite(difference):
        return None

    def place(value: float) -> float:
        return _STRIP_HALF * max(-1.0, min(1.0, value / tolerance * _STRIP_TOLERANCE))

    strip = {"at": place(difference), "half": _STRIP_HALF * _STRIP_TOLERANCE}
    interval = row.get("interval")
    if interval and isinstance(measured, int | float):
        strip["low"] = place(difference + interval[0] - measured)
        strip["high"] = place(difference + interval[1] - measured)
    return strip


def _section(
    figure: SuiteFigure, rows: Sequence[dict[str, Any]], by_id: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    try:
        chosen = [rows[r] if isinstance(r, int) else by_id[r] for r in figure["rows"]]
    except (KeyError, IndexError) as error:
        raise ValueError(f"figure {figure['id']} names a row that is not there: {error}") from error
    png = figure["png"]
    return {
        "id": figure["id"],
        "title": figure["title"],
        "caption": figure["caption"],
        "png": None if png is None else Markup(base64.b64encode(png).decode("ascii")),
        "links": [(label, _local(address)) for label, address in figure.get("links", [])],
        "rows": chosen,
        "tally": _tally(chosen),
    }


def _local(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or address.startswith(("/", "\\")):
        raise ValueError(f"a link must lead to a page beside this one: {address}")
    return address
