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
    return "\n\n".join([f"# {title}", *filter(None, [_common(kind)]), *map(_entry, entries)]) + "\n"


def _common(kind: str) -> str:
    """What tables of the kind have in addition to their own parameters."""
    if kind == "controllers":
        return (
            "A controller that grows and reduces a window also takes `slow_start`, one of the "
            "[slow starts](slow-starts.md), and `response`, one of the [responses](responses.md), with their "
            "parameters."
        )
    if kind == "presets":
        return (
            'A link takes the keys of a preset by its name: `preset = "geo"`. Keys of its own take precedence '
            "([how-to](../how-to/changing-paths.md#paths-by-name))."
        )
    shared_by = {"queues": ("Queue", "queue"), "impairments": ("Impairment", "impairment")}
    if kind not in shared_by:
        return ""
    definition, one = shared_by[kind]
    tables = [table for table in json.loads(_core.schema())["$defs"][definition]["anyOf"] if "properties" in table]
    shared = set.intersection(*(set(table["properties"]) for table in tables)) - {"kind"}
    properties = tables[0]["properties"]
    rows = [
        (code(key), code(_default(properties[key].get("default"))), "", _described(properties[key]))
        for key in sorted(shared)
    ]
    return f"Every {one} also has these keys.\n\n" + table(("parameter", "default", "unit", "what it is"), rows)


def _described(value: Mapping[str, Any]) -> str:
    """The description of a key in the schema, or that of the type it refers to."""
    reference = value.get("$ref", "").rpartition("/")[2]
    named: Mapping[str, Any] = json.loads(_core.schema())["$defs"][reference] if reference else {}
    kinds = ", ".join(f"{code(kind['const'])} ({kind.get('description', '')})" for kind in named.get("oneOf", ()))
    return " ".join(filter(None, [value.get("description") or named.get("description", ""), kinds]))


def _entry(entry: Entry) -> str:
    aliases = ", ".join(map(code, entry.get("aliases") or ()))
    parts = [
        f"## {code(entry['name'])}",
        f"Also {aliases}." if aliases else "",
        _sentence(entry["summary"]),
        f"Source: {entry['source']}." if entry.get("source") else "",
        f"```toml\n{entry['keys'].rstrip()}\n```" if "keys" in entry else _parameters(entry["parameters"]),
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
