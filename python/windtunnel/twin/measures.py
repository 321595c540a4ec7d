"""What the kernel and the simulator are compared by, and the verdict on each measure.

Both sides have rows at the end of each recording interval, and each number is computed from them in the same way. The
kernel's own spread is from the least to the greatest of its draws. The simulator is within it where the mean of its
draws is, with the interval of that mean, and outside where no part of the interval is in it (``experiment.verdict``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.verdict import Verdict, judge
from windtunnel.result import RunResult


@dataclass(frozen=True)
class Measure:
    """A number of a flow or of the queue, one value for each draw."""

    subject: str
    name: str
    unit: str
    linux: tuple[float, ...]
    ours: tuple[float, ...]

    @property
    def spread(self) -> Limits:
        """The kernel's own, from the least to the greatest."""
        return Limits(min(self.linux), max(self.linux))

    @property
    def verdict(self) -> Verdict:
        """Whether the simulator is within the kernel's own spread."""
        return judge(self.spread, self.ours)

    @property
    def outside(self) -> float:
        """How far the mean of the simulator's draws is above the spread; negative below it, and 0 within."""
        mean = float(np.mean(self.ours))
        return mean - min(max(mean, self.spread.low), self.spread.high)

    def words(self) -> str:
        """The verdict in words."""
        if self.verdict == "agrees":
            return "within the kernel's own spread"
        if self.verdict == "undecided":
            return f"not decided by {len(self.ours)} draws"
        scale = abs(float(np.mean(self.linux)))
        share = f" ({100 * self.outside / scale:+.3g} %)" if scale else ""
        return f"outside by {self.outside:+.4g}{share}"

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "subject": self.subject, "name": self.name, "unit": self.unit, "linux": list(self.linux),
            "windtunnel": list(self.ours), "verdict": self.verdict, "words": self.words(),
        }  # fmt: skip


#: The measures of a run: subject and name, unit and value.
Values: TypeAlias = Mapping[tuple[str, str], tuple[str, float]]


def measures(linux: Sequence[RunResult], ours: Sequence[RunResult]) -> list[Measure]:
    """Every measure that both sides have, in the order of flows and then the queue."""
    return compared([values(result) for result in linux], [values(result) for result in ours])


def compared(linux: Sequence[Values], ours: Sequence[Values]) -> list[Measure]:
    """The same of the values of each draw."""
    sides = (linux, ours)
    units = {key: unit for key, (unit, _) in linux[0].items()}
    return [
        Measure(*key, unit, *(tuple(draw[key][1] for draw in side) for side in sides))
        for key, unit in units.items()
        if all(key in draw and np.isfinite(draw[key][1]) for side in sides for draw in side)
    ]


def values(result: RunResult) -> Values:
    """The measures of a run and of each window."""
    spans = [("", 0.0, float(result.summary["duration_s"]))]
    spans += [(f"{each['name']}: ", float(each["from_s"]), float(each["to_s"])) for each in result.windows]
    return {key: value for span in spans for key, value in _of_span(result, *span)}


def _of_span(
    result: RunResult, prefix: str, begin: float, end: float
) -> Iterator[tuple[tuple[str, str], tuple[str, float]]]:
    """The measures by the recording intervals that end in a span."""
    flows, queues = result.tables["flows"], result.tables["queues"]
    for number, flow in enumerate(result.flows):
        of = _column(flows, "flow", number, begin, end)
        subject = f"{prefix}{flow['name']}"
        # Of TCP what was acknowledged, because that is what Linux's sender tells.
        if flow["cc"] == flow["application"]:
            yield (subject, "goodput"), ("Mbit/s", _mean(of("goodput_mbps")))
        else:
            yield (subject, "goodput"), ("Mbit/s", float(of("delivered_bytes").sum()) * 8e-6 / (end - begin))
            yield (subject, "cwnd, mean"), ("kB", _mean(of("cwnd_bytes")) / 1e3)
            yield (subject, "srtt, mean"), ("ms", _mean(of("srtt_ms")))
            yield (subject, "retransmissions"), ("", float(of("retransmits").sum()))
        yield (subject, "CE"), ("", float(of("ce").sum()))
        if flow.get("transfers"):
            took = _column(result.tables["transfers"], "flow", number, begin, end, "end_s")("time_ms")
            yield (subject, "completed"), ("", float(len(took)))
            yield (subject, "completion, mean"), ("ms", _mean(took))
            yield (subject, "completion, greatest"), ("ms", float(took.max()) if len(took) else float("nan"))
        if flow.get("datagrams") and not prefix:
            yield (subject, "lost"), ("", float(flow["datagrams"]["lost"]))
            yield (subject, "one way, mean"), ("ms", float(flow["datagrams"]["one_way_ms"]["mean"]))
            yield (subject, "one way, greatest"), ("ms", float(flow["datagrams"]["one_way_ms"]["max"]))
    for number, queue in enumerate(result.queues):
        of = _column(queues, "queue", number, begin, end)
        subject = f"{prefix}{queue['name']}"
        yield (subject, "utilization"), ("%", 100 * _mean(of("utilization")))
        yield (subject, "backlog, mean"), ("packets", _mean(of("backlog_packets")))
        yield (subject, "drops"), ("", float(of("drops").sum()))
        yield (subject, "CE"), ("", float(of("ce").sum()))


def _column(table: Any, key: str, number: int, begin: float, end: float, at: str = "time_s") -> Callable[[str], Any]:
    """What gives a column of a flow or a queue, of the rows after ``begin`` and up to ``end``."""
    time = np.asarray(table[at])
    rows = (np.asarray(table[key]) == number) & (time > begin + _BETWEEN) & (time < end + _BETWEEN)
    return lambda column: np.asarray(table[column])[rows].astype(float)


#: Less than the shortest recording interval, in seconds, and more than a rounding.
_BETWEEN = 1e-9


def _mean(values: Any) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
