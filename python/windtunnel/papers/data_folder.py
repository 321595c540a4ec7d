"""The suites' data: scenario files, published and reference values, claims, notes. They are in ``data``, next to the
suite's code.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.papers.setups import Template


@dataclass(frozen=True)
class DataFolder:
    """The folder ``root``."""

    root: Path

    def template(self, name: str) -> Template:
        """The scenario file ``name``."""
        return Template(name, (self.root / "scenarios" / f"{name}.toml").read_text(encoding="utf-8"))

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a CSV file; lines that start with ``#`` say where it comes from."""
        with (self.root / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def toml(self, name: str) -> dict[str, Any]:
        """A TOML file."""
        return tomllib.loads(self.text(name))

    def text(self, name: str) -> str:
        """A text file."""
        return (self.root / name).read_text(encoding="utf-8")


AIMD, C4, DEPLOYMENT, DUALQ, L4S_TESTS, MDS, SCE, TALK = (
    DataFolder(Path(__file__).parent / suite / "data")
    for suite in ("aimd", "c4", "deployment", "dualq", "l4s_tests", "mds", "sce", "talk")
)
