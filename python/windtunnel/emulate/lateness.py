"""Whether packets left when they were due: without that, a measured delay is the machine's, not the path's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The usual bound: the shortest time by which an AQM here decides, DualPI2's step of 1 ms (RFC 9332, section
#: 2.5.1.1). A machine whose packets are later makes another queue of it. Idle ones are better by a factor of ten.
BOUND = "1 ms"


@dataclass(frozen=True)
class Lateness:
    """How late packets left, in microseconds: percentiles of them all, and how many there were."""

    packets: int
    p50_us: float | None
    p90_us: float | None
    p99_us: float | None
    p999_us: float | None
    max_us: float | None
    histogram: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Lateness:
        """As the core tells it."""
        values = {f"{name}_us": document.get(f"{name}_us") for name in ("p50", "p90", "p99", "p999", "max")}
        histogram = tuple((float(upper), int(count)) for upper, count in document.get("histogram") or ())
        return cls(packets=int(document["packets"]), histogram=histogram, **values)

    def exceeds(self, bound_s: float) -> bool:
        """Whether the 99th percentile is above the bound."""
        return self.packets > 0 and self.p99_us is not None and self.p99_us > 1e6 * bound_s

    def verdict(self, bound_s: float) -> str:
        """The verdict in a sentence."""
        bound = f"{1e3 * bound_s:g} ms"
        if self.packets == 0 or self.p99_us is None:
            return "no packet passed the path, so nothing is known of lateness"
        late = f"1 % of the packets left {self.p99_us / 1e3:.3g} ms or more after they were due"
        if self.exceeds(bound_s):
            return (
                f"no verdict: {late}, and the bound is {bound}; "
                "give the machine less to do, or the path a lower rate (--bound moves the bound)"
            )
        return f"in time: {late}; the bound is {bound}"

    def document(self) -> dict[str, Any]:
        """For ``summary.json``."""
        return {
            "packets": self.packets, "p50_us": self.p50_us, "p90_us": self.p90_us, "p99_us": self.p99_us,
            "p999_us": self.p999_us, "max_us": self.max_us, "histogram": [list(each) for each in self.histogram],
        }  # fmt: skip
