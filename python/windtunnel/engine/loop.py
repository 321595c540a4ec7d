"""The loop: tasks are taken one by one while there is room for them, and outcomes are yielded as they come.

An outcome that is known is yielded at once. All others are computed, and kept.

Tasks are asked for, not given as a list: a million need no memory, and which ones come may depend on outcomes so far.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from windtunnel.engine.work import Backend, Kept, Outcome, Task, Work


def outcomes(
    work: Work[Task, Outcome],
    take: Callable[[], Task | None],
    backend: Backend,
    kept: Kept[Task, Outcome] | None = None,
) -> Generator[tuple[Task, Outcome], None, None]:
    """Each task with its outcome, in the order in which they are done.

    ``take`` returns the next task, or None if there is none at the moment; it is asked again after each outcome. The
    loop ends when there is none and none is being done. Close the iterator (``contextlib.closing``) to stop early.
    """
    with backend.open(work) as desk:
        handed_in = 0
        while True:
            while handed_in < desk.room():
                task = take()
                if task is None:
                    break
                before = None if kept is None else kept.recall(task)
                if before is not None:
                    yield task, before
                    continue
                desk.hand_in(task)
                handed_in += 1
            if not handed_in:
                return
            for task, outcome in desk.collect():
                handed_in -= 1
                if kept is not None:
                    kept.keep(task, outcome)
                yield task, outcome


def longest_first(tasks: Iterable[Task], length: Callable[[Task], float]) -> Callable[[], Task | None]:
    """What the loop takes tasks from, where all are there from the start: short ones fill the gaps at the end."""
    left = sorted(tasks, key=length)
    return lambda: left.pop() if left else None
