"""A pack for the appendix of a document: the report as Markdown, and all files of the folder in one archive."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.evaluate.judge import read
from windtunnel.evaluate.results import ClauseResult, Row
from windtunnel.evaluate.terminal import absolute_reason, measured, needs, reason

if TYPE_CHECKING:
    from windtunnel.evaluate.writer import Evidence

MARKDOWN, ARCHIVE = "report.md", "appendix.zip"
#: The time of all files in the archive, the first that ZIP knows: equal packs are equal archives.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_markdown(folder: Path, evidence: Evidence, figures: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Write ``report.md``. ``figures`` are files by clause and by what they show."""
    text = "\n\n".join(_parts(evidence, figures)) + "\n"
    (folder / MARKDOWN).write_text(text, encoding="utf-8", newline="\n")


def write_archive(folder: Path) -> None:
    """Write ``appendix.zip``: all that is in the folder, in the order of names."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())


def _parts(evidence: Evidence, figures: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    pack = evidence.pack
    yield f"# {evidence.subject.name}: {pack.title}"
    yield "; ".join(evidence.facts) + "."
    yield _line(pack.about)
    yield f"What a simulation cannot show: {_line(pack.cannot)}"
    for result in evidence.results:
        yield from _clause(result, figures.get(result.clause.id, {}))


def _clause(result: ClauseResult, figures: Mapping[str, Sequence[str]]) -> Iterator[str]:
    clause = result.clause
    absolute = f"; absolute limit: {read(result.absolute).text}" if result.absolute else ""
    yield f"## {clause.id} {clause.title}: {result.word}{absolute}"
    yield _line(clause.requirement)
    if clause.method:
        yield f"How it is tried: {_line(clause.method)}"
    yield f"Not shown: {_line(clause.cannot)}"
    for words in filter(None, (reason(result), absolute_reason(result))):
        yield f"Decides: {words}."
    if result.rows:
        yield _table(result.rows, absolute=result.absolute is not None)
    for what, files in figures.items():
        yield f"![{clause.id}, {what}]({files[0]})"


def _table(rows: Sequence[Row], *, absolute: bool) -> str:
    baselines = list(dict.fromkeys(arm for row in rows for arm in row.baselines))
    head = ["what", "measured", *baselines, "verdict", "limit", *(["absolute limit"] if absolute else [])]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        others = [measured(row.baselines[arm], "") if arm in row.baselines else "" for arm in baselines]
        limit = "; ".join(filter(None, (needs(row), _line(row.note))))
        cells = [f"{row.text} ({row.cell})" if row.cell else row.text, measured(row.subject, row.unit), *others]
        lines.append([*cells, row.word, limit, *([_absolute(row)] if absolute else [])])
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)


def _absolute(row: Row) -> str:
    if row.absolute is None:
        return ""
    return f"{read(row.absolute.verdict).text}: {row.absolute.text} {row.unit}".rstrip() + f" ({row.source})"


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
