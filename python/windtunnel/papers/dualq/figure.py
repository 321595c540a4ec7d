"""The slides' figure: delivery rates on the left axis, TCP's round trips on the right, probabilities of marks below."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.figures.files import png
from windtunnel.figures.style import RED, Dash, flow_look
from windtunnel.figures.two_axes import TCP_RTT, Curve, Labels, Panel, two_axes
from windtunnel.papers.dualq.plan import RATE_MBPS, Meaning, Queue
from windtunnel.papers.dualq.probabilities import CURVES, NAMES
from windtunnel.papers.setups import Excerpt

DPI = 110
#: The slides' colours: the native probability is green and dashed, the coupled one blue, that of C red.
_COLOURS = {"native": flow_look(2).colour, "coupled": flow_look(4).colour, "classic": RED}
_DASHES: dict[str, Dash] = {"native": (0, (4, 2))}
#: What the right axis covers, the same for all queues.
_RTTS_MS = 46.0
_LABELS = Labels(left="Delivery rate (Mbit/s)", right="TCP RTT (ms)", lower="Mark probability (%)")


def draw(queue: Queue, meaning: Meaning, drawn: Sequence[tuple[str, Excerpt]]) -> bytes:
    """The runs, each with its title; two in a row if there are several."""
    panels = [_panel(queue, title, excerpt) for title, excerpt in drawn]
    columns = 1 if len(panels) == 1 else 2
    title = "" if columns == 1 else f"CUBIC vs CUBIC(40Mbps): {queue.name}, 50 Mbit/s, {meaning.text}"
    low = meaning.base_ms - 1.0
    figure = two_axes(
        panels,
        labels=_LABELS,
        title=title,
        columns=columns,
        rate_mbps=RATE_MBPS,
        right_low=low,
        right_high=low + _RTTS_MS,
    )
    return png(figure, DPI)


def _panel(queue: Queue, title: str, excerpt: Excerpt) -> Panel:
    time = excerpt["time_s"]
    names = ("CUBIC", "CUBIC capped at 40 Mbit/s")
    colours = [flow_look(i).colour for i in (0, 1)]
    left = [
        Curve(f"{name}: delivery rate", time, excerpt[f"delivery_rate_mbps/{i}"], colours[i])
        for i, name in enumerate(names)
    ]
    right = [
        Curve(f"{name}: TCP RTT", time, excerpt[f"srtt_ms/{i}"], colours[i], TCP_RTT, 0.9)
        for i, name in enumerate(names)
    ]
    lower = [
        Curve(NAMES[curve], time, excerpt[curve], _COLOURS[curve], _DASHES.get(curve, "solid"))
        for curve in CURVES.get(queue.id, ())
        if curve in excerpt
    ]
    return Panel(title, left, right, lower)
