"""The suite's data: scenario files, published values, notes. They live in ``data`` beside this file."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Any

from windtunnel.papers.cells import Template

ROOT = Path(__file__).parent / "data"


def template(name: str) -> Template:
    """The scenario file ``name``."""
    return Template(name, (ROOT / "scenarios" / f"{name}.toml").read_text(encoding="utf-8"))


def table(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file; lines that begin with ``#`` say where it comes from."""
    with (ROOT / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def toml(name: str) -> dict[str, Any]:
    """A TOML file."""
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def text(name: str) -> str:
    """A text file."""
    return (ROOT / name).read_text(encoding="utf-8")
