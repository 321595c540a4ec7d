"""The suite of what "Multiplicative Decrease Scaling" says of its deployment: paths, L4S, what it leaves open."""

from __future__ import annotations

from windtunnel.papers.cells import Cell
from windtunnel.papers.deployment import experiments
from windtunnel.papers.deployment.data_files import text, toml
from windtunnel.papers.suite import Group, Suite

#: The files of experiments, in the order of the report.
TOPICS = ("fall-back", "feedback", "open-questions", "collisions")


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: the experiments that are marked so, with fewer seeds."""
    cells: dict[str, Cell] = {}
    groups: list[Group] = []
    aliases: dict[str, list[str]] = {}
    for topic in TOPICS:
        found = [_group(e) for e in experiments.read(toml(f"experiments/{topic}.toml"), cells, quick=quick)]
        aliases[topic] = [group.id for group in found]
        groups += found
    title = "Multiplicative Decrease Scaling beyond one box"
    return Suite("mds-deployment", title, cells, groups, text("notes.md"), aliases)


def _group(experiment: experiments.Experiment) -> Group:
    return Group(
        experiment.id,
        f"{experiment.id}: {experiment.place}",
        experiment.claim,
        experiment.cells,
        experiment.rows,
    )
