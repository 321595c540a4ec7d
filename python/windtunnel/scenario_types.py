"""The tables of a scenario as types; written by ``python/tools/scenario_types.py`` from the JSON Schema.

Quantities are strings with units. An algorithm is a name or a table with ``kind``, whose other keys depend on that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

#: An algorithm by its name, or as a table: ``{"kind": "cubic", "c": 0.4, "slow_start": "essp"}``.
Algorithm: TypeAlias = str | Mapping[str, Any]


class Tcp(TypedDict, total=False):
    """The mechanisms of a TCP connection."""

    #: Selective acknowledgment (RFC 2018), with D-SACK (RFC 2883).
    sack: bool

    #: Timestamps option (RFC 7323): 12 bytes of each packet.
    timestamps: bool

    #: How losses are detected.
    loss_detection: Literal["rack", "rfc6675", "newreno", "reno", "tahoe"]

    #: Which packets in addition to new data are ECN-capable (ECN++).
    ecn_pp: Literal["linux", "off", "on"]

    #: How cwnd is approached while congestion is answered.
    reduction: Literal["prr", "prr-crb", "prr-ssrb", "rate-halving", "none"]

    #: Tail loss probe (RFC 8985 section 7); needs SACK.
    tlp: bool

    #: Forward RTO recovery (RFC 5682): detects spurious timeouts.
    frto: bool

    #: Reductions for spurious retransmissions are undone (Eifel, RFC 3522; D-SACK).
    undo: bool

    #: Limited transmit (RFC 3042): one new segment on each of the first two duplicate ACKs.
    limited_transmit: bool

    #: Duplicate ACKs, or segments SACKed above a segment, after which it counts as lost.
    dupthresh: int | str

    #: How the retransmission timeout is computed.
    rto: Literal["linux", "rfc6298"]

    #: The least RTO (RFC 6298), the least variance term in it (Linux). If left out, that of the rule: 1 s or 200 ms.
    rto_min: str | None

    #: The largest RTO, and the cap of its back-off.
    rto_max: str

    #: The RTO before the first round-trip sample (RFC 6298 section 2.1).
    rto_initial: str

    #: The granularity of the timers, and of the clock by which Linux's CUBIC computes its growth: 1 ms with `HZ` 1000,
    #: 4 ms with 250.
    tick: str

    #: The basis of ssthresh.
    ssthresh_base: Literal["cwnd", "flight"]

    #: Each ACK of new data counts as one whole segment in growth, however little it acknowledges: stacks before byte
    #: counting (RFC 3465), which a receiver could deceive by ACK division.
    count_acks: bool

    #: How far duplicate ACKs inflate cwnd in the fast recovery of Reno and `NewReno`.
    inflation: Literal["outstanding", "entry", "unlimited"]

    #: The probability that a new segment is left out until data above it are SACKed. A receiver that acknowledges it
    #: before it leaves acknowledges what it has not received (optimistic ACKs): its connection is reset. Needs RACK.
    skip_probability: str

    #: ECN nonces (RFC 3540, historic): new segments leave as ECT(0) or ECT(1) at random, and ACKs return the sum. A
    #: receiver that conceals marks or losses has to guess it, and is answered by a window of one segment. Needs `ecn =
    #: "rfc3168"`, and queues to which ECT(1) is no signal and not L4S.
    ecn_nonce: bool

    #: The slow-start threshold of a new connection with a window-based controller, in segments; without it there is
    #: none (Linux: `ssthresh` of a route).
    initial_ssthresh: int | str | None

    #: A new connection starts with the slow-start threshold that an earlier one of the same flow left when it ended
    #: (Linux: `tcp_no_ssthresh_metrics_save` = 0, until 2020 the default); `initial_ssthresh` counts as left before
    #: the first.
    ssthresh_metrics_save: bool

    #: Which ACKs grow cwnd while the application or the receiver, not cwnd, limits the sender; `true` is `linux`, and
    #: `false` is `none`.
    growth_gate: Literal["linux", "none", "max-flight", "rfc9002"] | bool

    #: What an idle time does to cwnd.
    idle: Literal["rfc2861", "rfc5681", "rfc7661", "none"]

    #: Factor on `cwnd / srtt` at which departures are paced below half of ssthresh (Linux: 2.0).
    pacing_ss_ratio: float

    #: The same above (Linux: 1.2).
    pacing_ca_ratio: float

    #: Departures are paced at this rate of payload at most (`SO_MAX_PACING_RATE`), whatever cwnd allows; setting it
    #: turns pacing on.
    max_pacing_rate: str | None

    #: Segments leave in bursts (TSO, GSO) of about 1 ms at the pacing rate, and new data wait for the next ACK where
    #: that makes a larger burst; with `false` each segment leaves when cwnd allows it.
    gso: bool

    #: The largest burst.
    gso_max: str

    #: TCP small queues: the first link of the flow's way is the sender's own interface, and the memory that the flow
    #: occupies in its queue is limited to 1 ms at the pacing rate, or to two packets; each counts its payload, its
    #: `header_block`, and 256 bytes.
    small_queues: bool

    #: The largest limit of small queues (Linux `tcp_limit_output_bytes`; 4 MiB since Linux 6.16).
    limit_output_bytes: str

    #: Scheduling noise of the sender's host: the longest random delay between an ACK and the segments that it
    #: releases.
    jitter: str

    #: The receive buffer: the largest window that the receiver offers.
    receive_window: str

    #: The memory that a packet occupies in the receive buffer. The window offered is a share of that buffer.
    truesize: Literal["driver", "sender"]

    #: The block of memory in which the sender's kernel keeps the headers of a packet: for the longest headers that it
    #: was built for. Between namespaces the receiver has it too (`truesize = "sender"`). 576 bytes in a small kernel,
    #: 640 with wireless devices, 704 with tunnels as well, as distributions have them (Linux 6.14 and later).
    header_block: str

    #: The window starts at half of the buffer's memory and grows by two segments for each that arrives, up to the
    #: buffer; with `false` the whole buffer is offered at once.
    window_growth: bool

    #: When a longer segment shows how much of the memory is data, the window that grows is adapted at once: at most
    #: the new largest window, and at least what has been offered if that became larger (`tcp_set_window_clamp` in
    #: `tcp_measure_rcv_mss`, so in Linux 6.18). With `false`, as in Linux 7.3, it only goes on from where it is.
    set_window_clamp: bool

    #: The buffer starts at a window of 64 KiB and follows twice what the application reads in a round trip (Linux's
    #: receive buffer autotuning), up to `receive_window`; with `false` the whole buffer is there from the start.
    autotuning: bool

    #: How much the application hands over with one call at most. The segment with the last byte of a call carries PSH,
    #: by which Linux's receiver acknowledges it at once even if it is alone; so does one after each half of the
    #: largest receive window. With 0 B nothing but the end of all data is pushed, as by stacks other than Linux.
    write_size: str

    #: The largest send buffer, in the kernel's memory (Linux `tcp_wmem[2]`; 2280 bytes for a segment of 1448): how far
    #: the application can write ahead. If left out, it never limits the sender.
    send_buffer: str | None

    #: The send buffer at first, in the same memory (Linux `tcp_wmem[1]`). It has room for two initial windows at
    #: least.
    initial_send_buffer: str

    #: The send buffer grows: it follows twice cwnd, or as many windows as the controller asks for, up to
    #: `send_buffer`; with `false` all of it is there from the start (`SO_SNDBUF`).
    send_autotuning: bool

    #: The sender asks its receiver for one ACK per this many full segments (TARR, draft-ietf-tcpm-ack-rate-request);
    #: it repeats the request once per round trip.
    ack_ratio: int | str | None

    #: The sender asks for this many ACKs in a round trip: its ratio is cwnd over this number, 127 segments at most.
    acks_per_rtt: int | None

    #: The receiver's network card merges segments that arrive within this time into one (GRO); without it none are
    #: merged.
    gro: str | None


class RateChange(TypedDict, total=False):
    """A change of a link."""

    #: The time of the change.
    at: str | None

    #: Instead of a time: the first ACK after which a flow's controller is in a state.
    when: Mapping[str, Any] | None

    #: The change returns after each such period, up to the end of the run.
    every: str | None

    #: The new rate, from the next packet on.
    rate: str | None

    #: The new propagation delay, of packets that enter the link from now on.
    delay: str | None

    #: Packets that enter after a shorter delay has begun overtake those before them. Without it they wait for them.
    reorder: bool

    #: The new limit of the queue: packets, bytes, or a time at the rate of the link. Queued packets stay.
    limit: str | None


_ActiveKeys = TypedDict("_ActiveKeys", {"from": Required[str | Mapping[str, Any]]}, total=False)


class Active(_ActiveKeys, total=False):
    """A span of time in which a flow has data to send."""

    #: Up to this moment; if left out, up to the end.
    to: str | Mapping[str, Any] | None


class Bottleneck(TypedDict, total=False):
    """A link without a name."""

    #: The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #: Required, unless a preset states it.
    rate: str | Mapping[str, Any] | None

    #: Keys of a link with published numbers, by name (`windtunnel list presets`). A key that the link states itself
    #: takes precedence, as a whole.
    preset: Literal["wifi-good", "wifi-bad", "wifi-fade", "geo"]

    #: The queue in front of the link: a name, or a table with `kind`.
    queue: Algorithm

    #: What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    impair: Algorithm | Sequence[Algorithm]

    #: The bytes of link-layer headers that each packet has on the link and in its queue: 14 on Ethernet as Linux's
    #: queues count it, more where `tc` has `stab overhead`.
    overhead: str

    #: The propagation delay behind the link, one way. Part of the `rtt` of the flows that pass it.
    delay: str

    #: Changes of its rate, its delay and its queue's limit; those at times are in order of time.
    changes: Sequence[RateChange | Mapping[str, Any]]

    #: When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document) and without a
    #: `ring`, otherwise `start`.
    dequeue_point: Literal["start", "end"] | None

    #: How many packets the device takes out of the queue while another one is on the wire, as a driver's transmit ring
    #: does. The AQM has timed them up to then, and they do not count for the queue's limit.
    ring: int | str


class Reverse(TypedDict, total=False):
    """The return path of the ACKs."""

    #: The rate at the start of the run; without it, ACKs do not queue.
    rate: str | Mapping[str, Any] | None

    #: Keys of a link with published numbers, by name (`windtunnel list presets`). A key that the link states itself
    #: takes precedence, as a whole.
    preset: Literal["wifi-good", "wifi-bad", "wifi-fade", "geo"]

    #: The queue in front of the link: a name, or a table with `kind`.
    queue: Algorithm

    #: What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    impair: Algorithm | Sequence[Algorithm]

    #: The bytes of link-layer headers that each packet has on the link and in its queue: 14 on Ethernet as Linux's
    #: queues count it, more where `tc` has `stab overhead`.
    overhead: str

    #: The propagation delay behind the link, one way. Part of the `rtt` of the flows that pass it.
    delay: str

    #: Changes of its rate, its delay and its queue's limit; those at times are in order of time.
    changes: Sequence[RateChange | Mapping[str, Any]]

    #: When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document) and without a
    #: `ring`, otherwise `start`.
    dequeue_point: Literal["start", "end"] | None

    #: How many packets the device takes out of the queue while another one is on the wire, as a driver's transmit ring
    #: does. The AQM has timed them up to then, and they do not count for the queue's limit.
    ring: int | str


class Node(TypedDict, total=False):
    """A node of a graph."""

    #: Its name.
    name: Required[str]


_LinkKeys = TypedDict("_LinkKeys", {"from": Required[str]}, total=False)


class Link(_LinkKeys, total=False):
    """A link of a graph, in one direction."""

    #: Its name.
    name: Required[str]

    #: The node at which the link ends.
    to: Required[str]

    #: The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #: Required, unless a preset states it.
    rate: str | Mapping[str, Any] | None

    #: Keys of a link with published numbers, by name (`windtunnel list presets`). A key that the link states itself
    #: takes precedence, as a whole.
    preset: Literal["wifi-good", "wifi-bad", "wifi-fade", "geo"]

    #: The queue in front of the link: a name, or a table with `kind`.
    queue: Algorithm

    #: What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    impair: Algorithm | Sequence[Algorithm]

    #: The bytes of link-layer headers that each packet has on the link and in its queue: 14 on Ethernet as Linux's
    #: queues count it, more where `tc` has `stab overhead`.
    overhead: str

    #: The propagation delay behind the link, one way. Part of the `rtt` of the flows that pass it.
    delay: str

    #: Changes of its rate, its delay and its queue's limit; those at times are in order of time.
    changes: Sequence[RateChange | Mapping[str, Any]]

    #: When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document) and without a
    #: `ring`, otherwise `start`.
    dequeue_point: Literal["start", "end"] | None

    #: How many packets the device takes out of the queue while another one is on the wire, as a driver's transmit ring
    #: does. The AQM has timed them up to then, and they do not count for the queue's limit.
    ring: int | str


_FlowKeys = TypedDict("_FlowKeys", {"from": str | None}, total=False)


class Flow(_FlowKeys, total=False):
    """A flow, or several identical flows."""

    #: Its name; the default is that of its controller. With `count`, the flows are called `name-1`, `name-2`, ...
    name: str | None

    #: The congestion controller: a name (with `-mds` appended for the MDS response), or a table with `kind`.
    #: Applications over UDP have no controller; all others need one.
    cc: Algorithm | None

    #: The stack that carries the flow: a name, or a table with `kind`. The default is that of the scenario's
    #: `endpoints`. With the stack of another crate, `cc` is one of its own controllers, or `{ windtunnel = ... }`: one
    #: of those here inside it.
    stack: Algorithm | None

    #: The round-trip time of the path without queues, link delays included. In a graph, the default is the sum of the
    #: delays of the links.
    rtt: str | None

    #: The node that receives (graphs).
    to: str | None

    #: The links of the data's route, by name (graphs). The default is the route with the fewest links from `from` to
    #: `to`; of equal routes, the first in the order of the file.
    path: Sequence[str] | None

    #: The links of the ACKs' route (graphs). The default is the route with the fewest links back. If there is no route
    #: back, ACKs return without queueing.
    reverse: Sequence[str] | None

    #: The name of the host that sends, for queues that are fair to hosts: flows with the same name share it. By
    #: default each flow has a host of its own.
    sender_host: str | None

    #: The same for the host that receives.
    receiver_host: str | None

    #: When it starts.
    start: str

    #: When the flow stops sending; by default it sends until the run ends.
    stop: str | None

    #: Several spans of time in which the flow sends, instead of `start` and `stop`.
    active: Sequence[Active | Mapping[str, Any]] | None

    #: The number of identical flows.
    count: int

    #: The time between the starts of the `count` flows.
    stagger: str

    #: What its application does: a name, or a table with `kind`. By default it always has data to send.
    app: Algorithm

    #: Whether departures are paced. By default they are with ideal endpoints, and with the slow start ESSP.
    pacing: bool | None

    #: Whether the flow's packets are ECN-capable; a name selects how its receiver reports marks. The MDS response
    #: needs ECN. By default packets are ECN-capable with ideal endpoints, and with the MDS response.
    ecn: Literal["none", "rfc3168", "esce", "mds", "dctcp", "accecn", "quic"] | bool | None

    #: The code point of its ECN-capable packets.
    ect: Literal["ect0", "ect1"] | None

    #: The MDS identifier: the DSCP of the data packets of a flow with MDS, once it is negotiated. By default 43.
    mds_dscp: int | None

    #: The mechanisms of the flow's TCP; they override those of the scenario's `tcp`.
    tcp: Tcp | Mapping[str, Any] | None

    #: Misbehaviour: the flow does not answer marks, losses, or either, and grows as ever. Retransmissions stay.
    unresponsive: Literal["marks", "losses", "all"] | None

    #: The initial window: `"10 packets"`, or a number of segments. The default is 10 (RFC 6928), or 1 with `tahoe` and
    #: `reno1990`.
    iw: str | int

    #: How its receiver acknowledges: a policy, or a table.
    ack: Literal["immediate", "quick-signal", "state-change", "dithered", "every", "linux", "quic"] | Mapping[str, Any]

    #: The name of a connection: the flow is one of its subflows, as all flows with the same name are, each on its own
    #: path, and all that `count` makes. Their controllers (`lia`, `olia`, `balia`) know each other; all others remain
    #: uncoupled. Subflows always have data to send, up to the end of the run.
    connection: str | None

    #: rLEDBAT (RFC 9840): its receiver runs this controller, and limits the sender by the window that it offers,
    #: whatever the sender's own controller is: a name, or a table with `kind`. It needs timestamps.
    rledbat: Algorithm | None


class Record(TypedDict, total=False):
    """What is recorded."""

    #: The resolution of the time series.
    interval: str

    #: The minimum distance of single events (sojourn times, windows, marks) that are kept in each series; with 0 s,
    #: none are kept. The default is a 20,000th of the run, at least 100 us.
    points: str | None

    #: When the internal numbers of controllers and queues are recorded.
    state: Literal["off", "interval", "changes"]

    #: Whether every dequeue and every ACK is kept. Use this for short runs, because memory grows with their number.
    events: bool

    #: Whether every packet is kept at its sender, before and after each queue, and at its receiver, as captures need
    #: it. Use this for short runs, because memory grows with their number.
    packets: bool

    #: Whether the payload of each such packet over a real stack is kept, and the TLS secrets of its connection: a
    #: capture then has the real bytes, and analysers decrypt them. Both differ from run to run, because keys come from
    #: the system.
    payloads: bool


_WindowKeys = TypedDict("_WindowKeys", {"from": Required[str]}, total=False)


class Window(_WindowKeys, total=False):
    """A measurement window."""

    #: Its name.
    name: Required[str]

    #: Up to, not including, this time.
    to: Required[str]


class Claim(TypedDict, total=False):
    """A statement about the results. Who reads the results decides it: the core keeps its expression as it is."""

    #: What is claimed, in words.
    text: Required[str]

    #: When it is true, as a comparison of metrics: `p99(queue.sojourn_ms) < 5`.
    check: Required[str]

    #: A short name, for reports of tests.
    name: str | None
