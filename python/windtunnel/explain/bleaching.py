"""Signals that the path removes: ECN, DSCP, options.

A run that recorded its packets shows each packet at its sender and at its receiver, so that a change is seen as such. A
capture has one place: it shows what was agreed in the handshake and is missing afterwards, and what one end offered
and the other did not answer, which may have been declined or stripped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windtunnel.explain.trace import CWR, ECE, Flow
from windtunnel.result import RunResult
from windtunnel.stored import parts
from windtunnel.table import Table

_SENDER, _RECEIVER = 0, 3
_NOT_ECT, _CE = 0, 3
_OPTIONS = {"sack": "SACK", "timestamps": "timestamps", "window_scale": "window scaling"}
_TIMESTAMP_KIND = 8
#: Columns of a run's packets that are not 0 where the option is there.
_COLUMNS = {"sack_n": "SACK option", "accecn_kind": "AccECN option", "ts_val_ns": "timestamps"}


def bleaching_of_run(result: RunResult) -> list[list[str]] | None:
    """For each flow what its packets lost between sender and receiver; None if packets were not recorded."""
    ends = _at_ends(result)
    if ends is None:
        return None
    first, last = ends
    of_flows: list[list[str]] = []
    for flow in range(len(result.flows)):
        lines = []
        for direction, start, end, what in ((0, first, last, "data packets"), (1, last, first, "acknowledgements")):
            a, b = _pairs(start, end, flow, direction)
            ecn_a, ecn_b = start["ecn"][a], end["ecn"][b]
            cleared = int(np.sum((ecn_a != _NOT_ECT) & (ecn_b == _NOT_ECT)))
            changed = int(np.sum((ecn_a != ecn_b) & (ecn_b != _CE) & (ecn_b != _NOT_ECT)))
            dscp = int(np.sum(start["dscp"][a] != end["dscp"][b]))
            stripped = [
                (int(np.sum((start[column][a] != 0) & (end[column][b] == 0))), f"lost their {option}")
                for column, option in _COLUMNS.items()
                if column in start
            ]
            for count, name in (
                *stripped,
                (cleared, "lost their ECN code point"),
                (changed, "arrived with another ECT code point (SCE marks, or a rewriting middlebox)"),
                (dscp, "arrived with another DSCP"),
            ):
                if count:
                    lines.append(f"{count} of {len(a)} {what} {name}")
        of_flows.append(lines)
    return of_flows


def _at_ends(result: RunResult) -> list[dict[str, Any]] | None:
    """The packets at their senders and receivers; None if packets were not recorded."""
    if "packets" not in result.tables:
        return None
    needed = ("id", "ecn", "dscp", "dir", "flow")
    chosen: list[list[Table]] = [[], []]
    for packets in parts(result.tables, "packets", ("tap", *needed, *_COLUMNS)):
        if not {"tap", *needed} <= packets.keys():
            return None
        for end, tap in zip(chosen, (_SENDER, _RECEIVER), strict=True):
            here = packets["tap"] == tap
            end.append(Table({name: column[here] for name, column in packets.items() if name != "tap"}))
    return [{name: np.concatenate([each[name] for each in end]) for name in end[0]} for end in chosen]


def _pairs(start: Any, end: Any, flow: int, direction: int) -> tuple[Any, Any]:
    """Rows of the same packets at both ends."""
    at_start = np.flatnonzero((start["flow"] == flow) & (start["dir"] == direction))
    at_end = np.flatnonzero((end["flow"] == flow) & (end["dir"] == direction))
    _, a, b = np.intersect1d(start["id"][at_start], end["id"][at_end], return_indices=True)
    return at_start[a], at_end[b]


def bleaching(flow: Flow) -> list[str]:
    """What a capture shows of a connection."""
    if not flow.ends or flow.sends is None:
        return []
    sender, receiver = flow.ends["sender"], flow.ends["receiver"]
    lines = []
    ask, answer = sender["syn"], receiver["syn"]
    if ask and answer:
        lines += _unanswered(ask, answer) + _unanswered_ecn(flow, ask, answer)
        for option, kind in (("timestamps", _TIMESTAMP_KIND),):
            if ask[option] and answer[option]:
                lines += [
                    f"{who} agreed to {_OPTIONS[option]}, but its segments have none here: stripped on the way"
                    for who, side in (("the sender", sender), ("the receiver", receiver))
                    if side["segments"] > 2 and kind not in side["options"]
                ]
    values, counts = np.unique(flow.sends["dscp"], return_counts=True)
    if len(values) > 1:
        share = 1 - counts.max() / counts.sum()
        lines.append(f"{100 * share:.0f} % of the data packets have another DSCP than the others")
    return lines


def _unanswered(ask: Any, answer: Any) -> list[str]:
    return [
        f"{name} was offered and not answered: declined, or stripped on the way"
        for option, name in _OPTIONS.items()
        # A shift of 0 is an answer, too.
        if _has(ask[option]) and not _has(answer[option])
    ]


def _has(option: Any) -> bool:
    return option is not None and option is not False


def _unanswered_ecn(flow: Flow, ask: Any, answer: Any) -> list[str]:
    """RFC 3168 section 6.1.1: a SYN with ECE and CWR offers ECN, a SYN-ACK with ECE alone accepts."""
    offered = ask["flags"] & (ECE | CWR) == (ECE | CWR)
    accepted = bool(answer["flags"] & (ECE | CWR))
    if not offered:
        return []
    if not accepted:
        return ["ECN was offered and not answered: declined, or stripped on the way"]
    assert flow.sends is not None
    codes = np.bincount(flow.sends["ecn"], minlength=4)
    new = flow.sends["kind"] == 0
    bare = int(np.sum(new & (flow.sends["ecn"] == _NOT_ECT)))
    if bare > 0.5 * max(int(new.sum()), 1):
        return [f"ECN was agreed, but {bare} of {int(codes.sum())} data packets have no ECN code point here: bleached"]
    return []
