"""The same scripts executed by the real Linux sender.

Expected is what a Linux kernel sent when it was given the script, segment for segment: its unmodified sender on a path
in user space that loses, holds, reorders or marks the same packets, in real time. ``validation.recorder`` is the tool,
``data/linux_scripts.json`` has the kernel, its settings and every transmission with cwnd, ssthresh and state. Each
script was recorded five times. The notation is that of the section above; times are not compared, apart from what is a
pause, because other work of the machine shifts them. The verdict is equality.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from windtunnel.result import RunResult
from windtunnel.validation.comparison import DATA, Comparison, Line, Run, Values
from windtunnel.validation.scripts.follow import sent_data, transmissions
from windtunnel.validation.scripts.script import MSS, MSS_WITHOUT_TIMESTAMPS, lost

RECORDINGS = DATA / "linux_scripts.json"

#: Congestion experienced, in the IP header's ECN field.
CE = 0b11

#: The tap behind the bottleneck's queue.
BEHIND_QUEUE = 2

#: The states of congestion control, by number, and a slow-start threshold that is not set yet.
STATES = ("open", "disorder", "cwr", "recovery", "loss")
INFINITE = 2**64 - 1


@dataclass(frozen=True)
class Switch:
    """A mechanism that is off: in a scenario's ``tcp``, and as a sysctl of Linux."""

    tcp: str
    sysctl: tuple[str, str]


WITHOUT_SACK = Switch('sack = false\nloss_detection = "newreno"', ("tcp_sack", "0"))
WITHOUT_TIMESTAMPS = Switch("timestamps = false", ("tcp_timestamps", "0"))
WITHOUT_TLP = Switch("tlp = false", ("tcp_early_retrans", "0"))
WITHOUT_IDLE_RESTART = Switch('idle = "none"', ("tcp_slow_start_after_idle", "0"))


@dataclass(frozen=True)
class LinuxScript:
    """A transfer and its path. Both ways' impairments are the scenario's ``impair``."""

    name: str
    segments: int
    """Length of the transfer, or of each one if there are two."""
    forward: str = ""
    reverse: str = ""
    why: str = ""
    cc: str = "reno"
    off: tuple[Switch, ...] = ()
    initial_window: int = 10
    rate_mbps: int = 100
    rtt_ms: float = 100.0
    pause_ms: int | None = None
    """The time from the last ACK of the first transfer to the start of a second one."""
    marks: Marks | None = None
    send_buffer: int | None = None
    """The largest one, in bytes of the kernel's memory (``tcp_wmem[2]``)."""
    send_autotuning: bool = True
    """Without it the send buffer has its size from the start (``SO_SNDBUF``)."""
    close: bool = False
    """The application closes the connection after its last byte."""
    tick: str = "1 ms"
    """The clock of timers and of CUBIC."""

    @property
    def mss(self) -> int:
        """Payload of a segment."""
        return MSS_WITHOUT_TIMESTAMPS if WITHOUT_TIMESTAMPS in self.off else MSS


@dataclass(frozen=True)
class Marks:
    """The data packets that get CE, and a bottleneck that marks exactly those."""

    packets: tuple[int, ...]
    bottleneck: str


def lost_acks(*packets: int) -> str:
    """The lost ACKs, by the order of the segments that they answer, from 1 on."""
    # The answer to the SYN is the first packet on the way of the ACKs.
    return f'{{ kind = "scripted-loss", packets = {[number + 1 for number in packets]}, affects = "acks" }}'


def late(packet: int, overtaken_by: int) -> str:
    """A data packet that several others overtake."""
    return f'{{ kind = "scripted-reordering", packets = [{packet}], overtaken_by = {overtaken_by}, affects = "data" }}'


#: Data are held from 150 to 700 ms and then arrive together: longer than the timeout of 300 ms.
HELD = '{ kind = "outage", times = [{ from = "150 ms", to = "700 ms" }], hold = true }'

#: The last packet of the second round trip meets a link that has become slow just before it: it alone waits for 1 ms.
CE_ON_30 = Marks(
    (30,),
    """queue = { kind = "brickwall", ce_threshold = "1 ms" }
changes = [{ at = "200.22 ms", rate = "10 Mbit/s" }, { at = "240 ms", rate = "1 Gbit/s" }]""",
)

SCRIPTS = (
    LinuxScript("One loss", 40, lost(5)),
    LinuxScript("A burst of three losses", 40, lost(5, 6, 7)),
    LinuxScript("A lost retransmission", 40, lost(5, 21)),
    LinuxScript("A lost tail, with a loss probe", 12, lost(12)),
    LinuxScript("A lost tail, without a loss probe", 12, lost(12), off=(WITHOUT_TLP,)),
    LinuxScript("A spurious timeout, shown by timestamps", 60, HELD),
    LinuxScript("A spurious timeout, shown by F-RTO", 60, HELD, off=(WITHOUT_TIMESTAMPS,)),
    LinuxScript("Overtaken by two", 60, late(5, 2)),
    LinuxScript("Overtaken by ten", 60, late(15, 10)),
    LinuxScript("A lost SYN", 30, '{ kind = "scripted-loss", packets = [1] }'),
    LinuxScript("Two lost SYNs", 30, '{ kind = "scripted-loss", packets = [1, 2] }'),
    LinuxScript("Two timeouts in a row", 14, lost(13, 14, 15, 16, 17)),
    LinuxScript("A burst of three losses, without SACK", 40, lost(5, 6, 7), off=(WITHOUT_SACK,)),
    LinuxScript("One loss, without SACK", 40, lost(5), off=(WITHOUT_SACK,)),
    LinuxScript(
        "One loss, CUBIC",
        60,
        lost(5),
        cc="cubic",
        rate_mbps=1000,
        why="Growth is computed once per tick, 4 ms there and 1 ms here: the ACKs of a round trip come within one.",
    ),
    LinuxScript("CE on one segment", 110, rate_mbps=1000, marks=CE_ON_30),
    LinuxScript("Five seconds of silence", 40, pause_ms=5000),
    LinuxScript("Five seconds of silence after a loss", 40, lost(5), pause_ms=5000),
    LinuxScript("Half a second of silence", 150, pause_ms=500),
    LinuxScript("Limited transmit, with a window of three", 20, lost(1), initial_window=3),
    LinuxScript("Two of a tail of twelve", 12, lost(11, 12)),
    LinuxScript("The first eight of the initial window", 40, lost(*range(1, 9))),
    LinuxScript("The last eight of the initial window", 40, lost(*range(3, 11))),
    LinuxScript("The whole initial window", 30, lost(*range(1, 11))),
    LinuxScript("A retransmission lost twice", 40, lost(5, 21, 28)),
    LinuxScript("The ACKs of a whole round", 60, reverse=lost_acks(*range(11, 31))),
    LinuxScript("Every second ACK", 60, reverse=lost_acks(*range(2, 60, 2))),
    LinuxScript(
        "The ACKs of the initial window, without a loss probe",
        40,
        reverse=lost_acks(*range(1, 11)),
        off=(WITHOUT_TLP,),
        why="Linux counts a retransmission that a D-SACK reports as delivered once more: the window grows by one more.",
    ),
    LinuxScript(
        "A late original among losses",
        100,
        f"[{lost(*range(69, 75), 92)}, {late(65, 4)}]",
        why="While what was sent again is out, an ACK that shows a late original lets Linux send no retransmission.",
    ),
    LinuxScript(
        "A timeout with one new segment left",
        12,
        lost(*range(1, 12)),
        why="F-RTO: what is new is sent, and nothing else on that ACK although cwnd has room for one more.",
    ),
    LinuxScript(
        "An original SACKed after the timeout",
        40,
        lost(2, 3, 4, 5, 7),
        reverse=lost_acks(2),
        initial_window=4,
        why="What was sent again is newer than the original SACKed with it: its round trip is RACK's.",
    ),
    LinuxScript(
        "A timeout without SACK, and a duplicate ACK",
        20,
        lost(*range(6, 18), 20),
        initial_window=4,
        off=(WITHOUT_SACK,),
        why="In Loss every ACK of new data makes Linux forget the duplicate ones.",
    ),
)


def scenario(script: LinuxScript) -> str:
    """The script as a scenario file."""
    size = script.segments * script.mss
    close = str(script.close).lower()
    transfer = f'{{ kind = "transfer", size = "{size} B", close = {close} }}'
    if script.pause_ms is not None:
        think = f'{{ kind = "fixed", value = "{script.pause_ms} ms" }}'
        fixed = f'{{ kind = "fixed", value = "{size} B" }}'
        transfer = f'{{ kind = "request-response", size = {fixed}, think = {think}, count = 2, close = {close} }}'
    return f"""
duration = "120 s"
endpoints = "linux"
[tcp]
window_growth = false
autotuning = false
tick = "{script.tick}"
{f'send_buffer = "{script.send_buffer} B"' if script.send_buffer else ""}
{"" if script.send_autotuning else "send_autotuning = false"}
{chr(10).join(switch.tcp for switch in script.off)}
[bottleneck]
rate = "{script.rate_mbps} Mbit/s"
{script.marks.bottleneck if script.marks else ""}
impair = {script.forward or "[]"}
[reverse]
impair = {script.reverse or "[]"}
[[flow]]
cc = "{script.cc}"
rtt = "{script.rtt_ms:g} ms"
ack = "immediate"
iw = "{script.initial_window} packets"
ecn = {"true" if script.marks else "false"}
app = {transfer}
[record]
interval = "100 ms"
points = "0 s"
packets = true
"""


def reduce(result: RunResult, mss: int) -> Values:
    """The transmissions, the sender's state at each, and the numbers of those that were marked."""
    packets = result.tables["packets"]
    data = np.asarray(packets["payload"], dtype=np.int64) > 0
    tap = np.asarray(packets["tap"])
    marked = np.flatnonzero(np.asarray(packets["ecn"])[data & (tap == BEHIND_QUEUE)] == CE) + 1
    states = [
        state_of(int(cwnd) // mss, None if ssthresh == INFINITE else int(ssthresh) // mss, STATES[state])
        for cwnd, ssthresh, state in zip(
            *(np.asarray(packets[column])[sent_data(result)[0]] for column in ("cwnd", "ssthresh", "state")),
            strict=True,
        )
    ]
    sent = transmissions(result, mss)
    return {"sent": sent, "states": ", ".join(states), "marked": " ".join(map(str, marked))}


def state_of(cwnd: int, ssthresh: int | None, state: str) -> str:
    """The sender's state at a transmission, windows in segments."""
    return f"{cwnd} {'-' if ssthresh is None else ssthresh} {state}"


@cache
def recordings() -> Mapping[str, Any]:
    """The file of recordings."""
    recorded: dict[str, Any] = json.loads(RECORDINGS.read_text(encoding="utf-8"))
    return recorded


def lines(script: LinuxScript, values: Mapping[str, Values], recorded: Mapping[str, Any] | None = None) -> list[Line]:
    """The sequence, and the sender's state at each transmission; for a script with marks also the marked packets.
    ``recorded`` is this script of another file of recordings.
    """
    run, recorded = values[script.name], recorded or recordings()["scripts"][script.name]
    # In real time a recording may differ from the others: the majority is the expectation.
    linux = max(recorded["sent"], key=recorded["sent"].count)
    equal, times = recorded["sent"].count(linux), len(recorded["sent"])
    note = script.why if equal == times else f"{script.why} ({equal} of {times} recordings)".strip()
    states = [state_of(cwnd, ssthresh, state) for _, _, _, cwnd, ssthresh, state in recorded["transmissions"]]
    ours = str(run["states"]).split(", ")
    different = abs(len(states) - len(ours)) + sum(a != b for a, b in zip(states, ours, strict=False))
    marks = [] if script.marks is None else [_marked(script.marks, run)]
    return [
        Line("transmissions", linux, run["sent"], None, "", note),
        Line("transmissions at which cwnd, ssthresh or state differs", 0.0, float(different), 0.0),
        *marks,
    ]


def _marked(marks: Marks, run: Values) -> Line:
    return Line("packets marked", " ".join(map(str, marks.packets)), run["marked"], None)


def comparisons() -> list[Comparison]:
    """Every script."""
    return [
        Comparison(s.name, [Run(s.name, scenario(s), partial(reduce, mss=s.mss), float(s.segments))], partial(lines, s))
        for s in SCRIPTS
    ]
