"""A panel: what is to be drawn, in one unit, and how its series are distinguished.

Panels know nothing of the program that draws them: ``windtunnel.figures`` draws one into axes of Matplotlib,
``windtunnel.report`` writes one into a page, and both show the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Index: TypeAlias = npt.NDArray[np.int64]

#: What a sample says about the time around it: it is the mean since the one before ("mean"), it holds until the next
#: one ("hold"), or it says nothing about any time but its own moment ("").
Step: TypeAlias = Literal["mean", "hold", ""]
#: Lines; single dots; or a curve whose abscissas may go back and forth.
Kind: TypeAlias = Literal["line", "points", "path"]
#: Which dots of a figure have their series' marker: all, since it has a meaning; only few; or none.
Markers: TypeAlias = Literal["all", "few", "none"]


@dataclass(frozen=True)
class Look:
    """How a series is distinguished: a colour's name, and marker and dashes for readers without colour."""

    colour: str
    marker: str
    dash: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one flow, queue or group.

    ``x`` (ascending, unless the panel is a path) and ``y`` have one shape ``(n,)``, and so have ``flag`` (what the
    panel singles out), ``who`` (whose each sample is, where a series mixes flows), and ``low`` and ``high`` (a range
    around ``y``), if they are there. NaN in ``y`` breaks the line.
    """

    key: str
    label: str
    look: Look
    x: Array
    y: Array
    #: The flow that it belongs to, so that a flow can be switched in all panels; of a group its first member.
    flow: int | None = None
    step: Step = ""
    #: Whether it is the sum of all flows.
    total: bool = False
    #: A line is broken where two samples are farther apart than this, in the unit of the abscissa.
    gap: float | None = None
    flag: Mask | None = None
    #: Whether flagged samples are marked. A mark on every sample would tell nothing and hide the line.
    marked: bool = True
    who: Index | None = None
    low: Array | None = None
    high: Array | None = None

    def __len__(self) -> int:
        return len(self.x)

    def only(self, keep: Mask | Index | slice) -> Series:
        """Some of the samples: a mask, their indices in order, or a slice."""
        return replace(
            self,
            x=self.x[keep],
            y=self.y[keep],
            flag=None if self.flag is None else self.flag[keep],
            who=None if self.who is None else self.who[keep],
            low=None if self.low is None else self.low[keep],
            high=None if self.high is None else self.high[keep],
        )


@dataclass(frozen=True)
class Flag:
    """What some samples are singled out for; without a colour, the mark has that of the series.

    The legend of a figure says ``legend`` for them and ``others`` for the rest or, where these are empty, the labels.
    """

    label: str
    marker: str
    colour: str | None = None
    legend: str = ""
    others: str = ""


@dataclass(frozen=True, eq=False)
class Ticks:
    """Intervals in which a flow sent something again, or its timer expired: ticks in a row above the lines.

    ``x`` are the ends of the intervals, ``retransmits`` and ``rtos`` the numbers in each.
    """

    key: str
    label: str
    look: Look
    flow: int
    row: int
    x: Array
    retransmits: Index
    rtos: Index


@dataclass(frozen=True)
class Abscissa:
    """The horizontal axis. Panels over time share one visible range; others have their own."""

    label: str = "Time"
    unit: str = "s"
    time: bool = True
    log: bool = False


TIME = Abscissa()


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several things that a panel can show."""

    name: str
    unit: str
    series: tuple[Series, ...]
    log: bool = False
    x: Abscissa = TIME


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn together, on common axes."""

    id: str
    title: str
    unit: str
    series: tuple[Series, ...] = ()
    #: The title in a figure, where that of the published ones is shorter.
    short_title: str = ""
    #: What the ordinate is, where that is shorter than the title.
    quantity: str = ""
    kind: Kind = "line"
    x: Abscissa = TIME
    log: bool = False
    #: Whether the ordinate need not start at 0: of a part of the time, only what it shows matters.
    floating: bool = False
    #: Whether its lines go up and down: those that turn too often to be told apart may be averaged.
    sawtooth: bool = False
    markers: Markers = "few"
    flag: Flag | None = None
    #: Lines that accompany the series of the same flow, thin and dashed, and what they are.
    thresholds: tuple[Series, ...] = ()
    threshold: str = ""
    ticks: tuple[Ticks, ...] = ()
    #: What a reader can choose to see; the first one is what the panel shows.
    choices: tuple[Choice, ...] = ()
    #: Seconds over which a reader may average series of means (0: not at all), and the default.
    averages: tuple[float, ...] = ()
    average: float = 0.0
    #: When something changed, in seconds, and what: of a panel over time.
    changes: tuple[tuple[float, str], ...] = ()
    #: Why there is nothing to draw; empty if there is something.
    empty: str = ""
    #: What a reader must know to read it.
    note: str = ""
    #: Whether the scenario asks about it; other panels are shown on demand.
    shown: bool = True
