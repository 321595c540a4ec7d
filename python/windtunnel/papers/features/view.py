"""What a method sees of a run: the series that one panel of the published figure plots for one flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.panels import cwnd, marks, sojourn, throughput
from windtunnel.panels.tables import Samples
from windtunnel.papers.features.series import Series

#: Pixels of a plot area of the published figures: 560 across, 340 up.
PIXELS_X = 560
PIXELS_Y = 340

#: Mark kinds as the recorder numbers them.
MARK_KINDS = {label: kind for kind, _, label, _ in marks.KINDS}

Tables = Mapping[str, Mapping[str, npt.NDArray[np.generic]]]


@dataclass(frozen=True)
class Axis:
    """The ranges of a panel's axes; they fix the size of its pixels."""

    x_min: float
    x_max: float
    y_min: float
    y_max: float

    @property
    def bin_width(self) -> float:
        """Seconds per pixel."""
        return (self.x_max - self.x_min) / PIXELS_X

    @property
    def step(self) -> float:
        """Value per pixel."""
        return (self.y_max - self.y_min) / PIXELS_Y


@dataclass
class RunData:
    """The event tables and the summary of a run, as series by panel and flow. Selections are cached."""

    tables: Tables
    summary: Mapping[str, Any]
    _cache: dict[tuple[str, str], Series] = field(default_factory=dict, repr=False)

    def flows(self, panel: str) -> list[int]:
        """The numbers of the run's flows."""
        column = self.tables[f"{panel}_points"]["flow"]
        return [int(f) for f in np.unique(column) if int(f) >= 0]

    def series(self, panel: str, flow: str) -> Series:
        """The series of ``flow`` in ``panel``: number, range ``0-3``, ``total``, ``all``, mark kind, ``empty``."""
        key = (panel, flow)
        if key not in self._cache:
            self._cache[key] = self._select(panel, flow)
        return self._cache[key]

    def _select(self, panel: str, flow: str) -> Series:
        # The methods were made for the first event of each span, which is how the published figures look.
        if panel == "throughput":
            samples = throughput.samples(self.tables, extremes=False)
            # "all": every symbol in the panel, including those of the total: they set the range of its axis.
            wanted = {-1} if flow == "total" else set(flow_numbers(flow)) if flow != "all" else None
        elif panel == "cwnd":
            samples = cwnd.samples(self.tables, extremes=False)
            wanted = None if flow == "all" else set(flow_numbers(flow))
        elif panel == "sojourn":
            samples = [_half(s, flow) for s in sojourn.samples(self.tables, extremes=False)]
            wanted = None
        elif panel == "mark":
            kinds = MARK_KINDS.values() if flow == "all" else [MARK_KINDS[flow]]
            samples = [s for kind in kinds for s in marks.samples(self.tables, kind)]
            wanted = None
        else:
            raise KeyError(f"no panel {panel!r}")
        # At one moment, the total comes after the flow that it belongs to.
        samples.sort(key=lambda s: s.index < 0)
        return Series.merge([Series(s.t, s.y) for s in samples if wanted is None or s.index in wanted])


def _half(s: Samples, flow: str) -> Samples:
    """The dequeues that left the queue ``empty``, those that did ``not``, or ``all``."""
    if flow == "all" or s.flag is None:
        return s
    return s.only({"empty": s.flag, "not empty": ~s.flag}[flow])


def flow_numbers(flow: str) -> list[int]:
    """``"3"`` is flow 3, ``"12-15"`` flows 12 to 15."""
    first, _, last = flow.partition("-")
    return list(range(int(first), int(last or first) + 1))


@dataclass(frozen=True)
class View:
    """A panel and flow of a run, with the axes on which the figure plots them."""

    run: RunData
    panel: str
    flow: str
    axis: Axis

    @cached_property
    def series(self) -> Series:
        """The selected series."""
        return self.run.series(self.panel, self.flow)

    @property
    def width(self) -> float:
        """Width of a bin in seconds."""
        return self.axis.bin_width

    def other(self, flow: str, panel: str | None = None) -> Series:
        """Another series of the same run."""
        return self.run.series(panel or self.panel, flow)
