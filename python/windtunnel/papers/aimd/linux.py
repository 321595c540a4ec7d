"""CUBIC against Reno in the real Linux stack: the rows of ``linux.csv``, run on that testbed as it was built.

Its bottleneck is a token bucket of one packet (``sch_tbf``) in front of the queue, not a link. The buffers of its hosts
decide which segments carry PSH (docs/decisions/0044-receivers-clock-and-send-buffers.md). The queue had existed for a
while when the flows started: PIE's first update, half a second after the queue was made, had passed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from windtunnel.papers.aimd.plan import FRAME, HIGH, LOW, fair_mbps
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare, printed_precision, refer, spread
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: How much later than the first the second flow was started in the reference. Address resolution held the first SYN for
#: a round trip and then let both go. So the second SYN left this much later, less a round trip, or together with the
#: first.
OFFSET_MS = 37.0
#: Seconds that the reference leaves out at the start.
WARM_UP_S = 10
#: Twins of a setup, with other offsets. The reference's number is one draw: the range of 40 others holds it with a
#: probability of 39/41, so that one row in 20 is outside where nothing differs.
TWINS, LONGEST_MS = 39, 500.0
#: The fractional parts of its multiples are spread evenly, and no two are equal.
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
#: Two-sided 5 % quantile of a normal distribution.
NORMAL_95 = 1.96

#: Where the reference's numbers come from, and what the runs' ranks are compared with.
LINUX, CHANCE = "Linux 6.12", "chance alone"

#: The reference's queues by their names in it, as the page calls them.
QUEUES = {"pie": "PIE", "td": "tail drop 25 ms"}
#: Tail drop: its delay, and the least bytes that it holds.
DELAY_S, LEAST_BYTES = 0.025, 4542
FLOWS = (("f1", "0"), ("f2", "1"))
NAMES = {"cubic": "CUBIC", "reno": "Reno"}
COLUMNS = ("p1", "mean", "p99")

QUICK_RATE = 40.0


@dataclass(frozen=True)
class Line:
    """One row of the reference."""

    queue: str
    rate_mbps: float
    rtt_ms: float
    duration_s: float
    printed: dict[str, str]

    @property
    def id(self) -> str:
        """``linux/td-40Mbps-10ms``."""
        return f"linux/{self.queue}-{self.rate_mbps:g}Mbps-{self.rtt_ms:g}ms"

    def mean_of(self, name: str) -> str:
        """Mean normalised rate of ``"CUBIC"`` or ``"Reno"``, as printed."""
        (flow,) = (f for f, _ in FLOWS if NAMES[self.printed[f"{f}_cc"]] == name)
        return self.printed[f"{flow}_norm_mean"]

    def measurements(self, flow: str) -> tuple[Measurement, ...]:
        """P1, mean and P99 of a flow, as the reference defines them."""
        fair = fair_mbps(self.rate_mbps, 2)
        window = f"{fair!r}, {WARM_UP_S}, {self.duration_s:g}"
        methods = (f"rate_quantile({LOW}, {window})", f"rate_mean({window})", f"rate_quantile({HIGH}, {window})")
        return tuple(Measurement("rates", flow, m) for m in methods)


def read_lines() -> list[Line]:
    """All rows of the reference."""
    return [
        Line(r["aqm"], float(r["rate_mbps"]), float(r["base_rtt_ms"]), float(r["duration_s"]), r)
        for r in AIMD.table("linux.csv")
    ]


def _queue(line: Line) -> str:
    """The queue in the bucket, as a scenario writes it. Bytes hold whole frames."""
    if line.queue == "pie":
        return '{ kind = "pie", limit = "1000 packets" }'
    held = max(LEAST_BYTES, DELAY_S * line.rate_mbps * 1e6 / 8)
    return f'{{ kind = "fifo", limit = "{held // FRAME:.0f} packets" }}'


def _setup(line: Line) -> Setup:
    """The runs of a row."""
    settings = (
        f'duration="{line.duration_s:g} s"',
        f'bottleneck.queue.rate="{line.rate_mbps:g} Mbps"',
        f"bottleneck.queue.child={_queue(line)}",
        _second(max(0.0, OFFSET_MS - line.rtt_ms)),
    )
    setup = Setup(line.id, AIMD.template("linux"), settings, rtts_ms=(line.rtt_ms, line.rtt_ms))
    setup.twins = tuple((_second(LONGEST_MS * math.modf(k * GOLDEN)[0]),) for k in range(1, TWINS + 1))
    for _, flow in FLOWS:
        for measurement in line.measurements(flow):
            setup.index(measurement)
    return setup


def _second(offset_ms: float) -> str:
    return f'flow.1.start="{offset_ms:.1f} ms"'


def _rank_rows(lines: list[Line], used: list[Setup], results: Results) -> list[Row]:
    """Mean rank of the reference among the runs, over all setups of a queue: 0.5 if only chance makes a difference."""
    out = []
    for queue, name in QUEUES.items():
        ranks = []
        for line, setup in zip(lines, used, strict=True):
            values = results.values(setup.name, setup.index(line.measurements("0")[1]))
            if line.queue == queue and values:
                reference = float(line.printed["f1_norm_mean"])
                below = sum(v < reference for v in values) + sum(v == reference for v in values) / 2
                ranks.append(below / len(values))
        # The standard deviation of a uniform distribution is 1/sqrt(12).
        tolerance = NORMAL_95 / math.sqrt(12 * max(1, len(ranks)))
        what = f"{name}: mean rank of the reference's CUBIC rate among the runs, from 0 (below all) to 1, all cells"
        mean = [sum(ranks) / len(ranks)] if ranks else []
        row = compare(f"linux/{queue}-rank", "linux", what, 0.5, tolerance, mean, "", f"{len(ranks)} cells")
        out.append(refer(replace(row, interval=spread(ranks)), CHANCE))
    return out


def linux_group(setups: dict[str, Setup], *, quick: bool) -> Group:
    """Normalised rates, next to those of the reference."""
    lines = [line for line in read_lines() if not quick or line.rate_mbps == QUICK_RATE]
    used = [_setup(line) for line in lines]
    setups.update({setup.name: setup for setup in used})

    def rows(results: Results) -> list[Row]:
        out = []
        for line, setup in zip(lines, used, strict=True):
            for prefix, flow in FLOWS:
                name = NAMES[line.printed[f"{prefix}_cc"]]
                for column, measurement in zip(COLUMNS, line.measurements(flow), strict=True):
                    printed = line.printed[f"{prefix}_norm_{column}"]
                    values = results.values(setup.name, setup.index(measurement))
                    where = f"{QUEUES[line.queue]}, {line.rate_mbps:g} Mbit/s, {line.rtt_ms:g} ms"
                    column_name = column if column == "mean" else column.upper()
                    row = compare(
                        f"{line.id}/{name.lower()}-{column}",
                        "linux",
                        f"{where}: {column_name} normalised rate of {name}",
                        float(printed),
                        printed_precision(printed),
                        values,
                        "",
                    )
                    out.append(refer(row, LINUX))
        return [*out, *_rank_rows(lines, used, results)]

    caption = "CUBIC against Reno: the real Linux stack (one start offset) and simulation (40)"
    return Group("linux", "Linux reference", caption, [c.name for c in used], rows)
