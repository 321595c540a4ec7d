"""A search for failing cases, limited in time or number."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz.attacks.program import Fault

#: A search ends after this many failures.
MOST_FAILURES = 10


@dataclass(frozen=True)
class Attack:
    """A kind of case: ``attempt`` makes one from a random stream in an empty folder, and raises Fault if it fails."""

    name: str
    attempt: Callable[[random.Random, Path], None]


@dataclass
class Outcome:
    """How many cases there were, and the failures by seed."""

    cases: int
    failures: dict[int, str]


def search(attack: Attack, *, seconds: float, cases: int | None, seed: int, keep: Path | None) -> Outcome:
    """Try case after case. The folders of failing ones are kept in ``keep``."""
    until = time.monotonic() + seconds
    outcome = Outcome(0, {})
    while time.monotonic() < until and outcome.cases != cases and len(outcome.failures) < MOST_FAILURES:
        number = seed + outcome.cases
        with tempfile.TemporaryDirectory(prefix="windtunnel-attack-") as name:
            folder = Path(name)
            try:
                attack.attempt(random.Random(number), folder)
            except Fault as fault:
                outcome.failures[number] = str(fault)
                if keep is not None:
                    _keep(attack, number, fault, folder, keep)
        outcome.cases += 1
    return outcome


def _keep(attack: Attack, number: int, fault: Fault, folder: Path, keep: Path) -> None:
    target = keep / f"fuzz-{attack.name}-{number}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, symlinks=True)
    again = f"python -m fuzz.attacks {attack.name} --seed {number} --cases 1"
    (target / "FAULT").write_text(f"{again}\n\n{fault}\n", encoding="utf-8", errors="backslashreplace")
    print(f"{target}: {str(fault)[:300].encode('ascii', 'backslashreplace').decode()}\n  again: {again}")
