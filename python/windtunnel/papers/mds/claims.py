"""The text's claims as checks with a number. What each measures, expects and tolerates is in ``claims.toml``."""

from __future__ import annotations

from windtunnel.papers import claims
from windtunnel.papers.cells import Cell
from windtunnel.papers.mds import fairness
from windtunnel.papers.mds.data_files import template, toml
from windtunnel.papers.suite import Group

#: Perturbed runs of a claim's own cells; they are small.
PERTURBED = 4


def claims_groups(cells: dict[str, Cell], *, quick: bool) -> list[Group]:
    """One group for all claims; the quick suite leaves out a claim whose runs are not in ``cells``."""
    data = toml("claims.toml")

    def make(name: str) -> Cell:
        if name in data["run"]:
            run = data["run"][name]
            return Cell(name, template(run["scenario"]), tuple(run.get("set", ())), perturbed=PERTURBED)
        return _table_cell(name, cells)

    return claims.claims_groups(data["claim"], cells, make, quick=quick)


def _table_cell(name: str, cells: dict[str, Cell]) -> Cell:
    for number in (2, 3, 4, 5, 6):
        for line in fairness.read_lines(number):
            if line.id == name:
                return fairness.add_cell(cells, line, quick=False)
    raise ValueError(f"a claim names a run that does not exist: {name}")
