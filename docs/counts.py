"""How the paper suites came out, kept once: ``docs/counts.toml``, from which the documents have their numbers.

``python docs/counts.py results/mds results/aimd ...`` reads folders that ``windtunnel reproduce`` wrote, each of a
whole suite, keeps what it counts in ``counts.toml``, and writes the documents anew. A suite without a folder keeps what
was counted before. Without any folder it only writes the documents anew.

In a document, the text between ``<!-- counts: NAME -->`` and ``<!-- end of counts -->`` is written here; the tests
compare it with the file. Counts of the validation come from its page, ``docs/validation.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from windtunnel.experiment.verdict import OF_SUITES
from windtunnel.papers import NAMES, suite_of

DOCS = Path(__file__).parent
FILE = DOCS / "counts.toml"
DOCUMENTS = (DOCS.parent / "README.md", DOCS / "trust.md")

HEAD = "# How each paper suite came out when it was run whole. Written by `make counts`, never by hand.\n"

#: Of each suite by its name: rows by verdict, ``runs``, ``cpu_seconds``, ``date``, ``commit``.
Counts: TypeAlias = dict[str, dict[str, Any]]

#: What is written here, in a document.
BLOCK = re.compile(r"( *)<!-- counts: (\w+) -->\n.*?<!-- end of counts -->", re.DOTALL)
_VALIDATION = re.compile(r"^(\d+) lines agree, (\d+) differ, (\d+) for information\.$", re.MULTILINE)


def kept(file: Path = FILE) -> Counts:
    """What was counted so far."""
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def counted(folder: Path, commit: str) -> tuple[str, dict[str, Any]]:
    """The suite of a folder, and how it came out. Raises ValueError unless it is the whole suite, as it stands."""
    file = folder / "rows.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    problems = {
        "its runs are not those of the whole suite": _runs(document) != _whole(document["suite"]),
        "its scenarios were changed": document["settings"],
        "it has foreign code": document["foreign"],
        "a run failed": any(run["error"] for run in document["runs"]),
    }
    if reasons := [what for what, is_so in problems.items() if is_so]:
        raise ValueError(f"{folder}: {reasons[0]}; counted is `windtunnel reproduce {document['suite']}`")
    return document["suite"], {
        **{verdict: document["verdicts"].get(verdict, 0) for verdict in OF_SUITES},
        "runs": len(document["runs"]),
        "cpu_seconds": round(sum(run["seconds"] for run in document["runs"])),
        "date": datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat(),
        "commit": commit,
    }


def _runs(document: dict[str, Any]) -> set[tuple[str, int]]:
    return {(run["cell"], run["variant"]) for run in document["runs"]}


def _whole(name: str) -> set[tuple[str, int]]:
    """The runs of a suite as it is today: setups and their perturbed twins."""
    suite = suite_of(name, quick=False)
    names = {name for group in suite.groups for name in group.setups}
    return {(name, variant) for name in names for variant, _ in enumerate(suite.setups[name].variants())}


def write(counts: Counts, file: Path = FILE) -> None:
    """Keep the counts, in the order of the suites."""
    parts = [HEAD]
    for name in (name for name in NAMES if name in counts):
        lines = [f"{key} = {json.dumps(value)}" for key, value in counts[name].items()]
        parts.append("\n".join([f"[{name}]", *lines]) + "\n")
    file.write_text("\n".join(parts), encoding="utf-8")


# --- What documents say ---------------------------------------------------------------------------------------------


def table(counts: Counts) -> str:
    """A row for each suite; and which suites have not been counted."""
    heads = ["suite", "rows", *(word.several for word in OF_SUITES.values()), "runs", "CPU time", "on", "commit"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name, count in counts.items():
        verdicts = [count[verdict] for verdict in OF_SUITES]
        minutes = f"{count['cpu_seconds'] / 60:.0f} min" if count["cpu_seconds"] >= 120 else f"{count['cpu_seconds']} s"
        cells = [f"`{name}`", sum(verdicts), *verdicts, count["runs"], minutes, count["date"], count["commit"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    missing = [f"`{name}`" for name in NAMES if name not in counts]
    last = f"Not counted yet as rows are judged today: {', '.join(missing)}."
    return "\n".join([*(lines if counts else []), *(["", last] if missing else [])]).strip()


def sentence(counts: Counts) -> str:
    """All suites together: what a run could have turned."""
    if not counts:
        return "The suites have not been counted yet as rows are judged today."
    sums = {verdict: sum(count[verdict] for count in counts.values()) for verdict in OF_SUITES}
    judged = sum(sums.values()) - sums["info"]
    suites = f"{len(counts)} {'suite' if len(counts) == 1 else 'suites'}"
    return (
        f"Of the {judged} rows of {suites} that a run could turn, {sums['agrees']} agree, {sums['weak']} agree weakly, "
        f"{sums['confirmed']} are confirmed, {sums['differs']} differ, {sums['refuted']} are refuted, and "
        f"{sums['undecided']} are undecided."
    )


def validation(_: Counts) -> str:
    """The counts of ``windtunnel validate``, from its page."""
    match = _VALIDATION.search((DOCS / "validation.md").read_text(encoding="utf-8"))
    assert match is not None
    agree, differ, info = match.groups()
    return f"Of its lines {agree} agree, {differ} differ, {info} are for information ([validation](validation.md))."


BLOCKS: dict[str, Callable[[Counts], str]] = {"table": table, "sentence": sentence, "validation": validation}


def filled(text: str, counts: Counts) -> str:
    """A document with its blocks as the counts have them."""

    def block(match: re.Match[str]) -> str:
        indent, name = match.groups()
        lines = [f"<!-- counts: {name} -->", *BLOCKS[name](counts).splitlines(), "<!-- end of counts -->"]
        return "\n".join(f"{indent}{line}" if line else "" for line in lines)

    return BLOCK.sub(block, text)


def main() -> int:
    """Counts, and writes the documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="*", type=Path, help="what `windtunnel reproduce` wrote for a whole suite")
    counts = kept()
    for folder in parser.parse_args().folder:
        try:
            name, count = counted(folder, _commit())
        except (OSError, ValueError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        counts[name] = count
    write(counts)
    counts = kept()
    for page in DOCUMENTS:
        page.write_text(filled(page.read_text(encoding="utf-8"), counts), encoding="utf-8")
    print(table(counts), sentence(counts), sep="\n\n")
    return 0


def _commit() -> str:
    """The commit of the working copy, and whether it has changes."""
    said = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+changes"],
        cwd=DOCS, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return said.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
