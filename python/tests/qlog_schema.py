"""The members of qlog's events that a log may have, with their types: a transcript of the CDDL in
draft-ietf-quic-qlog-main-schema and -quic-events (editor's copies f8dfcfc), and of version 0.3's tables
(draft-ietf-quic-qlog-main-schema-02, -quic-events-01), as far as they are used here.

A schema is a dictionary of members, those whose names end in ``?`` being optional; a list of one schema is an array of
it, a tuple one of several values, a type a value of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Uint(int):
    """A whole number that is not negative."""


NUMBER = float
HEADER = {"packet_type": ("initial", "1RTT", "unknown"), "packet_number?": Uint}
ACK = {"frame_type": ("ack",), "acked_ranges?": [[Uint]], "ce?": Uint}
MAX_DATA = {"frame_type": ("max_data",), "maximum": Uint}
STREAM = {"frame_type": ("stream",), "stream_id": Uint, "offset?": Uint, "fin?": bool}
STREAM_03 = {"frame_type": ("stream",), "stream_id": Uint, "offset": Uint, "length": Uint, "fin?": bool}
RAW = {"length?": Uint, "payload_length?": Uint}
SENT_TRIGGER = ("retransmit_reordered", "retransmit_timeout", "pto_probe", "retransmit_crypto", "cc_bandwidth_probe")
LOST_TRIGGER = ("reordering_threshold", "time_threshold", "pto_expired")
METRICS = {
    **dict.fromkeys(("min_rtt?", "smoothed_rtt?", "latest_rtt?", "rtt_variance?"), NUMBER),
    **dict.fromkeys(("pto_count?", "congestion_window?", "bytes_in_flight?", "ssthresh?"), Uint),
    **dict.fromkeys(("packets_in_flight?", "pacing_rate?"), Uint),
}
STATE = {"old?": str, "new": str, "trigger?": str}
#: With members of our own, which the extension sockets of the events allow.
ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
ECN_STATE = {"new": ("unknown", "testing", "failed", "capable"), "code_point": ("ECT(0)", "ECT(1)")}
DATAGRAMS = {"count?": Uint, "raw?": [RAW], "ecn?": [ECN]}
TUPLE = {"ip_v4?": str, "port_v4?": Uint}
PARAMETERS = {
    "reordering_threshold?": Uint,
    "timer_granularity": Uint,
    "max_datagram_size?": Uint,
    "initial_congestion_window?": Uint,
}
OF_QUEUE = {"header?": HEADER, "raw?": RAW, "to": ("client", "server"), "queue?": str}


def _packets(stream: Any) -> dict[str, Any]:
    return {"header": HEADER, "raw?": RAW, "frames?": [(ACK, MAX_DATA, stream)]}


EVENTS: dict[str, dict[str, Any]] = {
    "0.4": {
        "quic:connection_started": {"local": TUPLE, "remote": TUPLE},
        "quic:recovery_parameters_set": PARAMETERS,
        "quic:packet_sent": {**_packets(STREAM), "trigger?": SENT_TRIGGER, "ecn?": ECN},
        "quic:packet_received": _packets(STREAM),
        "quic:udp_datagrams_sent": DATAGRAMS,
        "quic:udp_datagrams_received": DATAGRAMS,
        "quic:packet_lost": {"header?": HEADER, "trigger?": LOST_TRIGGER},
        "quic:recovery_metrics_updated": METRICS,
        "quic:congestion_state_updated": STATE,
        "quic:ecn_state_updated": ECN_STATE,
        "windtunnel:queue_updated": {**OF_QUEUE, "sojourn": NUMBER},
        "windtunnel:packet_marked": {**OF_QUEUE, "old": str, "new": str},
        "windtunnel:packet_dropped": {**OF_QUEUE, "trigger": str},
    }
}
EVENTS["0.3"] = {
    "connectivity:connection_started": {
        "ip_version?": ("ipv4", "ipv6"),
        "src_ip": str,
        "dst_ip": str,
        "src_port?": Uint,
        "dst_port?": Uint,
    },
    "recovery:parameters_set": {**PARAMETERS, "timer_granularity?": Uint},
    "transport:packet_sent": {**_packets(STREAM_03), "trigger?": SENT_TRIGGER, "ecn?": ECN},
    "transport:packet_received": _packets(STREAM_03),
    "recovery:packet_lost": {"header?": HEADER, "trigger?": LOST_TRIGGER},
    "recovery:metrics_updated": METRICS,
    "recovery:congestion_state_updated": STATE,
    "recovery:ecn_state_updated": ECN_STATE,
    **{name: schema for name, schema in EVENTS["0.4"].items() if name.startswith("windtunnel:")},
}

_VANTAGE = {"name?": str, "type": ("client", "server", "network", "unknown"), "flow?": ("client", "server", "unknown")}
HEADS: dict[str, dict[str, Any]] = {
    "0.4": {
        "file_schema": ("urn:ietf:params:qlog:file:sequential",),
        "serialization_format": ("application/qlog+json-seq",),
        "title?": str,
        "trace": {
            "title?": str,
            "common_fields?": {
                "group_id?": str,
                "time_format?": ("relative_to_epoch", "relative_to_previous_event"),
                "reference_time?": {"clock_type": ("system", "monotonic"), "epoch": str},
                "protocol_types?": [str],
            },
            "vantage_point?": _VANTAGE,
            "event_schemas": [str],
        },
    },
    "0.3": {
        "qlog_version": ("0.3",),
        "qlog_format": ("JSON-SEQ",),
        "title?": str,
        "trace": {
            "title?": str,
            "common_fields?": {
                "group_id?": str,
                "time_format?": ("absolute", "delta", "relative"),
                "reference_time?": NUMBER,
                "protocol_type?": [str],
            },
            "vantage_point": _VANTAGE,
        },
    },
}


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON text sequence (RFC 7464): each after a separator, ended by a line feed."""
    for record in path.read_bytes().split(b"\x1e")[1:]:
        assert record.endswith(b"\n") and record.count(b"\n") == 1
        yield json.loads(record)


def checked(path: Path, version: str = "0.4") -> list[dict[str, Any]]:
    """The events of a log; each keeps to its schema."""
    head, *events = records(path)
    assert not _wrong(head, HEADS[version], "head")
    for event in events:
        schema = {"time": NUMBER, "name": tuple(EVENTS[version]), "data": EVENTS[version][event["name"]]}
        assert not (wrong := _wrong(event, schema, "event")), (wrong, event)
    return events


def _wrong(value: Any, schema: Any, where: str) -> str | None:
    """What is against the schema; None if nothing is."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return f"{where} is no object"
        parts = {key.rstrip("?"): part for key, part in schema.items()}
        for key in schema:
            if not key.endswith("?") and key not in value:
                return f"{where} lacks {key}"
        for key, part in value.items():
            if key not in parts:
                return f"{where} has {key}"
            if wrong := _wrong(part, parts[key], f"{where}.{key}"):
                return wrong
        return None
    if isinstance(schema, list):
        if not isinstance(value, list):
            return f"{where} is no array"
        return next(filter(None, (_wrong(part, schema[0], where) for part in value)), None)
    if isinstance(schema, tuple):
        if any(value == each if isinstance(each, str) else not _wrong(value, each, where) for each in schema):
            return None
        return f"{where} is {value!r}"
    fits = {
        Uint: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
        NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
        str: isinstance(value, str),
        bool: isinstance(value, bool),
    }[schema]
    return None if fits else f"{where} is {value!r}"
