"""Notes in the terminal: what explains a scenario or a run; and before a run, what is likely to surprise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.scenario import Scenario


def show_notes(notes: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Print notes, of which warnings stand out."""
    for note in notes:
        word, style = ("warning", "bold") if note["level"] == "warning" else ("note", None)
        console.print(f"{word}: {note['text']}", style=style)


def show_notes_before(scenario: Scenario, console: Console, *, warnings_only: bool = False) -> None:
    """Print what can be said of a scenario without running it."""
    from windtunnel.notes import notes_before

    notes = [note.document() for note in notes_before(scenario.resolve())]
    show_notes((note for note in notes if not warnings_only or note["level"] == "warning"), console)
