"""How far many tasks are: done, failed, known from before, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windtunnel.estimate import seconds

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds between two lines where no terminal shows a bar.
_LINE = 30.0
_BAR = 0.1


@dataclass
class Count:
    """The count; ``total`` may grow, and is a bound where runs are added until an interval is narrow enough."""

    total: int
    done: int = 0
    failed: int = 0
    reused: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def computed(self) -> int:
        """Those that were done now, and not known from before."""
        return self.done - self.reused

    def remaining(self) -> float | None:
        """Seconds until all are done, if the rest takes as long as what was computed so far; None before that."""
        if not self.computed:
            return None
        return (time.monotonic() - self.started) / self.computed * (self.total - self.done)

    def line(self) -> str:
        """All of it, in words."""
        parts = [f"{self.done} of {self.total} runs"]
        if self.reused:
            parts.append(f"{self.reused} known from before")
        if self.failed:
            parts.append(f"{self.failed} failed")
        left = self.remaining()
        if left is not None and self.done < self.total:
            parts.append(f"ETA {seconds(left)}")
        return ", ".join(parts)


@contextmanager
def shown(count: Count, console: Console | None, say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """A function to call after each task: a line that moves on a terminal's ``console``, else a line now and then."""
    last = time.monotonic()
    if console is None:

        def line() -> None:
            nonlocal last
            if time.monotonic() - last > _LINE:
                last = time.monotonic()
                say(count.line())

        yield line
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(count.line(), total=count.total)

        def move() -> None:
            nonlocal last
            if time.monotonic() - last > _BAR:
                last = time.monotonic()
                bar.update(task, completed=count.done, total=count.total, description=count.line())

        yield move
