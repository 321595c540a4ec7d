"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty columns are left out."""
    filled = list(rows)
    used = [i for i in range(len(head)) if any(row[i] for row in filled)]
    lines = [[head[i] for i in used], ["---"] * len(used), *([cell(row[i]) for i in used] for row in filled)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str) -> str:
    """A text that stays in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A text as code, or nothing."""
    return f"`{text}`" if text else ""
