"""The numbers of an emulation while it goes on, below what its commands write.

The commands have a terminal of their own, whose lines are printed above the numbers.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from rich import box
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windtunnel.cli.consoles import messages
from windtunnel.printable import printable
from windtunnel.report.text import number


class LiveDisplay:
    """``outputs``: descriptors to which the commands write, by streams of ours that are this terminal; else those."""

    def __init__(self, title: str, outputs: tuple[int | None, int | None]) -> None:
        self._title = title
        self._console = messages()
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
        self.outputs = outputs
        self.readers: dict[int, Callable[[bytes], None]] = {}
        self._slave = self._master = -1
        self._rest = b""
        self._last: Mapping[str, Any] = {}

    def __enter__(self) -> Self:
        # What goes into a pipe stays as it is.
        if sys.stdout.isatty() or self.outputs[0] == 2:
            self._master, self._slave = os.openpty()
            size = struct.pack("4H", self._console.size.height, self._console.size.width, 0, 0)
            fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)
            self.outputs, self.readers = (self._slave, self._slave), {self._master: self._take}
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rest:
            self._take(b"\n")
        with suppress(OSError):
            self._live.stop()
        for descriptor in (self._slave, self._master):
            if descriptor >= 0:
                os.close(descriptor)

    def show(self, snapshot: Mapping[str, Any]) -> None:
        """Show a snapshot of the emulator."""
        with suppress(OSError):  # the terminal is gone: a signal says so, too
            self._live.update(self._picture(snapshot), refresh=True)

    def _take(self, text: bytes) -> None:
        """Print the lines that are complete; of one that was written over, the last state."""
        *lines, self._rest = (self._rest + text).split(b"\n")
        shown = (line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace") for line in lines)
        with suppress(OSError):
            self._console.print(Text("\n").join(map(Text.from_ansi, shown)), soft_wrap=True)

    def _picture(self, snapshot: Mapping[str, Any]) -> Group:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        table.add_column("link", overflow="fold")
        for head in ("Mbit/s", "backlog kB", "sojourn ms", "drops", "marks"):
            table.add_column(head, justify="right", no_wrap=True)
        for link in snapshot["links"]:
            values = (link["rate_bps"] / 1e6, link["backlog_bytes"] / 1e3, link["sojourn_ms"])
            table.add_row(
                str(link["name"]),
                *(number(value, 3) for value in values),
                number(link["dropped"]),
                number(link["marked"]),
            )
        late = snapshot["lateness_us"]
        lateness = ", ".join(
            f"{name} {number(late[name], 3)}" for name in ("p50", "p99", "max") if late.get(name) is not None
        )
        line = (
            f"{printable(self._title)}{': ' if self._title else ''}{snapshot['elapsed_s']:.1f} s, "
            f"{number(snapshot['packets'])} packets, {number(snapshot['flows'])} flows"
            + (f", lateness in us: {lateness}" if lateness else "")
        )
        return Group(Text(""), table, Text(line, style="dim"))
