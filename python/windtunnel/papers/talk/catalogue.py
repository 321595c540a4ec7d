"""The catalogue: a table of feedback, control and year, one of a and b, the talk's comparison of BBR; the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, SOFT, flow_look
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.rows import Row
from windtunnel.papers.suite import Group, Results
from windtunnel.papers.talk.controllers import Controller, catalogue, registered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 110


def catalogue_group() -> Group:
    """The timeline, with a row for each controller: its year, and in the note feedback, control, a and b."""

    def rows(_: Results) -> list[Row]:
        return [_row(c) for c in catalogue()]

    caption = "Every controller: its year; what it listens to, how it acts, what it adds and what it keeps"
    return Group("catalogue", "Catalogue", caption, [], rows, lambda _: draw())


def _row(c: Controller) -> Row:
    note = f"feedback: {c.feedback}; control: {c.control}; a: {c.increase}; keeps: {c.kept}"
    if c.name not in registered():
        note += f"; this build has no `{c.name}`"
    return Row(
        f"catalogue/{c.slug}", "catalogue", f"{c.title} (`{c.name}`)", None, float(c.year), None, "", "info", note
    )


def tables() -> str:
    """The catalogue's tables as Markdown, for the notes of the report."""
    listed = catalogue()
    by_kind = _markdown(
        ("controller", "name here", "year", "feedback", "control"),
        ((c.title, f"`{c.name}`", str(c.year), c.feedback, c.control) for c in listed),
    )
    factors = _markdown(
        ("controller", "a: increase per round trip (packets)", "b: factor kept at congestion"),
        ((c.title, c.increase, c.kept) for c in listed),
    )
    slide = TALK.table("comparison.csv")
    compared = _markdown(("", *(k for k in slide[0] if k != "row")), (tuple(r.values()) for r in slide))
    return "\n\n".join(
        [
            '## Feedback, control, year (the talk\'s slides "CA: feedback types" and "control")',
            by_kind,
            "## What are a and b? (question 3 of the closing slide)",
            factors,
            "## CUBIC, BBR and BBRv2 (the talk's table)",
            compared,
        ]
    )


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


#: Kinds of feedback from the top: a controller is in the first whose word its feedback has.
_LANES = (("model or learning", ("rate", "utility")), ("delay, most with loss", ("delay",)), ("loss", ("loss",)))


def draw() -> bytes:
    """The timeline: years across, kinds of feedback in lanes, colours for what the talk shows of a controller."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    shown = {"slides": "plots of its own in the talk", "loops": "in the talk's loops", "other": "named, or later"}
    with mpl.rc_context({**RC, "axes.grid.axis": "x"}):
        figure = Figure(figsize=(11, 5), layout="constrained")
        axes = figure.subplots()
        for lane, (_, words) in enumerate(reversed(_LANES)):
            _lane(axes, lane, [c for c in catalogue() if _lane_of(c) == words], list(shown))
        axes.set_yticks(range(len(_LANES)), [name for name, _ in reversed(_LANES)])
        axes.set_ylim(-0.5, len(_LANES) - 0.45)
        axes.set_xlim(1986, 2026)
        axes.set_xlabel("Year")
        axes.axvline(1986.8, color=SOFT, lw=0.8, ls=(0, (2, 2)))
        axes.annotate("first collapse, Oct 1986", (1986.8, len(_LANES) - 0.5), (3, -3), textcoords="offset points",
                      va="top", color=SOFT, fontsize=8)  # fmt: skip
        handles = [
            Line2D([], [], color=flow_look(i).colour, marker=flow_look(i).marker, ls="none", label=text)
            for i, text in enumerate(shown.values())
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        figure.suptitle("Congestion controllers by year and by what they listen to", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def _lane_of(c: Controller) -> tuple[str, ...]:
    # Westwood+ estimates a rate, but only after a loss.
    words = c.feedback.removeprefix("loss, ACK rate") or "loss"
    return next(w for _, w in _LANES if any(word in words for word in w))


def _lane(axes: Axes, lane: int, members: Sequence[Controller], kinds: list[str]) -> None:
    """The controllers of a lane, those of near years above each other."""
    ends: list[float] = []
    for c in members:
        level = next((i for i, end in enumerate(ends) if end < c.year), len(ends))
        ends[level : level + 1] = [c.year + 0.75 + 0.36 * len(c.title)]
        y, look = lane - 0.38 + 0.125 * level, flow_look(kinds.index(c.shown))
        axes.plot(c.year, y, marker=look.marker, color=look.colour, ms=6)
        axes.annotate(c.title, (c.year, y), (6, 0), textcoords="offset points", va="center", fontsize=8.5, color=INK)
