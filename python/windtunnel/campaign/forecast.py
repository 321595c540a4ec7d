"""What a campaign will need: runs, time, disk. A sample of its cells is estimated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel.campaign.plan import Plan
from windtunnel.estimate import seconds, size

#: Cells that are estimated, evenly over all.
_SAMPLE = 64
#: Seconds of a run that are not its simulation, and bytes of a run and of a flow in the data set, as measured.
_OVERHEAD_S = 0.0015
_RUN_BYTES, _FLOW_BYTES = 120, 80
#: Seconds of a guest's boot and its setup, and of a packet in it, as measured.
_BOOT_S, _GUEST_PACKET_S = 1.2, 4e-5
#: Bytes of a run and of a flow in the journal and in the cache.
_KEPT_RUN_BYTES, _KEPT_FLOW_BYTES = 900, 350


@dataclass(frozen=True)
class Forecast:
    """``runs`` at first, and at most; seconds of one core; bytes of the data set, and in the cache while it runs."""

    cells: int
    runs: int
    most_runs: int
    core_seconds: float
    memory_bytes: float
    disk_bytes: float
    kept_bytes: float

    def lines(self, workers: int) -> Iterator[str]:
        """As text."""
        more = f", at most {self.most_runs}" if self.most_runs > self.runs else ""
        cells, runs = ("" if count == 1 else "s" for count in (self.cells, self.runs))
        yield f"{self.cells} cell{cells}, {self.runs} run{runs}{more}"
        yield (
            f"expected: {seconds(self.core_seconds / workers)}, roughly, on {workers} "
            f"{'worker' if workers == 1 else 'workers'}, {size(self.memory_bytes)} of memory for each"
        )
        yield f"disk: about {size(self.disk_bytes)}, and {size(self.kept_bytes)} in the cache"


def _of_guest(estimate: Mapping[str, Any]) -> float:
    """Seconds of a run on the real Linux."""
    return _BOOT_S + _GUEST_PACKET_S * float(estimate["packets"]["data"] + estimate["packets"]["replies"])


def forecast(plan: Plan) -> Forecast:
    """The forecast of a plan whose cells are valid."""
    cells = plan.wanted()
    step = max(1, cells // _SAMPLE)
    seconds_sum, memory, flows, samples = 0.0, 0.0, 0, 0
    for index in range(0, cells, step):
        cell = plan.wanted_cell(index)
        scenario = cell.scenario
        estimate = scenario.estimate()
        on_kernel = cell.runner.kernel is not None
        seconds_sum += _of_guest(estimate) if on_kernel else estimate["seconds"]
        memory = max(memory, estimate["memory_bytes"])
        flows += sum(int(flow.get("count", 1)) for flow in scenario.resolve()["flow"])
        samples += 1
    per_cell = plan.first_units() * plan.runs_of_unit()
    campaign = plan.campaign
    runs, each = cells * per_cell, flows / max(1, samples)
    most = cells * max(per_cell, campaign.max_runs) if campaign.until is not None else runs
    return Forecast(
        cells, runs, most, runs * (seconds_sum / max(1, samples) + _OVERHEAD_S), memory,
        runs * (_RUN_BYTES + each * _FLOW_BYTES), runs * (_KEPT_RUN_BYTES + each * _KEPT_FLOW_BYTES),
    )  # fmt: skip
