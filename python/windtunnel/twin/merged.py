"""What the guest wrote of a run whose network is ours, as a result: ours, with what the kernel tells about its flows.

Queues, drops, marks, and what arrived are what the simulation has seen. Of a flow of the kernel it sees no window:
that, the threshold, the smoothed round-trip time and the counts of the sender are the kernel's (TCP_INFO), at the ends
of recording intervals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import nan
from typing import Any

import numpy as np

from windtunnel.errors import RunFailedError
from windtunnel.export.tc.words import bits_per_s
from windtunnel.kernel.guest import Outcome
from windtunnel.kernel.kept import Kernel
from windtunnel.result import RunResult
from windtunnel.twin.ours import Ours, members
from windtunnel.twin.readings import COUNTERS, as_result, counters_of, digest_of, sender_samples, tcp_columns
from windtunnel.twin.state import state_table
from windtunnel.twin.traffic import Floats, datagrams_summary, transfers, transfers_summary

#: A path in virtual time is late by the readings of the guest's clock, some 2 us; more is a guest that went wrong.
_LATE_US = 50.0


def result_of(ours: Ours, kernel: Kernel, outcome: Outcome) -> RunResult:
    """The result. Raises RunFailedError."""
    document = json.loads(outcome.text("summary.json"))
    late = document["lateness"]["p99_us"]
    if late is not None and late > _LATE_US:
        raise RunFailedError(f"packets left the network in the guest {late:.0f} us late")
    summary, tables = document["summary"], _tables(outcome.files["tables.npz"])
    resolved = ours.scenario.resolve()
    times = np.unique(tables["flows"]["time_s"])
    told = []
    for number, flow in enumerate(ours.flows):
        host, record = ours.plan.flows[number], summary["flows"][flow]
        record["application"] = host.application
        samples = sender_samples(outcome, number, host, times)
        _merge(tables["flows"], flow, samples)
        if not host.controller:
            record |= {"cc": host.application, "cwnd_bytes": None, "retransmits": None}
            record["datagrams"], record["rtt_ms"] = datagrams_summary(outcome, number, host)
            continue
        told.append((flow, host.controller, samples))
        if "cwnd_points" in tables:
            tables["cwnd_points"] = _with_windows(tables["cwnd_points"], tables["flows"], flow)
        counters = counters_of(outcome.text(f"counters{number}"))
        counted = {name: counters.get(key, 0) for name, key in COUNTERS.items()}
        record |= _counts(tables["flows"], flow) | counted
    if completed := transfers(outcome, ours.plan, _rates(resolved, ours.flows)):
        for number, flow in enumerate(ours.flows):
            summary["flows"][flow]["transfers"] = transfers_summary(ours.plan.flows[number], number, completed)
        tables["transfers"] = completed | {"flow": np.array(ours.flows, np.uint32)[completed["flow"]]}
    if state := state_table(told, times):
        tables["cc"] = _together(tables["cc"], state) if "cc" in tables else state
    summary |= {"digest": digest_of(outcome), "seed": int(resolved["seed"])}
    return as_result(resolved, document["toml"], summary, tables, kernel, outcome)


def _rates(scenario: Mapping[str, Any], flows: Sequence[int]) -> list[float]:
    """The least rate on the path of each flow when the run begins, in bit/s; NaN where the scenario has no path."""
    links = {link["name"]: link for link in scenario.get("link", ())}
    tables = dict(members(scenario))

    def on_path(flow: int) -> list[Mapping[str, Any]]:
        if not links:
            return [scenario["bottleneck"]]
        return [links[name] for name in tables[flow].get("path") or ()]

    constant = (
        [bits_per_s(link["rate"]) for link in on_path(flow) if isinstance(link.get("rate"), str)] for flow in flows
    )
    return [min(rates, default=nan) for rates in constant]


def _tables(content: bytes) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    with np.load(BytesIO(content), allow_pickle=False) as columns:
        for key in columns:
            table, _, column = key.partition("/")
            tables.setdefault(table, {})[column] = columns[key]
    return tables


def _merge(table: dict[str, Any], flow: int, samples: Mapping[str, Floats]) -> None:
    """Put what the kernel says about a flow into its rows, which are as many as the intervals."""
    rows = table["flow"] == flow
    for name, values in tcp_columns(samples).items():
        table.setdefault(name, np.full(len(rows), np.nan))[rows] = values


def _with_windows(points: dict[str, Any], table: Mapping[str, Any], flow: int) -> dict[str, Any]:
    """Single windows, in the order of time, with those of a flow at the ends of intervals."""
    rows = (table["flow"] == flow) & np.isfinite(table["cwnd_bytes"])
    count = int(rows.sum())
    own = {
        "time_s": table["time_s"][rows],
        "flow": np.full(count, flow, dtype=points["flow"].dtype),
        "bytes": table["cwnd_bytes"][rows],
        "limited": np.zeros(count, dtype=bool),
        "extreme": np.zeros(count, dtype=bool),
    }
    return _together(points, own)


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of both tables in the order of time; NaN in columns that only one of them has."""
    tables = (one, other)
    missing = [np.full(len(table["time_s"]), np.nan) for table in tables]
    names = dict.fromkeys((*one, *other))
    together = {
        name: np.concatenate([table.get(name, empty) for table, empty in zip(tables, missing, strict=True)])
        for name in names
    }
    order = np.argsort(together["time_s"], kind="stable")
    return {name: values[order] for name, values in together.items()}


def _counts(table: Mapping[str, Any], flow: int) -> dict[str, Any]:
    """What the kernel has counted for a flow in all, and its window."""
    rows = table["flow"] == flow
    cwnd = table["cwnd_bytes"][rows]
    cwnd = cwnd[np.isfinite(cwnd)]
    counts: dict[str, Any] = {name: int(table[name][rows].sum()) for name in ("sent", "retransmits", "delivered_bytes")}
    if len(cwnd):
        counts["cwnd_bytes"] = {"mean": float(cwnd.mean()), "min": float(cwnd.min()), "max": float(cwnd.max())}
    return counts
