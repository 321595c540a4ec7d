"""What is examined: a controller or a queue, by name or as a table with ``kind``; or a stack's own controller, as a
table with ``stack`` and ``cc``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel._core import ScenarioError
from windtunnel.errors import InputError, did_you_mean
from windtunnel.evaluate.pack import Kind
from windtunnel.experiment.measures.bbr_state import COLUMNS
from windtunnel.kinds import has_trait, listing, names
from windtunnel.scenario import Scenario

#: What a condition may be about besides a controller's own numbers (``When`` in the schema).
OBSERVED = frozenset(("cwnd_bytes", "in_flight_bytes", "srtt_ms"))

_WORDS = {"cc": ("controller", "controllers"), "queue": ("queue", "queues")}


@dataclass(frozen=True)
class Subject:
    """An algorithm: how pages call it, and its value in a scenario."""

    name: str
    kind: Kind
    value: Any

    @property
    def placeholders(self) -> dict[str, Any]:
        """What replaces ``$cc`` and ``$protocol``, or ``$queue``."""
        return placeholders(self.kind, self.value)


def placeholders(kind: Kind, value: Any) -> dict[str, Any]:
    """What replaces ``$cc`` or ``$queue``, and the stack of a stack's own controller. ``$protocol`` is what carries
    media under this controller: RTP where it sets their rate, TCP otherwise.
    """
    if kind != "cc":
        return {kind: value}
    keys = _keys(value)
    cc = keys["cc"]
    is_of_media = has_trait(cc["kind"] if isinstance(cc, Mapping) else cc, "media")
    return {**keys, "protocol": "rtp" if is_of_media else "tcp"}


def _keys(value: Any) -> dict[str, Any]:
    """The keys of a flow that name a controller."""
    return dict(value) if _is_of_stack(value) else {"cc": value}


def _is_of_stack(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"stack", "cc"}


def subject(text: str, kind: Kind) -> Subject:
    """An algorithm as typed: a name, or ``{ kind = "aimd", a = 0.5 }``. Raises InputError, or ScenarioError for a
    table that is wrong.
    """
    option, (one, group) = f"--{kind}", _WORDS[kind]
    value: Any = text
    if text.lstrip().startswith("{"):
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{option} {text}: is no table in TOML: {error}") from None
    if kind == "cc" and _is_of_stack(value):
        parsed = Subject(f"{value['cc']} of {_short_of(value['stack'])}", kind, value)
        _check(parsed)
        return parsed
    name = value.get("kind", "") if isinstance(value, Mapping) else text
    names = _names()
    if name not in names[group]:
        other = next((k for k, (_, g) in _WORDS.items() if k != kind and name in names[g]), None)
        if other is not None:
            is_a = _WORDS[other][0]
            raise InputError(f"{option} {name}: is a {is_a}, not a {one}; a {is_a} is given with --{other}")
        raise InputError(f"{option} {name}: no {one} has this name{did_you_mean(name, names[group])}; "
                         f"`windtunnel list {group}` shows them")  # fmt: skip
    parsed = Subject(text if isinstance(value, str) else _short(value), kind, value)
    _check(parsed)
    return parsed


def _short(value: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{k} = {v}" for k, v in value.items() if k != "kind")
    return f"{value['kind']} ({rest})" if rest else str(value["kind"])


def _short_of(stack: Any) -> str:
    return _short(stack) if isinstance(stack, Mapping) and "kind" in stack else str(stack)


def _names() -> dict[str, set[str]]:
    """All names, with aliases, by kind."""
    listed = listing()
    return {group: {name for kind in listed[group] for name in names(kind)} for _, group in _WORDS.values()}


def _check(parsed: Subject) -> None:
    """Refuse wrong parameters once, and not as the reason why no clause applies."""
    if isinstance(parsed.value, str):
        return
    queue = parsed.value if parsed.kind == "queue" else "fifo"
    try:
        _probe(_keys(parsed.value) if parsed.kind == "cc" else {"cc": "cubic"}, queue).check()
    except ScenarioError as error:
        raise InputError(f"--{parsed.kind} {parsed.name}: {str(error).splitlines()[-1].strip()}") from None


def _probe(flow: Mapping[str, Any], queue: Any = "fifo") -> Scenario:
    """A simple run of a flow."""
    return Scenario(
        duration="100 ms", bottleneck={"rate": "10 Mbit/s", "queue": queue}, flows=[{**flow, "rtt": "20 ms"}],
        record={"interval": "50 ms"},
    )  # fmt: skip


def require_state(examined: Subject, pack: str) -> None:
    """Refuse what is no BBR. Raises InputError, which names those that are. A stack's own controller tells no state, so
    that its name decides.
    """
    if _is_of_stack(examined.value):
        if "bbr" not in str(examined.value["cc"]):
            raise InputError(f"--cc {examined.name}: {pack} examines a BBR, and this controller's name is none's")
        return
    missing = sorted(set(COLUMNS) - columns(examined))
    if not missing:
        return
    others = [Subject(kind["name"], "cc", kind["name"]) for kind in listing()["controllers"]]
    able = [other.name for other in others if set(COLUMNS) <= columns(other)]
    raise InputError(
        f"--cc {examined.name}: {pack} reads the state of a BBR, and this controller has no `{missing[0]}`; "
        f"controllers that have it: {', '.join(able)}"
    )


def columns(examined: Subject) -> frozenset[str]:
    """The numbers of a controller in the table ``cc``, and those that conditions may be about with any controller; none
    of one that cannot take part in a simple run.
    """
    try:
        return frozenset(_probe(_keys(examined.value)).run().tables.get("cc", ())) | OBSERVED
    except ScenarioError:
        return frozenset()
