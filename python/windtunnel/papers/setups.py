"""Setups: a scenario with its settings, its perturbed twins, and what to measure.

A setup is what one run of a suite measures. Packet-level systems are chaotic: one more microsecond of path delay gives
a different, equally correct sequence of packets. A setup is therefore run again with path RTTs changed by one to three
microseconds; the range of what those runs measure shows how well the number is determined.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from windtunnel._core import quantity
from windtunnel.metrics import Array
from windtunnel.papers.features import Axis, identity
from windtunnel.papers.readings import Reading
from windtunnel.result import RunResult

#: What a figure needs of a run, as columns by name: the run itself stays in the process that made it, so this is small.
Excerpt: TypeAlias = Mapping[str, Array]

#: IP bytes of a data packet.
PACKET_BITS = 1500 * 8

#: Path RTT offsets of the perturbed runs in microseconds, one tuple per run; flow i takes entry i (cyclically). Tuples
#: of one entry move all flows together. The others move flows against each other and so break ties between equal flows.
OFFSETS_US: tuple[tuple[int, ...], ...] = (
    (1,),
    (-1,),
    (2, -3, 3, -2, 1, -1),
    (-2, 3, -3, 2, -1, 1),
    (2,),
    (-2,),
    (3, -1, 2, -3, 1, -2),
    (-3, 1, -2, 3, -1, 2),
    (3,),
    (-3,),
    (1, 2, -1, 3, -2, -3),
    (-1, -2, 1, -3, 2, 3),
    (1, -1, 2, -2, 3, -3),
    (-1, 1, -2, 2, -3, 3),
    (3, 2, 1, -1, -2, -3),
    (-3, -2, -1, 1, 2, 3),
)


#: For methods that need no bins.
NO_AXIS = Axis(0.0, 1.0, 0.0, 1.0)


@dataclass(frozen=True)
class Measurement:
    """A number to take from a run: a method on a panel and flow, with the axes of the figure it is compared with."""

    panel: str
    flow: str
    method: str
    axis: Axis = NO_AXIS

    @property
    def identity(self) -> str:
        """What is measured, the same for two names of one method (``features/method.py``)."""
        return identity(self.panel, self.flow, self.method, self.axis)


@dataclass(frozen=True)
class Template:
    """The text of a scenario file, and what the suite must know to vary it."""

    name: str
    text: str

    @property
    def data(self) -> dict[str, object]:
        """The scenario as plain data."""
        return tomllib.loads(self.text)

    def rtts_ms(self) -> list[float]:
        """Path RTT of each ``[[flow]]``."""
        flows = self.data["flow"]
        assert isinstance(flows, list)
        return [1e3 * quantity(f["rtt"]) for f in flows]

    def packets(self, settings: Sequence[str] = ()) -> float:
        """Approximate number of packets that a run delivers: the rate of the link, with its changes, or of its shaper,
        over the run's time.
        """
        data = dict(self.data)
        # In a graph the first link is the bottleneck.
        graph = "link" in data
        link = data["link"][0] if graph else data["bottleneck"]  # type: ignore[index]
        assert isinstance(link, dict)
        for setting in settings:
            changed = tomllib.loads(setting)
            data["duration"] = changed.get("duration", data["duration"])
            link = _merged(link, changed.get("link", {}).get("0", {}) if graph else changed.get("bottleneck", {}))
        end = quantity(str(data["duration"]))
        shaper = link["queue"] if isinstance(link.get("queue"), dict) and "rate" in link["queue"] else link
        rate, since, bits = quantity(shaper["rate"]), 0.0, 0.0
        for change in link.get("changes", []):
            at = quantity(change["at"])
            bits += rate * (at - since)
            rate, since = quantity(change["rate"]) if "rate" in change else rate, at
        return (bits + rate * (end - since)) / PACKET_BITS


def _merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A table with changes, also in the tables inside it."""
    both = {key for key, value in changes.items() if isinstance(value, dict) and isinstance(table.get(key), dict)}
    return {**table, **changes, **{key: _merged(table[key], changes[key]) for key in both}}


@dataclass
class Setup:
    """A scenario with its settings, the number of perturbed twins to run, and what to measure.

    ``rtts_ms`` gives every ``[[flow]]`` its path RTT (none: the file's own). ``twins`` holds the overrides of each
    perturbed run where they are not RTTs changed by microseconds: start offsets, for example, where phases decide.
    ``excerpt``, a function of a module, takes what figures of several runs draw from the unperturbed run; ``page`` is
    the title of that run's interactive report, if it has one without having a picture.
    """

    name: str
    template: Template
    settings: tuple[str, ...] = ()
    rate_mbps: float | None = None
    rtts_ms: tuple[float, ...] | None = None
    perturbed: int = 0
    twins: tuple[tuple[str, ...], ...] = ()
    measurements: list[Measurement] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    excerpt: Callable[[RunResult], Excerpt] | None = None
    page: str = ""

    @property
    def packets(self) -> float:
        """Approximate number of packets in one run."""
        return self.template.packets(next(self.variants()))

    def index(self, measurement: Measurement) -> int:
        """The index of ``measurement`` in the setup's list, to which a new one is added."""
        if measurement not in self.measurements:
            self.measurements.append(measurement)
        return self.measurements.index(measurement)

    def identity(self, index: int) -> str:
        """What a measurement is, in the same words wherever it is the same."""
        return f"{self.name}: {self.measurements[index].identity}"

    def variants(self) -> Iterator[tuple[str, ...]]:
        """The overrides of each run: the unperturbed one first."""
        base = list(self.settings)
        if self.rate_mbps is not None:
            base.append(f'bottleneck.rate="{self.rate_mbps:g} Mbps"')
        rtts = self.rtts_ms or tuple(self.template.rtts_ms())
        plain = (*base, *(_rtt(i, r) for i, r in enumerate(rtts) if self.rtts_ms is not None))
        yield plain
        yield from ((*plain, *twin) for twin in self.twins)
        for offsets in OFFSETS_US[: self.perturbed]:
            yield (*base, *(_rtt(i, r + offsets[i % len(offsets)] * 1e-3) for i, r in enumerate(rtts)))


def _rtt(flow: int, ms: float) -> str:
    return f'flow.{flow}.rtt="{round(ms * 1000):d} us"'


@dataclass(frozen=True)
class Picture:
    """A figure to draw from the unperturbed run. ``zoom`` limits the axes, by panel: (x0, x1, y0, y1).

    ``readings`` of the published figure are drawn into it. Rates are means, unless the published ones are ``raw``.
    """

    id: str
    title: str
    zoom: tuple[tuple[str, Axis], ...] = ()
    readings: tuple[Reading, ...] = ()
    raw: bool = False
