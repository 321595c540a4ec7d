"""Writes the folder of a pack: ``report.html``, ``pack.json``, ``rows.csv``, scenario files, and data as Parquet."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel import _core
from windtunnel.escape import csv_cell
from windtunnel.evaluate.execute import RunValues
from windtunnel.evaluate.judge import read
from windtunnel.evaluate.pack import Pack
from windtunnel.evaluate.results import ClauseResult, Measured, Row
from windtunnel.evaluate.runs import Run, seeds_in_words
from windtunnel.evaluate.subject import Subject
from windtunnel.extras import command, has
from windtunnel.plugins import origin
from windtunnel.provenance import build, build_in_words, plugins
from windtunnel.table import Table, stored

#: The folder of the sources of foreign code.
PLUGINS = "plugins"
#: Version of the layout of pack.json.
SCHEMA = 1


@dataclass(frozen=True)
class Evidence:
    """Everything that a pack's folder says."""

    pack: Pack
    subject: Subject
    results: Sequence[ClauseResult]
    runs: Sequence[Run]
    outcomes: Sequence[RunValues]
    quick: bool

    @property
    def foreign(self) -> list[str]:
        """Algorithms in the runs whose code is not windtunnel's own."""
        return sorted({what for outcome in self.outcomes for what in outcome.foreign})

    @property
    def facts(self) -> list[str]:
        """What a reader must know of all runs."""
        return [
            f"{self.pack.document}",
            f"windtunnel {build_in_words()}",
            f"{len(self.runs)} runs" + (", the quick part of the pack" if self.quick else ""),
            f"{self.seeds}; a seed also sets start offsets",
            f"baselines: {', '.join(self.pack.baselines)}",
            *(f"foreign code: {what}" for what in self.foreign),
            *(f"plugin {each['file']}, SHA-256 {each['sha256']}" for each in self.plugins),
            *without(),
        ]

    @property
    def seeds(self) -> str:
        """How many seeds the runs of a cell have."""
        return seeds_in_words(self.pack, self.runs)

    @property
    def plugins(self) -> list[dict[str, str]]:
        """The files of foreign code, with their hashes."""
        return plugins(self.foreign)


def without() -> list[str]:
    """What the pack lacks, and why."""
    if has("matplotlib"):
        return []
    return [f"no figures, which need matplotlib: {command('matplotlib')}"]


def is_pack(folder: Path) -> bool:
    """Whether a folder was written by this module, and may be replaced."""
    return (folder / "pack.json").is_file()


def write(folder: Path, evidence: Evidence) -> None:
    """Write every file of the pack into ``folder``."""
    from windtunnel.evaluate.appendix import write_archive, write_markdown
    from windtunnel.evaluate.figures import write_figures
    from windtunnel.evaluate.page import write_pack_page

    for run in evidence.runs:
        file = folder / run.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(run.text, encoding="utf-8")
    _write_plugins(folder / PLUGINS, evidence)
    _write_rows(folder / "rows.csv", evidence)
    _write_json(folder / "pack.json", evidence)
    _write_data(folder / "data", evidence)
    runs = {run.file: run for run in evidence.runs}
    figures = {
        result.clause.id: {} if without() else write_figures(folder, result, runs, evidence.subject.name)
        for result in evidence.results
    }
    write_pack_page(folder / "report.html", evidence, figures)
    write_markdown(folder, evidence, figures)
    write_archive(folder)


def _write_plugins(folder: Path, evidence: Evidence) -> None:
    """The source of foreign code as it was run, with which the scenarios can be run again."""
    for each in evidence.plugins:
        plugin = origin(each["controller"])
        if plugin is not None:
            folder.mkdir(exist_ok=True)
            (folder / each["file"]).write_bytes(plugin.source)


def _write_rows(path: Path, evidence: Evidence) -> None:
    baselines = list(evidence.pack.baselines)
    columns = ["id", "clause", "what", "cell", "unit", "measured", "low", "high", "limit", "limit_text", "verdict"]
    absolute = ["absolute limit", "absolute verdict", "source of the absolute limit"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [*columns, *(f"{b}{end}" for b in baselines for end in ("", " low", " high")), "note", *absolute]
        )
        for row in _all(evidence):
            nothing = Measured(None, None, 0)
            numbers = [_three(row.baselines.get(b, nothing)) for b in baselines]
            writer.writerow(map(csv_cell, [
                row.id, row.clause, row.text, row.cell, row.unit, *_three(row.subject), row.limit, row.limit_text,
                row.word, *(n for three in numbers for n in three), row.note,
                *((row.absolute.text, read(row.absolute.verdict).text, row.source) if row.absolute else ("", "", "")),
            ]))  # fmt: skip


def _three(measured: Measured) -> tuple[float | None, float | None, float | None]:
    return (measured.mean, *(measured.interval or (None, None)))


def _all(evidence: Evidence) -> list[Row]:
    return [row for result in evidence.results for row in result.rows]


def _write_json(path: Path, evidence: Evidence) -> None:
    from windtunnel.evaluate.terminal import absolute_reason, reason

    pack = evidence.pack
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "pack": pack.name,
        "title": pack.title,
        "document": pack.document,
        "about": one_line(pack.about),
        "cannot": one_line(pack.cannot),
        "subject": {"kind": pack.kind, "name": evidence.subject.name, "value": evidence.subject.value},
        "baselines": dict(pack.baselines),
        **build(),
        "quick": evidence.quick,
        "seeds": evidence.seeds,
        "foreign": evidence.foreign,
        "plugins": [{**each, "file": f"{PLUGINS}/{each['file']}"} for each in evidence.plugins],
        "verdicts": Counter(result.word for result in evidence.results),
        "clauses": [
            {
                "id": result.clause.id,
                "title": result.clause.title,
                "level": result.clause.level,
                "verdict": result.word,
                "decides": reason(result),
                "absolute": None if result.absolute is None else read(result.absolute).text,
                "exceeds": absolute_reason(result),
                "requirement": one_line(result.clause.requirement),
                "method": one_line(result.clause.method),
                "cannot": one_line(result.clause.cannot),
                "rows": [_json_row(row) for row in result.rows],
            }
            for result in evidence.results
        ],
        "runs": [
            {"scenario": run.file, "arm": run.arm, "seed": run.seed, "digest": outcome.digest, "error": outcome.error}
            for run, outcome in zip(evidence.runs, evidence.outcomes, strict=True)
        ],
    }
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def one_line(text: str) -> str:
    """Texts of the packs are wrapped in their files."""
    return " ".join(text.split())


def _json_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "what": row.text,
        "cell": row.cell,
        "unit": row.unit,
        "measured": _json_measured(row.subject),
        "baselines": {name: _json_measured(m) for name, m in row.baselines.items()},
        "limit": row.limit,
        "limit_text": row.limit_text,
        "verdict": row.word,
        "absolute": None
        if row.absolute is None
        else {
            "limit": row.absolute.limit,
            "limit_text": row.absolute.text,
            "verdict": read(row.absolute.verdict).text,
            "source": row.source,
        },
        "note": row.note,
        "scenarios": dict(row.files),
    }


def _json_measured(measured: Measured) -> dict[str, Any]:
    return {"mean": measured.mean, "interval": measured.interval, "runs": measured.runs, "method": measured.method}


def _write_data(folder: Path, evidence: Evidence) -> None:
    """``runs.parquet``: a row per run and metric; ``flows.parquet``: a row per run and flow."""
    folder.mkdir()
    runs, flows = [], []
    for run, outcome in zip(evidence.runs, evidence.outcomes, strict=True):
        key = {
            "clause": run.clause,
            "trial": run.trial,
            "cell": run.cell.name,
            "arm": run.arm,
            "seed": run.seed,
            "digest": outcome.digest,
            "scenario": run.file,
        }
        runs += [{**key, "metric": name, "value": _finite(value)} for name, value in outcome.values.items()]
        flows += [{**key, **_plain(flow)} for flow in outcome.flows]
    for name, rows in (("runs", runs), ("flows", flows)):
        if rows:
            _core.write_table(folder / f"{name}.parquet", stored(Table.from_records(rows)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(flow: Mapping[str, Any]) -> dict[str, Any]:
    return {("flow" if key == "name" else key): value for key, value in flow.items()}
