"""A suite's notes, in Markdown: each beside the figure, table or claim that it explains, the rest at the end.

A paragraph or list item that names groups of the suite ("figures 11 and 14a", "table 2", "P17d") stands with these, and
the items under a heading that names some ("## Figures 1, 2 and 5") with those of the heading. Sections that tell how to
read a row or an image concern all rows and stay whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from windtunnel.papers.mentions import Mentions

#: HTML in the text is text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
#: Sections with such a heading are about all rows.
_GUIDE = "How "
#: A note that names more groups than this stands with the first, and the others point to it.
_MOST = 2


@dataclass
class Notes:
    """HTML: ``beside`` the groups that it explains, by their ids, and the ``rest``."""

    beside: dict[str, str] = field(default_factory=dict)
    rest: str = ""


def to_html(text: str) -> str:
    """All of a text; its headings are one level deeper, because the page has a title of its own."""
    return _html(_parsed(text))


def placed(text: str, mentions: Mentions) -> Notes:
    """The notes, each in its place."""
    beside: dict[str, list[list[Token]]] = {}
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
                beside.setdefault(group, []).append(part)
            for group in far:
                pointers.setdefault(group, []).append(named[0])
    notes = Notes({group: _html(_joined(parts)) for group, parts in beside.items()}, _html(_joined([rest])))
    for group, targets in pointers.items():
        notes.beside[group] = notes.beside.get(group, "") + _pointer(targets, mentions.titles)
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
    """Where notes on this group stand."""
    links = ", ".join(f"[{titles[id]}](#{id})" for id in dict.fromkeys(targets))
    return to_html(f"See also the notes at {links}.")
