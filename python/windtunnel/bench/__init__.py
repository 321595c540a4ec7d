"""The benchmark: fixed works, each in a process of its own, on one core.

A packet is one data segment delivered through the bottleneck. For a controller written in Python, the measure is how
many ACKs per second it handles; the time includes the run's other work. CPU seconds are those of the simulation alone;
peak memory is that of the whole process, including the interpreter.

``works.py`` lists the works, ``measure.py`` runs them, ``instructions.py`` counts what a packet costs, ``growth.py``
measures how that grows with the flows, ``against.py`` compares with another simulator, ``campaign.py`` measures
what surrounds the runs of a campaign, ``commands.py`` what surrounds a run, and ``threads.py`` compares a run on
several threads with one on one. What they gave is in ``docs/speed.md``.
"""

from __future__ import annotations

from windtunnel.bench.measure import Measurement, measure
from windtunnel.bench.works import LARGE, WORKS, Work

__all__ = ["LARGE", "WORKS", "Measurement", "Work", "measure"]
