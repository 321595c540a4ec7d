"""Flent: a data file (format version 4) for Flent's plots and formatters.

Where all flows go one way it is a file of a ``tcp_nup`` test, in which each is an upload; else of a ``rrul_var`` test,
with uploads and downloads (``directions.py``).

Flent's tests start their flows five seconds after the first sample and go on for five seconds after the last flow. The
run's second 0 is therefore second 5 of the test, so that Flent's box plots cut off the right parts. Datagrams are not
flows to Flent. Its ping, which the plots need, holds the mean round trip of the scenario's probes; without probes, that
of the flows' own segments. The key ``SIMULATION`` holds what only a simulation knows, and flow names.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.errors import InputError
from windtunnel.escape import file_name
from windtunnel.export.connections import EPOCH
from windtunnel.export.directions import downloads
from windtunnel.export.samples import Array, Samples, samples
from windtunnel.result import RunResult

#: How the names of data files end.
FLENT_SUFFIX = ".flent.gz"
_NAME_LENGTH = 250
_STEP = 0.2
_DELAY = 5.0
#: Values are interpolated between samples that are at most this many steps apart.
_GAP = 5
#: Socket samples that Flent reads from ss: its name and our column. ``tcp_cwnd`` (in segments) and
#: ``tcp_delivery_rate`` are added separately.
_SOCKET = {"tcp_rtt": "srtt_ms", "tcp_rtt_var": "rttvar_ms", "tcp_pacing_rate": "pacing_rate_mbps"}


def write_flent(result: RunResult, path: Path) -> None:
    """Write ``result`` as a Flent data file."""
    document = json.dumps(_document(result), allow_nan=False)
    # The gzip header has neither time nor name, so that equal runs give equal files.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(document.encode("utf-8"))


def _document(result: RunResult) -> dict[str, Any]:
    sampled = samples(result)
    tcp = [flow for flow in sampled if not flow.connection.udp]
    if not tcp:
        raise InputError("the result has no TCP connection to export")
    flows = [_resampled(flow.between(*_life(result.flows[flow.connection.index]))) for flow in tcp]
    length = float(result.summary["duration_s"])
    steps = np.arange(0.0, length + 2 * _DELAY + _STEP / 2, _STEP)
    are_downloads = downloads(result)
    test = _BOTH if any(are_downloads[flow.connection.index] for flow in tcp) else _UPLOADS
    transfers = _named(flows, are_downloads)

    results: dict[str, Array] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    for series, flow in transfers.items():
        results[series] = _at(steps, flow.time, flow["goodput_mbps"])
        raw[series] = _throughput(flow)
        for key, values in _socket_columns(flow).items():
            results[f"{series}::{key}"] = _at(steps, flow.time, values)
        raw[series] += _socket_samples(flow)
    for group in dict.fromkeys(series.partition("::")[0] for series in transfers):
        members = [results[series] for series in transfers if series.startswith(f"{group}::")]
        results |= _computed(group, np.array(members))
    probes = [flow for flow in sampled if flow.connection.application == "probe"]
    ping = _resampled(_round_trips(probes or tcp))
    for name in (test.ping, *test.copies):
        results[name] = _at(steps, ping.time, ping["rtt_mean_ms"])
    raw[test.ping] = [
        {"t": _absolute(t), "val": value, "seq": seq}
        for seq, (t, value) in enumerate(zip(ping.time.tolist(), ping["rtt_mean_ms"].tolist(), strict=True))
        if np.isfinite(value)
    ]
    return {
        "version": 4,
        "x_values": steps.round(6).tolist(),
        "results": {series: _nulls(values) for series, values in results.items()},
        "raw_values": raw,
        "metadata": _metadata(test, result, length, results, transfers, "probes" if probes else "the flows' segments"),
    }


@dataclass(frozen=True)
class _Test:
    """A test of Flent: its name, the parameter that counts its streams, and the series of its ping."""

    name: str
    parameter: str
    ping: str
    #: What Flent computes from all pings; here there is one.
    copies: tuple[str, ...] = ()


_UPLOADS = _Test("tcp_nup", "upload_streams", "Ping (ms) ICMP")
_BOTH = _Test("rrul_var", "bidir_streams", "Ping (ms)::ICMP", ("Ping (ms) avg",))


def _named(flows: Sequence[Samples], are_downloads: Sequence[bool]) -> dict[str, Samples]:
    """The flows by the names of their series, counted in each direction."""
    numbers = {"upload": count(1), "download": count(1)}
    kinds = ["download" if are_downloads[flow.connection.index] else "upload" for flow in flows]
    return {f"TCP {kind}::{next(numbers[kind])}": flow for kind, flow in zip(kinds, flows, strict=True)}


def _resampled(flow: Samples) -> Samples:
    """The flow in steps of a test: rates are means over a step, other values are at its end. Longer intervals stay."""
    if len(flow.time) < 2 or flow.time[1] - flow.time[0] >= _STEP:
        return flow
    # An interval whose end is the end of a step belongs to that step.
    bins = np.ceil(np.round(flow.time / _STEP, 6)).astype(np.int64) - 1
    last = np.flatnonzero(np.diff(bins, append=bins[-1] + 1))
    means = {"goodput_mbps", "throughput_mbps", "rtt_mean_ms"}
    columns = {
        name: _bin_means(values, bins) if name in means else values[last] for name, values in flow.columns.items()
    }
    return Samples(flow.connection, flow.time[last], columns)


def _bin_means(values: Array, bins: Any) -> Array:
    finite = np.isfinite(values)
    sums = np.bincount(bins, np.where(finite, values, 0.0))
    counts = np.bincount(bins, finite)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = (sums / counts)[np.unique(bins)]
    return means


def _at(steps: Array, time: Array, values: Array) -> Array:
    """Values at the steps, linear between samples; NaN before the first, after the last and in long gaps."""
    if not len(time):
        return np.full(len(steps), np.nan)
    time = time + _DELAY
    # Times are sums of intervals: a step that is a rounding error after a sample is at that sample.
    at = np.interp(steps.round(6), time.round(6), values, left=np.nan, right=np.nan)
    after = np.searchsorted(time.round(6), steps.round(6)).clip(1, len(time) - 1)
    if len(time) > 1:
        at[(time[after] - time[after - 1]) > _GAP * _STEP + 1e-9] = np.nan
    return at


def _throughput(flow: Samples) -> list[dict[str, float]]:
    interval = float(np.diff(flow.time).min(initial=np.inf))
    dur = interval if np.isfinite(interval) else _STEP
    rows = zip(flow.time.tolist(), flow["goodput_mbps"].tolist(), strict=True)
    return [{"t": _absolute(t), "val": value, "dur": round(dur, 6)} for t, value in rows if np.isfinite(value)]


def _socket_columns(flow: Samples) -> dict[str, Array]:
    if not flow.connection.is_socket:
        return {}
    columns = {key: flow.get(name) for key, name in _SOCKET.items()}
    return {
        "tcp_cwnd": flow["cwnd_bytes"] / flow.connection.mss,
        "tcp_delivery_rate": flow.delivery_rate,
        **{key: column for key, column in columns.items() if column is not None},
    }


def _socket_samples(flow: Samples) -> list[dict[str, float]]:
    columns = {key: values.tolist() for key, values in _socket_columns(flow).items()}
    records = []
    for row, t in enumerate(flow.time.tolist()):
        sample = {key: values[row] for key, values in columns.items() if np.isfinite(values[row])}
        if "tcp_rtt" in sample:
            records.append({"t": _absolute(t), **sample})
    return records


def _computed(group: str, flows: Array) -> dict[str, Array]:
    """What Flent computes from all uploads or downloads with a value, step by step: sum, mean, Jain's index."""
    counts = np.isfinite(flows).sum(axis=0)
    total = np.where(counts > 0, np.nansum(flows, axis=0), np.nan)
    squares = np.nansum(flows**2, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            f"{group} sum": total,
            f"{group} avg": total / counts,
            f"{group} fairness": np.where(squares > 0, total**2 / (counts * squares), np.nan),
        }


def _round_trips(flows: Sequence[Samples]) -> Samples:
    """The mean over all flows with a round trip, interval by interval."""
    rows = np.array([flow["rtt_mean_ms"] for flow in flows])
    counts = np.isfinite(rows).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(rows, axis=0) / counts
    return Samples(flows[0].connection, flows[0].time, {"rtt_mean_ms": mean})


def _metadata(
    test: _Test,
    result: RunResult,
    length: float,
    results: Mapping[str, Array],
    transfers: Mapping[str, Samples],
    pings: str,
) -> dict[str, Any]:
    start = datetime.fromtimestamp(EPOCH, UTC)
    stamp = start.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    hosts = [flow.connection.peer.rpartition(":")[0] for flow in transfers.values()]
    names = {series: flow.connection.name for series, flow in transfers.items()}
    means: dict[str, float | None] = {}
    for series, flow in transfers.items():
        about = result.flows[flow.connection.index]
        begin, end = _life(about)
        means[series] = about["goodput_mbps"] * length / (end - begin) if end > begin else None
    return {
        "NAME": test.name,
        "TITLE": result.title,
        "NOTE": f"windtunnel, seed {result.summary['seed']}, digest {result.digest}",
        "TIME": stamp,
        "T0": stamp,
        "LENGTH": length,
        "TOTAL_LENGTH": length + 2 * _DELAY,
        "STEP_SIZE": _STEP,
        "HOST": hosts[0],
        "HOSTS": list(dict.fromkeys(hosts)),
        "LOCAL_HOST": "windtunnel",
        "FLENT_VERSION": "2.3.0",
        "IP_VERSION": 4,
        "DATA_FILENAME": _file_name(test.name, stamp, result.title),
        "TEST_PARAMETERS": {test.parameter: str(_streams(transfers))},
        **dict.fromkeys(("BATCH_NAME", "BATCH_TIME", "BATCH_TITLE", "BATCH_UUID")),
        "FAILED_RUNNERS": 0,
        "SERIES_META": {
            series: _series_meta(index, series, values, means) for index, (series, values) in enumerate(results.items())
        },
        "SIMULATION": {
            "generator": f"windtunnel {result.meta.get('version', '')}".strip(),
            "digest": result.digest,
            "flows": names,
            "begin": (start + timedelta(seconds=_DELAY)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "ping": f"mean round trip of {pings}",
            "scenario": result.meta.get("scenario"),
        },
    }


def _streams(transfers: Mapping[str, Samples]) -> int:
    """The flows of the direction that has more."""
    return max(Counter(series.partition("::")[0] for series in transfers).values())


def _file_name(test: str, stamp: str, title: str) -> str:
    """The name that Flent gives its files."""
    safe = file_name(title)
    name = f"{test}-{stamp.replace(':', '')}" + (f".{safe}" if safe else "")
    return name[: _NAME_LENGTH - len(FLENT_SUFFIX)] + FLENT_SUFFIX


def _life(flow: Mapping[str, Any]) -> tuple[float, float]:
    """When the first and the last packet of a flow arrived, in seconds; both 0 if none did."""
    return float(flow.get("first_packet_s") or 0.0), float(flow.get("last_packet_s") or 0.0)


def _series_meta(index: int, series: str, values: Array, means: Mapping[str, float | None]) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    units = {"tcp_cwnd": "segments", "tcp_rtt": "ms", "tcp_rtt_var": "ms", "fairness": "Idx"}
    ends = [unit for end, unit in units.items() if series.endswith(end)]
    mean = means.get(series, float(finite.mean()) if len(finite) else None)
    return {
        "UNITS": ends[0] if ends else "ms" if series.startswith("Ping") else "Mbits/s",
        "MEAN_VALUE": mean,
        "MIN_VALUE": float(finite.min()) if len(finite) else None,
        "MAX_VALUE": float(finite.max()) if len(finite) else None,
        "RUNNER": "windtunnel",
        "COMMAND": "",
        "IDX": index,
    }


def _absolute(time: float) -> float:
    return EPOCH + _DELAY + time


def _nulls(values: Array) -> Sequence[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
