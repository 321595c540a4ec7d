"""Descriptions of the core's classes: they are in its stub, which is not there when the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import windtunnel

STUB = Path(windtunnel.__file__).with_name("_core.pyi")


@cache
def classes() -> dict[str, ast.ClassDef]:
    """The classes of the stub by name."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def described(name: str) -> str:
    """The class as reStructuredText: how it is made, what it is, and its attributes and methods."""
    node = classes()[name]
    members = {member.name: member for member in _functions(node)}
    made = members.get("__new__") or members.get("__init__")
    kind = "exception" if any(ast.unparse(base).endswith("Error") for base in node.bases) else "class"
    lines = [f".. py:{kind}:: windtunnel.{name}{_signature(made) if made else ''}", "", *_text(node, 3)]
    for member in members.values():
        if member.name.startswith("__"):
            continue
        if any(ast.unparse(decorator) == "property" for decorator in member.decorator_list):
            lines += [f"   .. py:attribute:: {member.name}"]
            lines += [f"      :type: {ast.unparse(member.returns)}"] if member.returns else []
        else:
            lines += [f"   .. py:method:: {member.name}{_signature(member)}"]
        lines += ["", *_text(member, 6)]
    return "\n".join(lines)


def docstring(name: str, member: str) -> str:
    """What the stub says about a member of a class."""
    method = next(function for function in _functions(classes()[name]) if function.name == member)
    return ast.get_docstring(method) or ""


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (member for member in node.body if isinstance(member, ast.FunctionDef))


def _signature(function: ast.FunctionDef) -> str:
    """What a caller writes; the first argument, the class or the object itself, is not a part of it."""
    arguments = ast.unparse(function.args)
    return f"({arguments.partition(', ')[2] if arguments.startswith(('cls, ', 'self, ')) else ''})"


def _text(node: ast.ClassDef | ast.FunctionDef, indent: int) -> list[str]:
    return [*(f"{' ' * indent}{line}".rstrip() for line in (ast.get_docstring(node) or "").splitlines()), ""]
