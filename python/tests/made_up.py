"""Made-up results for tests of pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Result:
    """The parts of a run's result that a report needs."""

    summary: dict[str, Any]
    tables: dict[str, dict[str, np.ndarray]]
    meta: dict[str, Any] = field(default_factory=dict)


def sawtooth(t: np.ndarray, period: float, low: float, high: float) -> np.ndarray:
    return low + (high - low) * (t / period % 1)


def synthetic(points: int = 4000, *, duration: float = 60.0, names: tuple[str, ...] = ("reno", "reno-mds")) -> Result:
    """A run of two flows with ``points`` single events in all, most of them dequeues."""
    rng = np.random.default_rng(1)
    each = points // 10
    t = np.linspace(0.01, duration, each)
    cwnd = [sawtooth(t, 7, 250e3, 500e3), 260e3 + 20e3 * np.sin(t)]
    rate = [60 + 5 * np.sin(t), 35 - 5 * np.sin(t)]
    n = points - 5 * each - 2 * (each // 2)
    ts = np.sort(rng.uniform(0, duration, n))
    ms = np.abs(sawtooth(ts, 7, 0.0, 5) + rng.normal(0, 0.3, n))
    tm = np.sort(rng.uniform(0.5, duration, each // 2 * 2))
    kind = np.where(rng.random(len(tm)) < 1 / 64, 1, 0)
    kind[len(tm) // 2] = 2
    two = np.repeat([0, 1], each)
    tables = {
        "throughput_points": {
            "time_s": np.tile(t, 3),
            "flow": np.repeat([-1, 0, 1], each),
            "mbps": np.concatenate([rate[0] + rate[1], *rate]),
        },
        "cwnd_points": {
            "time_s": np.tile(t, 2),
            "flow": two,
            "bytes": np.concatenate(cwnd),
            "limited": np.concatenate([t < 0, t % 9 < 4]),
        },
        "sojourn_points": {"time_s": ts, "queue": np.zeros(n, int), "ms": ms, "empty": ms < 0.2},
        "mark_points": {
            "time_s": tm,
            "queue": np.zeros(len(tm), int),
            "flow": rng.integers(0, 2, len(tm)),
            "kind": kind,
            "hz": np.exp(rng.normal(np.where(kind == 0, 7, 2.5), 0.8)),
        },
    }
    flows = [
        {
            "name": name,
            "cc": "reno",
            "path_rtt_ms": 20.0,
            "throughput_mbps": float(rate[i].mean()),
            "goodput_mbps": 0.965 * float(rate[i].mean()),
            "cwnd_bytes": {"mean": float(cwnd[i].mean()), "min": 14480, "max": int(cwnd[i].max())},
            "rtt_ms": {
                "min": 20.1,
                "mean": 22.31,
                "p50": 22.0,
                "p95": 24.9,
                "p99": 25.3,
                "max": 26.12,
            },
            "retransmits": 0,
            "loss_episodes": 0,
            "rtos": 0,
            "ce_marks": 9,
            "sce_marks": 12345,
            "slow_start_exit": {"t_s": 0.412, "cwnd_bytes": 501000, "reason": "mark"} if i == 0 else None,
        }
        for i, name in enumerate(names)
    ]
    queue = {
        "name": "bottleneck",
        "rate_mbps": 100.0,
        "utilization": 0.9987,
        "sojourn_ms": {"mean": 2.5, "p50": 2.4, "p95": 4.9, "p99": 5.1, "max": 6.2},
        "sce": 12345,
        "ce": 9,
        "drops": {"full": 0, "aqm": 1, "wire": 0},
        "dequeued": 499_123,
        "emptied": 1234,
    }
    summary = {
        "duration_s": duration,
        "seed": 1,
        "digest": "ab" * 32,
        "packets": 499_123,
        "events": 1_500_000,
        "flows": flows,
        "queues": [queue],
        "windows": [{"name": "steady", "from_s": 10.0, "to_s": duration, "flows": flows, "queues": [queue]}],
    }
    meta = {
        "version": "0.1.0",
        "title": "Reno against Reno-MDS",
        "packets_per_second": 9_300_000.0,
        "scenario_toml": 'title = "x"\nduration = "60 s"\n',
    }
    return Result(summary, tables, meta)
