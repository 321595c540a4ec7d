"""A run's log as QUIC stacks would have written it: the same packets in each stack's form and names.

The forms are taken from the stacks' sources: picoquic (``loglib/qlog.c``: a contained log of draft 00, events as
arrays, microseconds, numbers as strings), ngtcp2 (``lib/ngtcp2_qlog.c``: a sequence, 0.3, whole milliseconds), quiche
(its crate ``qlog``: a sequence, 0.3, with ``send_at_time``), quinn (``quinn-proto/src/connection/qlog.rs``: metrics and
losses alone, each event with its group), and the current drafts in their contained form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Event = dict[str, Any]


def _packets(events: list[Event]) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Time, event and data in the terms of version 0.3, as of a QUIC connection: frames have lengths."""
    for event in events:
        name, data = event["name"].split(":")[1], json.loads(json.dumps(event["data"]))
        if name not in ("packet_sent", "packet_received", "packet_lost", "metrics_updated"):
            continue
        data.pop("ecn", None)
        yield event["time"], name, data


def _category(name: str) -> str:
    return "transport" if name in ("packet_sent", "packet_received") else "recovery"


def picoquic(events: list[Event]) -> str:
    rows = []
    for time, name, data in _packets(events):
        us = round(time * 1000)
        if name == "metrics_updated":
            renamed = {"congestion_window": "cwnd"}
            data = {
                renamed.get(key, key): round(value * 1000) if key.endswith("rtt") else value
                for key, value in data.items()
            }
        else:
            header = data["header"]
            data["packet_type"] = header.pop("packet_type")
            header["packet_number"] = str(header["packet_number"])
            if "raw" in data:
                header["packet_size"] = data.pop("raw")["length"]
            for frame in data.get("frames", ()):
                if "stream_id" in frame:
                    frame["id"] = frame.pop("stream_id")
                frame["acked_ranges"] = [[low, (high or [low])[0]] for low, *high in frame.get("acked_ranges", [])]
        rows.append(json.dumps([us, _category(name), name, data]))
    head = (
        '{ "qlog_version": "draft-00", "title": "picoquic", "traces": [\n{ "vantage_point": { "name": "backend-67", '
        '"type": "client" },\n"title": "picoquic", "description": "01020304", "event_fields": ["relative_time", '
        '"category", "event", "data"],\n"configuration": {"time_units": "us"},\n"common_fields": { "protocol_type": '
        '"QUIC_HTTP3", "reference_time": "0"},\n"events": [\n'
    )
    return head + ",\n".join(rows) + "]}]}\n"


def _sequence(head: Mapping[str, Any], events: Iterator[Mapping[str, Any]]) -> str:
    return "".join(f"\x1e{json.dumps(record, separators=(',', ':'))}\n" for record in (head, *events))


def ngtcp2(events: list[Event]) -> str:
    common = {"protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 0, "group_id": "01020304"}
    head = {
        "qlog_format": "JSON-SEQ",
        "qlog_version": "0.3",
        "trace": {"vantage_point": {"name": "ngtcp2", "type": "client"}, "common_fields": common},
    }

    def records() -> Iterator[Mapping[str, Any]]:
        for time, name, data in _packets(events):
            if name == "metrics_updated":
                data = {key: int(value) for key, value in data.items()}
            yield {"time": int(time), "name": f"{_category(name)}:{name}", "data": data}

    return _sequence(head, records())


def quiche(events: list[Event]) -> str:
    head = {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": "quiche-client qlog",
        "description": "quiche-client qlog id=01020304",
        "trace": {
            "vantage_point": {"type": "client"},
            "title": "quiche-client qlog",
            "configuration": {"time_offset": 0.0},
        },
    }

    def records() -> Iterator[Mapping[str, Any]]:
        for time, name, data in _packets(events):
            more = {"send_at_time": time} if name == "packet_sent" else {}
            yield {"time": round(time, 6), "name": f"{_category(name)}:{name}", "data": {**data, **more}}

    return _sequence(head, records())


def quinn(events: list[Event]) -> str:
    head = {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": "quinn",
        "trace": {"vantage_point": {"type": "client"}, "configuration": {"time_offset": 0.0}},
    }

    def records() -> Iterator[Mapping[str, Any]]:
        for time, name, data in _packets(events):
            if _category(name) == "recovery":
                yield {"time": time, "name": f"recovery:{name}", "group_id": "f00d", "data": data}

    return _sequence(head, records())


def current(events: list[Event]) -> str:
    names = {"packet_lost": "packet_lost", "metrics_updated": "recovery_metrics_updated"}

    def record(time: float, name: str, data: dict[str, Any]) -> Event:
        for frame in data.get("frames", ()):
            if "length" in frame:
                frame["raw"] = {"payload_length": frame.pop("length")}
        return {"time": time, "name": f"quic:{names.get(name, name)}", "data": data}

    trace = {
        "events": [record(*packet) for packet in _packets(events)],
        "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
        "vantage_point": {"name": "last", "type": "client"},
    }
    file = {
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "traces": [trace],
    }
    return json.dumps(file, indent=1)


DIALECTS: Mapping[str, Callable[[list[Event]], str]] = {
    "picoquic": picoquic,
    "ngtcp2": ngtcp2,
    "quiche": quiche,
    "current": current,
}
