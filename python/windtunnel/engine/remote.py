"""Work in another process: it must have the same core, and the controllers that were registered in this one."""

from __future__ import annotations

from typing import Generic

from windtunnel._core import __version__
from windtunnel.engine.work import Outcome, Task, Work, always
from windtunnel.errors import RunFailedError
from windtunnel.plugins import registrations, restore

#: What this process has registered on behalf of another.
_restored: set[object] = set()


class Remote(Generic[Task, Outcome]):
    """``work``, with what it needs of this process. It can be pickled."""

    def __init__(self, work: Work[Task, Outcome]) -> None:
        self._work, self._version, self._plugins = work, __version__, registrations()

    def __call__(self, task: Task) -> Outcome:
        """The outcome of a task. Raises RunFailedError where the core is of another version."""
        if self._version != __version__:
            raise RunFailedError(
                f"a worker has windtunnel {__version__}, but this is {self._version}: install the same"
            )
        if self._plugins not in _restored:
            restore(*self._plugins)
            _restored.add(self._plugins)
        return self._work(task, always)
