"""Recordings of what this machine's Linux kernel sends over a scripted path.

    python -m windtunnel.validation.recorder --times 5 --out linux_scripts.json

It needs Linux, root and ``/dev/net/tun``; it works in a network namespace of its own and leaves nothing behind. The
sender is the kernel's; the path and the receiver are here, in user space: a TUN device hands over each packet, the path
loses, holds, reorders or marks it as the script says, and the receiver acknowledges every segment at once. Nothing of
the kernel is copied; its transmissions are facts.

What needs a kernel's queue disciplines, many packets or other controllers is recorded in virtual time: ``virtual``.

Time is real, and the machine's other work shifts it; the process asks for a real-time priority. Judge by the order of
transmissions and by round trips, not by microseconds.
"""

from __future__ import annotations

from windtunnel.validation.recorder.session import Session, Step, Transfer, Transmission

__all__ = ["Session", "Step", "Transfer", "Transmission"]
