"""A scenario with its overrides as plain data, and as the text of a file that says the same."""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

import tomli_w

from windtunnel.escape import comment
from windtunnel.scenario import Scenario

Steps: TypeAlias = tuple[str | int, ...]
#: The key that an algorithm's name gets when one of its parameters is set.
_NAMED = "kind"


def table_of(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data, with its overrides in their places. Raises ScenarioError."""
    text, file, overrides, allow_read, _ = scenario.arguments
    table = tomllib.loads(text)
    for setting in overrides:
        _apply(table, setting)
    try:
        same = Scenario.from_table(table, file=file, allow_read=allow_read).resolve_text() == scenario.resolve_text()
    except ValueError:
        same = False
    # Where the core reads an override in another way, it writes the scenario itself, with every default.
    return table if same else tomllib.loads(scenario.check())


def text_of(scenario: Scenario, title: str, head: str) -> str:
    """The text of a scenario file, with ``head`` as its comment."""
    table = {"title": title, **{k: v for k, v in table_of(scenario).items() if k != "title"}}
    return "".join(comment(line) + "\n" for line in head.splitlines()) + tomli_w.dumps(table)


def _apply(table: dict[str, Any], setting: str) -> None:
    key, _, text = setting.partition("=")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    *steps, last = re.findall(r"[^.\[\]]+", key.strip())
    node: Any = table
    for step in steps:
        inner = _inner(node, step)
        if isinstance(inner, str):
            inner = {_NAMED: inner}
            node[_position(node, step)] = inner
        node = inner
    node[_position(node, last)] = value


def _inner(node: Any, step: str) -> Any:
    return node.setdefault(step, {}) if isinstance(node, dict) else node[_position(node, step)]


def _position(node: Any, step: str) -> str | int:
    """The key of a table, or the place in a list, of an entry by its name or number."""
    if isinstance(node, dict):
        return step
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in node]
    return names.index(step) if step in names else int(step)


def leaves(node: Any, path: Steps = ()) -> list[Steps]:
    """The paths of all keys of tables, deepest first; arrays of values are not entered."""
    paths: list[Steps] = []
    if isinstance(node, dict):
        for key, value in node.items():
            paths += leaves(value, (*path, key))
            paths.append((*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            paths += leaves(value, (*path, index))
    return paths


def without(table: dict[str, Any], paths: tuple[Steps, ...]) -> dict[str, Any]:
    """The table without what is at ``paths``, which are those in the whole table."""
    dropped = set(paths)

    def kept(node: Any, path: Steps) -> Any:
        if isinstance(node, dict):
            return {key: kept(value, (*path, key)) for key, value in node.items() if (*path, key) not in dropped}
        if isinstance(node, list):
            return [kept(value, (*path, n)) for n, value in enumerate(node) if (*path, n) not in dropped]
        return node

    result: dict[str, Any] = kept(table, ())
    return result


def path_of(table: Any, key: str) -> Steps:
    """The path of a key as ``--set`` has it, with indices in place of names, as far as it is in the table."""
    steps: list[str | int] = []
    node: Any = table
    for step in re.findall(r"[^.\[\]]+", key):
        position: str | int = step
        try:
            position = _position(node, step) if isinstance(node, dict | list) else step
            node = node[position] if isinstance(node, dict | list) else None  # type: ignore[index]
        except (KeyError, IndexError, ValueError):
            position, node = step, None
        steps.append(position)
    return tuple(steps)


def overlap(a: Steps, b: Steps) -> bool:
    """Whether one of two paths is in the other."""
    short = min(len(a), len(b))
    return a[:short] == b[:short]


def named(path: Steps) -> str:
    """A path as messages show it: ``flow[0].rtt``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
