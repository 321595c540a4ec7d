"""What is examined: a controller or a queue, by name or as a table with ``kind``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel._core import ScenarioError
from windtunnel.errors import InputError, did_you_mean
from windtunnel.evaluate.pack import Kind
from windtunnel.experiment.measures.bbr import COLUMNS
from windtunnel.kinds import listing, names
from windtunnel.scenario import Scenario

_WORDS = {"cc": ("controller", "controllers"), "queue": ("queue", "queues")}


@dataclass(frozen=True)
class Subject:
    """An algorithm: how pages call it, and its value in a scenario."""

    name: str
    kind: Kind
    value: Any

    @property
    def placeholders(self) -> dict[str, Any]:
        """What replaces ``$cc`` or ``$queue``."""
        return {self.kind: self.value}


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


def _names() -> dict[str, set[str]]:
    """All names, with aliases, by kind."""
    listed = listing()
    return {group: {name for kind in listed[group] for name in names(kind)} for _, group in _WORDS.values()}


def _check(parsed: Subject) -> None:
    """Refuse wrong parameters once, and not as the reason why no clause applies."""
    if isinstance(parsed.value, str):
        return
    cc = parsed.value if parsed.kind == "cc" else "cubic"
    queue = parsed.value if parsed.kind == "queue" else "fifo"
    probe = Scenario(
        duration="1 s", bottleneck={"rate": "10 Mbit/s", "queue": queue}, flows=[{"cc": cc, "rtt": "20 ms"}]
    )
    try:
        probe.check()
    except ScenarioError as error:
        raise InputError(f"--{parsed.kind} {parsed.name}: {str(error).splitlines()[-1].strip()}") from None


def require_state(examined: Subject, pack: str) -> None:
    """Refuse a controller without the numbers of a BBR. Raises InputError, which names those that have them."""
    missing = sorted(set(COLUMNS) - _state(examined.value))
    if not missing:
        return
    others = [kind["name"] for kind in listing()["controllers"]]
    able = [name for name in others if set(COLUMNS) <= _state(name)]
    raise InputError(
        f"--cc {examined.name}: {pack} reads the state of a BBR, and this controller has no `{missing[0]}`; "
        f"controllers that have it: {', '.join(able)}"
    )


def _state(cc: Any) -> set[str]:
    """The numbers of a controller in the table ``cc``; none of one that cannot take part in a simple run."""
    scenario = Scenario(
        duration="100 ms", bottleneck={"rate": "10 Mbit/s"}, flows=[{"cc": cc, "rtt": "20 ms"}],
        record={"interval": "50 ms"},
    )  # fmt: skip
    try:
        return set(scenario.run().tables.get("cc", ()))
    except ScenarioError:
        return set()
