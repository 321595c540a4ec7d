"""The JSON Schema of scenario files as editors need it: small, and exact about where a fault is.

The core's schema says what is allowed by lists of whole tables (``anyOf``). A validator then only knows that none of
fifty tables fits, and the file is a megabyte. Here, each table is one definition, what several tables have in common is
written once, and ``kind`` decides which table is meant, so that a fault is reported at the key or value that has it.

Editors that complete keys read ``properties`` and ``anyOf`` alone, and a validator would stop there; so ``anyOf`` lists
the choices and ends with ``true``, which allows everything, and ``allOf`` decides.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from windtunnel import _core

Schema = dict[str, Any]

#: The name of the schema. It is a name, not an address: the schema comes with the program.
ID = "urn:windtunnel:scenario"

#: Definitions whose value is a name or a table by ``kind``. AQMs have the tables of queues.
FAMILIES = (
    "Queue",
    "Aqm",
    "Controller",
    "SlowStart",
    "Application",
    "Impairment",
    "ReceiverController",
    "Stack",
)

#: What a text must look like to be a quantity, by the word for its unit in the core's schema. The number is not looked
#: at closely; the parser does that.
PATTERNS = {
    "time": r"[\d.] *([nuµm]?s|min|h) *$",
    "bytes": r"[\d.] *([kMG]?B|[KMG]iB|bytes?) *$",
    "rate": r"[\d.] *([kmgtKMGT]?[bB][iI][tT](/[sS])?|[MGT]bps|[MG]b/s) *$",
    "probability": r"[\d.] *%? *$",
}

#: Keywords that say how wide a whole number of the program is.
_WIDTHS = ("uint", "int", "float", "double")
#: The schema of a value whose key is unknown. With ``false``, taplo would report every key of the table.
_UNKNOWN_KEY: Schema = {"not": {}}
#: A definition that is repeated is shared if it has more characters than a reference to it.
_WORTH_SHARING = 60


def editor_schema() -> str:
    """The schema, with a definition in each line."""
    root = _without_nulls(json.loads(_core.schema()))
    definitions: Schema = root.pop("$defs")
    definitions |= {unit.capitalize(): _named_quantity(unit, definitions, root) for unit in PATTERNS}
    quantities = {unit.capitalize() for unit in PATTERNS}
    for part in (root, {name: one for name, one in definitions.items() if name not in quantities}):
        _each(part, _with_pattern)
    _aqms(definitions)
    for name in FAMILIES:
        definitions[name] = _family(name, definitions[name], definitions)
    _each(definitions, lambda one: _by_type(one, definitions))
    for part in (root, definitions):
        _each(part, _closed)
    definitions |= _shared(definitions)
    head = {"$schema": root.pop("$schema"), "$id": ID, "title": root.pop("title")} | root
    lines = ",\n".join(f"{_text(name)}:{_text(one)}" for name, one in definitions.items())
    return f'{_text(head)[:-1]},\n"$defs":{{\n{lines}\n}}}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _each(node: Any, change: Callable[[Schema], None]) -> None:
    """Calls ``change`` for every schema, outermost last."""
    if isinstance(node, dict):
        for value in list(node.values()):
            _each(value, change)
        change(node)
    elif isinstance(node, list):
        for value in node:
            _each(value, change)


def _without_nulls(node: Any) -> Any:
    """TOML has no null; a key that may be null is one that may be left out. Line breaks of the source are spaces."""
    if isinstance(node, str):
        return node.replace("\n", " ")
    if isinstance(node, list):
        return [_without_nulls(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _without_nulls(value) for key, value in node.items() if not (key == "default" and value is None)}
    for key in ("type", "enum"):
        if isinstance(kinds := made.get(key), list):
            some = [kind for kind in kinds if kind not in ("null", None)]
            made[key] = some[0] if key == "type" and len(some) == 1 else some
    choices = made.get("anyOf", [])
    if {"type": "null"} in choices:
        some = [one for one in choices if one != {"type": "null"}]
        if len(some) > 1:
            return made | {"anyOf": some}
        del made["anyOf"]
        return some[0] | made
    return made


def _named_quantity(unit: str, *parts: Schema) -> Schema:
    """What a quantity is, once for all keys that have it."""
    carriers: list[Schema] = []
    for part in parts:
        _each(part, lambda one: carriers.append(one) if one.get("x-unit") == unit and "format" in one else None)
    first = carriers[0]
    return {
        # A probability may be a number, too.
        "type": ["string", "number"] if unit == "probability" else "string",
        "pattern": PATTERNS[unit],
        "description": first["format"],
        "examples": first["examples"],
        "x-unit": unit,
    }


def _with_pattern(one: Schema) -> None:
    """What a quantity looks like is said once, by its definition.

    A plain ``$ref`` would be shorter, but taplo then shows the definition's description in place of the key's.
    """
    unit = one.get("x-unit")
    if isinstance(unit, str) and unit in PATTERNS and "format" in one:
        del one["x-unit"], one["format"]
        one.pop("examples", None)
        value = one["items"] if one.get("type") == "array" else one
        del value["type"]
        value |= {"if": {}, "then": {"$ref": f"#/$defs/{unit.capitalize()}"}}
    elif isinstance(form := one.get("format"), str) and form.startswith(_WIDTHS):
        del one["format"]
    if "pattern" in one:
        # It has the unit.
        one.pop("x-unit", None)
    if isinstance(one.get("const"), str):
        one.pop("type", None)
    for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(value := one.get(bound), float) and value.is_integer():
            one[bound] = int(value)


def _aqms(definitions: Schema) -> None:
    """The values of the keys of queues that take an AQM, once."""
    for table in definitions["Queue"]["anyOf"]:
        for key, value in table.get("properties", {}).items():
            if "anyOf" in value and any("kind" in one.get("properties", {}) for one in value["anyOf"]):
                definitions.setdefault("Aqm", {"anyOf": value["anyOf"]})
                table["properties"][key] = {"description": value["description"], "$ref": "#/$defs/Aqm"}


def _family(name: str, family: Schema, definitions: Schema) -> Schema:
    """A name, or a table by ``kind``; the names go to a definition of their own.

    A key that means the same in all tables that have it is described once, in the family. The tables have the others,
    and allow no more.
    """
    names: dict[str, str | None] = {}
    by_kind: list[tuple[list[str], Schema]] = []
    others = []
    taken: set[str] = set()
    for choice in _flat(family["anyOf"]):
        kinds = choice.get("properties", {}).get("kind", {}).get("enum")
        if kinds is None:
            if "properties" in choice:
                others.append(choice)
            names = dict.fromkeys(choice.get("enum", ())) | names
            continue
        own = {key: value for key, value in choice["properties"].items() if key != "kind"}
        if taken & set(kinds):
            # The kinds of a stack's own controllers: those that are not ours, and all with a shadow.
            others.append({"properties": {"kind": {"enum": kinds}} | own, "required": ["kind"]})
        else:
            names[kinds[0]] = names.get(kinds[0]) or choice.get("description")
        by_kind.append(([kind for kind in kinds if kind not in taken], own))
        taken |= set(kinds)
    common = _common([own for _, own in by_kind])
    #: The kinds of each table: those with the same keys share it.
    rules: dict[str, list[str]] = {}
    for kinds, own in by_kind:
        keys = {"kind": True} | {key: True if key in common else value for key, value in own.items()}
        rules.setdefault(_text(keys), []).extend(kinds)
    dispatch, tables = [], []
    if name == "Aqm":
        # An AQM's table is that of the queue of its name, without what queues alone have.
        of_queues = definitions["Queue"]["properties"]
        had = {key for _, own in by_kind for key in own}
        common = {key: value if key in had else _UNKNOWN_KEY for key, value in of_queues.items() if key != "kind"}
        dispatch = [rule for rule in _rules(definitions["Queue"]) if taken.issuperset(_kinds(rule))]
        tables = [rule["then"] for rule in dispatch]
        rules = {}
    for text, kinds in rules.items():
        tables.append({"properties": json.loads(text), "additionalProperties": False})
        # Names are before the tables.
        then = {"$ref": f"#/$defs/{name}/anyOf/{len(tables)}"}
        dispatch.append({"if": {"properties": {"kind": _one_of(kinds)}}, "then": then})
    as_name = {"$ref": f"#/$defs/{name}Name"}
    definitions[f"{name}Name"] = _names(names, _purpose(name, definitions))
    decide: Schema = {"if": {"required": ["kind"]}, "then": {"allOf": dispatch}, "else": {"required": ["kind"]}}
    if others:
        extra = sorted({key for one in others for key in one["properties"]} - {"kind"})
        decide = {
            "if": {"anyOf": [{"required": [key]} for key in extra]},
            "then": {"anyOf": [one | {"additionalProperties": False} for one in others]},
            "else": decide,
        }
    return {
        "properties": {"kind": as_name} | common,
        "anyOf": [as_name, *tables, *others, True],
        "allOf": [
            {"type": ["string", "object"]},
            {"if": {"type": "string"}, "then": as_name},
            {"if": {"type": "object"}, "then": decide},
        ],
    }


def _rules(family: Schema) -> list[Schema]:
    rules: list[Schema] = family["allOf"][2]["then"]["then"]["allOf"]
    return rules


def _kinds(rule: Schema) -> list[str]:
    kind = rule["if"]["properties"]["kind"]
    kinds: list[str] = kind.get("enum") or [kind["const"]]
    return kinds


def _one_of(kinds: list[str]) -> Schema:
    """Whether a kind, which is known to be a name, is one of these; in few characters where all have all suffixes."""
    if len(kinds) == 1:
        return {"const": kinds[0]}
    suffixes = sorted({kind.removeprefix(kinds[0]) for kind in kinds if kind.startswith(f"{kinds[0]}-")})
    bare = [kind for kind in kinds if kind + suffixes[0] in kinds] if suffixes else []
    if bare and len(kinds) == len(bare) * (1 + len(suffixes)):
        names = "|".join(map(re.escape, bare))
        assert {kind for kind in kinds if re.search(f"^({names})({'|'.join(suffixes)})?$", kind)} == set(kinds)
        return {"pattern": f"^({names})({'|'.join(suffixes)})?$"}
    return {"enum": kinds}


def _names(names: dict[str, str | None], purpose: str) -> Schema:
    """All names of a family. Those that have a summary come first: taplo shows it for each."""
    summaries = {name: summary for name, summary in names.items() if summary}
    return {
        "description": purpose,
        "enum": [*summaries, *(name for name in names if name not in summaries)],
        "x-taplo": {"docs": {"enumValues": list(summaries.values())}},
    }


def _purpose(name: str, definitions: Schema) -> str:
    """What a family is for, in the words of the first key that refers to it."""
    said: list[str] = []

    def look(one: Schema) -> None:
        if one.get("$ref") == f"#/$defs/{name}" and len(one.get("description", "")) > len("A list."):
            said.append(one["description"])

    _each(definitions, look)
    return said[0] if said else definitions[name].get("description", name)


def _flat(choices: list[Schema]) -> Iterator[Schema]:
    for one in choices:
        if "anyOf" in one and "properties" not in one:
            yield from _flat(one["anyOf"])
        else:
            yield one


def _common(tables: list[Schema]) -> Schema:
    """The keys that several tables have, and that mean the same in all of these."""
    meanings: dict[str, list[str]] = {}
    for table in tables:
        for key, value in table.items():
            meanings.setdefault(key, []).append(_text(value))
    return {key: json.loads(texts[0]) for key, texts in meanings.items() if len(texts) > 1 and len(set(texts)) == 1}


def _by_type(one: Schema, definitions: Schema) -> None:
    """Choices of different types are told apart by the type, so that a fault within one is reported where it is."""
    choices = one.get("anyOf")
    if not choices or "allOf" in one or True in choices:
        return
    types = [_types(choice, definitions) for choice in choices]
    every = [kind for some in types for kind in some]
    if all(types) and len(set(every)) == len(every) and set(every) & {"object", "array"}:
        one["anyOf"] = [*choices, True]
        rules = [{"if": {"type": _one(some)}, "then": choice} for some, choice in zip(types, choices, strict=True)]
        one["allOf"] = [{"type": every}, *rules]


def _one(some: list[str]) -> str | list[str]:
    return some[0] if len(some) == 1 else some


def _types(schema: Schema, definitions: Schema) -> list[str]:
    """The types that a value may have; none if that is not known."""
    schema = schema.get("then", schema)
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "type" in schema:
        return [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
    if "allOf" in schema:
        return _types(schema["allOf"][0], definitions)
    parts = schema.get("oneOf", ())
    return ["string"] if parts and all(isinstance(part.get("const"), str) for part in parts) else []


def _closed(one: Schema) -> None:
    if one.get("additionalProperties") is False:
        one["additionalProperties"] = _UNKNOWN_KEY


def _shared(definitions: Schema) -> Schema:
    """Definitions of the keys that are written more than once; their places get references."""
    written: Counter[tuple[str, str]] = Counter()

    def properties(change: Callable[[Schema, str, Any], None]) -> None:
        def within(one: Schema) -> None:
            keys = one.get("properties")
            if isinstance(keys, dict):
                for key, value in list(keys.items()):
                    if isinstance(value, dict) and key != "kind" and not (len(value) == 1 and "$ref" in value):
                        change(keys, key, value)

        _each(definitions, within)

    def count(_: Schema, key: str, value: Any) -> None:
        written[key, _text(value)] += 1

    properties(count)
    names: dict[tuple[str, str], str] = {}
    for (key, text), times in written.items():
        if times > 1 and len(text) > _WORTH_SHARING:
            number = sum(other == key for other, _ in names)
            names[key, text] = f"{key}-{number + 1}" if number else key
    if taken := set(names.values()) & set(definitions):
        raise AssertionError(f"both a key and a definition: {sorted(taken)}")

    def refer(keys: Schema, key: str, value: Any) -> None:
        if name := names.get((key, _text(value))):
            keys[key] = {"$ref": f"#/$defs/{name}"}

    properties(refer)
    return {name: json.loads(text) for (_, text), name in names.items()}
