"""What the guest wrote, as a result like that of ``windtunnel run``: the same tables, columns and units.

What Linux does not tell is absent: NaN in columns, no table of points. The queue's sojourn is its backlog over the
rate, which for a FIFO is what a packet that comes now will wait. The digest covers every byte that the guest wrote
but its messages: it is equal for equal scenario, seed and kernel.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel import __version__
from windtunnel.errors import RunFailedError
from windtunnel.kernel.guest import Outcome
from windtunnel.kernel.kept import Kernel
from windtunnel.provenance import host
from windtunnel.result import RunResult
from windtunnel.twin.plan import ETHERNET, HostFlow, Plan, Span
from windtunnel.twin.script import CAPTURE
from windtunnel.twin.state import readers, state_table
from windtunnel.twin.traffic import (
    Floats,
    datagram_samples,
    datagrams_summary,
    distribution,
    rows_of,
    transfers,
    transfers_summary,
)

Document = Mapping[str, Any]

#: Files that say how the guest did it, not what happened; some have paths of this machine.
_MESSAGES = ("log", "script", "work.json", CAPTURE)
#: TCP_INFO's word for no threshold yet.
_INFINITE = 0x7FFFFFFF
#: Counters of a host, by the name in a summary.
COUNTERS = {"rtos": "TCPTimeouts", "tlps": "TCPLossProbes", "loss_episodes": "TCPSackRecovery"}

#: Drops by cause. tc has one count: a FIFO's are for a full queue, and those of an AQM nearly all its own.
_NO_DROPS = dict.fromkeys(("full", "overlimit", "aqm", "policed", "filtered", "wire"), 0)

#: Where a discipline's own statistics (``linux/pkt_sched.h``) count marked packets: the index of a word of 32 bits.
_MARK_WORDS: Mapping[str, int] = {
    "codel": 6,
    "fq_codel": 3,
    "pie": 9,
    "fq_pie": 4,
    "red": 3,
    "choke": 3,
    "sfb": 5,
    "dualpi2": 6,  # of both queues; Linux 6.17 has it first
}
#: And for CAKE, whose statistics are attributes: those of its tins, and the marks in a tin's.
_TINS, _MARKS_OF_TIN = 10, 8


def result_of(scenario: Document, text: str, seed: int, plan: Plan, kernel: Kernel, outcome: Outcome) -> RunResult:
    """The result of a run in the guest. ``text`` is the resolved scenario as TOML. Raises RunFailedError."""
    times = (np.arange(1, plan.duration // plan.interval + 1) * plan.interval) / 1e9
    flows = [_flow_samples(outcome, n, flow, times) for n, flow in enumerate(plan.flows)]
    queue = samples_of(outcome.text("queue.csv"), times, {"marks": lambda digits: float(_marks(plan.kind, digits))})
    whole = _span_summary(plan, Span("", 0, plan.duration), flows, queue)
    completed = transfers(outcome, plan, [plan.rate] * len(plan.flows))
    for n, flow in enumerate(whole["flows"]):
        lost = _lost(outcome, n)
        flow |= {"drops": _NO_DROPS | {_cause(plan): lost[0], "wire": lost[1]}, "ack_drops": _NO_DROPS, "corrupted": 0}
        flow["transfers"] = transfers_summary(plan.flows[n], n, completed)
        if plan.flows[n].controller:
            counters = counters_of(outcome.text(f"counters{n}"))
            flow["rtt_ms"]["min"] = float(flows[n]["min_rtt_us"][-1]) / 1e3
            flow |= {name: counters.get(counter, 0) for name, counter in COUNTERS.items()}
        else:
            flow["datagrams"], flow["rtt_ms"] = datagrams_summary(outcome, n, plan.flows[n])
    summary = {
        "duration_s": plan.duration / 1e9,
        "stalled": None,
        "digest": digest_of(outcome),
        "packets": int(queue["packets"][-1]),
        "events": 0,
        "seed": seed,
        **whole,
        "impairments": [],
        "windows": [
            {
                "name": span.name,
                "from_s": span.begin / 1e9,
                "to_s": span.end / 1e9,
                **_span_summary(plan, span, flows, queue),
            }
            for span in plan.windows
        ],
        "changes": [],
    }
    tables = {"flows": _flows_table(plan, flows, times), "queues": _queues_table(plan, queue, times)}
    if state := state_table([(n, flow.controller, flows[n]) for n, flow in enumerate(plan.flows)], times):
        tables["cc"] = state
    if completed:
        tables["transfers"] = completed
    return as_result(scenario, text, summary, tables, kernel, outcome)


def as_result(
    scenario: Document, text: str, summary: dict[str, Any], tables: dict[str, Any], kernel: Kernel, outcome: Outcome
) -> RunResult:
    """A result of a run in the guest: its summary and its tables, with what is known about the run."""
    meta = {
        "title": scenario.get("title") or "",
        "scenario": scenario,
        "scenario_toml": text,
        "version": f"{__version__} with Linux {kernel.name}",
        "foreign": [f"Linux {kernel.name}"],
        "unseeded": [],
        **{name: summary[name] for name in ("seed", "digest", "duration_s", "packets", "events")},
        "cpu_seconds": outcome.seconds,
        "packets_per_second": summary["packets"] / outcome.seconds,
        "host": host(),
    }
    return RunResult(summary, tables, meta)


def digest_of(outcome: Outcome) -> str:
    """16 hex digits over every byte that the guest wrote but its messages."""
    hasher = hashlib.blake2b(digest_size=8)
    for name in sorted(outcome.files.keys() - set(_MESSAGES)):
        content = outcome.files[name]
        hasher.update(f"{name} {len(content)}\n".encode() + content)
    return hasher.hexdigest()


def samples_of(
    text: str, times: Floats, own: Mapping[str, Callable[[str], float]] = MappingProxyType({})
) -> dict[str, Floats]:
    """The columns of a file at the ends of the intervals; before the first line all is 0, after the last as it was.

    The digits of the column ``own`` are what a discipline or a controller tells about itself; ``own`` has what reads
    columns from them.
    """
    rows = rows_of(text)
    if not rows:
        raise RunFailedError("the guest wrote no samples")
    at = np.array([int(row["time_ns"]) for row in rows]) / 1e9
    # The line of an interval's end is written at that time, or as soon after it as its flow began.
    index = np.searchsorted(at, times + 1e-9, side="right") - 1
    columns = {}
    read = {name: ("own", reader) for name, reader in own.items()}
    for name, (key, reader) in ({name: (name, float) for name in rows[0] if name != "own"} | read).items():
        values = np.array([reader(row[key]) for row in rows])
        columns[name] = np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
    columns["there"] = (index >= 0).astype(float)
    return columns


def _flow_samples(outcome: Outcome, number: int, flow: HostFlow, times: Floats) -> dict[str, Floats]:
    """What a sender told, with what has arrived at its receiver: the bytes of IP packets, and packets with CE."""
    arrived = samples_of(outcome.text(f"arrived{number}.csv"), times)
    received = arrived["bytes"] - ETHERNET * arrived["packets"]
    return {**sender_samples(outcome, number, flow, times), "received": received, "ce": arrived["ce"]}


def sender_samples(outcome: Outcome, number: int, flow: HostFlow, times: Floats) -> dict[str, Floats]:
    """What a sender told at the ends of the intervals."""
    if not flow.controller:
        return datagram_samples(outcome, number, flow, times)
    return samples_of(outcome.text(f"flow{number}.csv"), times, readers(flow.controller))


def _marks(kind: str, digits: str) -> int:
    """The packets that a discipline has marked so far, by its own count."""
    data = bytes.fromhex(digits)
    if kind == "cake":
        return _cake_marks(data)
    at = _MARK_WORDS.get(kind)
    return struct.unpack_from("=I", data, 4 * at)[0] if at is not None and len(data) >= 4 * at + 4 else 0


def _cake_marks(data: bytes) -> int:
    """The marks of all tins together."""
    tins = [dict(_attributes(tin)) for _, tin in _attributes(dict(_attributes(data)).get(_TINS, b""))]
    return sum(struct.unpack("=I", tin.get(_MARKS_OF_TIN, bytes(4)))[0] for tin in tins)


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """The attributes of netlink in some bytes: type and content."""
    attributes, at = [], 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        attributes.append((kind & 0x3FFF, data[at + 4 : at + length]))
        at += (length + 3) & ~3
    return attributes


def _lost(outcome: Outcome, flow: int) -> tuple[int, int]:
    """The packets of a flow that were lost in the queue, and on the path behind it."""
    left = _device(outcome.text("left"), f"s{flow}", received=True)
    arrived = _device(outcome.text("arrived"), f"r{flow}", received=False)
    path = re.search(rf"dev r{flow} root .*\n.* \(dropped (\d+)", outcome.text("path"))
    behind = int(path[1]) if path else 0
    return left - arrived - behind, behind


def _device(text: str, name: str, *, received: bool) -> int:
    """The packets that a device has received or sent, as /proc/net/dev has them: eight words of each."""
    [words] = [line.split(":")[1].split() for line in text.splitlines() if line.strip().startswith(f"{name}:")]
    return int(words[1 if received else 9])


def counters_of(text: str) -> dict[str, int]:
    """A host's counters, as /proc/net/netstat and /proc/net/snmp have them: a line of names, a line of values."""
    lines = text.splitlines()
    counters: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        counters.update(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
    return counters


def _steps(values: Floats) -> Floats:
    """What was added in each interval."""
    return np.diff(values, prepend=0.0)


def _known(there: Floats, values: Floats) -> Floats:
    return np.where((there > 0) & (values > 0), values, np.nan)


def _flows_table(plan: Plan, flows: list[dict[str, Floats]], times: Floats) -> dict[str, npt.NDArray[Any]]:
    """A row for each flow in each interval, ordered by time."""
    interval = plan.interval / 1e9

    def column(of: Callable[[HostFlow, dict[str, Floats]], Floats]) -> Floats:
        return np.stack([of(*each) for each in zip(plan.flows, flows, strict=True)], axis=1).reshape(-1)

    told = [tcp_columns(samples) for samples in flows]
    tcp = {name: np.stack([each[name] for each in told], axis=1).reshape(-1) for name in told[0]}
    table: dict[str, npt.NDArray[Any]] = {
        "time_s": np.repeat(times, len(flows)),
        "flow": np.tile(np.arange(len(flows), dtype=np.uint32), len(times)),
        "throughput_mbps": column(lambda _, s: _steps(s["received"]) * 8e-6 / interval),
        "goodput_mbps": column(lambda _, s: _steps(s["bytes_acked"]) * 8e-6 / interval),
        "cwnd_limited": np.full(len(tcp["cwnd_bytes"]), np.nan),
        "rtt_mean_ms": tcp["srtt_ms"],
        "rtt_min_ms": column(lambda _, s: _known(s["there"], s["min_rtt_us"]) / 1e3),
        "ce": column(lambda _, s: _steps(s["ce"])),
        "sce": column(lambda _, s: 0.0 * s["there"]),
        **tcp,
    }
    return table | {name: table[name].astype(np.uint64) for name in _COUNTS}


#: Columns that are whole numbers.
_COUNTS = ("ce", "sce", "sent", "retransmits", "delivered_bytes")


def tcp_columns(s: Mapping[str, Floats]) -> dict[str, Floats]:
    """What TCP_INFO says about a flow in each interval, as columns of the table ``flows``."""
    there = s["there"]
    return {
        "cwnd_bytes": np.where(there > 0, s["cwnd"] * s["mss"], np.nan),
        "ssthresh_bytes": np.where((there > 0) & (s["ssthresh"] < _INFINITE), s["ssthresh"] * s["mss"], np.nan),
        "srtt_ms": _known(there, s["srtt_us"]) / 1e3,
        "rttvar_ms": _known(there, s["rttvar_us"]) / 1e3,
        "in_flight_bytes": s["unacked"] * s["mss"],
        "lost_bytes": s["lost"] * s["mss"],
        "pacing_rate_mbps": _known(there, s["pacing_rate"]) * 8e-6,
        "sent": np.round(_steps(s["bytes_sent"]) / np.maximum(s["mss"], 1.0)),
        "retransmits": _steps(s["retransmitted"]),
        "delivered_bytes": _steps(s["bytes_acked"]),
    }


def _queues_table(plan: Plan, queue: dict[str, Floats], times: Floats) -> dict[str, npt.NDArray[Any]]:
    throughput = _steps(queue["bytes"]) * 8e-6 / (plan.interval / 1e9)
    whole = {
        "backlog_packets": queue["qlen"],
        "dequeued": _steps(queue["packets"]),
        "emptied": (queue["qlen"] == 0).astype(float),
        "sce": 0.0 * times,
        "ce": _steps(queue["marks"]),
        "drops": _steps(queue["drops"]),
    }
    return {
        "time_s": times,
        "queue": np.zeros(len(times), dtype=np.uint32),
        "throughput_mbps": throughput,
        "utilization": throughput * 1e6 / plan.rate,
        "sojourn_mean_ms": queue["backlog"] * 8e3 / plan.rate,
        **{name: values.astype(np.uint64) for name, values in whole.items()},
    }


def _span_summary(plan: Plan, span: Span, flows: list[dict[str, Floats]], queue: dict[str, Floats]) -> dict[str, Any]:
    """The flows and the queue in a span, by what the guest tells at each interval."""
    both = zip(plan.flows, flows, strict=True)
    return {
        "flows": [_flow_summary(flow, _Part(plan, span, samples)) for flow, samples in both],
        "queues": [_queue_summary(plan, _Part(plan, span, queue))],
    }


class _Part:
    """Samples in a span."""

    def __init__(self, plan: Plan, span: Span, samples: Mapping[str, Floats]) -> None:
        self.begin, self.end = span.begin / 1e9, span.end / 1e9
        self.seconds = self.end - self.begin
        self._first, self._last = span.begin // plan.interval, span.end // plan.interval
        self._samples = samples

    def rows(self, name: str) -> Floats:
        """A column's values."""
        return self._samples[name][self._first : self._last]

    def grown(self, name: str) -> float:
        """By how much a count has grown; before the first interval all are 0."""
        column = self._samples[name]
        return float(column[self._last - 1]) - (float(column[self._first - 1]) if self._first else 0.0)


def _flow_summary(flow: HostFlow, part: _Part) -> dict[str, Any]:
    acked = part.grown("bytes_acked")
    goodput, throughput = (each * 8e-6 / part.seconds for each in (acked, part.grown("received")))
    start, stop = max(flow.start / 1e9, part.begin), min(flow.stop / 1e9, part.end)
    active = part.seconds / (stop - start) if start < stop else 1.0
    there = part.rows("there") > 0
    cwnd, srtt = (part.rows("cwnd") * part.rows("mss"))[there], part.rows("srtt_us")[there] / 1e3
    mss = max(float(part.rows("mss")[-1]), 1.0)
    tcp = {
        "cwnd_bytes": {"mean": float(cwnd.mean()), "min": float(cwnd.min()), "max": float(cwnd.max())}
        if len(cwnd)
        else None,
        "rtt_ms": distribution(srtt[srtt > 0]),
        "delivered_bytes": int(acked),
        "retransmits": int(part.grown("retransmitted")),
    }
    return {
        "name": flow.name,
        "cc": flow.controller or flow.application,
        "application": flow.application,
        "path_rtt_ms": flow.rtt / 1e6,
        "throughput_mbps": throughput,
        "goodput_mbps": goodput,
        "active": {
            "from_s": start,
            "to_s": stop,
            "throughput_mbps": throughput * active,
            "goodput_mbps": goodput * active,
        },
        **(tcp if flow.controller else dict.fromkeys(tcp)),
        "sent": round(part.grown("bytes_sent") / mss),
        "ce_marks": int(part.grown("ce")),
        "sce_marks": 0,
    }


def _cause(plan: Plan) -> str:
    """What most drops of the queue are for."""
    return "full" if plan.kind == "fifo" else "aqm"


def _queue_summary(plan: Plan, part: _Part) -> dict[str, Any]:
    throughput = part.grown("bytes") * 8e-6 / part.seconds
    return {
        "name": "bottleneck",
        "rate_mbps": plan.rate / 1e6,
        "throughput_mbps": throughput,
        "utilization": throughput * 1e6 / plan.rate,
        "sojourn_ms": distribution(part.rows("backlog") * 8e3 / plan.rate),
        "sce": 0,
        "ce": int(part.grown("marks")),
        "drops": _NO_DROPS | {_cause(plan): int(part.grown("drops"))},
        "dequeued": int(part.grown("packets")),
        "emptied": int((part.rows("qlen") == 0).sum()),
        "backlog_max_packets": int(part.rows("qlen").max()),
        "bands": [],
    }
