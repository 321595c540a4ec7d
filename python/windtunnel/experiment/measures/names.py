"""The names of metrics: what each number of a result is, and by which other words the field calls it.

A word that leads nowhere in a result is answered with the name that it stands for; the same table is a page of the
reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from windtunnel.errors import did_you_mean


@dataclass(frozen=True)
class Name:
    """A number or a distribution of a flow or a queue."""

    meaning: str
    words: tuple[str, ...] = ()  # of the field, for the same


#: The units that names end in.
UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "bytes": "bytes", "packets": "packets", "hz": "Hz"}

_UNIT = re.compile(rf"_({'|'.join(UNITS)})$")

_LOSS = ("loss", "losses", "lost")


def _drops(whose: str) -> dict[str, Name]:
    return {
        "drops.full": Name(f"{whose} dropped because the queue was full", _LOSS),
        "drops.overlimit": Name(f"{whose} dropped because the queue was full and their band held the most"),
        "drops.aqm": Name(f"{whose} dropped by the AQM", _LOSS),
        "drops.policed": Name(f"{whose} refused in front of the queue"),
        "drops.filtered": Name(f"{whose} dropped by an ACK filter"),
        "drops.wire": Name(f"{whose} lost by the medium", _LOSS),
    }


#: Of a flow, below ``flows.NAME``. Names end in their unit, which may be left out.
FLOW: Mapping[str, Name] = {
    "throughput_mbps": Name("rate of the IP packets that its receiver got", ("rate", "bandwidth", "tput", "bw")),
    "goodput_mbps": Name("rate of the data that arrived in order", ("rate",)),
    "received_bytes": Name("IP packets that its receiver got", ("bytes", "volume")),
    "active.from_s": Name("its start"),
    "active.to_s": Name("delivery of its last data", ("duration",)),
    "active.throughput_mbps": Name("throughput between the two", ("rate",)),
    "active.goodput_mbps": Name("goodput between the two"),
    "first_packet_s": Name("first packet received"),
    "last_packet_s": Name("last packet received"),
    "path_rtt_ms": Name("round-trip time of the empty path", ("base_rtt", "min_rtt")),
    "rtt_ms": Name("round-trip times of its packets", ("srtt", "delay", "latency", "ping")),
    "cwnd_bytes": Name("congestion window", ("window", "congestion_window", "snd_cwnd")),
    "sent": Name("data segments sent, retransmissions included", ("packets_sent", "segments")),
    "delivered_bytes": Name("data acknowledged"),
    "retransmits": Name("segments sent again", ("retransmissions", "retrans", "rexmits", *_LOSS)),
    "loss_episodes": Name("episodes of loss recovery", ("reductions",)),
    "rtos": Name("retransmission timeouts", ("timeouts",)),
    "spurious_rtos": Name("timeouts found to be needless"),
    "tlps": Name("tail loss probes"),
    "undos": Name("reductions of cwnd taken back"),
    "ecn_reductions": Name("echoes of CE that it answered"),
    "skips": Name("segments left out to expose optimistic ACKs"),
    "exposed": Name("connections reset because such a segment was acknowledged"),
    "nonce_fail": Name("ACKs with a wrong sum of ECN nonces"),
    **_drops("its packets"),
    **{f"ack_{key}": Name(name.meaning) for key, name in _drops("its ACKs").items()},
    "corrupted": Name("packets that arrived damaged and were discarded"),
    "limited.cwnd": Name("share of the time from start to last data in which cwnd limited it"),
    "limited.application": Name("the same: the application had nothing to send"),
    "limited.receiver": Name("the same: the receive window", ("rwnd",)),
    "limited.pacing": Name("the same: pacing"),
    "limited.handshake": Name("the same: the connection was not established"),
    "limited.host": Name("the same: the queue of its own host (TCP small queues)"),
    "limited.send_buffer": Name("the same: the send buffer was full"),
    "ce_marks": Name("packets that arrived with CE", ("marks", "ecn", "ecn_marks", "ce")),
    "sce_marks": Name("packets that arrived with SCE", ("marks", "sce")),
    "cwnd_limited": Name("share of ACKs after which cwnd kept the sender from sending"),
    "slow_start_exit.t_s": Name("end of the first slow start"),
    "slow_start_exit.cwnd_bytes": Name("congestion window at that moment"),
    "transfers.arrived": Name("transfers that arrived"),
    "transfers.rejected": Name("connections turned away"),
    "transfers.completed": Name("transfers completed"),
    "transfers.completed_bytes": Name("data of these"),
    "transfers.time_ms": Name(
        "completion times of transfers", ("fct", "flow_completion_time", "completion_time", "completion", "plt")
    ),
    "frames.made": Name("frames of media that were made, but for missing ones at the end, which may be under way"),
    "frames.late_ratio": Name("share of these that were not there 400 ms later", ("late", "late_frames")),
    "frames.freezes": Name("times without a frame: three intervals, and 150 ms more than one", ("stalls",)),
    "frames.frozen_ratio": Name("their share of the time", ("frozen",)),
    "frames.delay_ms": Name(
        "from a frame's creation until its sender knows that it arrived, less the empty way back", ("delay", "latency")
    ),
    "frames.bitrate_mbps": Name("rate of the frames that arrived as a whole", ("rate", "bitrate")),
    "datagrams.sent": Name("datagrams sent"),
    "datagrams.received": Name("datagrams received"),
    "datagrams.lost": Name("datagrams lost", _LOSS),
    "datagrams.loss_ratio": Name("share of the datagrams lost", ("loss_rate", "plr", "packet_loss")),
    "datagrams.duplicates": Name("datagrams received twice"),
    "datagrams.one_way_ms": Name("delays of datagrams one way", ("owd", "one_way_delay", "delay", "latency")),
    "datagrams.jitter_ms": Name("mean difference of consecutive delays, RFC 3393", ("jitter", "pdv", "ipdv")),
}

#: Of a queue, below ``queue`` where there is one, else below ``queues.NAME``.
QUEUE: Mapping[str, Name] = {
    "rate_mbps": Name("capacity of its link", ("capacity", "bandwidth")),
    "throughput_mbps": Name("rate of the packets that left it", ("goodput", "tput")),
    "utilization": Name("share of the capacity that was used", ("load", "usage", "used", "use")),
    "sojourn_ms": Name(
        "times that packets waited in it",
        ("delay", "latency", "queueing_delay", "queuing_delay", "qdelay", "wait", "rtt"),
    ),
    "ce": Name("packets marked CE", ("marks", "ecn", "ecn_marks", "ce_marks")),
    "sce": Name("packets marked SCE", ("marks", "sce_marks")),
    **_drops("packets"),
    "dequeued": Name("packets that left it", ("packets", "departures")),
    "emptied": Name("times that it became empty", ("idle",)),
    "backlog_max_packets": Name("most packets in it", ("backlog", "length", "qlen", "occupancy", "queue_length")),
}

#: For roots of a path: an index over all flows.
_OVER_FLOWS = ("jain", "fairness", "jain_index", "jains_index")


def field_hint(root: str, word: str, keys: Iterable[str]) -> str:
    """What to add to a message: the name that the field's ``word`` stands for below ``root``, or the nearest key."""
    word = word.lower()
    table = QUEUE if root.startswith("queue") else FLOW
    names = [without_unit(name) for name, about in table.items() if word in about.words]
    if names:
        return f"; `{word}` is {_listed(names)} here"
    return did_you_mean(word, keys)


def root_hint(word: str, roots: Iterable[str]) -> str:
    """The same for the first word of a path."""
    if word.lower() in _OVER_FLOWS:
        return "; write `jain(flows.goodput)`"
    for root, table in (("flows", FLOW), ("queue", QUEUE)):
        for name, about in table.items():
            if word.lower() in (*about.words, name, without_unit(name)):
                return f"; write `{root}.{without_unit(name)}`"
    return did_you_mean(word, roots)


@cache
def without_unit(name: str) -> str:
    """A name without the unit that it ends in."""
    return _UNIT.sub("", name)


def unit(name: str) -> str:
    """The unit that a name ends in, as one writes it."""
    match = _UNIT.search(name)
    return UNITS[match[1]] if match else ""


def _listed(names: list[str]) -> str:
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} or {last}" if first else last
