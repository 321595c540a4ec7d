"""``python -m fuzz.attacks KIND``."""

import argparse
import sys
from pathlib import Path

from fuzz.attacks import commands, files, kills
from fuzz.attacks.campaign import search

ATTACKS = {attack.name: attack for attack in (files.ATTACK, commands.ATTACK, kills.ATTACK)}


def main() -> int:
    """Run the attack that the command line names; returns 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.attacks", description=sys.modules["fuzz.attacks"].__doc__)
    parser.add_argument("kind", choices=ATTACKS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    outcome = search(
        ATTACKS[options.kind],
        seconds=options.seconds,
        cases=options.cases,
        seed=options.seed,
        keep=Path("results"),
    )
    print(f"{options.kind}: {outcome.cases} cases from seed {options.seed} on, {len(outcome.failures)} failed")
    return 1 if outcome.failures else 0


sys.exit(main())
