"""The suite of "Disproof of 'Throughput Bonus' or 'Fast-Lane' Objection": the slides' runs and conclusions."""

from __future__ import annotations

from windtunnel.papers import claims
from windtunnel.papers.data_folder import DUALQ
from windtunnel.papers.dualq.plan import MEANINGS, QUEUES, add_setup, runs
from windtunnel.papers.dualq.tables import slide_groups, table_groups
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite, figures_and_claims

TITLE = "Disproof of the 'Throughput Bonus' Objection"


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: five runs of each setup, DualPI2 with both base RTTs, PI2 with one."""
    setups: dict[str, Setup] = {}
    tables = table_groups(setups, quick=quick)
    groups = [*slide_groups(setups), *tables, *_claims(setups, quick=quick)]
    return Suite("dualq", TITLE, setups, groups, DUALQ.text("notes.md"), figures_and_claims(groups))


def _claims(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
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
