"""The queues of the tables, by the names that these give them, with the keys that the testbed gave them.

DualPI2 is that of L4STeam/linux in 2020, whose step spared packets that found fewer than two in the low-latency queue
(``apply_step`` in ``net/sched/sch_dualpi2.c``); mainline's spares none by default. FQ-CoDel's quantum is Linux's on
Ethernet. In ``cnq_codel_af`` a packet's transmission time is never set. Linux 5.4, from which the kernel comes,
estimates PIE's delay from the departure rate. tc derives RED's thresholds from the limit: a quarter, and a third of
that. All queues but DualPI2 mark ECT(1) as they mark ECT(0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The limit of the pfifo, in packets, by the rate in Mbit/s.
PFIFO_LIMITS = {10.0: 200, 50.0: 1000}


@dataclass(frozen=True)
class Queue:
    """A queue: what it is called, its keys, and how far a published rate may be from the measured one."""

    name: str
    keys: str
    tolerance: float

    def at(self, rate_mbps: float) -> str:
        """The queue as a scenario writes it."""
        return (
            f"{{ {self.keys} }}" if self.keys else f'{{ kind = "fifo", limit = "{PFIFO_LIMITS[rate_mbps]} packets" }}'
        )


_CLASSIC = 'ecn_mode = "rfc3168"'
_FQ = f'kind = "fq_codel", quantum = "1514 B", {_CLASSIC}'
_ONE = 'hash = "jenkins", flows = 1'
_PIE = f'kind = "pie", ecn = true, dq_rate_estimator = true, {_CLASSIC}'
_RED = f'kind = "red", avpkt = "1000 B", adaptive = true, bandwidth = "50 Mbps", ecn = true, {_CLASSIC}'

#: Scenario 1. The tolerances were set before the first run: a tenth where the queue decides how flows share, else 15 %.
FAIRNESS: Mapping[str, Queue] = {
    "dualpi2": Queue("DualPI2", 'kind = "dualpi2", min_qlen_step = 2', 0.15),
    "pfifo": Queue("pfifo", "", 0.15),
    "cnq_codel_af": Queue(
        "CNQ-CodelAF", f'kind = "cnq", aqm = {{ kind = "codel-af", mtu_time = "0 s" }}, {_CLASSIC}', 0.10
    ),
    "fq_codel": Queue("FQ-CoDel", _FQ, 0.10),
}

#: Scenario 6. One flow has nearly all, so that the tolerance matters for the other alone.
RFC3168: Mapping[str, Queue] = {
    "fq_codel(1q)": Queue("FQ-CoDel, one queue", f"{_FQ}, {_ONE}", 0.15),
    "fq_codel(1q,1ms/20ms)": Queue(
        "FQ-CoDel, one queue, 1 ms and 20 ms", f'{_FQ}, {_ONE}, target = "1 ms", interval = "20 ms"', 0.15
    ),
    "pie": Queue("PIE", _PIE, 0.15),
    "pie(100p/5ms)": Queue(
        "PIE, 5 ms, 100 packets", f'{_PIE}, limit = "100 packets", target = "5 ms", tupdate = "32 ms"', 0.15
    ),
    "red(150000b)": Queue("RED, 150 kB", f'{_RED}, limit = "150000 B"', 0.15),
    "red(400000b)": Queue("RED, 400 kB", f'{_RED}, limit = "400000 B"', 0.15),
}
