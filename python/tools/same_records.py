"""Proves that two builds of the core record the same, whatever their digests are.

``python python/tools/same_records.py write FILE`` runs the scenarios of the repository, each for a few seconds and with
every table that there is, and writes a hash of each table and of the summary without its digest.
``... check FILE`` does so with the core of today, and names what differs: exit code 1. A change of the digest's
definition (docs/decisions/0052-digests.md) or of how runs are computed is checked by ``write`` before it and ``check``
after it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import windtunnel

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("scenarios", "docs/gallery", "docs/course", "python/windtunnel/papers")
#: What is recorded in runs of these durations: single packets only in short ones.
SHORT = ("record.events=true", "record.packets=true", "record.state=changes")
RECORDED = {"3 s": SHORT, "12 s": SHORT, "60 s": ()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_table(table: pa.Table) -> str:
    of_all = hashlib.sha256()
    for name in table.column_names:
        column = table.column(name).to_numpy()
        of_all.update(f"{name} {column.dtype} {len(column)}".encode())
        of_all.update(repr(column.tolist()).encode() if column.dtype == object else column.tobytes())
    return of_all.hexdigest()[:16]


def _run(path: Path) -> windtunnel.RunResult | None:
    """The result of the scenario; none of a file that is none, or in which something happens later."""
    for duration, record in RECORDED.items():
        changes = [*record, f"duration={duration}"]
        try:
            return windtunnel.Scenario.from_file(path, overrides=changes).run()
        except windtunnel.ScenarioError:
            continue
    return None


def records() -> Iterator[tuple[str, dict[str, str]]]:
    """The hashes of each run's tables and of its summary."""
    for path in sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.toml")):
        result = _run(path)
        if result is None:
            continue
        summary = {name: value for name, value in result.summary.items() if name != "digest"}
        hashes = {name: _of_table(result.table(name)) for name in sorted(result.tables)}
        yield str(path.relative_to(REPOSITORY)), {"summary": _hash(json.dumps(summary, sort_keys=True)), **hashes}


def main() -> None:
    """Writes or checks, as the command line says."""
    match sys.argv[1:]:
        case ["write", file]:
            hashes = dict(records())
            Path(file).write_text(json.dumps(hashes, indent=1), encoding="utf-8")
            print(f"{len(hashes)} scenarios, {sum(map(len, hashes.values()))} tables and summaries")
        case ["check", file]:
            before, now = json.loads(Path(file).read_text(encoding="utf-8")), dict(records())
            differ = [
                f"{run}: {name}"
                for run in before
                for name in before[run]
                if now.get(run, {}).get(name) != before[run][name]
            ]
            parts = sum(map(len, before.values()))
            print("\n".join(differ) or f"{len(before)} scenarios, {parts} tables and summaries: equal")
            sys.exit(bool(differ))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
