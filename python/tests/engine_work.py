"""Work for tests of the engine, which processes and Dask's workers import."""

from __future__ import annotations

import os
import signal
import time

from windtunnel.engine.work import GoOn


class Square:
    """Squares; 13 kills its process, 99 goes on until it is stopped."""

    def __call__(self, task: int, go_on: GoOn) -> tuple[int, str]:
        if task == 13:
            time.sleep(0.2)  # others are under way
            os.kill(os.getpid(), signal.SIGKILL)
        while task == 99 and go_on():
            time.sleep(0.01)
        return task * task, ""

    def lost(self, task: int, why: str) -> tuple[int, str]:
        return -1, why
