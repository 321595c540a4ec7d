"""What a run has recorded so far, next to the place of its result: it stays there if the run does not reach its end."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel import _core
from windtunnel.atomic import check_free
from windtunnel.errors import InputError
from windtunnel.input_file import document_of
from windtunnel.parts import Flows
from windtunnel.provenance import build
from windtunnel.stage import hold

if TYPE_CHECKING:
    from windtunnel.scenario import Scenario

_SUMMARY = "summary.json"


class Incomplete:
    """A folder next to the place of a result, ``NAME.incomplete``. What ends the run before its end leaves there what
    was recorded until then: ``windtunnel plot``, ``export`` and :func:`windtunnel.load` read it, and say so. The next
    run with this place replaces it. While a run records there, it holds the folder, and no other run takes it.
    """

    def __init__(self, result: Path, scenario: Scenario) -> None:
        result = result if result.name else result.resolve()
        self.path = result.with_name(f"{result.name}.incomplete")
        self.folder: Path | None = None
        self._scenario = scenario
        self._held: int | None = None

    def make(self, flows: Flows, queues: Sequence[str]) -> Path:
        """Make the folder. Raises InputError if the place is taken by something else, or by a run that goes on."""
        check_free(self.path, force=True, ours=is_incomplete)
        if self.path.exists():
            left_behind = hold(self.path)
            if left_behind is None:
                raise InputError(f"{self.path}: another run records there; --out names another place")
            shutil.rmtree(self.path)
            os.close(left_behind)
        self.path.mkdir(parents=True)
        self._held = hold(self.path)
        (self.path / "scenario.toml").write_text(self._scenario.check(), encoding="utf-8")
        (self.path / _SUMMARY).write_text(_document(self._scenario, flows, queues), encoding="utf-8")
        self.folder = self.path
        return self.folder

    def remove(self) -> None:
        """Remove the folder, if it was made."""
        if self.folder is not None:
            shutil.rmtree(self.folder)
            self.folder = None
        if self._held is not None:
            os.close(self._held)
            self._held = None


def is_incomplete(folder: Path) -> bool:
    """Whether a folder has the parts of a run that did not reach its end."""
    document = document_of(folder / _SUMMARY)
    return isinstance(document, dict) and bool(document.get("incomplete"))


def _document(scenario: Scenario, flows: Flows, queues: Sequence[str]) -> str:
    """What is known of the result before the end."""
    from windtunnel.contract import SCHEMA_VERSION

    resolved = scenario.resolve()
    meta = {
        "title": resolved.get("title") or "",
        "scenario": resolved,
        **build(),
        "seed": resolved["seed"],
        "duration_s": _core.quantity(resolved["duration"]),
    }
    return json.dumps({
        "schema_version": SCHEMA_VERSION,
        "incomplete": True,
        "meta": meta,
        "flows": [{"name": name, "cc": cc} for name, cc in flows],
        "queues": [{"name": name} for name in queues],
        "windows": [],
    }, indent=2) + "\n"  # fmt: skip
