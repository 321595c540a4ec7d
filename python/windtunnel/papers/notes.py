"""A suite's notes, in Markdown: each next to the figure, table or claim that it explains, the rest at the end.

A paragraph or list item that names groups of the suite ("figures 11 and 14a", "table 2", "P17d") is next to these, and
the items under a heading that names some ("## Figures 1, 2 and 5") with those of the heading. Sections that tell how to
read a row or an image concern all rows and stay whole.

Numbers in notes are references to rows, filled in when the page is built, so that no note is older than its rows:
``{{P44/five .1f}}`` is what the row P44/five measured, with one decimal; ``{{P44/five}}`` has three significant
digits. ``{{K77/share-100-* .2f}}`` is the range over the rows of that pattern, ``0.53 to 0.54``;
``{{P05a interval .2f}}`` is the row's interval, ``1.10 to 1.12``; with ``%`` as in ``{{P05a .0%}}`` the number is in
percent. ``{{P05a verdict}}`` is what became of it, ``confirmed``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Group

#: HTML in the text is text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
#: Sections with such a heading are about all rows.
_GUIDE = "How "
#: A note that names more groups than this is placed with the first, and the others point to it.
_MOST = 2


@dataclass
class Notes:
    """HTML: the notes ``by_group``, for the groups that they explain, by their ids, and the ``rest``."""

    by_group: dict[str, str] = field(default_factory=dict)
    rest: str = ""


def to_html(text: str) -> str:
    """All of a text; its headings are one level deeper, because the page has a title of its own."""
    return _html(_parsed(text))


def placed(text: str, mentions: Mentions) -> Notes:
    """The notes, each in its place."""
    by_group: dict[str, list[list[Token]]] = {}
    rest: list[Token] = []
    pointers: dict[str, list[str]] = {}
    section = _Section()
    for block in _blocks(_parsed(text)):
        if block[0].type == "heading_open":
            section = _Section(block, mentions.in_text(_text(block)), _text(block).startswith(_GUIDE))
            continue
        for part in _items(block) if not section.guide else [block]:
            named = [] if section.guide else mentions.in_text(_text(part)) or section.groups
            if not named:
                rest += [*section.heading(), *part]
                continue
            near, far = (named, []) if len(named) <= _MOST else (named[:1], named[1:])
            for group in near:
                by_group.setdefault(group, []).append(part)
            for group in far:
                pointers.setdefault(group, []).append(named[0])
    notes = Notes({group: _html(_joined(parts)) for group, parts in by_group.items()}, _html(_joined([rest])))
    for group, targets in pointers.items():
        notes.by_group[group] = notes.by_group.get(group, "") + _pointer(targets, mentions.titles)
    return notes


@dataclass
class _Section:
    """The section that is read: its heading, which is needed once if anything of it stays, and the groups it names."""

    opening: list[Token] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    guide: bool = False

    def heading(self) -> list[Token]:
        opening, self.opening = self.opening, []
        return opening


def _parsed(text: str) -> list[Token]:
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
    return tokens


def _html(tokens: Sequence[Token]) -> str:
    renderer = _MARKDOWN.renderer
    assert isinstance(renderer, RendererHTML)
    return renderer.render(tokens, _MARKDOWN.options, {}).strip()


def _blocks(tokens: Sequence[Token]) -> list[list[Token]]:
    """The blocks of the top level: a heading, a paragraph, a list, a table, with all that is in each."""
    blocks: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        blocks[-1].append(token)
        depth += token.nesting
        if depth == 0:
            blocks.append([])
    return [block for block in blocks if block]


def _items(block: list[Token]) -> list[list[Token]]:
    """A list as lists of one item each; any other block as it is."""
    if block[0].type not in ("bullet_list_open", "ordered_list_open"):
        return [block]
    return [[block[0], *item, block[-1]] for item in _blocks(block[1:-1])]


def _joined(parts: Sequence[Sequence[Token]]) -> list[Token]:
    """The parts one after the other; lists that follow each other are one."""
    out: list[Token] = []
    for token in (token for part in parts for token in part):
        if out and token.type.endswith("list_open") and token.level == 0 and out[-1].type == token.type[:-4] + "close":
            out.pop()
        else:
            out.append(token)
    return out


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.content for token in tokens if token.type == "inline")


def _pointer(targets: Sequence[str], titles: Mapping[str, str]) -> str:
    """Where notes on this group are."""
    links = ", ".join(f"[{titles[id]}](#{id})" for id in dict.fromkeys(targets))
    return to_html(f"See also the notes at {links}.")


# --- What a text names ----------------------------------------------------------------------------------------------

#: What documents number, and the prefix of the ids of its groups.
_KINDS = {"figure": "fig", "table": "table", "graph": "graph", "slide": "slide"}
_NUMBER = r"\d+[a-z]?"
_NUMBERED = re.compile(
    rf"\b({'|'.join(_KINDS)})s?\s+({_NUMBER}(?:(?:,\s+and\s+|,\s*|\s+and\s+|\s+to\s+){_NUMBER})*)\b", re.IGNORECASE
)
#: The ids of claims: a letter, two digits, and perhaps one that tells several apart.
_CLAIM = re.compile(r"\b[A-Z]\d\d[a-z]?\b")


class Mentions:
    """Finds the groups of a suite in texts."""

    def __init__(self, groups: Sequence[Group], aliases: Mapping[str, Sequence[str]]) -> None:
        self.titles = {group.id: group.title for group in groups}
        self._order = list(self.titles)
        self._aliases = aliases

    def in_text(self, text: str) -> list[str]:
        """The ids of the groups that the text names, in its order; those that were not run are not there."""
        ids = [*self._numbered(text), *(id for match in _CLAIM.findall(text) for id in self._named(match))]
        return list(dict.fromkeys(ids))

    def _numbered(self, text: str) -> Iterator[str]:
        for kind, listed in _NUMBERED.findall(text):
            prefix = _KINDS[kind.lower()]
            for part in re.split(r",\s+and\s+|,\s*|\s+and\s+", listed):
                first, _, last = re.sub(r"\s+to\s+", "-", part).partition("-")
                yield from self._range(prefix + first, prefix + last) if last else self._named(prefix + first)

    def _named(self, name: str) -> list[str]:
        """The group of that name, or those for which it stands (``fig3`` is 3a and 3b)."""
        if name in self.titles:
            return [name]
        return [id for id in self._aliases.get(name, ()) if id in self.titles]

    def _range(self, first: str, last: str) -> list[str]:
        """From the first group of one name to the last of the other, in the suite's order."""
        start, end = self._named(first), self._named(last)
        if not start or not end:
            return [*start, *end]
        return self._order[self._order.index(start[0]) : self._order.index(end[-1]) + 1]


# --- Numbers --------------------------------------------------------------------------------------------------------

#: What replaces a number of the rest in a part of a suite.
ELSEWHERE = "\N{HORIZONTAL ELLIPSIS}"
_REFERENCE = re.compile(r"\{\{(?P<row>[^\s{}]+)(?: (?P<of>interval|verdict))?(?: (?P<format>\.\d[fg%]))?\}\}")


def filled(text: str, rows: Iterable[Row], *, whole: bool) -> str:
    """``text`` with its references replaced.

    ``whole``: all of the suite was run. Raises ValueError then for a row that does not exist; in a part of the suite, a
    row of the rest is ``ELSEWHERE``.
    """
    by_id = {row.id: row for row in rows}

    def number(match: re.Match[str]) -> str:
        chosen = [row for id, row in by_id.items() if fnmatchcase(id, match["row"])]
        if not chosen and whole:
            raise ValueError(f"the notes refer to the row {match['row']}, which does not exist")
        if chosen and match["of"] == "verdict":
            return " or ".join(dict.fromkeys(_verdict(row) for row in chosen))
        values = [v for row in chosen for v in _values(row, interval=match["of"] == "interval")]
        if not values:
            return ELSEWHERE
        low, high = (_shown(v, match["format"] or ".3g") for v in (min(values), max(values)))
        return low if low == high else f"{low} to {high}"

    return _REFERENCE.sub(number, text)


def _verdict(row: Row) -> str:
    return "agrees weakly" if row.verdict == "weak" else row.word.text


def _values(row: Row, *, interval: bool) -> list[float]:
    wanted = row.interval or () if interval else (row.measured,)
    return [value for value in wanted if value is not None and math.isfinite(value)]


def _shown(value: float, spec: str) -> str:
    number, unit = (f"{100 * value:{spec[:-1]}f}", " %") if spec.endswith("%") else (f"{value:{spec}}", "")
    return f"{number if float(number) else number.removeprefix('-')}{unit}"
