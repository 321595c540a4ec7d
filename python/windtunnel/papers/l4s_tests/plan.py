"""How the suite's setups are made: the testbed of heistp/l4s-tests, with its queues, senders and round trips.

The testbed is a dumbbell of network namespaces with offloads off: netem adds half of a flow's round trip in front of
the bottleneck in each direction, HTB limits the rate, and the queue is HTB's child. HTB hands a packet on at once and
waits for its tokens afterwards; the link here carries it first. A flow's round trip is therefore shorter here by the
time of one packet, so that the base round trips are those of the testbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.papers.arms import add_seeds
from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.setups import Measurement, Setup

#: A full packet with its Ethernet header, which HTB counts.
FRAME_BITS = 1514 * 8
#: Runs of each setup.
SEEDS, QUICK_SEEDS = 5, 2
#: The window that is measured, in all scenario files with a steady state.
WINDOW = "steady"

#: The senders by the names of the tables. The kernel's Prague is version 0.5; all negotiate AccECN (``tcp_ecn = 3``).
SENDERS: Mapping[str, str] = {
    "prague": 'cc={ kind = "prague", variant = "linux-2020" }',
    "cubic": 'cc="cubic"',
    "reno": 'cc="reno"',
}
NAMES = {"prague": "Prague", "cubic": "CUBIC", "reno": "Reno"}


@dataclass(frozen=True)
class Sender:
    """A sender: its name in the tables, whether its packets are ECN-capable, and its base round trip."""

    cc: str
    rtt_ms: float
    ecn: bool = True

    @property
    def text(self) -> str:
        """``CUBIC 20 ms``."""
        return f"{NAMES[self.cc]}{'' if self.ecn else ' without ECN'} {self.rtt_ms:g} ms"


def flow(number: int, sender: Sender, rate_mbps: float) -> tuple[str, ...]:
    """The settings of a flow."""
    rtt_us = 1e3 * sender.rtt_ms - FRAME_BITS / rate_mbps
    ecn = '"accecn"' if sender.ecn else "false"
    keys = (SENDERS[sender.cc], f"ecn={ecn}", f'rtt="{rtt_us:.0f} us"')
    return tuple(f"flow.{number}.{key}" for key in keys)


def add_setup(
    setups: dict[str, Setup],
    name: str,
    scenario: str,
    rate_mbps: float,
    queue: str,
    senders: Sequence[Sender],
    *,
    quick: bool,
) -> Setup:
    """A new setup of a scenario file, in ``setups``."""
    settings = [f'bottleneck.rate="{rate_mbps:g} Mbps"', f"bottleneck.queue={queue}"]
    for number, sender in enumerate(senders):
        settings += flow(number, sender, rate_mbps)
    setup = Setup(name, L4S_TESTS.template(scenario), tuple(settings))
    setups[name] = add_seeds(setup, QUICK_SEEDS if quick else SEEDS)
    return setups[name]


def measured(of: str, field: str, window: str = WINDOW) -> Measurement:
    """A number of the measured window, of a flow (``"0"``) or of the queue (``"queue 0"``)."""
    return Measurement("summary", of, f'window_value("{window}", "{field}")')


RATES = (measured("0", "goodput_mbps"), measured("1", "goodput_mbps"))
