"""The core compared with another simulator, on the same paths and in the same minutes.

The other simulator is a program that its user has built. It is called with six words,

    PROGRAM flows=1000 rate=10000000000 buffer=25000000 packet=1500 duration=4000000000 rtts=5000000,7000000

and simulates ``flows`` senders with additive increase and multiplicative decrease, which always have data. They share
a link of ``rate`` bits per second whose queue drops at its tail when it holds ``buffer`` bytes; packets have ``packet``
bytes. Flow i has the round-trip time at place i of ``rtts``, a list that starts again at its end. Times are in
nanoseconds. The program prints a line ``N packets``: the data packets that its receivers got.

Both simulate one after the other, in turn, so that both meet the same machine. What is compared is user CPU for a
delivered packet: of the program, all of its own; of windtunnel, that of the run, without Python's start.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from windtunnel.bench import instructions
from windtunnel.bench.measure import run
from windtunnel.errors import InputError

#: What the two do not have in common, whatever the other program is.
DIFFERENCES = (
    "Same: rate, round trips, buffer, packets of 1500 bytes, tail drop. Not the same:",
    "windtunnel has Reno with pacing and known losses (ideal), or SACK and recovery as in Linux (linux, acks). Its "
    "receivers acknowledge each packet, with linux about every second. It records series, histograms, and a digest.",
    "What the program does is its own: htsim has NewReno without SACK and an ACK for each packet, and records nothing.",
)


@dataclass(frozen=True)
class Contest:
    """A path, and the endpoints that windtunnel has on it."""

    name: str
    title: str
    endpoints: str
    flows: int
    rate_mbps: int
    buffer_bytes: int
    rtts_ms: tuple[int, ...]
    seconds: float
    counted: tuple[float, float]
    """The lengths of the two runs whose instructions are subtracted, in simulated seconds."""
    ack: str
    """How windtunnel's receivers acknowledge."""

    def scenario(self) -> str:
        """As windtunnel has it."""
        share, rest = divmod(self.flows, len(self.rtts_ms))
        assert rest == 0
        flows = [
            f'[[flow]]\nname = "{rtt} ms"\ncc = "reno"\nack = "{self.ack}"\nrtt = "{rtt} ms"\ncount = {share}\n'
            for rtt in self.rtts_ms
        ]
        return (
            f'duration = "{self.seconds} s"\nendpoints = "{self.endpoints}"\n'
            f'[bottleneck]\nrate = "{self.rate_mbps} Mbit/s"\n'
            f'queue = {{ kind = "fifo", limit = "{self.buffer_bytes} B" }}\n' + "".join(flows)
        )

    def command(self, program: str, seconds: float) -> list[str]:
        """As the other program has it."""
        return [
            program,
            f"flows={self.flows}",
            f"rate={self.rate_mbps * 10**6}",
            f"buffer={self.buffer_bytes}",
            "packet=1500",
            f"duration={round(seconds * 1e9)}",
            f"rtts={','.join(str(rtt * 10**6) for rtt in self.rtts_ms)}",
        ]


_ONE = Contest(
    name="one-ideal",
    title="one flow, 100 Mbit/s, 40 ms, one BDP of buffer; ideal endpoints",
    endpoints="ideal",
    flows=1,
    rate_mbps=100,
    buffer_bytes=500_000,
    rtts_ms=(40,),
    seconds=240,
    counted=(20, 40),
    ack="immediate",
)
_MANY = Contest(
    name="many-ideal",
    title="1000 flows, 10 Gbit/s, 5 to 100 ms, 20 ms of buffer; ideal endpoints",
    endpoints="ideal",
    flows=1000,
    rate_mbps=10_000,
    buffer_bytes=25_000_000,
    rtts_ms=(5, 7, 10, 14, 20, 28, 40, 56, 80, 100),
    seconds=4,
    counted=(0.5, 0.6),
    ack="immediate",
)

CONTESTS = (
    _ONE,
    replace(
        _ONE, name="one-linux", title="the same with the full TCP and Linux's ACKs", endpoints="linux", ack="linux"
    ),
    replace(_ONE, name="one-acks", title="the same with an ACK for each packet", endpoints="linux"),
    _MANY,
    replace(
        _MANY, name="many-linux", title="the same with the full TCP and Linux's ACKs", endpoints="linux", ack="linux"
    ),
)


@dataclass(frozen=True)
class ContestResult:
    """What a packet costs both, and how many times as fast windtunnel is: by the median round, the worst, the best."""

    work: str
    title: str
    packets: int
    other_packets: int
    cpu_ns: float
    other_cpu_ns: float
    ratio: float
    ratio_least: float
    ratio_most: float
    instructions: float | None
    other_instructions: float | None
    """None without valgrind."""


def outcomes(
    program: str, rounds: int, *, count: bool, contests: Sequence[Contest] = CONTESTS
) -> Iterator[ContestResult]:
    """Each contest in turn. Raises InputError if the program cannot be run, or does not print its packets."""
    executable = shutil.which(program)
    if executable is None:
        raise InputError(f"--against: {program}: there is no such program that can be run")
    with tempfile.TemporaryDirectory() as folder:
        for contest in contests:
            file = Path(folder, f"{contest.name}.toml")
            file.write_text(contest.scenario(), encoding="utf-8")
            yield _outcome(contest, file, executable, rounds, count and instructions.available())


def _outcome(contest: Contest, file: Path, program: str, rounds: int, count: bool) -> ContestResult:
    ours, theirs = [], []
    for _ in range(rounds):
        done = run(file)
        ours.append(done["user_seconds"] / done["packets"])
        packets, seconds = _other(contest.command(program, contest.seconds))
        theirs.append(seconds / packets)
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    our_cost = their_cost = None
    if count:
        our_cost = instructions.per_packet(instructions.of_core(file), *contest.counted).instructions
        their_cost = instructions.per_packet(
            partial(contest.command, program), *contest.counted, only=None
        ).instructions
    return ContestResult(
        work=contest.name,
        title=contest.title,
        packets=done["packets"],
        other_packets=packets,
        cpu_ns=1e9 * median(ours),
        other_cpu_ns=1e9 * median(theirs),
        ratio=median(ratios),
        ratio_least=min(ratios),
        ratio_most=max(ratios),
        instructions=our_cost,
        other_instructions=their_cost,
    )


def _other(command: Sequence[str]) -> tuple[int, float]:
    """Packets that the other program delivered, and its user CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise InputError(f"--against: {command[0]}: {error.strerror}") from None
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        why = f": {last[0]}" if last else ""
        raise InputError(f"--against: {command[0]} ended with {done.returncode}{why}")
    packets = re.search(r"^(\d+) packets", done.stdout, re.MULTILINE)
    if packets is None or int(packets[1]) == 0:
        raise InputError(f"--against: {command[0]} delivered no packets: it has to print a line such as `8333 packets`")
    return int(packets[1]), seconds
