"""``windtunnel`` and ``python -m windtunnel``: the command line."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command. Ctrl-C while its libraries are loaded ends it at once: there is nothing to clean up yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from windtunnel.cli import main as command

    command()


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
