"""Notes in the terminal: what explains a scenario or a run; and before a run, what is likely to surprise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from windtunnel.cli.streams import message

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.scenario import Scenario


def show_notes(notes: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Print the notes of a run; warnings stand out."""
    for note in notes:
        console.print(_line(note), style="bold" if note["level"] == "warning" else None)


def show_notes_before(scenario: Scenario, *, warnings_only: bool = False) -> None:
    """Write to stderr the notes on a scenario that need no run."""
    from windtunnel.notes import notes_before

    for note in notes_before(scenario.resolve()):
        if note.level == "warning" or not warnings_only:
            message(_line(note.document()))


def _line(note: Mapping[str, Any]) -> str:
    return f"{'warning' if note['level'] == 'warning' else 'note'}: {note['text']}"
