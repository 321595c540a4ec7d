"""A page for each figure that the documents show, under a name that stays: its picture and caption, the commands that
repeat it, its scenarios, and its numbers. All of it is what the figure's document says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent

_PICTURE = re.compile(r"!\[([^\]]+)\]\(([\w-]+\.png)\)")
_COMMAND = re.compile(r"^    (windtunnel .+)$", re.MULTILINE)
_SCENARIO = re.compile(r"[\w./-]+\.toml")
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """A picture in a document.

    Attributes:
        suite: What it belongs to: a page of campaigns, the gallery, the course.
        name: Its name there.
        document: The document that shows it.
        picture: The file.
        caption: What it shows.
        around: The section of the document that has it, and all that is before, for commands and numbers.
    """

    suite: str
    name: str
    document: Path
    picture: Path
    caption: str
    section: str
    before: str

    @property
    def commands(self) -> list[str]:
        """The commands of its section, or else those that the document has before it, or has at all."""
        text = self.document.read_text(encoding="utf-8")
        lines = _COMMAND.findall(self.section) or _COMMAND.findall(self.before) or _COMMAND.findall(text)
        return list(dict.fromkeys(command.split("  #")[0].rstrip() for command in lines))

    @property
    def scenarios(self) -> list[Path]:
        """The files that the commands name."""
        named = [REPOSITORY / name for command in self.commands for name in _SCENARIO.findall(command)]
        return [file for file in dict.fromkeys(named) if file.exists()]

    @property
    def tables(self) -> list[str]:
        """The tables of its section, or else the first of the document."""
        text = self.document.read_text(encoding="utf-8")
        return _TABLE.findall(self.section) or _TABLE.findall(text)[:1]

    @property
    def numbers(self) -> Path | None:
        """The file with all numbers of its document."""
        file = self.document.with_suffix(".csv")
        return file if file.exists() else None


def figures() -> Iterator[Figure]:
    """All figures of the documents: of campaigns and paper suites, of the gallery, of the course."""
    for document in sorted((DOCS / "packs").glob("*.md")):
        for caption, name, section, before in _pictures(document):
            short = name.removesuffix(".png").removeprefix(f"{document.stem}-")
            yield Figure(document.stem, short, document, document.parent / name, caption, section, before)
    for suite in ("gallery", "course"):
        for document in sorted((DOCS / suite).glob("*/README.md")):
            for caption, name, section, before in _pictures(document):
                picture = document.parent / name
                yield Figure(suite, document.parent.name, document, picture, caption, section, before)


def _pictures(document: Path) -> Iterator[tuple[str, str, str, str]]:
    text = _HIDDEN.sub("", document.read_text(encoding="utf-8"))
    for match in _PICTURE.finditer(text):
        start = text.rfind("\n## ", 0, match.start()) + 1
        end = text.find("\n## ", match.end())
        section = text[start : end if end >= 0 else len(text)]
        yield " ".join(match[1].split()), match[2], section, text[: match.start()]


def pages() -> dict[str, str]:
    """A page for each figure, and the list of them."""
    made: dict[str, str] = {}
    listed: dict[str, list[str]] = {}
    for figure in figures():
        made[f"figures/{figure.suite}/{figure.name}.md"] = _page(figure)
        line = f"- [{figure.name}]({figure.suite}/{figure.name}.md): {figure.caption}"
        listed.setdefault(figure.suite, []).append(line)
    parts = ["# Figures", "Every figure of these documents has a page of its own, with a name that stays."]
    for suite, lines in listed.items():
        parts += [f"## {suite}", "\n".join(lines)]
    parts.append("```{toctree}\n:hidden:\n:glob:\n\n*/*\n```")
    made["figures/index.md"] = "\n\n".join(parts) + "\n"
    return made


def _page(figure: Figure) -> str:
    here = DOCS / "figures" / figure.suite
    title = re.match(r"# (.*)", figure.document.read_text(encoding="utf-8"))
    heading = title[1] if title else figure.suite
    own = "" if figure.name in (figure.suite, figure.document.parent.name) else f" ({figure.name})"
    parts = [f"# {heading}{own}", f"![{figure.caption}]({_from(here, figure.picture)})", figure.caption]
    parts.append(f"From [{heading}]({_from(here, figure.document)}), which says what is to be seen in it.")
    if figure.commands:
        parts += ["## Repeat it", "\n".join(f"    {command}" for command in figure.commands)]
    if figure.scenarios:
        parts += [
            "Scenarios: " + ", ".join(f"{{download}}`{file.name} <{_from(here, file)}>`" for file in figure.scenarios)
        ]
    if figure.tables:
        parts += ["## Its numbers", *(table.strip() for table in figure.tables)]
    elif numbers := _sentences(figure):
        parts += ["## Its numbers", numbers]
    if figure.numbers:
        parts.append(
            f"All numbers, with intervals: {{download}}`{figure.numbers.name} <{_from(here, figure.numbers)}>`"
        )
    return "\n\n".join(parts) + "\n"


def _sentences(figure: Figure) -> str:
    """The numbers that the text around the picture has, each with the sentence that says what it is."""
    text = _HIDDEN.sub("", figure.document.read_text(encoding="utf-8")).replace("|", "/")
    rows = []
    for sentence in re.split(r"(?<=[.:;]) ", " ".join(_PICTURE.sub("", text.partition("\n")[2]).split())):
        if numbers := re.findall(r"\*\*([-+\d.,]+)\*\*", sentence):
            rows.append(f"| {', '.join(numbers)} | {sentence.strip()} |")
    return "\n".join(["| number | where it stands |", "|---|---|", *rows]) if rows else ""


def _from(folder: Path, file: Path) -> str:
    return os.path.relpath(file, folder)
