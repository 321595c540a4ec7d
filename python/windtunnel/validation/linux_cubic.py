"""CUBIC's scripts compared with Linux: growth after losses, timeouts, idle times, marks and lost ACKs.

The kernel that was recorded has ``HZ`` 250: CUBIC computes its growth by a clock of 4 ms, and so do the scenarios
(``tick``). At 1 Gbit/s the ACKs of a round trip come within one tick, and chance decides in which one. Scripts in which
that shows were left out, because their five recordings differ: long growth after a loss or a timeout.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from windtunnel.validation.comparison import Comparison, Run
from windtunnel.validation.linux_scripts import (
    CE_ON_30,
    HELD,
    WITHOUT_IDLE_RESTART,
    WITHOUT_SACK,
    WITHOUT_TLP,
    LinuxScript,
    late,
    lines,
    lost_acks,
    reduce,
    scenario,
)
from windtunnel.validation.scripts.script import lost

#: The tick of the kernel that was recorded.
TICK = "4 ms"


def _cubic(name: str, segments: int, forward: str = "", reverse: str = "", **more: Any) -> LinuxScript:
    return LinuxScript(f"{name}, CUBIC", segments, forward, reverse, cc="cubic", rate_mbps=1000, tick=TICK, **more)


SCRIPTS = (
    _cubic("Slow start", 300),
    _cubic("A burst of three losses", 120, lost(5, 6, 7)),
    _cubic("A lost retransmission", 100, lost(5, 21)),
    _cubic("The last eight of the initial window", 100, lost(*range(3, 11))),
    _cubic("The whole initial window", 80, lost(*range(1, 11))),
    _cubic("A loss in each of two rounds", 200, lost(15, 60)),
    _cubic("A lost tail, with a loss probe", 12, lost(12)),
    _cubic("A lost tail, without a loss probe", 12, lost(12), off=(WITHOUT_TLP,)),
    _cubic("Two timeouts in a row", 14, lost(13, 14, 15, 16, 17)),
    _cubic("A spurious timeout, shown by timestamps", 100, HELD),
    _cubic("Overtaken by ten", 100, late(15, 10)),
    _cubic("CE on one segment", 110, marks=CE_ON_30),
    _cubic("Every second ACK", 120, reverse=lost_acks(*range(2, 120, 2))),
    _cubic("Five seconds of silence after a loss", 60, lost(5), pause_ms=5000),
    _cubic("Half a second of silence", 150, pause_ms=500),
    _cubic("One loss, without SACK", 80, lost(5), off=(WITHOUT_SACK,)),
    _cubic("One loss, without idle restart", 60, lost(5), pause_ms=2000, off=(WITHOUT_IDLE_RESTART,)),
    _cubic("A lost SYN", 60, '{ kind = "scripted-loss", packets = [1] }'),
    _cubic("Two of a tail of twelve", 12, lost(11, 12)),
    _cubic("A retransmission lost twice", 80, lost(5, 21, 28)),
)


def comparisons() -> list[Comparison]:
    """Every script."""
    return [
        Comparison(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
