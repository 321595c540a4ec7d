"""Claim P54: over RED, flows that should have equal rates differ by more than a factor of 2, for unknown reasons.

The ACIRI report derived the formula for an AQM that drops every n-th packet, and tried it over RED. Here AIMD(a, b)
with that increase runs against an equal number of Reno flows over RED, over a dropper of every n-th packet, and over
tail drop; with windows in whole packets, as in Linux and ns-2, and in bytes. The number of flows (or n) sets the loss
probability, and so the window. Over RED twice the formula's increase is tried, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from windtunnel import models
from windtunnel.experiment.verdict import Verdict
from windtunnel.experiment.words import word
from windtunnel.models.losses import periodic_window, whole_packet_window
from windtunnel.models.sawteeth import RENO
from windtunnel.papers.aimd.numbers import friendly
from windtunnel.papers.aimd.plan import TWIN_STARTS_MS
from windtunnel.papers.aimd.red_figure import Line, Panel, draw
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Factors kept; flows of each kind over a queue; n of the dropper. Both lose about 1 to 5 % of the packets.
FACTORS = (0.6, 0.7, 0.8, 0.875, 0.9)
FLOWS = (2, 4, 8, 16)
EVERY = (101, 51, 31, 21)
QUICK_FACTORS, QUICK_FLOWS, QUICK_EVERY = (0.7, 0.9), (8,), (21,)
#: The factor for which twice the formula's increase is tried.
DOUBLED = 0.875
#: The dropper's n for Reno's rate law: windows of 39 packets, so that a round trip of recovery hardly counts.
LAW_EVERY = 1001

#: Seconds of convergence at most, and of measurement. Windows are small, and sawteeth take a second.
LIMIT_S, SPAN_S = 30, 100
TWINS = 3

#: "More than a factor of 2", and up to where rates count as equal.
FACTOR, CLOSE = 2.0, word("equal").around_one

BYTES = tuple(f"flow.{i}.{key}" for i in (0, 1) for key in ('cc.growth="per-ack"', 'ack="immediate"'))


@dataclass(frozen=True)
class Arm:
    """One kind of bottleneck and of window, with ``factor`` times the formula's increase."""

    id: str
    title: str
    queue: str
    in_bytes: bool = False
    factor: float = 1.0

    @property
    def scenario(self) -> str:
        """The scenario file."""
        return "aimd-dropper" if self.queue == "dropper" else "aimd-red"

    def loads(self, *, quick: bool) -> tuple[int, ...]:
        """Numbers of flows, or n."""
        if self.queue == "dropper":
            return QUICK_EVERY if quick else EVERY
        return QUICK_FLOWS if quick else FLOWS

    def factors(self, *, quick: bool) -> tuple[float, ...]:
        """Multiplicative decrease factors."""
        if self.factor != 1.0:
            return (DOUBLED,)
        return QUICK_FACTORS if quick else FACTORS


RED, RED_BYTES = Arm("red", "RED", "red"), Arm("red-bytes", "RED, windows in bytes", "red", in_bytes=True)
DROPPER = Arm("dropper", "Every n-th packet lost", "dropper")
DROPPER_BYTES = Arm("dropper-bytes", "Every n-th packet lost, windows in bytes", "dropper", in_bytes=True)
TAIL_DROP = Arm("tail-drop", "Tail drop", "tail-drop")
DOUBLE = Arm("red-doubled", "RED, twice the formula's increase", "red", factor=2.0)
ARMS = (RED, RED_BYTES, DROPPER, DROPPER_BYTES, TAIL_DROP, DOUBLE)


@dataclass(frozen=True, eq=False)
class Point:
    """A cell of the grid."""

    arm: Arm
    b: float
    load: int
    setup: Setup

    def ratios(self, results: Results) -> list[float]:
        """The rate of AIMD(a, b) over Reno's, run by run."""
        both = (results.values(self.setup.name, self.setup.index(_mean(f))) for f in self.groups)
        return [x / y if y > 0 else math.inf for x, y in zip(*both, strict=True)]

    def ratio(self, results: Results) -> float:
        """Their mean."""
        return _average(self.ratios(results))

    def loss(self, results: Results) -> float:
        """The loss probability, of all packets."""
        if self.arm.queue == "dropper":
            return 1.0 / self.load
        return _average(results.values(self.setup.name, self.setup.index(_LOSS)))

    @property
    def groups(self) -> tuple[str, str]:
        """Flow numbers of AIMD and of Reno."""
        n = 1 if self.arm.queue == "dropper" else self.load
        return f"0-{n - 1}", f"{n}-{2 * n - 1}"

    @property
    def where(self) -> str:
        """``8 + 8 flows``, ``n = 21``."""
        return f"n = {self.load}" if self.arm.queue == "dropper" else f"{self.load} + {self.load} flows"


_LOSS = Measurement("summary", "queue 0", "loss_share()")


def _mean(flows: str) -> Measurement:
    """Goodput of a flow of the group in Mbit/s."""
    return Measurement("rates", flows, f"steady_mean(1.0, {LIMIT_S}, {SPAN_S})")


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _point(setups: dict[str, Setup], arm: Arm, b: float, load: int, *, quick: bool = False) -> Point:
    settings = [f"flow.0.cc.a={arm.factor * friendly(b).a:.6f}", f"flow.0.cc.b={b:g}"]
    if arm.queue == "dropper":
        settings.append(f"bottleneck.impair.every={load}")
    else:
        settings += [f"flow.0.count={load}", f"flow.1.count={load}"]
    if arm.queue == "tail-drop":
        settings.append('bottleneck.queue={ kind = "fifo", limit = "50 packets" }')
    settings += BYTES if arm.in_bytes else ()
    setup = Setup(f"red/{arm.id}-{b:g}-{load}", AIMD.template(arm.scenario), tuple(settings))
    # Over the dropper the flows do not affect each other: their start offset changes nothing.
    if arm.queue != "dropper":
        setup.twins = tuple((f'flow.1.start="{ms} ms"',) for ms in TWIN_STARTS_MS[: 1 if quick else TWINS])
    point = Point(arm, b, load, setups.setdefault(setup.name, setup))
    for measurement in (*map(_mean, point.groups), _LOSS):
        point.setup.index(measurement)
    return point


def red_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """The group ``red``: all ratios and the figure."""
    points = [
        _point(setups, arm, b, load, quick=quick)
        for arm in ARMS
        for b in arm.factors(quick=quick)
        for load in arm.loads(quick=quick)
        if not (quick and arm in (TAIL_DROP, DOUBLE))
    ]
    caption = "AIMD(a, b), a from the formula, against Reno over RED, a deterministic dropper and tail drop"
    names = [p.setup.name for p in points]

    def rows(results: Results) -> list[Row]:
        return [_arm_row(arm, b, chosen, results) for (arm, b), chosen in _by_arm(points).items()]

    def png(results: Results) -> bytes | None:
        return draw(_panels(points, results)) if any(p.ratios(results) for p in points) else None

    return [Group("red", "RED", caption, names, rows, png), *_claims(setups, points, quick=quick)]


def _by_arm(points: Sequence[Point]) -> dict[tuple[Arm, float], list[Point]]:
    out: dict[tuple[Arm, float], list[Point]] = {}
    for point in points:
        out.setdefault((point.arm, point.b), []).append(point)
    return out


def _arm_row(arm: Arm, b: float, points: Sequence[Point], results: Results) -> Row:
    """The ratio that differs from 1 by the largest factor; the note lists all ratios."""
    seen = {p: p.ratio(results) for p in points if p.ratios(results)}
    worst = max(seen.values(), key=_apart, default=None)
    listed = (f"{p.where} ({100 * p.loss(results):.1f} % lost): {ratio:.2f}" for p, ratio in seen.items())
    what = f"{arm.title}: rate of AIMD({arm.factor * friendly(b).a:.3g}, {b:g}) over Reno's, where furthest from 1"
    every = [v for p in points for v in p.ratios(results)]
    return Row(f"red/{arm.id}-{b:g}", "red", what, None, worst, None, "", "info", "; ".join(listed), spread(every))


def _panels(points: Sequence[Point], results: Results) -> list[Panel]:
    """Ratios against the loss probability, for each kind of queue."""
    out = []
    for queue, title in (("dropper", "Every n-th lost"), ("red", "RED"), ("tail-drop", "Tail drop")):
        lines = []
        for (arm, b), chosen in _by_arm(points).items():
            seen = [p for p in chosen if p.ratios(results)]
            if arm.queue == queue and arm.factor == 1.0 and seen:
                losses, ratios = [p.loss(results) for p in seen], [p.ratio(results) for p in seen]
                model = [predicted_ratio(b, p) for p in losses] if arm is RED else []
                lines.append(
                    Line(b, FACTORS.index(b), losses, ratios, [p.ratios(results) for p in seen], arm.in_bytes, model)
                )
        out.append(Panel(title, lines))
    return out


# --- The claims -------------------------------------------------------------------------------------------------------


def _claims(setups: dict[str, Setup], points: Sequence[Point], *, quick: bool) -> list[Group]:
    over_red, in_bytes, dropped, dropped_bytes = (
        [p for p in points if p.arm is arm] for arm in (RED, RED_BYTES, DROPPER, DROPPER_BYTES)
    )
    groups = [
        _group(
            "P54a",
            "Over RED, flow rates that should be equal differ by a factor of more than 2",
            over_red,
            lambda results: _bound(_largest(over_red, results), above=FACTOR),
        ),
        _group(
            "P54b",
            "Windows in whole packets are the cause: in bytes, rates are equal where they differ most over RED",
            (*over_red, *in_bytes),
            lambda results: _bound(_same(_largest(over_red, results), in_bytes, results), below=1.0 + CLOSE),
        ),
        _group(
            "P54c",
            "RED is not the cause: over a dropper of every n-th packet, whole packets make rates as unequal",
            (*over_red, *dropped),
            lambda results: _bound(_largest(dropped, results), above=_half(_largest(over_red, results))),
        ),
        _group(
            "P54d",
            "With every n-th packet lost and windows in bytes, which is what it assumes, the formula holds",
            dropped_bytes,
            lambda results: _bound(_largest(dropped_bytes, results), below=1.0 + CLOSE),
        ),
        _group(
            "P54e",
            "Independent losses and windows in whole packets explain most of the difference of rates over RED",
            over_red,
            lambda results: _bound(_predicted(_largest(over_red, results)), above=_half(_largest(over_red, results))),
        ),
    ]
    return groups if quick else [*groups, _law_claim(_point(setups, DROPPER_BYTES, 0.5, LAW_EVERY))]


@dataclass(frozen=True)
class Difference:
    """The factor by which rates differ in a setup and in each of its runs; the share of its packets that is lost."""

    factor: float
    runs: Sequence[float]
    point: Point
    loss: float


def _apart(ratio: float) -> float:
    """The factor by which two rates differ: the larger over the smaller."""
    return max(ratio, 1.0 / ratio) if ratio > 0 else math.inf


def _difference(point: Point, results: Results) -> Difference | None:
    runs = point.ratios(results)
    return Difference(_apart(_average(runs)), [*map(_apart, runs)], point, point.loss(results)) if runs else None


def _largest(points: Sequence[Point], results: Results) -> Difference | None:
    """The largest factor of all setups that were run."""
    seen = [d for p in points if (d := _difference(p, results)) is not None]
    return max(seen, key=lambda d: d.factor, default=None)


def _same(other: Difference | None, points: Sequence[Point], results: Results) -> Difference | None:
    """The factor in the setup among ``points`` with as many flows and the same factor kept as ``other``."""
    if other is None:
        return None
    (point,) = (p for p in points if (p.b, p.load) == (other.point.b, other.point.load))
    return _difference(point, results)


def _predicted(measured: Difference | None) -> Difference | None:
    """The model's prediction for that setup."""
    if measured is None:
        return None
    return replace(measured, factor=_apart(predicted_ratio(measured.point.b, measured.loss)), runs=())


def _half(of: Difference | None) -> float:
    """Half-way from equal rates to the measured ones: a model that goes further explains most of the difference."""
    return math.nan if of is None else 1.0 + (of.factor - 1.0) / 2.0


@cache
def predicted_ratio(b: float, p: float) -> float:
    """Rate of AIMD(., ``b``) over Reno's with windows in whole packets and independent losses."""
    return whole_packet_window(friendly(b), p) / whole_packet_window(RENO, p)


def _bound(difference: Difference | None, *, above: float = -math.inf, below: float = math.inf) -> Row:
    """A factor between two rates, judged by its bound; the ID and the text are the group's."""
    published = f"> {above:.3g}" if above > -math.inf else f"< {below:.3g}"
    if difference is None:
        return Row("", "claims", "", published, None, None, "", "differs", "nothing was run")
    verdict: Verdict = "agrees" if above < difference.factor < below else "differs"
    note = f"b = {difference.point.b:g}, {difference.point.where}, {100 * difference.loss:.1f} % lost"
    return Row("", "claims", "", published, difference.factor, None, "", verdict, note, spread(difference.runs))


def _group(id: str, text: str, points: Sequence[Point], row: Callable[[Results], Row]) -> Group:
    def rows(results: Results) -> list[Row]:
        return [replace(row(results), id=id, what=text)]

    return Group(id, f"Claim {id}", text, [p.setup.name for p in points], rows, statement=True)


def _law_claim(point: Point) -> Group:
    """Packets per round trip times sqrt(p)."""
    text = "Reno's rate law, 1.22/sqrt(p) packets per round trip, holds where every n-th packet is lost"
    rtt_s = point.setup.template.rtts_ms()[1] * 1e-3
    constant = periodic_window(RENO)

    def rows(results: Results) -> list[Row]:
        rates = results.values(point.setup.name, point.setup.index(_mean(point.groups[1])))
        values = [r * 1e6 / 8 / models.MSS * rtt_s / math.sqrt(LAW_EVERY) for r in rates]
        rounds = constant * math.sqrt(LAW_EVERY) * 2 / 3
        note = f"n = {LAW_EVERY}; a sawtooth takes {rounds:.0f} round trips and one of recovery, which the law ignores"
        return [compare("P54f", "claims", text, constant, CLOSE * constant, values, "packets", note)]

    return Group("P54f", "Claim P54f", text, [point.setup.name], rows, statement=True)
