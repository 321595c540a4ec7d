"""What the sender transmits, segment by segment, when packets are lost, late, marked or reordered.

A script is a transfer over a path on which named transmissions are lost, held back or overtaken. Segments are numbered
from 1; ``5r`` is a retransmission of segment 5, ``|`` a pause of 20 ms or more. The expected sequence follows by hand
from RFC 5681 (windows), 2018 and 6675 (SACK), 8985 (RACK-TLP), 9937 (proportional rate reduction), 6298, 5682 and 3522
(timeouts, spurious ones), 2883 and 3708 (D-SACK), 6582 and 3042 (without SACK), 3168 (ECN), 6928 and 2861 (first
window, idle times); the note at each script is the derivation in short. All scripts: Reno, 10 segments initially unless
the note has another number, 100 ms, every segment acknowledged at once. *Begins* are the times of the first segments
after each pause, the handshake at 0 s included: the tolerance is what the serialisation of a flight takes.
"""

from __future__ import annotations

from functools import partial

from windtunnel.validation.check import Check, Run
from windtunnel.validation.scripts import classic, losses, reordering, timeouts, windows
from windtunnel.validation.scripts.follow import lines, reduce, shorten
from windtunnel.validation.scripts.script import scenario

__all__ = ["SCRIPTS", "checks", "shorten"]

SCRIPTS = (*losses.SCRIPTS, *reordering.SCRIPTS, *classic.SCRIPTS, *timeouts.SCRIPTS, *windows.SCRIPTS)


def checks() -> list[Check]:
    """Every script."""
    return [
        Check(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
