"""The page of a paper suite: what the document states, and figure by figure its values next to the measured ones."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from markupsafe import Markup

from windtunnel.experiment.verdict import OF_SUITES, Kind
from windtunnel.papers.rows import Row
from windtunnel.papers.suite_rows import ShownRow, shown
from windtunnel.report.page import write_page
from windtunnel.report.templates import render
from windtunnel.report.thumbnail import thumbnail

# Numbers of a statement that the table of statements shows; the others are in its section.
_FOREMOST = 4
# Characters of a note that is open in that table; a longer one is unfolded by a click, and printed.
_LONG_NOTE = 700


@dataclass(frozen=True)
class SuiteFigure:
    """A figure, table or statement of the document, with the ids of its rows.

    ``notes`` is markup of the suite's own; ``remark`` says something about the picture. ``links`` have a label and the
    relative address of a page next to this one, such as the report of a run. A statement without a picture may be seen
    in that of another figure, ``seen_in``.
    """

    id: str
    title: str
    caption: str
    rows: Sequence[str]
    png: bytes | None = None
    links: Sequence[tuple[str, str]] = ()
    notes: str = ""
    remark: str = ""
    statement: bool = False
    seen_in: str = ""


@dataclass(frozen=True)
class Section:
    """A figure as the page shows it."""

    figure: SuiteFigure
    rows: Sequence[ShownRow]
    png: Markup | None
    thumbnail: Markup | None
    links: Sequence[tuple[str, str]]
    notes: Markup

    @property
    def id(self) -> str:
        """The figure's."""
        return self.figure.id

    @property
    def tally(self) -> dict[Kind, int]:
        """How many rows are of each kind."""
        return {kind: sum(row.kind == kind for row in self.rows) for kind in _KINDS}

    @property
    def single(self) -> bool:
        """Whether the table of statements says all of it."""
        return self.figure.statement and len(self.rows) == 1 and self.png is None and not self.links

    @property
    def kind(self) -> Kind:
        """What its rows say together: it disagrees where one does, and agrees where one does and all are decided."""
        kinds, verdicts = {row.kind for row in self.rows}, {row.row.verdict for row in self.rows}
        if "differs" in kinds:
            return "differs"
        return "agrees" if "agrees" in kinds and not verdicts & {"undecided", "weak"} else "info"

    @property
    def foremost(self) -> list[ShownRow]:
        """The first numbers that are judged, those that disagree before others."""
        judged = [row for row in self.rows if row.row.verdict != "info"]
        return sorted(judged, key=lambda row: row.kind != "differs")[:_FOREMOST]

    @property
    def verdicts(self) -> str:
        """The verdicts of its rows in words: "5 confirmed, 1 undecided"; those for information where there is no
        other.
        """
        counts = Counter(row.row.word.text for row in self.rows)
        judged = [f"{counts[text]} {text}" for text in OF_SUITES if counts[text] and text != "info"]
        return ", ".join(judged) or "for information"


_KINDS: tuple[Kind, ...] = ("agrees", "differs", "info")


def write_suite_page(
    path: Path,
    *,
    title: str,
    notes_html: str,
    rows: Sequence[Row],
    figures: Sequence[SuiteFigure],
    facts: Sequence[str] = (),
) -> None:
    """Write the page. ``facts`` is what a reader must know of all runs, ``notes_html`` what belongs to no figure.

    Notes are the suite's own markup and go in as they are; all else is escaped.

    Raises ValueError for an unknown verdict, for a figure that names a row that does not exist, and for a link that
    leads out of the page's folder.
    """
    every = [shown(row) for row in rows]
    by_id = {each.row.id: each for each in every}
    if len(by_id) != len(every):
        raise ValueError("two rows have the same id")
    sections = [_section(figure, by_id) for figure in figures]
    used = {row.row.id for section in sections for row in section.rows}
    rest = [each.row.id for each in every if each.row.id not in used]
    if rest:
        further = SuiteFigure("further-values", "Further values" if sections else "Values", "", rest)
        sections.append(_section(further, by_id))
    pictures = {section.id: section for section in sections if section.thumbnail is not None}
    html = render(
        "suite",
        "suite.html.j2",
        {
            "title": title,
            "facts": facts,
            "notes": Markup(notes_html),
            "counts": _counts(every),
            "long_note": _LONG_NOTE,
            "statements": [section for section in sections if section.figure.statement],
            "sections": [section for section in _ordered(sections) if not section.single],
            "pictures": pictures,
            "kinds": _kinds(every),
        },
    )
    write_page(path, html)


def _ordered(sections: Sequence[Section]) -> list[Section]:
    """Figures and tables first, then what supports single statements."""
    return sorted(sections, key=lambda section: section.figure.statement)


def _counts(rows: Sequence[ShownRow]) -> list[tuple[int, str, Kind]]:
    """How many rows have each verdict, what it says, and its kind."""
    counted = Counter(row.row.word.text for row in rows)
    plain = set() if _has_statements(rows) else {"agrees", "differs"}
    return [
        (counted[text], word.several, word.kind) for text, word in OF_SUITES.items() if text in counted or text in plain
    ]


def _has_statements(rows: Sequence[ShownRow]) -> bool:
    """Whether a verdict is on a statement, or could be."""
    return not {"confirmed", "refuted", "undecided"}.isdisjoint(row.row.word.text for row in rows)


def _kinds(rows: Sequence[ShownRow]) -> list[tuple[Kind, str]]:
    """Each kind and the name of its filter: its verdicts that the page has, or would have in a suite of its kind."""
    present = {row.row.word.text for row in rows}
    usual = ("confirmed", "refuted") if _has_statements(rows) else ("agrees", "differs")
    named: dict[Kind, list[str]] = {kind: [] for kind in _KINDS}
    for text, word in OF_SUITES.items():
        if text in present:
            named[word.kind].append(text)
    without = dict(zip(_KINDS, (*usual, "info"), strict=True))
    return [(kind, ", ".join(verdicts) or without[kind]) for kind, verdicts in named.items()]


def _section(figure: SuiteFigure, by_id: Mapping[str, ShownRow]) -> Section:
    try:
        rows = [by_id[id] for id in figure.rows]
    except KeyError as error:
        raise ValueError(f"figure {figure.id} names a row that is not there: {error}") from error
    links = [(label, _local(address)) for label, address in figure.links]
    small = None if figure.png is None else thumbnail(figure.png)
    return Section(figure, rows, _embedded(figure.png), _embedded(small), links, Markup(figure.notes))


def _embedded(png: bytes | None) -> Markup | None:
    return None if png is None else Markup("data:image/png;base64," + base64.b64encode(png).decode("ascii"))


def _local(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or address.startswith(("/", "\\")):
        raise ValueError(f"a link must lead to a page next to this one: {address}")
    return address
