"""Where commands write: tables to stdout, progress to stderr."""

import sys
from typing import NoReturn

from rich.console import Console


class _Output(Console):
    """A console that leaves a closed pipe to the one place that handles errors (``errors.py``)."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def output() -> Console:
    """Stdout, without colours for numbers, which would carry no meaning."""
    return _Output(file=sys.stdout, highlight=False)


def messages() -> Console:
    """Stderr: progress bars."""
    return Console(file=sys.stderr, highlight=False)
