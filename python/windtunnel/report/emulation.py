"""What a page says about an emulation: what passed in real time, and whether packets were late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from windtunnel.report.text import number, setting

#: Connections that the page names; `summary.json` has all.
_MOST = 100

#: Questions and answers under a heading.
Answers: TypeAlias = tuple[str, list[tuple[str, str]]]


def findings(emulation: Mapping[str, Any]) -> list[Answers]:
    """For ``meta["emulation"]`` of a result."""
    connections = [(each["name"], each["ends"]) for each in emulation["connections"]]
    return [
        ("Lateness", _lateness(emulation)),
        ("In real time", _passed(emulation)),
        *([("Connections", connections[:_MOST])] if connections else []),
    ]


def facts(emulation: Mapping[str, Any]) -> list[str]:
    """What takes the place of a simulation's speed."""
    return [f"real packets during {number(emulation['elapsed_s'], 3)} s"]


def _lateness(emulation: Mapping[str, Any]) -> list[tuple[str, str]]:
    lateness = emulation["lateness"]
    rows = [("Verdict", str(emulation["verdict"]))]
    if lateness["packets"]:
        rows += [
            (f"{head} of {number(lateness['packets'])} packets", f"{number(lateness[key], 3)} us")
            for head, key in _PERCENTILES
            if lateness.get(key) is not None
        ]
        rows += [("Packets by lateness", _histogram(lateness.get("histogram") or ()))]
    return [(head, text) for head, text in rows if text]


_PERCENTILES = (
    ("Median", "p50_us"), ("90 %", "p90_us"), ("99 %", "p99_us"), ("99.9 %", "p999_us"), ("Greatest", "max_us"),
)  # fmt: skip


def _histogram(classes: Any) -> str:
    """The classes of the core, put together to those of three in a decade."""
    counts: dict[float, int] = {}
    for upper, count in classes:
        bound = next((bound for bound in _BOUNDS_US if upper <= bound), float(upper))
        counts[bound] = counts.get(bound, 0) + count
    return "; ".join(f"up to {setting(bound)} us: {number(count)}" for bound, count in counts.items())


_BOUNDS_US = [step * 10.0**decade for decade in range(7) for step in (1, 2, 5)]


def _passed(emulation: Mapping[str, Any]) -> list[tuple[str, str]]:
    codes = emulation["exit_codes"]
    rows = []
    for end in emulation["ends"]:
        name = end["name"]
        what = [f"{end['device']} in {end['namespace'] or 'a namespace of its own'}", *end["addresses"]]
        what.append(f"MTU {emulation['mtu']}")
        if end["dropped"]:
            what.append(f"{number(end['dropped'])} packets found no place in the device")
        rows.append((f"Device, {name}", ", ".join(what)))
        if emulation["commands"][name]:
            code = f" (exit code {codes[name]})" if name in codes else ""
            rows.append((f"Command, {name}", emulation["commands"][name] + code))
    if emulation["not_carried"]:
        rows.append(
            ("Not carried", f"{number(emulation['not_carried'])} packets that are not from one end to the other")
        )
    if emulation["signal"]:
        rows.append(("Ended by", str(emulation["signal"])))
    return rows
