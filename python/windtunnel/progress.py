"""A progress bar with the remaining time, on terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from windtunnel.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress_bar(title: str, console: Console) -> Iterator[Callable[[float], bool] | None]:
    """A function to be called with the share that is done, or None if ``console`` is not a terminal. The function
    returns True, which means that the run continues. The bar vanishes at the end.
    """
    if not console.is_terminal:
        yield None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA", style="dim"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(title), total=1.0)

        def update(share: float) -> bool:
            bar.update(task, completed=share)
            return True

        yield update
