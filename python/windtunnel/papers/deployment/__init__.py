"""The suite of what "Multiplicative Decrease Scaling" says about its deployment: paths, L4S, what it leaves open."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from windtunnel.papers.data_folder import DEPLOYMENT
from windtunnel.papers.deployment import sparse
from windtunnel.papers.deployment.checklists import checklist_group
from windtunnel.papers.experiment_figure import group_of
from windtunnel.papers.experiments import Experiment, read
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Suite

#: The files of experiments, in the order of the report.
TOPICS = (
    "fall-back", "feedback", "collisions", "l4s", "sparse", "misuse", "hazards", "open-questions", "scalability",
    "relation",
)  # fmt: skip


def experiments(
    setups: dict[str, Setup], *, quick: bool, topics: Sequence[str] = TOPICS, only: Collection[str] | None = None
) -> list[Experiment]:
    """The experiments of some topics, of these ``only`` the named ones; their arms are added to ``setups``."""
    out: list[Experiment] = []
    for topic in topics:
        data = DEPLOYMENT.toml(f"experiments/{topic}.toml")
        if only is not None:
            data["experiment"] = [e for e in data["experiment"] if e["id"] in only]
        out += read(data, DEPLOYMENT.template, setups, quick=quick)
    return out


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: the experiments that are marked so, with fewer seeds."""
    setups: dict[str, Setup] = {}
    by_topic = {topic: experiments(setups, quick=quick, topics=[topic]) for topic in TOPICS}
    aliases = {topic: [experiment.id for experiment in mine] for topic, mine in by_topic.items()}
    listed = [experiment for mine in by_topic.values() for experiment in mine]
    lists = [checklist_group(data, listed, quick=quick) for data in DEPLOYMENT.toml("checklists.toml")["list"]]
    aliases["checklists"] = [group.id for group in lists]
    groups = [*lists, *map(group_of, listed)]
    for group in groups:
        if group.id == sparse.EXPERIMENT:
            sparse.add_figure(group, setups)
    title = "Multiplicative Decrease Scaling beyond one box"
    return Suite("mds-deployment", title, setups, groups, DEPLOYMENT.text("notes.md"), aliases)
