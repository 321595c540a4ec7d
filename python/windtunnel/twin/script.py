r"""A plan as the script that the guest runs: namespaces, wires, addresses, tc, and the flows.

    s0 --\                              /-- r0
    s1 ---- m1 == out =========== in == m2 ---- r1

Each flow has a sender's and a receiver's host of its own, so that delays and settings are its own. On m1's device
``out`` is the shaper with the queue; netem on m2's devices towards the receivers and on m1's towards the senders is
half of each round trip. All times are of the guest's clock; what the setup takes of it is over before the run's zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
# Makes a namespace; the guest has no IPv6 neighbours, whose packets would pass the queue.
host() {
    ip netns add $1
    inside $1 sh -c 'for at in all default; do echo 1 > /proc/sys/net/ipv6/conf/$at/disable_ipv6; done'
    ip -n $1 link set lo up
}
# Joins two devices by a wire, with addresses, and tells each about the other: NAMESPACE DEVICE MAC ADDRESS, twice.
wire() {
    ip link add $2 netns $1 address $3 type veth peer name $6 netns $5 address $7
    for end in "$1 $2 $4 $8 $7" "$5 $6 $8 $4 $3"; do
        set -- $end
        inside $1 guest-offload $2
        ip -n $1 link set $2 mtu $MTU gso_max_segs 1 txqueuelen 20000 up
        ip -n $1 addr add $3/24 dev $2
        ip -n $1 neigh replace $4 lladdr $5 dev $2 nud permanent
    done
}
# Writes settings: NAMESPACE, then pairs of a file below /proc/sys/net/ipv4 and its content.
settings() {
    inside $1 sh -c 'shift; while [ $# -gt 1 ]; do echo "$2" > /proc/sys/net/ipv4/$1; shift 2; done' sh "$@"
}
"""


def script(plan: Plan) -> str:
    """The whole script."""
    return "\n".join([*_lines(plan), ""])


def _lines(plan: Plan) -> Iterator[str]:
    yield f"MTU={plan.mtu}"
    yield _FUNCTIONS
    yield "host m1; host m2"
    yield "settings m1 ip_forward 1; settings m2 ip_forward 1"
    # All of it may be in flight: the memory of TCP is no part of a scenario.
    yield "echo 300000 300000 300000 > /proc/sys/net/ipv4/tcp_mem"
    yield "wire m1 out 02:00:00:00:01:00 10.2.0.1 m2 in 02:00:00:00:02:00 10.2.0.2"
    for number, flow in enumerate(plan.flows):
        yield from _hosts(number, flow, plan)
    yield _sleep_until(_LAID)
    yield f"inside m1 tc qdisc add dev out root handle 1: {shell(plan.shaper)}"
    yield f"inside m1 tc qdisc add dev out parent 1: handle 2: {shell(plan.leaf)}"
    for number, flow in enumerate(plan.flows):
        yield f"inside r{number} guest-flow receive {_receiver(number)} {_PORT} {flow.receiver} &"
    zero = _LAID + plan.settle
    end = zero + plan.duration
    yield f"inside m1 guest-queue out {zero} {end} {plan.interval} queue.csv & queue=$!"
    yield "others="
    for number, flow in enumerate(plan.flows):
        arrivals = f"eth {zero} {end} {plan.interval} arrived{number}.csv"
        yield f'inside r{number} guest-flow arrivals {arrivals} & others="$others $!"'
        words = [f"cc={flow.controller}", f"zero={zero}", f"start={zero + flow.start}", f"stop={end}"]
        words += [f"interval={plan.interval}", f"file=flow{number}.csv"]
        yield f'inside s{number} guest-flow send {_receiver(number)} {_PORT} {" ".join(words)} & others="$others $!"'
    # `wait` for several gives the code of the last alone.
    yield "for each in $queue $others; do wait $each; done"
    for number in range(len(plan.flows)):
        yield f"inside s{number} cat /proc/net/netstat /proc/net/snmp > counters{number}"
    yield "inside m1 tc -s qdisc show dev out > tc"
    # What has left a sender and has not arrived when all queues are empty is lost.
    yield _sleep_until(end + _EMPTY)
    for number in range(len(plan.flows)):
        yield f"inside s{number} cat /sys/class/net/eth/statistics/tx_packets > left{number}"
        yield f"inside r{number} cat /sys/class/net/eth/statistics/rx_packets > arrived{number}"
        yield f"inside m2 tc -s qdisc show dev r{number} > path{number}"
    yield "uname -r > release"


def _hosts(number: int, flow: HostFlow, plan: Plan) -> Iterator[str]:
    """The two hosts of a flow and their wires."""
    s, r, digits = f"s{number}", f"r{number}", f"{number:02x}"
    yield f"host {s}; host {r}"
    yield f"wire {s} eth 02:00:00:01:01:{digits} 10.1.{number}.1 m1 {s} 02:00:00:01:02:{digits} 10.1.{number}.254"
    yield f"wire {r} eth 02:00:00:02:01:{digits} 10.3.{number}.1 m2 {r} 02:00:00:02:02:{digits} 10.3.{number}.254"
    yield f"ip -n {s} route add default via 10.1.{number}.254"
    yield f"ip -n {r} route add default via 10.3.{number}.254"
    yield f"ip -n m1 route add 10.3.{number}.0/24 via 10.2.0.2"
    yield f"ip -n m2 route add 10.1.{number}.0/24 via 10.2.0.1"
    common = ["tcp_no_metrics_save", 1, "tcp_timestamps", int(flow.timestamps), "tcp_sack", int(flow.sack)]
    common += ["tcp_rmem", f'"4096 131072 {flow.receive_buffer}"']
    common += ["tcp_wmem", f'"4096 {flow.send_buffer} {flow.receive_buffer}"']
    yield _settings(s, [*common, "tcp_ecn", flow.ecn])
    yield _settings(r, [*common, "tcp_ecn", 2 if flow.controller != "dctcp" else 1])
    there = flow.rtt // 2
    wire_time = round(plan.frame * 8e9 / plan.rate)
    ahead = ["netem", "limit", str(LIMIT), "delay", tc_time((there + wire_time) / 1e9), *plan.path]
    back = ["netem", "limit", str(LIMIT), "delay", tc_time((flow.rtt - there) / 1e9)]
    yield f"inside m2 tc qdisc add dev {r} root {shell(ahead)}"
    yield f"inside m1 tc qdisc add dev {s} root {shell(back)}"


def _settings(space: str, pairs: Sequence[object]) -> str:
    return f"settings {space} {' '.join(map(str, pairs))}"


def _receiver(number: int) -> str:
    return f"10.3.{number}.1"


def _sleep_until(ns: int) -> str:
    return f"guest-flow until {ns}"
