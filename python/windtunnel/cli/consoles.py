"""Consoles for tables and styled text: to stdout what a command is asked for, to stderr its progress.

Plain text goes through ``streams.py``, without the library that draws tables.
"""

import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from windtunnel.cli.streams import ASCII
from windtunnel.printable import printable, printable_lines


class Output(Console):
    """A console for text of any origin: it prints no control characters but those of its own styles."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The text, made printable before it is laid out, so that tables stay straight."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All segments; the text of renderables that were not a ``str`` is made printable here."""
        ascii_only = (options or self.options).ascii_only
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            text = printable_lines(segment.text)
            yield Segment(text.translate(ASCII) if ascii_only else text, segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Let a closed pipe raise, so that ``errors.py`` handles it like all other errors."""
        raise BrokenPipeError


def output() -> Console:
    """Stdout, without colours for numbers, because they would carry no meaning."""
    return Output(file=sys.stdout, highlight=False, markup=False, emoji=False)


def messages() -> Console:
    """Stderr: progress bars."""
    return Output(file=sys.stderr, highlight=False, markup=False, emoji=False)
