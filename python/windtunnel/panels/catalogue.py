"""All panels in reading order, and what a run needs for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from windtunnel.errors import InputError
from windtunnel.panels import (
    cdf,
    cwnd,
    evidence,
    fairness,
    fct,
    io_graph,
    laws,
    marks,
    packets,
    rtt,
    sender,
    sojourn,
    state,
    throughput,
)
from windtunnel.panels.model import Panel
from windtunnel.panels.run import Run

_PACKETS = "recorded packets (`record.packets = true`)"


@dataclass(frozen=True)
class Entry:
    """How a panel is made, and what a run without it lacks; the panels of the figure are always there."""

    make: Callable[[Run], Panel | None]
    needs: str = ""


#: By the panels' names.
CATALOGUE: Mapping[str, Entry] = {
    "throughput": Entry(throughput.panel),
    "sojourn": Entry(sojourn.panel),
    "cwnd": Entry(cwnd.panel),
    "marks": Entry(marks.panel),
    "rtt": Entry(rtt.panel, "a flow that measures its round-trip time"),
    "fct": Entry(fct.panel, "transfers that were completed"),
    "in_flight": Entry(sender.in_flight, "a flow that waits for acknowledgements"),
    "rates": Entry(sender.rates, 'TCP (`endpoints = "linux"`)'),
    "one_way_delay": Entry(packets.one_way_delay, _PACKETS),
    "cdf": Entry(cdf.panel, "a measured delay"),
    "fairness": Entry(fairness.panel, "two flows that send as much as they can"),
    "phase": Entry(fairness.phase, "two flows with a congestion window"),
    "sequence": Entry(packets.sequence, _PACKETS),
    "io": Entry(io_graph.panel, _PACKETS),
    "laws": Entry(laws.panel, "a capture or a log with packets"),
    "reductions": Entry(evidence.reductions, "a capture or a log with answers to losses or marks"),
    "delay": Entry(evidence.delay, "a capture or a log with round trips without congestion"),
}

#: The panels of the four-panel figure in reading order, and those of all figures of a run: its state has others.
FOUR = ("throughput", "sojourn", "cwnd", "mark")
DRAWN = (*FOUR, *(name for name in CATALOGUE if name not in (*FOUR, "marks")))


def panel_of(run: Run, name: str) -> Panel:
    """The panel ``name``. Raises InputError if the run has nothing for it."""
    panel = CATALOGUE[name].make(run)
    if panel is None:
        raise InputError(f"the run has nothing for the panel {name!r}, which needs {CATALOGUE[name].needs}")
    return run.dated(panel)


def choose(panel: Panel, name: str) -> Panel:
    """The panel with what it shows as its choice ``name``. Raises InputError if it offers no such."""
    for choice in panel.choices:
        if choice.name == name:
            quantity = panel.quantity if choice.unit == panel.unit else choice.name
            shown = replace(panel, series=choice.series, unit=choice.unit, log=choice.log, x=choice.x)
            return replace(shown, quantity=quantity, choices=(choice,))
    names = ", ".join(repr(choice.name) for choice in panel.choices)
    offered = f"it offers {names}" if names else "it offers no choice"
    raise InputError(f"panel {panel.id!r} has no {name!r}: {offered}")


def panels_of(run: Run) -> list[Panel]:
    """The panels that have something to show, and the four of the figure in any case."""
    made = (entry.make(run) for entry in CATALOGUE.values())
    return [run.dated(panel) for panel in (*made, *state.panels(run)) if panel is not None]
