"""What the sender transmits, segment by segment, when packets are lost, late or reordered.

A script is a transfer over a path on which named transmissions are lost or held. Segments are numbered from 1; ``5r``
is a retransmission of segment 5, ``|`` a pause of 20 ms or more. The expected sequence follows by hand from RFC 5681
(windows), 2018 and 6675 (SACK), 8985 (RACK-TLP), 9937 (proportional rate reduction), 6298, 5682 and 3522 (timeouts,
spurious ones); the note at each script is the derivation in short. All scripts: Reno, 10 segments initially, 100 ms,
every segment acknowledged at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from windtunnel.result import RunResult
from windtunnel.validation.check import Check, Line, Run, Values

#: Payload of a segment with and without timestamps.
MSS, MSS_WITHOUT_TIMESTAMPS = 1448, 1460

#: A pause in sending.
PAUSE_NS = 20_000_000

FIRST_DATA = 1


@dataclass(frozen=True)
class Script:
    """A scenario fragment and what it leads to."""

    name: str
    segments: int
    """Length of the transfer."""
    impair: str
    """What the way of the data does."""
    expected: str
    """The sender's transmissions; ``1-10`` is ten of them."""
    why: str
    retransmits: int
    rtos: int
    episodes: int | None = None
    tcp: str = ""
    """Mechanisms other than the default."""

    @property
    def mss(self) -> int:
        """Payload of a segment."""
        return MSS_WITHOUT_TIMESTAMPS if "timestamps = false" in self.tcp else MSS


def lost(*packets: int) -> str:
    """The data packets that are lost, by the order of their transmission, from 1 on."""
    return f'{{ kind = "scripted-loss", packets = {list(packets)}, affects = "data" }}'


#: Data are held from 150 to 700 ms and then arrive together: longer than the timeout of 300 ms.
HELD = '{ kind = "outage", times = [{ from = "150 ms", to = "700 ms" }], hold = true }'

SCRIPTS = (
    Script(
        "One loss",
        40,
        lost(5),
        "1-10 | 11-20 5r 21 | 22-28 | 29-36 | 37-40",
        "4 ACKs: W = 14. SACKs of 6 and 7 let 19 and 20 go; that of 8 is the third: W to 7, 5r at once, then half a "
        "segment for each delivered; from W = 7 on one segment per ACK, 8 after seven ACKs.",
        retransmits=1,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A burst of three losses",
        40,
        lost(5, 6, 7),
        "1-10 | 11-20 5r | 6r 7r 21-25 | 26-32 | 33-40",
        "SACK of 10 is the third: 5, 6 and 7 are lost together, one reduction. PRR lets one go for two delivered until "
        "7 are in flight, then one for one.",
        retransmits=3,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A lost retransmission",
        40,
        lost(5, 21),
        "1-10 | 11-20 5r 21 | 22-26 5r 27 | 28-34 | 35-40",
        "21 was sent after 5r: its SACK shows that 5r is lost as well (RACK), without a timeout and without another "
        "reduction.",
        retransmits=2,
        rtos=0,
        episodes=1,
    ),
    Script(
        "A lost tail, with a loss probe",
        12,
        lost(12),
        "1-10 | 11-12 | 12r",
        "Nothing behind 12 can be SACKed; the probe goes when the timeout would, for a single segment.",
        retransmits=1,
        rtos=0,
    ),
    Script(
        "A lost tail, without a loss probe",
        12,
        lost(12),
        "1-10 | 11-12 | 12r",
        "srtt + 200 ms after the last ACK.",
        retransmits=1,
        rtos=1,
        tcp="tlp = false",
    ),
    Script(
        "A spurious timeout, shown by timestamps",
        60,
        HELD,
        "1-10 | 11-30 | 31 | 11r | 32-60",
        "A probe with new data (31) after 2 srtt, the timeout at srtt + 200 ms. The first ACK echoes the original's "
        "timestamp (Eifel): window and ssthresh are restored, slow start goes on.",
        retransmits=1,
        rtos=1,
    ),
    Script(
        "A spurious timeout, shown by F-RTO",
        60,
        HELD,
        "1-10 | 11-30 | 31 | 11r | 32-60",
        "The first ACK after the timeout sends new data instead of retransmissions, the second acknowledges what was "
        "never retransmitted: restored.",
        retransmits=1,
        rtos=1,
        tcp="timestamps = false",
    ),
)


def scenario(script: Script) -> str:
    """The script as a scenario file."""
    return f"""
duration = "20 s"
endpoints = "linux"
[tcp]
{script.tcp}
[bottleneck]
rate = "100 Mbit/s"
impair = {script.impair}
[[flow]]
cc = "reno"
rtt = "100 ms"
ack = "immediate"
app = {{ kind = "transfer", size = "{script.segments * script.mss} B" }}
[record]
interval = "100 ms"
points = "0 s"
packets = true
"""


def transmissions(result: RunResult, mss: int) -> str:
    """The data segments that left the sender: consecutive new ones shortened, ``r`` for a retransmission."""
    packets = result.tables["packets"]
    sent = (np.asarray(packets["tap"]) == 0) & (np.asarray(packets["payload"], dtype=np.int64) > 0)
    numbers = (np.asarray(packets["seq"])[sent].astype(np.int64) - FIRST_DATA) // mss + 1
    again = np.asarray(packets["retransmission"])[sent]
    pauses = np.flatnonzero(np.diff(np.asarray(packets["t_ns"])[sent]) >= PAUSE_NS)
    bursts = np.split(np.arange(len(numbers)), pauses + 1)
    return " | ".join(shorten([(int(numbers[i]), bool(again[i])) for i in burst]) for burst in bursts)


def shorten(segments: list[tuple[int, bool]]) -> str:
    """``[(1, False), (2, False), (2, True)]`` as ``1-2 2r``."""
    parts: list[list[tuple[int, bool]]] = []
    for number, again in segments:
        if parts and not again and parts[-1][-1] == (number - 1, False):
            parts[-1].append((number, again))
        else:
            parts.append([(number, again)])
    texts = []
    for part in parts:
        first, last = part[0], part[-1]
        texts.append(f"{first[0]}r" if first[1] else str(first[0]) if first == last else f"{first[0]}-{last[0]}")
    return " ".join(texts)


def reduce(result: RunResult, mss: int) -> Values:
    """What the lines need."""
    flow = result.flows[0]
    return {
        "sent": transmissions(result, mss),
        "retransmits": flow["retransmits"],
        "episodes": flow["loss_episodes"],
        "rtos": flow["rtos"],
        "delivered": flow["goodput_mbps"] * 1e6 / 8 * result.summary["duration_s"] / mss,
    }


def lines(script: Script, values: Mapping[str, Values]) -> list[Line]:
    """The sequence, and the counts."""
    run = values[script.name]
    episodes = [] if script.episodes is None else [Line("loss episodes", script.episodes, run["episodes"], 0.0)]
    return [
        Line("transmissions", script.expected, run["sent"], None, "", script.why),
        Line("retransmissions", float(script.retransmits), run["retransmits"], 0.0),
        *episodes,
        Line("timeouts", float(script.rtos), run["rtos"], 0.0),
        Line("segments delivered to the application", float(script.segments), run["delivered"], 0.01),
    ]


def checks() -> list[Check]:
    """Every script."""
    return [
        Check(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
