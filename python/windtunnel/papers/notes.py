"""Turns a suite's notes into HTML. They use a small part of Markdown: headings, lists, tables, code, emphasis."""

from __future__ import annotations

import html
import re


def to_html(text: str) -> str:
    """Blocks are separated by blank lines."""
    return "\n".join(_block(block.splitlines()) for block in re.split(r"\n\s*\n", text.strip()))


def _block(lines: list[str]) -> str:
    heading = re.match(r"(#+) (.*)", lines[0])
    if heading:
        # The page's own title is h1.
        level = len(heading[1]) + 1
        rest = _block(lines[1:]) if lines[1:] else ""
        return f"<h{level}>{_inline(heading[2])}</h{level}>{rest}"
    if lines[0].startswith("- "):
        items = re.split(r"\n- ", "\n" + "\n".join(lines))[1:]
        return "<ul>" + "".join(f"<li>{_inline(' '.join(i.split()))}</li>" for i in items) + "</ul>"
    if lines[0].startswith("|"):
        return _table(lines)
    return f"<p>{_inline(' '.join(lines))}</p>"


def _table(lines: list[str]) -> str:
    cells = [[c.strip() for c in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f"<th>{_inline(c)}</th>" for c in cells[0])
    body = "".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in row) + "</tr>" for row in cells[2:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)
