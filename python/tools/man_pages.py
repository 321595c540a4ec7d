"""Writes the manual pages, from the options of the commands: ``python python/tools/man_pages.py``, or ``make man``.

They are part of the wheel, which puts them into ``share/man/man1``. A test fails where a command has changed and they
have not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

import click

from windtunnel.cli.app import app

#: Files that maturin installs in addition to the package: everything in ``data`` goes below the environment's prefix.
TARGET = Path(__file__).parents[2] / "man" / "data" / "share" / "man" / "man1"

#: What every command ends with.
EXIT_CODES = (("0", "done"), ("1", "a run failed"), ("2", "the input is wrong, or needs more memory than it may take"))


def pages() -> dict[str, str]:
    """The pages by file name: one for the program, one for each command, one for each command of a group."""
    return dict(_pages(app, click.Context(app, info_name="windtunnel", **app.context_settings)))


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    name = _name(context)
    others = [_name(context.parent)] if context.parent else []
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            others.append(f"{name}-{each}")
            yield from _pages(below, click.Context(below, info_name=each, parent=context))
    yield f"{name}.1", _page(command, context, others)


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(command: click.Command, context: click.Context, others: list[str]) -> str:
    name = _name(context)
    summary, _, more = cleandoc(command.help or "").partition("\n\n")
    summary = " ".join(summary.split())
    lines = [
        f'.TH "{name.upper()}" "1" "" "windtunnel" "windtunnel"',
        ".ad l",
        ".SH NAME",
        rf"{name} \- {_plain(summary[:1].lower() + summary[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        rf"\fB{_plain(context.command_path)}\fR " + _plain(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *_paragraphs([summary, *more.split("\n\n")]),
    ]
    records = [p.get_help_record(context) for p in command.get_params(context)]
    lines += _section("OPTIONS", [record for record in records if record])
    if isinstance(command, click.Group):
        commands = [(n, command.get_command(context, n)) for n in command.list_commands(context)]
        lines += _section("COMMANDS", [(n, c.get_short_help_str(200)) for n, c in commands if c])
    lines += _section("EXIT STATUS", EXIT_CODES)
    see = ",\n".join(rf"\fB{_plain(other)}\fR(1)" for other in others)
    return "\n".join([*lines, ".SH SEE ALSO", see, ""])


def _section(title: str, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A section of terms and what they mean."""
    yield f".SH {title}"
    for term, meaning in entries:
        yield from (".TP", rf"\fB{_plain(term)}\fR", _plain(meaning))


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in filter(None, texts):
        yield from (".PP", _plain(text))


def _plain(text: str) -> str:
    """A text that roff shows as it stands: no escapes, no requests, and hyphens that can be copied."""
    text = " ".join(text.replace("\b", " ").split())
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq")
    text = text.replace("|", r"|\:")  # a line may end behind a choice
    return re.sub(r"^\.", r"\\&.", text)


def main() -> None:
    """Write all pages, and remove those of commands that are gone."""
    made = pages()
    TARGET.mkdir(parents=True, exist_ok=True)
    for old in TARGET.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
