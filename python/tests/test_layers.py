"""Which package may import which: no cycles, and the layers of ARCHITECTURE.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import windtunnel

ROOT = Path(windtunnel.__file__).parent
#: The two classes that users hold have methods for what can be done with them; these import it when they are called.
FACADES = {"result.py", "scenario.py"}


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below ``node``, without imports for annotations alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from executed(child)


def packages(file: Path) -> Iterator[str]:
    """The packages and modules of the top level that a file imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = file.relative_to(ROOT)
    for node in tree.body if str(own) in FACADES else executed(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"windtunnel.{each.name}" for each in node.names] if node.module == "windtunnel" else [node.module]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "windtunnel" and rest:
                yield rest.partition(".")[0]


def imports() -> dict[str, set[str]]:
    """What each package or module of the top level imports of others."""
    imported: dict[str, set[str]] = {}
    for file in ROOT.rglob("*.py"):
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if own != "__init__":
            imported.setdefault(own, set()).update(set(packages(file)) - {own})
    names = set(imported)
    return {own: others & names for own, others in imported.items()}


def test_no_cycle_of_imports() -> None:
    """A package can be read without those that use it."""
    try:
        list(TopologicalSorter(imports()).static_order())
    except CycleError as error:
        pytest.fail(f"packages import each other: {' -> '.join(error.args[1])}")


def test_layers() -> None:
    """An experiment knows neither pages nor commands, nor what is built on it; pages know only panels."""
    imported = imports()
    above = {"papers", "evaluate", "campaign", "search", "validation", "compare", "claims", "cli", "report", "figures"}
    assert not imported["experiment"] & above
    assert not imported["report"] & (above - {"report", "figures"})
