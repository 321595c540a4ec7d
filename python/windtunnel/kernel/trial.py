"""What a kernel must do before its numbers are worth anything: ``windtunnel kernel test``.

Its clock runs without the host's, two runs are the same to the last byte, each controller can be chosen by a socket,
and each queue discipline can be added to a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windtunnel.kernel.guest import UNKNOWN, Outcome, boot, with_age
from windtunnel.kernel.kept import Kernel

#: Seconds that the guest sleeps. A host that waited for them would take longer than all else together.
_SLEEP = 1000
#: Seconds of a host for a boot that waits for nothing, with room for a busy one.
_LIMIT = 120.0

#: What a discipline must be told, and the device that it needs; without an entry: nothing, and a plain one.
_ARGUMENTS = {
    "cbs": "hicredit 30 locredit -1470 sendslope -980000 idleslope 20000",
    "choke": "limit 1000 bandwidth 10mbit",
    "ets": "bands 2 quanta 1500 1500",
    "etf": "delta 100000 clockid CLOCK_TAI skip_sock_check",
    "gred": "setup DPs 2 default 0",
    "mqprio": "num_tc 2 map 0 1 queues 1@0 1@1 hw 0",
    "red": "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10mbit",
    "taprio": "num_tc 2 map 0 1 queues 1@0 1@1 base-time 0 sched-entry S 01 300000 clockid CLOCK_TAI",
    "tbf": "rate 10mbit burst 1600 limit 30000",
}
#: Disciplines of devices with several queues.
_SEVERAL = {"mqprio", "multiq", "taprio"}

#: A flow over a queue that drops, with losses that the guest draws, for the two runs.
_FLOW = """\
set -e
ip netns add a; ip netns add b
ip link add a0 netns a type veth peer name b0 netns b
ip netns exec a guest-offload a0; ip netns exec b guest-offload b0
ip -n a addr add 10.0.0.1/24 dev a0; ip -n b addr add 10.0.0.2/24 dev b0
ip -n a link set a0 up; ip -n b link set b0 up
ip netns exec b tc qdisc add dev b0 root netem delay 20ms limit 10000
ip netns exec a tc qdisc add dev a0 root handle 1: tbf rate 10mbit burst 1600 limit 1000000
ip netns exec a tc qdisc add dev a0 parent 1: handle 2: netem loss 0.5% limit 30
ip netns exec b guest-flow receive 10.0.0.2 5000 cubic &
ip netns exec a guest-flow send 10.0.0.2 5000 cc=cubic zero=20000000000 start=20000000000 stop=25000000000 \
    interval=100000000 file=flow.csv
ip netns exec a tc -s qdisc show dev a0 > tc
cat /proc/uptime > uptime
"""


@dataclass(frozen=True)
class Check:
    """One thing that was tried. ``passed`` is None where it could not be, and ``said`` is why."""

    name: str
    passed: bool | None
    said: str


def trial(kernel: Kernel) -> Iterator[Check]:
    """All checks, each as soon as it is known. Raises InputError and RunFailedError."""
    yield _clock(kernel)
    yield _twice(kernel)
    outcome = boot(kernel, _asked(kernel), limit=_LIMIT)
    yield from _each("controller", kernel.has["controller"], outcome, lambda said: said == "ok")
    yield from _each("qdisc", kernel.has["qdisc"], outcome, _of_tc)


def _clock(kernel: Kernel) -> Check:
    outcome = boot(kernel, f"cat /proc/uptime > before; sleep {_SLEEP}; cat /proc/uptime > after\n", limit=_LIMIT)
    before, after = (float(outcome.text(name).split()[0]) for name in ("before", "after"))
    passed = abs(after - before - _SLEEP) < 0.05 and outcome.seconds < _SLEEP / 2
    return Check("clock", passed, f"{after - before:.2f} s of sleep, {outcome.seconds:.1f} s with the boot")


def _twice(kernel: Kernel) -> Check:
    first, second, other = (boot(kernel, _FLOW, seed=seed, limit=_LIMIT) for seed in (1, 1, 2))
    rows = len(first.text("flow.csv").splitlines()) - 1
    if rows < 10:
        return Check("repeats", False, f"a flow of 5 s has {rows} rows")
    if first.files != second.files:
        names = sorted(name for name in first.files if first.files[name] != second.files.get(name))
        return Check("repeats", False, f"two runs with one seed differ in {', '.join(names)}")
    if first.files["flow.csv"] == other.files["flow.csv"]:
        return Check("repeats", False, "another seed gives the same run")
    return Check("repeats", True, f"{rows} rows of a flow, twice the same; another seed differs")


def _asked(kernel: Kernel) -> str:
    """A script that tries each of them, and writes what was said to ``controller`` and ``qdisc``."""
    lines = [f"guest-controllers {' '.join(kernel.has['controller'])} > controller", ": > qdisc"]
    for name in kernel.has["qdisc"]:
        queues = " numtxqueues 2 numrxqueues 2" if name in _SEVERAL else ""
        # teql0 is the name under which TEQL stands; ingress has a place of its own.
        kind, at = {"teql": ("teql0", "root"), "ingress": ("ingress", "")}.get(name, (name, "root"))
        lines += [
            f"ip link add t0{queues} type veth peer name t1{queues}; ip link set t0 up; ip link set t1 up",
            f"if tc qdisc add dev t0 {at} {kind} {_ARGUMENTS.get(name, '')} > said 2>&1",
            f"then echo '{name} ok' >> qdisc; else echo {name} $(head -n 1 said) >> qdisc; fi",
            "ip link del t0",
        ]
    return "\n".join([*lines, ""])


def _of_tc(said: str) -> bool | None:
    """Whether a discipline was added; None where the host's tc is older than it."""
    if said == "ok":
        return True
    return None if said.startswith(UNKNOWN) else False


def _each(kind: str, names: tuple[str, ...], outcome: Outcome, judge: Callable[[str], bool | None]) -> Iterator[Check]:
    said = dict(line.partition(" ")[::2] for line in outcome.text(kind).splitlines())
    for name in names:
        answer = said.get(name, "no answer")
        passed = judge(answer)
        yield Check(f"{kind} {name}", passed, with_age(answer))
