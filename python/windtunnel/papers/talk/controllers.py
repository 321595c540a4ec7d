"""The talk's controllers, from the one list of them (``data/controllers.toml``), and which of them this build has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from windtunnel.kinds import listing, names
from windtunnel.papers.data_folder import TALK

#: Those against which others are compared, always there.
RENO, CUBIC = "reno", "cubic"
#: Controllers of the quick suite.
QUICK = ("reno", "scalable", "cubic", "vegas", "bbr")


@dataclass(frozen=True)
class Controller:
    """A controller: its registered name, what slides call it, and what the catalogue says about it."""

    name: str
    title: str
    shown: str
    year: int
    feedback: str
    control: str
    increase: str
    kept: str

    @property
    def slug(self) -> str:
        """The name in ids of groups and files."""
        return self.name.replace("+", "p")


@cache
def catalogue() -> tuple[Controller, ...]:
    """All of them, by year."""
    entries: list[dict[str, Any]] = TALK.toml("controllers.toml")["controller"]
    return tuple(sorted((Controller(**each) for each in entries), key=lambda c: c.year))


@cache
def registered(kind: str = "controllers") -> frozenset[str]:
    """The names of controllers (or of another kind of algorithm) that scenarios can use."""
    return frozenset(name for each in listing()[kind] for name in names(each))


def available(*, quick: bool = False) -> list[Controller]:
    """The talk's controllers that this build has; the quick suite takes some of them."""
    return [c for c in catalogue() if c.name in registered() and (not quick or c.name in QUICK)]


def missing() -> list[Controller]:
    """Those that it does not have."""
    return [c for c in catalogue() if c.name not in registered()]


def title(name: str) -> str:
    """What slides call a controller."""
    return next(c.title for c in catalogue() if c.name == name)
