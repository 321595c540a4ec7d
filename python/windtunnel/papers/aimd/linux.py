"""CUBIC against Reno in the real Linux stack: the cells of ``linux.csv``, run as it ran them."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.papers.aimd.data_files import table, template
from windtunnel.papers.aimd.plan import HIGH, LOW, fair_mbps, starts
from windtunnel.papers.cells import Cell, Measurement
from windtunnel.papers.rows import Row, compare, printed_precision
from windtunnel.papers.suite import Group, Results

#: What the reference leaves out at the begin, in seconds.
WARM_UP_S = 10

#: The reference's name of a queue: scenario file, its settings, name.
QUEUES = {
    "pie": ("pie", (), "PIE"),
    "td": ("tail-drop", ('bottleneck.queue.limit="25 ms"',), "tail drop 25 ms"),
}
FLOWS = (("f1", "0"), ("f2", "1"))
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
        for r in table("linux.csv")
    ]


def linux_group(cells: dict[str, Cell], *, quick: bool) -> Group:
    """Normalised rates beside those of the reference."""
    lines = [line for line in read_lines() if not quick or line.rate_mbps == QUICK_RATE]
    used = []
    for line in lines:
        scenario, settings, _ = QUEUES[line.queue]
        cell = Cell(
            line.id,
            template(scenario),
            (f'duration="{line.duration_s:g} s"', *settings),
            line.rate_mbps,
            (line.rtt_ms, line.rtt_ms),
        )
        cell.twins = starts(cell, quick=quick)
        for _, flow in FLOWS:
            for measurement in line.measurements(flow):
                cell.index(measurement)
        cells[cell.name] = cell
        used.append(cell)

    def rows(results: Results) -> list[Row]:
        out = []
        for line, cell in zip(lines, used, strict=True):
            for prefix, flow in FLOWS:
                name = {"cubic": "CUBIC", "reno": "Reno"}[line.printed[f"{prefix}_cc"]]
                for column, measurement in zip(COLUMNS, line.measurements(flow), strict=True):
                    printed = line.printed[f"{prefix}_norm_{column}"]
                    values = results.values(cell.name, cell.index(measurement))
                    where = f"{QUEUES[line.queue][2]}, {line.rate_mbps:g} Mbit/s, {line.rtt_ms:g} ms"
                    column_name = column if column == "mean" else column.upper()
                    out.append(
                        compare(
                            f"{line.id}/{name.lower()}-{column}",
                            "linux",
                            f"{where}: {column_name} normalised rate of {name}",
                            float(printed),
                            printed_precision(printed),
                            values,
                            "",
                        )
                    )
        return out

    caption = "CUBIC against Reno: the real Linux stack (published column, one start offset) and simulation (several)"
    return Group("linux", "Linux reference", caption, [c.name for c in used], rows)
