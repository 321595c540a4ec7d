"""The keys of a scenario file, from its JSON Schema."""

from __future__ import annotations

import json
from typing import Any

from generators.markdown import code, table
from windtunnel import _core

Schema = dict[str, Any]

#: Tables of a scenario: their heading, and their name in the schema. The first is the file itself.
TABLES = {
    "[bottleneck]": "BottleneckTable",
    "[reverse]": "ReverseTable",
    "[[node]]": "NodeTable",
    "[[link]]": "LinkTable",
    "[[flow]]": "FlowTable",
    "active of a flow": "Active",
    "ack of a flow": "AckParams",
    "changes of a link": "Change",
    "[tcp]": "TcpParams",
    "[record]": "RecordParams",
    "[[window]]": "Window",
    "[[claim]]": "Claim",
}

#: Where the values of a key are a page of their own.
PAGES = {
    "Controller": "controllers",
    "Queue": "queues",
    "Impairment": "impairments",
    "OneOrMany": "impairments",
    "Application": "applications",
    "Ack": "acks",
    "TcpParams": "tcp",
}


def pages() -> dict[str, str]:
    """The page of the keys."""
    schema = json.loads(_core.schema())
    definitions = schema["$defs"]
    parts = [
        "# Scenario files",
        "A scenario is a TOML file. Quantities are texts with their unit. `windtunnel check FILE` prints a scenario "
        "with every default; `windtunnel schema` prints what this page says as a JSON Schema, which "
        "[editors](../how-to/editors.md) understand.",
        "## The file",
        _keys(schema, definitions),
    ]
    for heading, name in TABLES.items():
        described = definitions[name].get("description", "")
        parts += [f"## `{heading}`", described, _keys(definitions[name], definitions)]
    return {"scenario.md": "\n\n".join(parts) + "\n"}


def _keys(schema: Schema, definitions: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = []
    for key, value in schema["properties"].items():
        default = "required" if key in required else code(_text(value.get("default")))
        rows.append((code(key), _values(value, definitions), default, value.get("description", "")))
    return table(("key", "values", "default", "what it is"), rows)


def _values(value: Schema, definitions: Schema) -> str:
    """What a key may be set to."""
    if "$ref" in value:
        return _named(value["$ref"].rpartition("/")[2], definitions)
    if "enum" in value:
        return ", ".join(code(str(v)) for v in value["enum"] if v is not None)
    for several in ("anyOf", "oneOf"):
        if several in value:
            return " or ".join(filter(None, dict.fromkeys(_values(v, definitions) for v in value[several])))
    if "const" in value:
        return code(str(value["const"]))
    if "examples" in value:
        return " or ".join(f'`"{v}"`' for v in value["examples"])
    kinds = value.get("type", "a table")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "array" in kinds:
        return f"a list of {_values(value.get('items', {}), definitions)}"
    words = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "`true`, `false`"}
    return " or ".join(words.get(kind, "a table") for kind in kinds if kind != "null")


def _named(name: str, definitions: Schema) -> str:
    if name in PAGES:
        return f"[{'one or several ' if name == 'OneOrMany' else ''}{PAGES[name]}]({PAGES[name]}.md)"
    if name in TABLES.values():
        heading = next(heading for heading, table_name in TABLES.items() if table_name == name)
        return f"a table, see {code(heading)}"
    definition = definitions[name]
    if definition.get("type") == "object":
        return "a table"
    return _values(definition, definitions)


def _text(value: Any) -> str:
    if value is None or value in ({}, []):
        return ""
    return value if isinstance(value, str) else json.dumps(value)
