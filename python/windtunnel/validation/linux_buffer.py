"""What the real Linux sender transmits when its send buffer is the limit; recorded like the other scripts.

The application writes the whole transfer as fast as the socket takes it. The buffer starts with room for two initial
windows and follows twice cwnd up to ``tcp_wmem[2]``, counted in the kernel's memory: 2280 bytes for a segment of 1448.
Once it is full, the application is woken when a third of it is free.
"""

from __future__ import annotations

from functools import partial

from windtunnel.validation.comparison import Comparison, Run
from windtunnel.validation.linux_scripts import WITHOUT_TIMESTAMPS, LinuxScript, late, lines, reduce, scenario
from windtunnel.validation.scripts.script import lost

SCRIPTS = (
    LinuxScript("A send buffer of 4 MiB", 400, send_buffer=4_194_304, why="It follows cwnd, and is never the limit."),
    LinuxScript("A send buffer of 64 KiB", 200, send_buffer=65_536, why="29 segments: cwnd stops at twice as many."),
    LinuxScript(
        "A send buffer of 64 KiB, and a loss",
        120,
        lost(60),
        send_buffer=65_536,
        why="Linux merges SACKed segments. The memory that this frees wakes the application during the recovery.",
    ),
    LinuxScript("A send buffer of 64 KiB, and a lost round", 120, lost(*range(40, 50)), send_buffer=65_536),
    LinuxScript("A send buffer of 16 KiB", 60, send_buffer=16_384, why="Eight segments."),
    LinuxScript("A send buffer of 64 KiB, CUBIC", 200, cc="cubic", rate_mbps=1000, tick="4 ms", send_buffer=65_536),
    LinuxScript("A send buffer of 64 KiB, closed", 100, send_buffer=65_536, close=True),
    LinuxScript(
        "A send buffer of 64 KiB, set by the application",
        200,
        send_buffer=65_536,
        send_autotuning=False,
        why="All of it is there from the start. What it leaves of cwnd unused does not decay.",
    ),
    LinuxScript("A send buffer of 64 KiB, and three gaps", 120, lost(42, 45, 48), send_buffer=65_536),
    LinuxScript("A send buffer of 64 KiB, overtaken by five", 120, late(45, 5), send_buffer=65_536),
    LinuxScript("A send buffer of 64 KiB, and a timeout", 100, lost(*range(44, 64)), send_buffer=65_536),
    LinuxScript("A send buffer of 64 KiB, without timestamps", 120, off=(WITHOUT_TIMESTAMPS,), send_buffer=65_536),
    LinuxScript("A send buffer of 4 MiB, and a loss", 400, lost(200), send_buffer=4_194_304),
)


def comparisons() -> list[Comparison]:
    """Every script."""
    return [
        Comparison(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
