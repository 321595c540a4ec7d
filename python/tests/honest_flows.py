"""Flows whose truth is known, for the question whether an endpoint cheats: every controller of TCP over paths of every
family, with numbers that no training uses (``windtunnel.explain.train``).

    python python/tests/honest_flows.py [honest|losses|marks|all]

counts what is said about each: about senders that hear, or about those from which losses, marks or both are withheld.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel import ScenarioError
from windtunnel.explain import families
from windtunnel.explain.explanation import explain_trace
from windtunnel.explain.trace import RECEIVER, SENDER, of_run
from windtunnel.explain.train import LEFT_OUT
from windtunnel.kinds import listing

#: Paths below this number are the training's.
FIRST = 500
ENDS = {"sender": SENDER, "receiver": RECEIVER}


@dataclass(frozen=True)
class KnownFlow:
    """A flow over a path. ``deaf``: what is withheld from its controller (``unresponsive``), or None."""

    controller: str
    family: str
    number: int
    deaf: str | None = None

    @property
    def name(self) -> str:
        """All of it."""
        return f"{self.controller}, {self.family} {self.number}" + (f", deaf to {self.deaf}" if self.deaf else "")

    def signs(self) -> dict[str, dict[str, dict[str, object]]]:
        """By end and name, the signs of misbehaviour. Raises ScenarioError where the path is not for the controller."""
        path = replace(families.path(self.family, self.number), acks="linux")
        scenario = families.scenario(self.controller, path)
        if self.deaf:
            scenario = scenario.override(f'flow.0.unresponsive="{self.deaf}"')
        result, out = scenario.run(), {}
        for end, point in ENDS.items():
            [flow, *_] = explain_trace(of_run(result, Path("run"), point)).document["flows"]
            out[end] = {sign["sign"]: sign for sign in flow.get("misbehaviour") or ()}
        return out

    def accused(self) -> list[str]:
        """The signs that are found, with the end at which they are."""
        return [
            f"{name}, {end}" for end, signs in self.signs().items() for name, sign in signs.items() if sign["found"]
        ]


def controllers() -> list[str]:
    """Those that a TCP sender of today can have; that of 4.2BSD has no congestion control."""
    return sorted(kind["name"] for kind in listing()["controllers"] if kind["name"] not in LEFT_OUT)


def flows(first: int = FIRST, every: int = 2, deaf: str | None = None) -> Iterator[KnownFlow]:
    """Each controller over every second family, or over one in ``every``, on paths of its own."""
    for n, controller in enumerate(controllers()):
        for m, family in enumerate(families.FAMILIES):
            if (n + m) % every == 0:
                yield KnownFlow(controller, family, first + n, deaf)


def main() -> int:
    """Print what is said of all."""
    what = sys.argv[1] if len(sys.argv) > 1 else "honest"
    seen, signs = 0, Counter[str]()
    for flow in flows(deaf=None if what == "honest" else what):
        try:
            accused = flow.accused()
        except ScenarioError:
            continue
        seen += len(ENDS)
        signs[flow.controller] += len(accused)
        if accused:
            print(f"{flow.name}: {'; '.join(accused)}", flush=True)
    print(f"{seen} flows, {signs.total()} signs: {dict(+signs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
