r"""A plan as the script that the guest runs: namespaces, wires, addresses, tc, and the flows.

    s0 --\                              /-- r0
    s1 ---- m1 == out =========== in == m2 ---- r1

Each flow has a sender's and a receiver's host of its own, so that delays and settings are its own. On m1's device
``out`` is the shaper with the queue; netem on m2's devices towards the receivers and on m1's towards the senders is
half of each round trip. All times are of the guest's clock; what the setup takes of it is over before the run's zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from windtunnel.escape import shell
from windtunnel.export.tc.netem import LIMIT
from windtunnel.export.tc.words import tc_time
from windtunnel.twin.plan import HostFlow, Plan

#: When the discipline is there, in ns of the guest's clock: the setup takes less of it.
_LAID = 30 * 10**9
#: When every queue is empty, in ns after the end: seconds in which nothing happens cost nothing.
_EMPTY = 600 * 10**9
_PORT = 5000

_FUNCTIONS = """\
set -e
inside() { space=$1; shift; ip netns exec "$space" "$@"; }
# Writes settings: pairs of a file below /proc/sys/net/ipv4 and its content. The guest has no IPv6 neighbours, whose
# packets would pass the queue.
settings='set -e
for at in all default; do echo 1 > /proc/sys/net/ipv6/conf/$at/disable_ipv6; done
settings() { while [ $# -gt 1 ]; do echo "$2" > /proc/sys/net/ipv4/$1; shift 2; done; }'
"""


@dataclass(frozen=True)
class _End:
    """An end of a wire: a device with its addresses in a host's namespace."""

    host: str
    device: str
    mac: str
    address: str


@dataclass(frozen=True)
class Network:
    """A network of ours between the hosts: the command of the program that is it, and what it is told, as JSON."""

    command: str
    work: Callable[[int], str]


#: The file with packets.
CAPTURE = "capture.pcapng"


def script(plan: Plan, network: Network | None = None, *, capture: bool = False) -> str:
    """The whole script; ``network`` takes the place of tc's link. ``capture``: the packets at both ends of each flow
    are written. A process in the guest costs more than what most of them do: few do much each.
    """
    return "\n".join([*_lines(plan, network, capture=capture), ""])


def _lines(plan: Plan, network: Network | None, *, capture: bool) -> Iterator[str]:
    yield _FUNCTIONS
    # All of it may be in flight: the memory of TCP is no part of a scenario.
    yield "echo 300000 300000 300000 > /proc/sys/net/ipv4/tcp_mem"
    for file, value in plan.parameters:
        yield f"echo {value} > /sys/module/{file}"
    zero = _LAID + plan.settle
    end = zero + plan.duration
    wires = [] if network else [_LINK]
    for number in range(len(plan.flows)):
        wires += _wires(number)
    hosts = ["m1", "m2", *(f"{side}{number}" for number in range(len(plan.flows)) for side in "sr")]
    yield from _fed("ip -batch -", [f"netns add {host}" for host in hosts])
    yield from _fed("ip -batch -", [_wire(one, other) for one, other in wires])
    if network is not None:
        yield from _fed("cat > work.json", [network.work(zero)])
        # It says when its devices are there; if it ends before that, so does the script.
        yield "mkfifo /run/ready"
        yield f"{network.command} > /run/ready & queue=$!"
        yield "read -r ready < /run/ready"
    for host in hosts:
        yield from _fed(f'inside {host} sh -c "$settings; . /dev/stdin"', _host(host, wires, plan))
    if capture:
        devices = [device for n in range(len(plan.flows)) for device in (f"m1/s{n}", f"m2/r{n}")]
        yield f"guest-capture {zero} {end} {CAPTURE} {' '.join(devices)} & capture=$!"
    yield _sleep_until(_LAID)
    if network is None:
        yield from _link(plan, zero, end)
    for number, flow in enumerate(plan.flows):
        if flow.schedule is not None:
            yield from _fed(f"cat > schedule{number}", flow.schedule.lines)
        if flow.controller:
            yield f"inside r{number} guest-flow receive {receiver(number)} {_PORT} {flow.receiver} &"
    yield "others="
    for number, flow in enumerate(plan.flows):
        arrivals = f"eth {zero} {end} {plan.interval} arrived{number}.csv"
        for program in (f"r{number} guest-flow arrivals {arrivals}", *_programs(number, flow, plan, zero)):
            yield f'inside {program} & others="$others $!"'
    # `wait` for several gives the code of the last alone.
    yield f"for each in $queue {'$capture ' if capture else ''}$others; do wait $each; done"
    for number in range(len(plan.flows)):
        yield f"inside s{number} cat /proc/net/netstat /proc/net/snmp > counters{number}"
    if network is None:
        yield "inside m1 tc -s qdisc show dev out > tc"
        # What has left a sender and has not arrived when all queues are empty is lost.
        yield _sleep_until(end + _EMPTY)
        yield "inside m1 cat /proc/net/dev > left"
        yield "inside m2 cat /proc/net/dev > arrived"
        yield "inside m2 tc -s qdisc show > path"
    yield "uname -r > release"


#: The wire whose end ``out`` has the shaper.
_LINK = (_End("m1", "out", "02:00:00:00:01:00", "10.2.0.1"), _End("m2", "in", "02:00:00:00:02:00", "10.2.0.2"))


def _link(plan: Plan, zero: int, end: int) -> Iterator[str]:
    """A link of tc with its queue, and what reads its counters."""
    shaper = [
        f"qdisc add dev out root handle 1: {shell([*plan.table, 'htb', 'default', '1'])}",
        f"class add dev out parent 1: classid 1:1 htb {shell(plan.shaper)}",
        f"qdisc add dev out parent 1:1 handle 2: {shell(plan.leaf)}",
    ]
    yield from _fed("inside m1 tc -batch -", shaper)
    yield f"inside m1 guest-queue out {zero} {end} {plan.interval} queue.csv & queue=$!"


def _programs(number: int, flow: HostFlow, plan: Plan, zero: int) -> Iterator[str]:
    """The programs of a flow, after the names of their hosts: a sender, and the receiver of datagrams."""
    to, stop = f"{receiver(number)} {_PORT}", zero + flow.stop
    if not flow.controller:
        assert flow.schedule is not None
        end = zero + plan.duration
        yield f"r{number} guest-datagrams receive {to} {int(flow.schedule.answers)} {zero} {end} came{number}.csv"
        files = f"schedule{number} back{number}.csv"
        yield f"s{number} guest-datagrams send {to} {flow.schedule.tos} {zero} {end} {files}"
        return
    words = [f"cc={flow.controller}", f"zero={zero}", f"start={zero + flow.start}", f"stop={stop}"]
    words += [f"interval={plan.interval}", f"file=flow{number}.csv"]
    if flow.schedule is not None:
        words += [f"messages=schedule{number}", f"close={int(flow.schedule.closes)}", f"done=done{number}.csv"]
    yield f"s{number} guest-flow send {to} {' '.join(words)}"


def _wires(number: int) -> list[tuple[_End, _End]]:
    """The wires of a flow's two hosts."""
    digits = f"{number:02x}"
    return [
        (
            _End(f"s{number}", "eth", f"02:00:00:01:01:{digits}", sender(number)),
            _End("m1", f"s{number}", f"02:00:00:01:02:{digits}", f"10.1.{number}.254"),
        ),
        (
            _End(f"r{number}", "eth", f"02:00:00:02:01:{digits}", receiver(number)),
            _End("m2", f"r{number}", f"02:00:00:02:02:{digits}", f"10.3.{number}.254"),
        ),
    ]


def _wire(one: _End, other: _End) -> str:
    peer = f"peer name {other.device} netns {other.host} address {other.mac}"
    return f"link add {one.device} netns {one.host} address {one.mac} type veth {peer}"


def _host(host: str, wires: Sequence[tuple[_End, _End]], plan: Plan) -> Iterator[str]:
    """What a host does in its own namespace: settings, its ends of wires, routes, and the path's delays."""
    ends = [pair for one, other in wires for pair in ((one, other), (other, one)) if pair[0].host == host]
    router, number = host[0] == "m", int(host[1:])
    yield _settings(["ip_forward", 1]) if router else _settings(_of_end(host[0], plan.flows[number]))
    yield f"guest-offload {' '.join(end.device for end, _ in ends)}"
    lines = ["link set lo up"]
    for end, other in ends:
        lines.append(f"link set {end.device} mtu {plan.mtu} gso_max_segs 1 txqueuelen 20000 up")
        lines.append(f"addr add {end.address}/24 dev {end.device}")
        lines.append(f"neigh replace {other.address} lladdr {other.mac} dev {end.device} nud permanent")
    if not router:
        lines.append(f"route add default via {ends[0][1].address}")
    else:
        net, device, via = ("3", "out", "10.2.0.2") if host == "m1" else ("1", "in", "10.2.0.1")
        by = f"via {via}"
        if _LINK not in wires:
            # A TUN device has no link layer, and no neighbours.
            lines.append(f"link set {device} mtu {plan.mtu} txqueuelen 20000 up")
            by = f"dev {device}"
        lines += [f"route add 10.{net}.{each}.0/24 {by}" for each in range(len(plan.flows))]
    yield from _fed("ip -batch -", lines, "LINES")
    if router and _LINK in wires:
        delays = [_delay(host, each, flow, plan) for each, flow in enumerate(plan.flows)]
        yield from _fed("tc -batch -", delays, "LINES")


def _of_end(end: str, flow: HostFlow) -> list[object]:
    """The settings of TCP in a flow's host."""
    sender = end == "s"
    return [
        *("tcp_no_metrics_save", 1, "tcp_timestamps", int(flow.timestamps), "tcp_sack", int(flow.sack)),
        *("tcp_rmem", f'"4096 {131072 if flow.autotuning else flow.receive_buffer} {flow.receive_buffer}"'),
        *("tcp_moderate_rcvbuf", int(flow.autotuning)),
        *("tcp_wmem", f'"4096 {flow.send_buffer} {flow.largest_send_buffer}"'),
        *("tcp_ecn", flow.ecn if sender else flow.listener),
    ]


def _delay(router: str, number: int, flow: HostFlow, plan: Plan) -> str:
    """Half of a flow's round trip: behind the queue with the path's impairments, or on the way back."""
    there = flow.rtt // 2
    if router == "m1":
        return f"qdisc add dev s{number} root netem limit {LIMIT} delay {tc_time((flow.rtt - there) / 1e9)}"
    ahead = ["netem", "limit", str(LIMIT), "delay", tc_time((there + plan.wire_time) / 1e9), *plan.path]
    return f"qdisc add dev r{number} root {shell(ahead)}"


def _fed(command: str, lines: Iterable[str], end: str = "END") -> Iterator[str]:
    """A command with lines as its input."""
    yield f"{command} <<'{end}'"
    yield from lines
    yield end


def _settings(pairs: Sequence[object]) -> str:
    return f"settings {' '.join(map(str, pairs))}"


def sender(number: int) -> str:
    """The address of a flow's sender."""
    return f"10.1.{number}.1"


def receiver(number: int) -> str:
    """That of its receiver."""
    return f"10.3.{number}.1"


def _sleep_until(ns: int) -> str:
    return f"guest-flow until {ns}"
