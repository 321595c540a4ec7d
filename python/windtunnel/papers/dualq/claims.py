"""The slides' conclusions as checks with a number, with each meaning of "rtt:20ms" (K83). See ``claims.toml``."""

from __future__ import annotations

from windtunnel.papers import claims
from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.dualq.plan import MEANINGS, QUEUES, add_setup, runs
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim and meaning; the quick suite leaves out those whose runs are not in ``setups``."""
    first, *others = MEANINGS
    data = DUALQ.toml("claims.toml")["claim"]
    listed = [claims.about(claim, "meaning", first.id) for claim in data]
    listed += [claims.about(claim, "meaning", m.id, f"-{m.id}", m.text) for m in others for claim in data]
    return claims.claims_groups(listed, setups, lambda name: _make(setups, name, quick=quick), quick=quick)


def _make(setups: dict[str, Setup], name: str, *, quick: bool) -> Setup:
    for queue in QUEUES:
        for meaning in MEANINGS:
            for run in runs():
                if name == f"{queue.id}-{meaning.id}-{run['id']}":
                    return add_setup(setups, queue, meaning, run, quick=quick)
    raise ValueError(f"a claim names a run that does not exist: {name}")
