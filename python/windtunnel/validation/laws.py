"""Response functions: the mean window at a given loss probability, against closed forms and an idealised model.

A flow on a path without queueing loses every 1/p-th segment (periodic), or each segment with probability p (Bernoulli).
Its mean window is the goodput times the round-trip time. The receiver acknowledges every segment, because the closed
forms and the model do; spec/congestion-control section 4 gives both and the tolerance for packet-level runs: 15 %.

Linux's CUBIC has no response function under periodic loss. It counts whole segments and computes the price of one once
per tick, so that several windows come back after a cycle, where a real-valued window has one that does: ``cubic_cycle``
derives them from the rules alone. The rows compare the window at the loss with the nearest one that comes back, and the
mean window with that of its cycle, for several starts of the connection. RFC 9438's variant is the same growth without
rounding, and keeps the one window. A kernel does as ours does: Linux 7.3.4 in virtual time on this path, from several
initial windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from windtunnel.result import RunResult
from windtunnel.validation.comparison import Comparison, Line, Run, Values, table
from windtunnel.validation.cubic_cycle import fixed_points, real_fixed_point
from windtunnel.validation.linux_queues import ranges

#: Payload of a segment: MTU 1500 with timestamps.
MSS = 1448

#: Losses in a run: enough for a mean within 2 % (periodic) or 4 % (Bernoulli).
LOSSES = 2000

#: Tolerance between a packet-level run without delayed ACKs and an idealised model (spec/congestion-control section 4).
TOLERANCE = 0.15


#: Tolerance between a run and the model of its own cycle, which has the path's bursts (section 4: 3 % for such models).
TOLERANCE_OF_CYCLE = 0.03

#: Windows in segments at which the first slow start of Linux's CUBIC ends; None: at a loss or by HyStart.
STARTS = (None, 20, 60, 300)

#: Losses in a run that only has to settle: the first tenths are over in 20, the second half is measured.
LOSSES_TO_SETTLE = 100

#: The windows of Linux 7.3.4 on the same path.
RECORDED = "linux/7.3/periodic_loss.csv"


@dataclass(frozen=True)
class Law:
    """One cell: controller, round-trip time, loss probability, and the model's values (periodic, Bernoulli).

    There is no periodic value where the window that comes back depends on the start.
    """

    name: str
    cc: str
    rtt_s: float
    p: float
    periodic: float | None
    bernoulli: float

    @property
    def every(self) -> int:
        """Packets from one periodic loss to the next."""
        return round(1 / self.p)

    def seconds(self, losses: int) -> float:
        """How long this number of losses takes at the expected window."""
        return max(losses / (self.p * self.bernoulli) * self.rtt_s, 20.0)


#: The idealised model's values, from the last table of spec/congestion-control section 4.
LAWS = (
    Law("Reno", '"reno"', 0.02, 1e-2, 12.2, 13.4),
    Law("Reno", '"reno"', 0.02, 1e-3, 38.7, 42.8),
    Law("Reno", '"reno"', 0.02, 1e-4, 122.5, 132.3),
    Law("AIMD(0.529, 0.7)", '{ kind = "aimd", a = 0.5294, b = 0.7 }', 0.02, 1e-3, 38.7, 40.9),
    Law("AIMD(0.529, 0.7)", '{ kind = "aimd", a = 0.5294, b = 0.7 }', 0.02, 1e-4, 122.5, 130.3),
    Law("Scalable", '"scalable"', 0.02, 1e-2, 27.4, 31.3),
    Law("Scalable", '"scalable"', 0.02, 1e-3, 86.6, 90.6),
    Law("Scalable", '"scalable"', 0.02, 1e-4, 749.0, 785.0),
    Law("CUBIC (RFC 9438), 100 ms", '{ kind = "cubic", variant = "rfc9438" }', 0.1, 1e-3, 39.8, 47.3),
    Law("CUBIC (RFC 9438), 100 ms", '{ kind = "cubic", variant = "rfc9438" }', 0.1, 1e-4, 184.0, 222.0),
    Law("CUBIC (RFC 9438), 10 ms", '{ kind = "cubic", variant = "rfc9438" }', 0.01, 1e-3, 38.7, 45.1),
    Law("CUBIC (Linux), 100 ms", '"cubic"', 0.1, 1e-3, None, 47.3),
    Law("CUBIC (Linux), 100 ms", '"cubic"', 0.1, 1e-4, None, 222.0),
)


def scenario(law: Law, loss: str, losses: int = LOSSES, skipped: float = 0.1, start: int | None = None) -> str:
    """A path without queueing; the first part of the run, slow start included, is not measured. ``start`` is the slow
    start threshold from the beginning.
    """
    duration = law.seconds(losses)
    tcp = f'[tcp]\ninitial_ssthresh = "{start} segments"' if start else ""
    return f"""
duration = "{duration:.3f} s"
endpoints = "linux"
{tcp}
[bottleneck]
rate = "100 Gbit/s"
impair = {{ {loss} }}
[[flow]]
cc = {law.cc}
rtt = "{law.rtt_s * 1e3:g} ms"
ack = "immediate"
[record]
interval = "1 s"
points = "0 s"
state = "interval"
[[window]]
name = "steady"
from = "{duration * skipped:.3f} s"
to = "{duration:.3f} s"
"""


def mean_window(result: RunResult, rtt_s: float) -> Values:
    """Segments delivered per round trip."""
    flow = result.windows[0]["flows"][0]
    return {"window": flow["goodput_mbps"] * 1e6 / 8 * rtt_s / MSS, "rtos": flow["rtos"]}


def settled(result: RunResult, rtt_s: float) -> Values:
    """The window at the last loss as well."""
    return {**mean_window(result, rtt_s), "w_max": float(result.tables["cc"]["w_max_segments"][-1])}


def lines(law: Law, values: Mapping[str, Values]) -> list[Line]:
    """Both loss processes compared with the model."""
    out = []
    for process, expected in (("periodic", law.periodic), ("Bernoulli", law.bernoulli)):
        if expected is None:
            continue
        measured = values[process]
        note = f"{measured['rtos']} timeouts" if measured["rtos"] else ""
        what = f"{law.name}, p = {law.p:g}, {process} loss"
        out.append(Line(what, expected, measured["window"], TOLERANCE * expected, "segments", note))
    return out


def lines_of_starts(law: Law, values: Mapping[str, Values]) -> list[Line]:
    """Each start's last window against those that come back, and all starts against the kernel's."""
    back, (one, _) = fixed_points(law.every, law.rtt_s), real_fixed_point(law.every, law.rtt_s)
    out = []
    for name, measured in values.items():
        what, w_max = f"{law.name}, p = {law.p:g}, periodic loss, {name}", float(measured["w_max"])
        nearest = min(back, key=lambda w: abs(w - w_max))
        note = f"{len(back)} windows from {min(back)} to {max(back)} come back, without rounding {one:.1f} alone"
        out.append(Line(f"{what}: window at the loss", float(nearest), w_max, 0.0, "segments", note))
        mean = back[nearest]
        out.append(Line(f"{what}: mean window", mean, measured["window"], TOLERANCE_OF_CYCLE * mean, "segments"))
    linux = np.array([float(row["mean_window"]) for row in table(RECORDED) if int(row["every"]) == law.every])
    ours = np.array([float(measured["window"]) for measured in values.values()])
    if linux.size:
        out.append(
            ranges(f"{law.name}, p = {law.p:g}, periodic loss, mean window of the starts", linux, ours, "segments")
        )
    return out


def starts(law: Law) -> Comparison:
    """Linux's CUBIC under periodic loss, from several starts."""
    loss, reduce = f'kind = "periodic-loss", every = {law.every}', partial(settled, rtt_s=law.rtt_s)
    runs = [
        Run(
            f"slow start to {start} segments" if start else "slow start to the first loss",
            scenario(law, loss, LOSSES_TO_SETTLE, 0.5, start),
            reduce,
            LOSSES_TO_SETTLE / law.p,
        )
        for start in STARTS
    ]
    return Comparison(f"{law.name}, p = {law.p:g}, starts", runs, partial(lines_of_starts, law), quick=law.p >= 1e-3)


def comparisons() -> list[Comparison]:
    """Every cell."""
    out = []
    for law in LAWS:
        reduce = partial(mean_window, rtt_s=law.rtt_s)
        periodic, packets = f'kind = "periodic-loss", every = {law.every}', LOSSES / law.p
        bernoulli = f'kind = "loss", probability = "{law.p * 100:g} %", affects = "data"'
        runs = [Run("Bernoulli", scenario(law, bernoulli), reduce, packets)]
        if law.periodic is not None:
            runs.append(Run("periodic", scenario(law, periodic), reduce, packets))
        out.append(Comparison(f"{law.name}, p = {law.p:g}", runs, partial(lines, law), quick=law.p >= 1e-3))
        if law.periodic is None:
            out.append(starts(law))
    return out
