"""How the suite's setups are made: the slides' four runs over three queues, with each meaning of "rtt:20ms"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.setups import Measurement, Setup

RATE_MBPS, CAP_MBPS = 50.0, 40.0

#: Second at which the second flow joins; in the other runs of a setup it is these milliseconds later.
JOINS_S = 10.0
TWIN_STARTS_MS = (3.1, 7.9, 11.3, 16.7, 23.9, 33.3, 37.7)
QUICK_TWINS = 4

#: The window that is measured: 20 to 60 s.
WINDOW, FROM_S, TO_S = "steady", 20.0, 60.0

#: The flow that is there from the start, and the one that joins.
PLAIN, TWEAKED = "0", "1"


@dataclass(frozen=True)
class Meaning:
    """A meaning of the slides' "rtt:20ms": the path's base RTT, and the keys of queues, by name, that it changes."""

    id: str
    text: str
    base_ms: float
    keys: Mapping[str, str] = field(default_factory=dict)


#: PI2 gets what DualPI2 makes of its parameter: 0.1 * tupdate / max_rtt^2 and 0.3 / max_rtt, with max_rtt 6 * 20 ms.
TYPICAL = {
    "dualpi2": 'typical_rtt="20 ms"',
    "pi2": f'target="20 ms", tupdate="20 ms", alpha={0.1 * 0.02 / 0.12**2:.6f}, beta={0.3 / 0.12:g}',
}
MEANINGS = (
    Meaning("20ms", "base RTT 20 ms", 20.0),
    Meaning("40ms", "20 ms added in each direction: base RTT 40 ms", 40.0),
    Meaning("typical", "the queue's typical_rtt 20 ms, base RTT 20 ms", 20.0, TYPICAL),
)


@dataclass(frozen=True)
class Queue:
    """A queue: its name in scenarios, and what it is called."""

    id: str
    name: str
    keys: str = ""


QUEUES = (
    Queue("dualpi2", "DualPI2"),
    # A classic queue: all packets have the same probability.
    Queue("pi2", "PI2, single queue", 'ecn_mode="rfc3168"'),
    Queue("fq_codel", "FQ-CoDel", 'ecn_mode="rfc3168"'),
)


def runs() -> Sequence[dict[str, Any]]:
    """The slides' runs."""
    entries: list[dict[str, Any]] = DUALQ.toml("runs.toml")["run"]
    return entries


def setup_name(queue: Queue, meaning: Meaning, run: str) -> str:
    """The setup of a run."""
    return f"{queue.id}-{meaning.id}-{run}"


def add_setup(setups: dict[str, Setup], queue: Queue, meaning: Meaning, run: dict[str, Any], *, quick: bool) -> Setup:
    """The setup of a run over a queue; it is added to ``setups`` if it is new."""
    name = setup_name(queue, meaning, run["id"])
    if name not in setups:
        keys = ", ".join(filter(None, [f'kind="{queue.id}"', queue.keys, meaning.keys.get(queue.id)]))
        settings = (
            f"bottleneck.queue={{ {keys} }}",
            f'flow.1.tcp.max_pacing_rate="{CAP_MBPS:g} Mbps"',
            f'flow.1.ect="{run["ect"]}"',
            *(() if run["responsive"] else ('flow.1.unresponsive="all"',)),
        )
        setup = Setup(name, DUALQ.template("tweaked"), settings, rtts_ms=(meaning.base_ms,) * 2)
        setup.twins = tuple(
            (f'flow.1.start="{1000 * JOINS_S + ms:g} ms"', f"seed={seed}")
            for seed, ms in enumerate(TWIN_STARTS_MS[: QUICK_TWINS if quick else None], 2)
        )
        setups[name] = setup
    return setups[name]


def measured(field: str, of: str) -> Measurement:
    """A number of the measured window, of a flow (``"0"``) or of the queue (``"queue 0"``)."""
    return Measurement("summary", of, f'window_value("{WINDOW}", "{field}")')
