"""How the suite's setups are made: queues, ramps, controllers, the runs of each setup, and what is measured in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from windtunnel.papers.data_folder import SCE
from windtunnel.papers.setups import Measurement, Setup

Queue: TypeAlias = Literal["flows", "single"]

#: The path, in Mbit/s and ms, and the AQM's target.
RATE_MBPS, RTT_MS, TARGET_MS = 50.0, 80.0, 5.0

#: Second in which the first flow starts. The flows of a pair start together; in a setup's other runs the second one
#: starts these milliseconds later. No two differ by a multiple of the path's round trip.
START_S = 5.0
TWIN_STARTS_MS = (11.3, 23.9, 31.7, 43.1, 52.7, 61.9, 73.3)
QUICK_TWINS = 4

#: The window of 40 s that is measured begins 20 s after the start.
WINDOW = "steady"


def cake(queue: Queue, ramp: str | None) -> str:
    """The override that makes CAKE the bottleneck's queue. ``ramp`` is one of its keys; without it there is only CE."""
    mode = f'flow_mode="{"flows" if queue == "flows" else "flowblind"}"'
    keys = ('kind="cake"', 'diffserv="besteffort"', mode, 'ecn_mode="sce"', ramp)
    return f"bottleneck.queue={{ {', '.join(filter(None, keys))} }}"


def ramp_key(name: str) -> str:
    """CAKE's key for one of the mail's ramps."""
    return str(SCE.toml("graphs.toml")["ramp"][name]["cake"])


@dataclass(frozen=True)
class Sender:
    """How Reno-SCE responds to CE, which the mail does not say: what setups are called after it, and its controller."""

    suffix: str
    text: str
    cc: str


SENDERS = (
    Sender("", "CE leaves 3/4 of the window, 7/8 just after SCE: the law that was published later", "reno-sce"),
    Sender("-half", "CE halves the window, as RFC 3168 says", '{ kind="reno-sce", ce_md=0.5, ce_md_recent=0.5 }'),
)


def controllers(flows: Sequence[str]) -> tuple[str, ...]:
    """The overrides that name the controllers; some of them respond to SCE. A name may be a table in braces."""
    out = []
    for index, name in enumerate(flows):
        cc = name if name.startswith("{") else f'"{name}"'
        out.append(f"flow.{index}.cc={cc}")
        if "-sce" in name:
            out.append(f'flow.{index}.ecn="esce"')
    return tuple(out)


def add_setup(
    setups: dict[str, Setup], name: str, queue: str, flows: Sequence[str], *, twins: int, sender: Sender = SENDERS[0]
) -> Setup:
    """The setup of two flows (or of one alone); ``queue`` is an override. It is added to ``setups`` if it is new."""
    flows = [sender.cc if flow == "reno-sce" else flow for flow in flows]
    if name not in setups:
        scenario = "two-flows" if len(flows) == 2 else "one-flow"
        setup = Setup(name, SCE.template(scenario), (queue, *controllers(flows)))
        late = len(flows) - 1
        setup.twins = tuple(
            (f'flow.{late}.start="{1000 * START_S + ms:g} ms"', f"seed={seed}")
            for seed, ms in enumerate(TWIN_STARTS_MS[:twins], 2)
        )
        setups[name] = setup
    return setups[name]


def twins(*, quick: bool) -> int:
    """How often a setup is run besides the first time."""
    return QUICK_TWINS if quick else len(TWIN_STARTS_MS)


def measured(field: str, of: str) -> Measurement:
    """A number of the measured window, of a flow (``"0"``) or of the queue (``"queue 0"``)."""
    return Measurement("summary", of, f'window_value("{WINDOW}", "{field}")')
