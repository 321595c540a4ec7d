"""A script: a scenario, and the transmissions that its sender should make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Payload of a segment with and without timestamps.
MSS, MSS_WITHOUT_TIMESTAMPS = 1448, 1460


@dataclass(frozen=True)
class Script:
    """A scenario fragment and the transmissions that it leads to."""

    name: str
    segments: int
    """Length of the transfer, or of all responses."""
    impair: str
    """What the path does to data packets."""
    expected: str
    """The sender's transmissions; ``1-10`` is ten of them."""
    why: str
    retransmits: int
    rtos: int
    episodes: int | None = None
    begins: tuple[float, ...] = ()
    """When the first segment and the one after each pause are sent, in s; empty if the derivation gives no times."""
    counts: Mapping[str, float] = field(default_factory=dict)
    """Other counters of the summary that the derivation gives, by their names there; ``ece`` and ``cwr`` are packets
    with these flags."""
    tcp: str = ""
    """Mechanisms that differ from the default."""
    bottleneck: str = ""
    """The link, if it is not 100 Mbit/s without a limit."""
    flow: str = ""
    """The flow's keys, if its initial window is not 10 segments."""
    app: str = ""
    """The application, if it is not one transfer."""

    @property
    def mss(self) -> int:
        """Payload of a segment."""
        return MSS_WITHOUT_TIMESTAMPS if "timestamps = false" in self.tcp else MSS


def lost(*packets: int) -> str:
    """Loss of listed data packets, numbered from 1 in the order of their transmission."""
    return f'{{ kind = "scripted-loss", packets = {list(packets)}, affects = "data" }}'


def lost_of_all(*packets: int) -> str:
    """The same, but the packets of the handshake count too: the first are the SYN and the ACK of its answer."""
    return f'{{ kind = "scripted-loss", packets = {list(packets)} }}'


def overtaken(packet: int, by: int) -> str:
    """A data packet that several others overtake."""
    return f'{{ kind = "scripted-reordering", packets = [{packet}], overtaken_by = {by}, affects = "data" }}'


def late(*packets: int, delay: str) -> str:
    """Data packets that arrive later than they should."""
    return f'{{ kind = "scripted-reordering", packets = {list(packets)}, delay = "{delay}", affects = "data" }}'


def two_responses(size: int, think: str) -> str:
    """An application that writes a number of bytes twice, with a pause after the first ones are acknowledged."""
    return (
        f'{{ kind = "request-response", size = {{ kind = "fixed", value = "{size} B" }}, '
        f'think = {{ kind = "fixed", value = "{think}" }}, count = 2, close = false }}'
    )


def scenario(script: Script) -> str:
    """The script as a scenario file."""
    app = script.app or f'{{ kind = "transfer", size = "{script.segments * script.mss} B", close = false }}'
    return f"""
duration = "20 s"
endpoints = "linux"
[tcp]
window_growth = false
autotuning = false
{script.tcp}
[bottleneck]
rate = "100 Mbit/s"
impair = {script.impair}
{script.bottleneck}
[[flow]]
cc = "reno"
rtt = "100 ms"
ack = "immediate"
app = {app}
{script.flow}
[record]
interval = "100 ms"
points = "0 s"
packets = true
"""
