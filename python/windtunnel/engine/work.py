"""What the engine does with a task, where, and what it needs not do again: the interfaces to what uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeVar

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
#: Whether a task should go on: False once the user has pressed Ctrl-C.
GoOn: TypeAlias = Callable[[], bool]


class Work(Protocol[In, Out]):
    """A function of a task that can be pickled, as can tasks and outcomes.

    It has an outcome for each task, failed ones too. An exception that it raises is a defect, and ends everything; the
    one that is not is KeyboardInterrupt, after ``go_on`` has returned False.
    """

    def __call__(self, task: In, go_on: GoOn) -> Out:
        """The outcome of a task."""

    def lost(self, task: In, why: str) -> Out:
        """The outcome of a task whose process was killed by it."""


class Kept(Protocol[In, Outcome]):
    """Outcomes that are kept, so that nothing is computed twice."""

    def recall(self, task: In) -> Outcome | None:
        """The outcome that the task had before."""

    def keep(self, task: In, outcome: Outcome) -> None:
        """Remember what was computed."""


class Desk(Protocol[Task, Out]):
    """Where tasks are handed in and outcomes are collected, while a backend is open."""

    def room(self) -> int:
        """How many tasks the backend should have at a time: enough to keep it busy, and no more."""

    def hand_in(self, task: Task) -> None:
        """Let a task be done."""

    def collect(self) -> Sequence[tuple[Task, Out]]:
        """Wait for outcomes; at least one."""


class Backend(Protocol):
    """Where work is done."""

    @property
    def workers(self) -> int:
        """How many tasks are done at the same time."""

    @property
    def is_here(self) -> bool:
        """Whether the work is done on this machine, and shares its memory."""

    def open(self, work: Work[Task, Outcome]) -> AbstractContextManager[Desk[Task, Outcome]]:
        """A desk for ``work``. If the block ends early, tasks that are being done are stopped."""


def always() -> bool:
    """Go on: where tasks are stopped in another way."""
    return True
