"""What the kernel is configured with (``options.toml``), and what a configuration that came of it lacks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from windtunnel.errors import InputError

#: What the kernel has without an option of its own.
_ALWAYS = {"controller": ("reno",), "qdisc": ("bfifo", "pfifo", "pfifo_fast")}

_SET = re.compile(r"^CONFIG_(\w+)=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Group:
    """Options with one reason. ``need`` is ``required``, ``wanted``, ``older`` or ``off``."""

    reason: str
    need: str
    options: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)
    kind: str = "option"
    prefix: str = ""
    names: dict[str, str] = field(default_factory=dict)

    def name(self, option: str) -> str:
        """The kernel's own name of what an option brings."""
        if self.kind == "option":
            return option
        return self.names.get(option) or option.removeprefix(self.prefix).lower()


@dataclass(frozen=True)
class Features:
    """Names by kind: ``controller``, ``qdisc``, and ``option`` for the rest."""

    has: dict[str, tuple[str, ...]]
    lacks: dict[str, tuple[str, ...]]


@cache
def groups() -> tuple[Group, ...]:
    """All groups, in the order of the file."""
    text = files(__package__).joinpath("options.toml").read_text(encoding="utf-8")
    return tuple(Group(**{**group, "options": tuple(group["options"])}) for group in tomllib.loads(text)["group"])


def fragment() -> str:
    """The options as lines of a kernel's configuration, for ``KCONFIG_ALLCONFIG``."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    for group in groups():
        for option in group.options:
            yield f"CONFIG_{option}={'n' if group.need == 'off' else 'y'}"
        for option, value in group.values.items():
            yield f'CONFIG_{option}="{value}"'


def features(config: str, hz: int) -> Features:
    """What a kernel with the configuration ``config`` has and lacks.

    The kernel's configurator drops options that do not exist or whose conditions are not met, without a word. Raises
    InputError for a configuration without what is required.
    """
    settings = {option: value.strip('"') for option, value in _SET.findall(config)}
    if settings.get("HZ") != str(hz):
        raise InputError(
            f"the configuration has HZ = {settings.get('HZ', 'nothing')}, not {hz}; this source sets it elsewhere"
        )
    has = {kind: list(names) for kind, names in _ALWAYS.items()}
    lacks: dict[str, list[str]] = {}
    for group in groups():
        missing = [option for option in group.options if settings.get(option) != "y"]
        missing += [option for option, value in group.values.items() if settings.get(option) != value]
        if group.need in ("off", "older"):
            continue
        if missing and group.need == "required":
            raise InputError(f"this kernel's source has no CONFIG_{missing[0]} for User-Mode Linux: {group.reason}")
        for option in group.options:
            (lacks if option in missing else has).setdefault(group.kind, []).append(group.name(option))
    has.pop("option", None)
    return Features(_sorted(has), _sorted(lacks))


def _sorted(names: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {kind: tuple(sorted(names[kind])) for kind in sorted(names)}
