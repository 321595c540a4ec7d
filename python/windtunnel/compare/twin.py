"""The folder of a scenario and its twin on the real Linux: the result of the first draw of each side, their panels on
one page, and all measures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.atomic import check_free, staged
from windtunnel.compare import overlay
from windtunnel.compare.sides import RunSide
from windtunnel.folder import load_libraries, save
from windtunnel.input_file import document_of
from windtunnel.kernel.kept import Kernel
from windtunnel.result import RunResult
from windtunnel.twin.measures import Measure
from windtunnel.twin.sides import Sides

_DOCUMENT = "twin.json"


def check_free_for_twin(folder: Path, *, force: bool) -> None:
    """Refuse a place where :func:`save_twin` could not write, before anything runs. Raises InputError."""
    check_free(folder, force=force, ours=is_twin)
    load_libraries(figures=False)


def is_twin(folder: Path) -> bool:
    """Whether a folder has a comparison with the kernel."""
    document = document_of(folder / _DOCUMENT)
    return isinstance(document, dict) and "measures" in document


def save_twin(folder: Path, sides: Sides, rows: Sequence[Measure], kernel: Kernel, *, force: bool) -> None:
    """Write the folder; it appears complete or not at all. Raises InputError."""
    with staged(folder, force=force, ours=is_twin) as stage:
        save(sides.linux[0], stage / "linux")
        save(sides.ours[0], stage / "windtunnel")
        first = [
            RunSide(name, result, sides.scenario)
            for name, result in zip(("linux", "windtunnel"), _alike(sides.linux[0], sides.ours[0]), strict=True)
        ]
        findings = [f"{row.subject}: {row.name}: {row.words()}" for row in rows]
        overlay.write(stage / "report.html", first, findings, force=False)
        document = {
            "kernel": kernel.name,
            "draws": len(sides.linux),
            "digests": {
                "linux": [result.digest for result in sides.linux],
                "windtunnel": [result.digest for result in sides.ours],
            },
            "measures": [row.document() for row in rows],
        }
        (stage / _DOCUMENT).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _alike(linux: RunResult, ours: RunResult) -> Iterator[RunResult]:
    """Both with the tables that the kernel has: it has rows for intervals, and none for single packets."""
    for result in (linux, ours):
        yield RunResult(result.summary, {name: result.tables[name] for name in linux.tables}, result.meta)
