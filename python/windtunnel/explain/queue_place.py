"""Where the queue is: before the capture point or after it, and how large.

The round trip consists of two parts, from the capture point to the receiver and back, and from there to the sender and
back. A queue is what makes a part longer than its least. Where packets were lost says the same: a retransmission whose
first copy was never seen was lost in front of the capture point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import FAST, TIMEOUT, UNSEEN, Flow, seconds

#: A part has the queue if it has this much of all waiting.
_MOST = 0.6
#: Less waiting than this part of the least round-trip time is no queue.
_LITTLE = 0.05


def queue_place(flow: Flow, rounds: Rounds) -> dict[str, Any] | None:
    """Waiting after and before the capture point: mean and 95th percentile, in ms and in segments."""
    if not np.isfinite(rounds.rtt).any():
        return None
    rate = float(np.sum(rounds.delivered) / max(rounds.end[-1] - rounds.start[0], 1e-9))
    if flow.acks is None or flow.sends is None:
        least = rounds.least_rtt()
        waited = _waiting((rounds.rtt - least)[np.isfinite(rounds.rtt)], rate)
        return {"after": waited, "before": None, "verdict": "on the path: the run has no capture point"}
    samples = seconds(flow.acks["rtt_ns"][flow.acks["rtt_ns"] > 0])
    after = _waiting(samples - samples.min(), rate) if len(samples) else None
    back = seconds(flow.sends["back_ns"][flow.sends["back_ns"] > 0])
    before = _waiting(back - back.min(), rate) if len(back) > 10 and not flow.at_sender else None
    kind = flow.sends["kind"]
    lost = {
        "in_front": int(np.sum(kind == UNSEEN)),
        "behind": int(np.sum(np.isin(kind, (FAST, TIMEOUT)))),
    }
    return {"after": after, "before": before, "lost": lost, "verdict": _verdict(flow, rounds, after, before)}


def _waiting(times: Any, rate: float) -> dict[str, float]:
    mean, most = float(times.mean()), float(np.percentile(times, 95))
    return {"mean_ms": 1e3 * mean, "p95_ms": 1e3 * most, "mean_segments": mean * rate, "p95_segments": most * rate}


def _verdict(flow: Flow, rounds: Rounds, after: dict[str, float] | None, before: dict[str, float] | None) -> str:
    least = 1e3 * rounds.least_rtt()
    behind, front = (after or {}).get("mean_ms", 0.0), (before or {}).get("mean_ms", 0.0)
    if behind + front < _LITTLE * least:
        return "no queue"
    if flow.at_sender:
        return "after the capture point, which is at the sender"
    if before is None:
        return "after the capture point; what is before it shows no timestamps"
    if behind > _MOST * (behind + front):
        return "after the capture point"
    if front > _MOST * (behind + front):
        return "before the capture point"
    return "on both sides of the capture point"
