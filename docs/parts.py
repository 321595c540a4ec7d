"""Long documents as several pages of the site: one for each section, and a page of links in the place of the whole.

A document stays one file, for those who read it in the repository and for the commands that write it. The site's pages
are made of it each time. The page of links has the anchors of the whole, so that old addresses lead to the section.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify

#: A section that is taller than this is divided once more. A page may be 20,000 pixels tall; this is an estimate.
TALLEST = 12_000
#: Pixels of a row of a table, of a line of code, and of 80 characters of text, at 1280 pixels of width.
_ROW, _CODE, _TEXT = 38, 19, 27
_LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```|~~~)")


@dataclass
class Part:
    """A page: its name, its heading and text, the headings below, and the pages into which it is divided."""

    name: str
    title: str
    text: str
    slugs: list[tuple[int, str, str]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)


@dataclass
class Divided:
    """A document in parts.

    Attributes:
        page: The name of the whole among the documents, without a suffix.
        folder: Where its parts are.
        index: The text of the page of links.
        pages: The texts of the parts by their names.
        where: The part that has an anchor.
    """

    page: str
    folder: str
    index: str
    pages: dict[str, str]
    where: dict[str, str]


def divide(page: str, folder: str, text: str) -> Divided:
    """Divide a document at its sections (``##``), and tall ones at those below."""
    head, parts = _sections(text, 2)
    taken: set[str] = set()
    for part in _all(parts):
        number = 2
        while part.name in taken:
            part.name = f"{part.name.rstrip('-0123456789')}-{number}"
            number += 1
        taken.add(part.name)
    where = {slug: f"{folder}/{part.name}" for part in _all(parts) for _, slug, _ in part.slugs}
    pages = {}
    title = _plain(head.partition("\n")[0].lstrip("# "))
    above = os.path.relpath(f"{page}.md", folder)
    order = list(_all(parts))
    for part, after in zip(order, [*order[1:], None], strict=True):
        body = _moved(part.text, page, f"{folder}/{part.name}", where)
        text = f"# {part.title}\n\nA part of [{title}]({above}).\n\n{body}\n{_links(part.parts, '')}"
        if after is not None:
            text += f"\nNext: [{_plain(after.title)}]({after.name}.md)\n"
        # The navigation has the whole alone: with hundreds of parts it would be most of every page.
        pages[part.name] = f"---\norphan: true\n---\n\n{text}"
    under = os.path.relpath(folder, PurePosixPath(page).parent)
    index = f"{_moved(head, page, page, where).rstrip()}\n\n{_links(parts, f'{under}/')}"
    return Divided(page, folder, index, pages, where)


def _all(parts: list[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from _all(part.parts)


def _sections(text: str, level: int) -> tuple[str, list[Part]]:
    """What is before the first heading of a level, and the sections, whose headings are raised to the top."""
    mark = "#" * level + " "
    head: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    code = False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        if not code and line.startswith(mark):
            sections.append((line[level + 1 :], []))
        else:
            (sections[-1][1] if sections else head).append(line)
    parts: list[Part] = []
    for title, lines in sections:
        # A line between two sections has no use at the end of a page.
        body = "\n".join(lines).strip().removesuffix("\n---").strip() + "\n"
        own = default_slugify(_plain(title))
        slugs = [(level, own, _plain(title)), *_headings(body)]
        below: list[Part] = []
        if level == 2 and height(body) > TALLEST:
            body, below = _sections(body, 3)
            slugs = slugs[:1]
        name = make_id(re.split(r" \(|:", _plain(title))[0]) or f"part-{len(parts) + 1}"
        parts.append(Part(name, title, _raised(body, level - 1), slugs, below))
    return "\n".join(head).strip().removesuffix("\n---").strip() + "\n", parts


def height(text: str) -> int:
    """About how tall a text is, in pixels."""
    tall, code = 0.0, False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        if line.startswith("|"):
            tall += _ROW * max(1, len(line) / 400)
        else:
            tall += _CODE if code or line.startswith("    ") else _TEXT * len(line) / 80
    return round(tall)


def _headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Level, anchor and words of the headings of a text."""
    code = False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        if not code and (match := re.match(r"(#{2,4}) (.*)", line)):
            yield len(match[1]), default_slugify(_plain(match[2])), _plain(match[2])


def _raised(text: str, levels: int) -> str:
    lines, code = [], False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        heading = not code and re.match(r"#{2,6} ", line)
        lines.append(line[levels:] if heading else line)
    return "\n".join(lines) + "\n"


def _plain(title: str) -> str:
    """The words of a heading."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("**", "").strip()


def _moved(text: str, page: str, to: str, where: dict[str, str]) -> str:
    """The text with its links as they are from another place."""
    here = PurePosixPath(to).parent

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if not target and anchor[1:] in where:
            return f"]({os.path.relpath(where[anchor[1:]], here)}.md{anchor})"
        if not target or "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        whole = os.path.normpath(PurePosixPath(page).parent / target)
        return f"]({os.path.relpath(whole, here)}{anchor})"

    return _LINK.sub(link, text)


def _links(parts: list[Part], folder: str, indent: str = "") -> str:
    """A list of the pages, with the anchors that the whole had."""
    if not parts:
        return ""
    lines = []
    for part in parts:
        lines.append(f"{indent}- {_anchors(part.slugs[0])}[{_plain(part.title)}]({folder}{part.name}.md)")
        for slug in part.slugs[1:]:
            if slug[0] <= 3:
                lines.append(f"{indent}  - {_anchors(slug)}[{slug[2]}]({folder}{part.name}.md#{slug[1]})")
        for below in part.parts:
            lines.append(f"{indent}  - {_anchors(below.slugs[0])}[{_plain(below.title)}]({folder}{below.name}.md)")
    return "\n".join([*lines, ""])


def _anchors(slug: tuple[int, str, str]) -> str:
    """The anchors of a heading, as Markdown's links and as the site's addresses have them."""
    return "".join(f'<span id="{one}"></span>' for one in dict.fromkeys((slug[1], make_id(slug[2]))) if one)


def redirected(text: str, page: str, divided: list[Divided]) -> str:
    """The links of a page to the sections of divided documents lead to their parts."""
    here = PurePosixPath(page).parent
    where = {each.page: each.where for each in divided}

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2]
        if not anchor or not target.endswith(".md") or "://" in target:
            return match[0]
        whole = os.path.normpath(here / target.removesuffix(".md"))
        part = where.get(whole, {}).get(anchor[1:])
        return f"]({os.path.relpath(part, here)}.md{anchor})" if part else match[0]

    return _LINK.sub(link, text)
