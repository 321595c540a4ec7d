"""What the sender transmits, segment by segment, when packets are lost, late, marked or reordered.

A script is a transfer over a path on which named transmissions are lost, held back or overtaken. Segments are numbered
from 1; ``5r`` is a retransmission of segment 5, ``|`` a pause of 20 ms or more. The expected sequence is derived by
hand from RFC 5681 (windows), 2018 and 6675 (SACK), 8985 (RACK-TLP), 9937 (proportional rate reduction), 6298, 5682 and
3522 (timeouts, spurious ones), 2883 and 3708 (D-SACK), 6582 and 3042 (without SACK), 3168 (ECN), 6928 and 2861 (first
window, idle times); the note at each script gives the derivation in short. All scripts have Reno, an initial window of
10 segments unless the note names another, a round trip of 100 ms, and a receiver that acknowledges every segment at
once. *Starts* are the times of the first segments after each pause, counted from the handshake at 0 s, which is
included; the tolerance is the time to serialise a flight. W is cwnd in segments.
"""

from __future__ import annotations

from functools import partial

from windtunnel.validation.comparison import Comparison, Run
from windtunnel.validation.scripts import classic, losses, reordering, timeouts, windows
from windtunnel.validation.scripts.follow import lines, reduce, shorten
from windtunnel.validation.scripts.script import scenario

__all__ = ["SCRIPTS", "comparisons", "shorten"]

SCRIPTS = (*losses.SCRIPTS, *reordering.SCRIPTS, *classic.SCRIPTS, *timeouts.SCRIPTS, *windows.SCRIPTS)


def comparisons() -> list[Comparison]:
    """Every script."""
    return [
        Comparison(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
