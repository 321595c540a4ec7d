"""The stack that is examined: how a scenario names it, and which controllers it has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from windtunnel.errors import InputError
from windtunnel.plugins import load_plugin
from windtunnel.scenario import Scenario

#: Names that stacks have for the controller of RFC 9002.
NEWRENO = ("newreno", "reno")
#: Controllers of stacks that rows know, in the order in which they are shown.
CONTROLLERS = (*NEWRENO, "cubic", "bbr", "bbr2", "bbr3")

#: The stacks that are not those of other people.
OURS = ("linux", "ideal")

_PROBE = 'duration = "1 s"\n\n[bottleneck]\nrate = "1 Mbit/s"\nqueue = "fifo"\n\n[[flow]]\nrtt = "10 ms"\n'


@dataclass(frozen=True)
class Subject:
    """A stack by its name, or by the file of a library that has one."""

    name: str
    allow_read: Sequence[Path] = ()

    @property
    def is_file(self) -> bool:
        """Whether it is the file of a library."""
        return "/" in self.name or self.name.endswith((".so", ".dylib", ".dll"))

    @property
    def table(self) -> str:
        """The value of a flow's ``stack``, as TOML."""
        if not self.is_file:
            return json.dumps(self.name)
        return f'{{ kind = "library", file = {json.dumps(str(Path(self.name).absolute()))} }}'

    @property
    def title(self) -> str:
        """Its name, of a file without its folder."""
        return Path(self.name).stem if self.is_file else self.name

    @cached_property
    def controllers(self) -> tuple[str, ...]:
        """Its own controllers. Raises ValueError if it is no stack, or not built in."""
        if self.is_file:
            # The user named it, so that it may run.
            load_plugin(Path(self.name))
        self._check()
        return tuple(name for name in CONTROLLERS if self._takes(f'flow.0.cc="{name}"'))

    @cached_property
    def newreno(self) -> str | None:
        """Its name for the controller of RFC 9002."""
        return next((name for name in NEWRENO if name in self.controllers), None)

    @cached_property
    def has_shadows(self) -> bool:
        """Whether it tells what its controller hears, so that another can ride along."""
        return self._takes('flow.0.cc.shadow="reno"', f'flow.0.cc.kind="{self.controllers[0]}"')

    def has(self, need: str) -> bool:
        """Whether rows that need something can be measured: a controller, or ``shadow``."""
        match need:
            case "shadow":
                return self.has_shadows
            case "newreno":
                return self.newreno is not None
            case _:
                return need in self.controllers

    def _check(self, *settings: str) -> None:
        if self.name in OURS:
            raise InputError(f"{self.name!r} is windtunnel's own: `windtunnel validate` compares it with Linux")
        changes = (f"flow.0.stack={self.table}", *settings)
        Scenario.from_toml(_PROBE, overrides=changes, allow_read=self.allow_read).check()

    def _takes(self, *settings: str) -> bool:
        try:
            self._check(*settings)
        except ValueError:
            return False
        return True
