"""Response functions: the mean window at a given loss probability, against closed forms and an idealised model.

A flow on a path without queueing loses every 1/p-th segment (periodic), or each segment with probability p (Bernoulli).
Its mean window is the goodput times the round-trip time. The receiver acknowledges every segment, because the closed
forms and the model do; spec/congestion-control section 4 gives both and the tolerance for packet-level runs: 15 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from windtunnel.result import RunResult
from windtunnel.validation.check import Check, Line, Run, Values

#: Payload of a segment: MTU 1500 with timestamps.
MSS = 1448

#: Losses in a run: enough for a mean within 2 % (periodic) or 4 % (Bernoulli).
LOSSES = 2000

#: Tolerance between a packet-level run without delayed ACKs and an idealised model (spec/congestion-control section 4).
TOLERANCE = 0.15


@dataclass(frozen=True)
class Law:
    """One cell: controller, round-trip time, loss probability, and the model's values (periodic, Bernoulli)."""

    name: str
    cc: str
    rtt_s: float
    p: float
    periodic: float
    bernoulli: float

    @property
    def rounds(self) -> float:
        """Round trips until LOSSES losses have happened at the expected window."""
        return LOSSES / (self.p * self.bernoulli)

    @property
    def packets(self) -> float:
        """Number of packets in a run."""
        return LOSSES / self.p


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
    Law("CUBIC (Linux), 100 ms", '"cubic"', 0.1, 1e-3, 39.8, 47.3),
    Law("CUBIC (Linux), 100 ms", '"cubic"', 0.1, 1e-4, 184.0, 222.0),
)


def scenario(law: Law, loss: str) -> str:
    """A path without queueing; the first tenth of the run, slow start included, is not measured."""
    duration = max(law.rounds * law.rtt_s, 20.0)
    return f"""
duration = "{duration:.3f} s"
endpoints = "linux"
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
[[window]]
name = "steady"
from = "{duration / 10:.3f} s"
to = "{duration:.3f} s"
"""


def mean_window(result: RunResult, rtt_s: float) -> Values:
    """Segments delivered per round trip."""
    flow = result.windows[0]["flows"][0]
    return {"window": flow["goodput_mbps"] * 1e6 / 8 * rtt_s / MSS, "rtos": flow["rtos"]}


def lines(law: Law, values: Mapping[str, Values]) -> list[Line]:
    """Both loss processes beside the model."""
    out = []
    for process, expected in (("periodic", law.periodic), ("Bernoulli", law.bernoulli)):
        measured = values[process]
        note = f"{measured['rtos']} timeouts" if measured["rtos"] else ""
        what = f"{law.name}, p = {law.p:g}, {process} loss"
        out.append(Line(what, expected, measured["window"], TOLERANCE * expected, "segments", note))
    return out


def checks() -> list[Check]:
    """Every cell."""
    out = []
    for law in LAWS:
        reduce = partial(mean_window, rtt_s=law.rtt_s)
        bernoulli = f'kind = "loss", probability = "{law.p * 100:g} %", affects = "data"'
        runs = [
            Run("periodic", scenario(law, f'kind = "periodic-loss", every = {round(1 / law.p)}'), reduce, law.packets),
            Run("Bernoulli", scenario(law, bernoulli), reduce, law.packets),
        ]
        out.append(Check(f"{law.name}, p = {law.p:g}", runs, partial(lines, law), quick=law.p >= 1e-3))
    return out
