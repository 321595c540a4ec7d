"""When the flows of a run start: another place in its first round trip for each flow and each offset.

Flows over one queue can lock their phases: who starts a millisecond earlier then wins for the whole run, in every run
with these starts. Other starts show it. The places are those of Kronecker sequences, one for each flow, with square
roots of primes: they fill the round trip evenly, for any number of offsets, and flows keep no fixed distance.

Campaigns, searches, paper suites and evidence packs all take their starts from here; which offset a run has, they say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from windtunnel._core import quantity

#: Their square roots are irrational, and so are the differences between them.
_PRIMES = (
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131,
)  # fmt: skip


def moved(start_s: float, rtt_s: float, flow: int, offset: int) -> str:
    """The start of flow number ``flow`` with offset number ``offset``, as a scenario writes it. Offset 0 moves
    nothing.
    """
    share = math.modf(offset * math.sqrt(_PRIMES[flow % len(_PRIMES)]))[0]
    return f"{1e6 * (start_s + rtt_s * share):.0f} us"


def starts(resolved: Mapping[str, Any], offset: int) -> tuple[str, ...]:
    """The settings of offset number ``offset``; 0 leaves the starts as they are. ``resolved`` is the scenario."""
    if not offset:
        return ()
    return tuple(
        f'flow.{flow}.start="{moved(quantity(t.get("start", "0 s")), quantity(t.get("rtt", "0 s")), flow, offset)}"'
        for flow, t in enumerate(resolved["flow"])
    )
