"""How the suite's setups are made: the talk's flowgrind commands, on its path.

The four command lines of the talk's last slides (``data/flowgrind``) are read as they stand; each controller's setups
are what the line says with ``$cong`` set to it. Runs differ by seed and by where in the first round trip each flow
starts, as in the other suites.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache

from windtunnel.flowgrind import Command, default_path, read_script, scenario_of
from windtunnel.papers.arms import add_seeds
from windtunnel.papers.data_folder import TALK
from windtunnel.papers.setups import Measurement, Setup, Template
from windtunnel.papers.talk.controllers import CUBIC, RENO

RATE_MBPS, RTT_MS = 40.0, 100.0
#: Packets of the path: 40 Mbit/s times 100 ms.
BDP_PACKETS = RATE_MBPS * 1e6 * RTT_MS * 1e-3 / 12_000
#: The talk does not give the buffer. That of the path's file fits its overflow counts best (``collateral.py``).
BUFFER_PACKETS = int(tomllib.loads(default_path())["bottleneck"]["queue"]["limit"].removesuffix(" packets"))

#: Runs of each setup.
SEEDS, QUICK_SEEDS = 5, 3
#: The interval of the time series: figures show means over longer times, and overflows are half a second apart.
INTERVAL_S = 0.05

#: The window that is measured where slow start is not the subject.
FROM_S = 20.0


@dataclass(frozen=True)
class Kind:
    """A picture of the talk's gallery: the command line it comes from, and how the path differs."""

    id: str
    title: str
    script: str
    settings: tuple[str, ...] = ()

    @property
    def end_s(self) -> float:
        """How long its runs take."""
        return command(self.script, CUBIC).end_s


def lossy(percent: float) -> tuple[str, ...]:
    """The setting of a link that loses packets at random."""
    return (f'bottleneck.impair={{ kind="loss", probability="{percent:g} %" }}',)


ONE = Kind("one", "one stream", "one")
FRIENDLY = Kind("friendly", "against Reno", "friendly")
FIVE = Kind("five", "five streams", "five")
DISPLACED = Kind("displaced", "five streams, displaced", "displaced")
LOSS = Kind("loss", "1 % random loss", "one", lossy(1))
KINDS = (ONE, FRIENDLY, FIVE, DISPLACED, LOSS)


@cache
def command(script: str, cc: str) -> Command:
    """What a command line of the talk says with ``$cong`` set to ``cc``.

    Its loops name CUBIC and do not name every controller: the others take CUBIC's place.
    """
    lines = read_script(TALK.text(f"flowgrind/{script}.sh"), {"cong": CUBIC})
    line = next(line for line in lines if line.command.flows[0].cc == CUBIC)
    flows = tuple(replace(flow, cc=cc) if flow.cc == CUBIC else flow for flow in line.command.flows)
    return replace(line.command, flows=flows)


def setup_name(kind: Kind, cc: str) -> str:
    """The setup of a picture."""
    return f"{kind.id}-{cc}".replace("+", "p")


def add_setup(setups: dict[str, Setup], kind: Kind, cc: str, *, quick: bool) -> Setup:
    """The setup of a picture; it is added to ``setups`` if it is new."""
    name = setup_name(kind, cc)
    if name not in setups:
        scenario = scenario_of(command(kind.script, cc), default_path(), title=name, interval_s=INTERVAL_S)
        setups[name] = add_seeds(Setup(name, Template(name, scenario), kind.settings), QUICK_SEEDS if quick else SEEDS)
    return setups[name]


def scenario_setup(setups: dict[str, Setup], name: str, scenario: str, *settings: str, seeds: int = 1) -> Setup:
    """The setup of one of the suite's own scenario files; it is added to ``setups`` if it is new."""
    if name not in setups:
        setup = Setup(name, TALK.template(scenario), settings)
        setups[name] = add_seeds(setup, seeds) if seeds > 1 else setup
    return setups[name]


def against(cc: str) -> str:
    """The name of the other flow in the runs against Reno."""
    return "the other Reno" if cc == RENO else "Reno"


def measured(of: str, method: str, panel: str = "summary") -> Measurement:
    """A number of a flow (``"0"``), of several (``"0-4"``) or of the queue (``"queue 0"``)."""
    return Measurement(panel, of, method)
