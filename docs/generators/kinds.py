"""A page for each kind of algorithm: what ``windtunnel list`` knows of every name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from generators.markdown import code, table
from windtunnel import _core

Entry = Mapping[str, Any]

#: Titles of the pages; kinds without one are named as in the listing.
TITLES = {"tcp": "TCP mechanisms", "acks": "Policies of acknowledging"}


def listing() -> dict[str, Sequence[Entry]]:
    """All names by their kind."""
    kinds: dict[str, Sequence[Entry]] = json.loads(_core.listing())
    return kinds


def pages() -> dict[str, str]:
    """A page for each kind, and the list of these pages."""
    kinds = listing()
    made = {f"{kind.replace('_', '-')}.md": _page(kind, entries) for kind, entries in kinds.items()}
    names = "\n".join(name.removesuffix(".md") for name in made)
    made["kinds.md"] = (
        "# Algorithms and mechanisms\n\nEvery name that a scenario may use, with its parameters, defaults, units and "
        f"source: what `windtunnel list` prints.\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    )
    return made


def _page(kind: str, entries: Sequence[Entry]) -> str:
    title = TITLES.get(kind, kind.replace("_", " ").capitalize())
    return "\n\n".join([f"# {title}", *map(_entry, entries)]) + "\n"


def _entry(entry: Entry) -> str:
    aliases = ", ".join(map(code, entry.get("aliases") or ()))
    parts = [
        f"## {code(entry['name'])}",
        f"Also {aliases}." if aliases else "",
        _sentence(entry["summary"]),
        f"Source: {entry['source']}." if entry.get("source") else "",
        _parameters(entry["parameters"]),
    ]
    return "\n\n".join(filter(None, parts))


def _parameters(parameters: Sequence[Entry]) -> str:
    if not parameters:
        return "It has no parameters."
    rows = [
        (code(p["name"]), code(_default(p.get("default"))), p.get("unit") or "", _description(p)) for p in parameters
    ]
    return table(("parameter", "default", "unit", "what it is"), rows)


def _description(parameter: Entry) -> str:
    choices = (parameter.get("type") or "").split(" | ")
    listed = f" One of {', '.join(map(code, choices))}." if len(choices) > 1 else ""
    return (parameter.get("description") or "") + listed


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
