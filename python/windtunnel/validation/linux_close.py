"""What the real Linux sender does when its application closes; recorded like the other scripts.

The application writes the whole transfer and closes. ``11+FIN`` is a segment with a FIN, ``FIN`` one without data. A
FIN rides on the last segment if data still wait when the application closes, and leaves alone otherwise, as soon as
cwnd has room for one more segment; it is repaired like data (RFC 9293 sections 3.6 and 3.10.4). The receiver answers
with its own FIN, and the connection is complete when the sender has acknowledged it.
"""

from __future__ import annotations

from functools import partial

from windtunnel.validation.comparison import Comparison, Run
from windtunnel.validation.linux_scripts import (
    WITHOUT_SACK,
    WITHOUT_TIMESTAMPS,
    WITHOUT_TLP,
    LinuxScript,
    lines,
    lost_acks,
    reduce,
    scenario,
)
from windtunnel.validation.scripts.script import lost, lost_of_all

SCRIPTS = (
    LinuxScript("Closed at once", 4, close=True, why="All data have left when the application closes."),
    LinuxScript("Closed with the initial window", 10, close=True, why="cwnd is full: the FIN waits for an ACK."),
    LinuxScript("Closed with one segment left", 11, close=True),
    LinuxScript("Closed with four rounds left", 70, close=True),
    # The first packets are those of the handshake.
    LinuxScript("A lost FIN", 4, lost_of_all(7), close=True, why="The loss probe repeats it."),
    LinuxScript("A lost FIN, without a loss probe", 4, lost_of_all(7), close=True, off=(WITHOUT_TLP,)),
    LinuxScript("A FIN lost twice", 4, lost_of_all(7, 8), close=True),
    LinuxScript("The last segment before the FIN", 4, lost_of_all(6), close=True, why="Only the FIN shows it."),
    LinuxScript("The first of four segments and a FIN", 4, lost_of_all(3), close=True),
    LinuxScript("A lost segment with FIN", 12, lost(12), close=True),
    LinuxScript("A lost segment with FIN, without SACK", 12, lost(12), close=True, off=(WITHOUT_SACK,)),
    LinuxScript("A lost segment with FIN, without timestamps", 12, lost(12), close=True, off=(WITHOUT_TIMESTAMPS,)),
    LinuxScript("The last segment before one with FIN", 12, lost(11), close=True),
    LinuxScript("Five segments, the last with FIN", 40, lost(*range(36, 41)), close=True),
    LinuxScript("The ACKs of data and FIN", 4, reverse=lost_acks(1, 2, 3, 4, 5), close=True),
)


def comparisons() -> list[Comparison]:
    """Every script."""
    return [
        Comparison(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
