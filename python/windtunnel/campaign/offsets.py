"""When the flows of a run start: another place in its first round trip for each flow and each offset.

Flows over one queue can lock their phases: who starts a millisecond earlier then wins for the whole run, in every run
with these starts. Other starts show it. The places are those of Kronecker sequences, one for each flow, with square
roots of primes: they fill the round trip evenly, for any number of offsets, and flows keep no fixed distance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from windtunnel._core import quantity

#: Their square roots are irrational, and so are the differences between them.
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def starts(resolved: Mapping[str, Any], offset: int) -> tuple[str, ...]:
    """The settings of offset number ``offset``; 0 leaves the starts as they are. ``resolved`` is the scenario."""
    if not offset:
        return ()
    settings = []
    for flow, table in enumerate(resolved["flow"]):
        share = math.modf(offset * math.sqrt(PRIMES[flow % len(PRIMES)]))[0]
        start = quantity(table.get("start", "0 s")) + quantity(table.get("rtt", "0 s")) * share
        settings.append(f'flow.{flow}.start="{start * 1e6:.0f} us"')
    return tuple(settings)
