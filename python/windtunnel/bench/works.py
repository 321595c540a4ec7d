"""The works of the benchmark: scenarios that stay what they are, so that numbers of different versions compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Work:
    """A fixed work: the scenario file ``<name>.toml`` next to this module, and the speed required of it.

    ``<name>.py``, if it exists, is the plugin with the work's controller, which counts the ACKs that it handles.
    """

    name: str
    title: str
    packets_per_second: float | None = None
    peak_mib: float | None = None
    acks_per_second: float | None = None
    counted: tuple[float, float] | None = None
    """The instructions of a packet are those of the run of the second length that the run of the first length does not
    have, in simulated seconds: then slow start and start-up do not count. None: they are not counted."""
    flows: int | None = None
    """How many there are, where the memory of one of them is of interest."""

    @property
    def file(self) -> Path:
        """Its scenario."""
        return _HERE / f"{self.name.lower()}.toml"


WORKS = (
    Work("W1", "one Reno-MDS flow, 100 Mbit/s, 40 ms, DelTiM, 60 s, recording at 10 ms", 8e6, 300, counted=(4, 10)),
    Work("W2", "CUBIC and Reno, 1 Gbit/s, 20 ms, brick wall 12 ms, 30 s", 8e6, 300, counted=(1, 2)),
    Work("W3", "16 flows, 1 Gbit/s, 20 ms, DelTiM, 30 s", 6e6, 300, counted=(1, 2)),
    # A link of 100 Gbit/s carries this many packets of 1500 bytes per second, so this speed is faster than real time.
    Work("W4", "one Scalable-MDS flow, 100 Gbit/s, 20 ms, DelTiM, 10 s", 100e9 / 12_000, 300),
    Work("W5", "1000 flows, 10 Gbit/s, mixed RTTs, 10 s", 3e6, counted=(0.5, 1)),
    Work(
        "W6", "CUBIC and Reno with loss recovery, 1 Gbit/s, 20 ms, tail drop of one BDP, 30 s", 5e6, 300, counted=(1, 2)
    ),
    Work("W7", "one flow with loss recovery, 100 Gbit/s, 20 ms, 5 s, without loss", 5e6, 1024),
    # Loss may cost three times as much per packet.
    Work("W8", "the same with a burst of 10,000 losses", 5e6 / 3, 1024),
    Work("W9", "one flow with loss recovery, 100 Gbit/s, 100 ms, 4 s", 3e6, 1024),
    Work("W10", "1000 flows with loss recovery, 10 Gbit/s, 20 ms, FQ-CoDel, 10 s", 2e6, 1024, counted=(0.3, 0.4)),
    Work("W11", "one flow with a controller in Python, 1 Gbit/s, 20 ms, 10 s", peak_mib=300, acks_per_second=2e5),
    # 0.8 of W6.
    Work("W12", "CUBIC and Scalable with loss recovery, 1 Gbit/s, 20 ms, DualPI2, 30 s", 4e6, 300, counted=(1, 2)),
    # Half of W6's speed.
    Work("W13", "100 flows with loss recovery, 1 Gbit/s, 20 ms, CAKE, 30 s", 2.5e6, 300, counted=(1, 2)),
    # Real stacks encrypt and decrypt each packet.
    Work("W16", "one QUIC flow over quinn, 1 Gbit/s, 20 ms, 5 s", 1e5, 300),
    Work("W17", "100 QUIC flows over quinn, 1 Gbit/s, 40 ms, FQ-CoDel, 5 s", 1e5, 300),
)

#: Works with more flows than a cache, or a small machine, can hold. They take minutes, so they run when asked for.
LARGE = (
    Work(
        "W14",
        "10^6 flows of 11 kB, 1000 of them active at a time, 10 Gbit/s, 10 ms, FQ-CoDel, 10 s",
        peak_mib=6144,
        flows=10**6,
    ),
    Work("W15", "50,000 active flows with loss recovery, 10 Gbit/s, 100 ms, FQ-CoDel, 2 s", flows=50_000),
)
