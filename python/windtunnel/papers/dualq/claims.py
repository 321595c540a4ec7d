"""The slides' conclusions as checks with a number, with each meaning of "rtt:20ms" (K83). See ``claims.toml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from windtunnel.papers import claims
from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.dualq.plan import MEANINGS, QUEUES, Meaning, add_setup, runs
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim and meaning; the quick suite leaves out those whose runs are not in ``setups``."""
    listed = [_with_meaning(claim, meaning) for meaning in MEANINGS for claim in DUALQ.toml("claims.toml")["claim"]]
    return claims.claims_groups(listed, setups, lambda name: _make(setups, name, quick=quick), quick=quick)


def _with_meaning(claim: Mapping[str, Any], meaning: Meaning) -> dict[str, Any]:
    """The claim about the runs of a meaning; the first one is that of the suite, the others ask whether it matters."""
    names = json.dumps(claim["quantities"]).replace("{meaning}", meaning.id)
    first = meaning is MEANINGS[0]
    return {
        **claim,
        "id": claim["id"] if first else f"{claim['id']}-{meaning.id}",
        "text": claim["text"] if first else f"{claim['text']} ({meaning.text})",
        "quantities": json.loads(names),
    }


def _make(setups: dict[str, Setup], name: str, *, quick: bool) -> Setup:
    for queue in QUEUES:
        for meaning in MEANINGS:
            for run in runs():
                if name == f"{queue.id}-{meaning.id}-{run['id']}":
                    return add_setup(setups, queue, meaning, run, quick=quick)
    raise ValueError(f"a claim names a run that does not exist: {name}")
