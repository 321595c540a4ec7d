"""Writes ``windtunnel/scenario_types.py``: the tables of a scenario as Python types, from the core's JSON Schema.

Run it after a change of the scenario's keys: ``python python/tools/scenario_types.py``. A test fails where that was
forgotten.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

TARGET = Path(__file__).parents[1] / "windtunnel" / "scenario_types.py"

#: The tables of the schema and their names in Python; used ones come first.
TABLES = {
    "TcpParams": "Tcp",
    "Change": "RateChange",
    "Active": "Active",
    "BottleneckTable": "Bottleneck",
    "ReverseTable": "Reverse",
    "NodeTable": "Node",
    "LinkTable": "Link",
    "FlowTable": "Flow",
    "RecordParams": "Record",
    "Window": "Window",
    "Claim": "Claim",
}

HEAD = '''"""The tables of a scenario as types; written by ``python/tools/scenario_types.py`` from the JSON Schema.

Quantities are strings with units. An algorithm is a name or a table with ``kind``, whose other keys depend on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

#: An algorithm by its name, or as a table: ``{"kind": "cubic", "c": 0.4, "slow_start": "essp"}``.
Algorithm: TypeAlias = str | Mapping[str, Any]
'''


def module(schema: Schema) -> str:
    """The text of the module."""
    definitions = schema["$defs"]
    return "\n\n".join([HEAD, *(_table(name, definitions[source], definitions) for source, name in TABLES.items())])


def _table(name: str, table: Schema, definitions: Schema) -> str:
    required = set(table.get("required", ()))
    keys = {key: _type(value, definitions) for key, value in table["properties"].items()}
    types = {key: f"Required[{text}]" if key in required else text for key, text in keys.items()}
    doc = textwrap.wrap(_sentence(table["description"]), 110)
    # Keys that are words of Python can be given in a literal only.
    words = {key: text for key, text in types.items() if keyword.iskeyword(key)}
    lines = []
    base = "TypedDict"
    if words:
        base = f"_{name}Keys"
        fields = ", ".join(f'"{key}": {text}' for key, text in words.items())
        lines += [f'{base} = TypedDict("{base}", {{{fields}}}, total=False)', "", ""]
    lines += [f"class {name}({base}, total=False):"]
    lines += _docstring(doc)
    for key, text in types.items():
        if key not in words:
            description = table["properties"][key].get("description", "")
            lines += ["", *(f"    #: {line}" for line in textwrap.wrap(" ".join(description.split()), 112))]
            lines += [f"    {key}: {text}"]
    return "\n".join(lines) + "\n"


def _docstring(lines: list[str]) -> list[str]:
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """']


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\")


def _type(schema: Schema, definitions: Schema) -> str:
    """The Python type of a value."""
    if "$ref" in schema:
        return _reference(schema["$ref"].rpartition("/")[2], definitions)
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _union([_type(part, definitions) for part in schema[key]])
    kind = schema["type"]
    if isinstance(kind, list):
        return _union([_type({**schema, "type": one}, definitions) for one in kind])
    if kind == "array":
        return f"Sequence[{_type(schema['items'], definitions)}]"
    simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return simple.get(kind, "Mapping[str, Any]")


def _reference(name: str, definitions: Schema) -> str:
    if name in TABLES:
        return f"{TABLES[name]} | Mapping[str, Any]"
    definition = definitions[name]
    parts = definition.get("anyOf", ())
    # A name or a table by `kind`: the set of algorithms is open.
    if any("kind" in part.get("properties", {}) for part in parts):
        return "Algorithm"
    return _type(definition, definitions)


def _union(types: list[str]) -> str:
    """Each type once; the words of several literals in one."""
    parts = [part for text in types for part in text.split(" | ")]
    words = [part[len("Literal[") : -1] for part in parts if part.startswith("Literal[")]
    rest = [part for part in dict.fromkeys(parts) if not part.startswith("Literal[") and part != "None"]
    literal = [f"Literal[{', '.join(dict.fromkeys(words))}]"] if words and "str" not in rest else []
    return " | ".join([*literal, *rest, *(["None"] if "None" in parts else [])])


def main() -> None:
    """Writes the module and formats it."""
    import subprocess

    from windtunnel import _core

    TARGET.write_text(module(json.loads(_core.schema())), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(TARGET)], check=True)


if __name__ == "__main__":
    main()
