"""The scenario of a flowgrind command on a path.

The path is a scenario file: everything in it stays, its first flow is the pattern of all flows, and the command says
how many there are, what controls them, and when they send.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from windtunnel.errors import InputError
from windtunnel.flowgrind.command import Command, Stream


def default_path() -> str:
    """The text of the talk's path."""
    return (Path(__file__).parent / "path.toml").read_text(encoding="utf-8")


def scenario_of(command: Command, path: str, *, title: str = "", interval_s: float | None = None) -> str:
    """The text of the scenario file. ``interval_s`` records at another interval than the command reports at.

    Raises InputError for a path that is no TOML or has no flow; all else is checked where the scenario is.
    """
    try:
        data: dict[str, Any] = tomllib.loads(path)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the path is not a scenario file: {error}") from None
    if not data.get("flow"):
        raise InputError("the path has no [[flow]] that says what its flows are like, such as their rtt")
    pattern = {key: value for key, value in data["flow"][0].items() if key not in ("name", "start", "stop", "count")}
    if title:
        data["title"] = title
    data["duration"] = _text(command.end_s)
    data["record"] = {**data.get("record", {}), "interval": _text(interval_s or command.interval_s)}
    if command.dump:
        data["record"]["packets"] = True
    names = [flow.cc for flow in command.flows]
    data["flow"] = [
        _flow(pattern, flow, command.end_s) | ({"name": f"{flow.cc} {index}"} if names.count(flow.cc) > 1 else {})
        for index, flow in enumerate(command.flows)
    ]
    return tomli_w.dumps(data)


def _flow(pattern: dict[str, Any], flow: Stream, end_s: float) -> dict[str, Any]:
    table = {**pattern, "cc": flow.cc, "start": _text(flow.delay_s)}
    if flow.delay_s + flow.duration_s < end_s:
        table["stop"] = _text(flow.delay_s + flow.duration_s)
    if flow.receive_window is not None:
        table["tcp"] = {**pattern.get("tcp", {}), "receive_window": f"{flow.receive_window} B"}
    return table


def _text(seconds: float) -> str:
    return f"{seconds:g} s"
