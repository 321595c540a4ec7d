"""The suite of a stack: the rows of its experiments, as far as the stack has what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from windtunnel.conform.figure import add_figure
from windtunnel.conform.subject import Subject
from windtunnel.papers.arms import replaced
from windtunnel.papers.data_folder import DataFolder
from windtunnel.papers.experiments import Experiment, read
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group, Suite

DATA = DataFolder(Path(__file__).parent / "data")

#: The files of experiments, in the order of the report.
TOPICS = ("loss-detection", "congestion-control", "cubic", "ecn", "environments")


def suite(subject: Subject) -> Suite:
    """All rows of a stack. Raises InputError if it is no stack."""
    setups: dict[str, Setup] = {}
    by_topic = {topic: _experiments(topic, subject, setups) for topic in TOPICS}
    groups = [_group(experiment) for mine in by_topic.values() for experiment in mine]
    for group in groups:
        add_figure(group, setups)
    aliases = {topic: [experiment.id for experiment in mine] for topic, mine in by_topic.items()}
    for document in ("9000", "9002", "9406", "9438", "9743"):
        aliases[document] = [group.id for group in groups if group.id.startswith(document)]
    title = f"Conformance of {subject.title}"
    return Suite(f"conform-{subject.title}", title, setups, groups, DATA.text("notes.md"), aliases)


def _experiments(topic: str, subject: Subject, setups: dict[str, Setup]) -> list[Experiment]:
    data = DATA.toml(f"experiments/{topic}.toml")
    data["experiment"] = [e for e in data["experiment"] if all(subject.has(need) for need in e.get("needs", ()))]
    names = {"stack": subject.table, "first": subject.controllers[0], "newreno": subject.newreno or ""}
    data = replaced(_with_controllers(data, subject.controllers), names)
    return read(data, DATA.template, setups, quick=False)


def _with_controllers(value: Any, controllers: Sequence[str]) -> Any:
    """``value``, in which the list ``["$controllers"]`` stands for all of the stack's controllers."""
    match value:
        case ["$controllers"]:
            return list(controllers)
        case list():
            return [_with_controllers(each, controllers) for each in value]
        case Mapping():
            return {key: _with_controllers(each, controllers) for key, each in value.items()}
        case _:
            return value


def _group(experiment: Experiment) -> Group:
    title, caption = f"{experiment.id}: {experiment.title}", f"{experiment.claim} ({experiment.source})"
    return Group(experiment.id, title, caption, experiment.setups, experiment.rows, statement=True)
