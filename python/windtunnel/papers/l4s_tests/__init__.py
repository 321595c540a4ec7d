"""The suite of heistp/l4s-tests: what the L4S stack of 2020 did on a testbed, next to the same runs here."""

from __future__ import annotations

from windtunnel.papers.data_folder import L4S_TESTS
from windtunnel.papers.experiment_figure import group_of
from windtunnel.papers.experiments import read
from windtunnel.papers.l4s_tests.fairness import fairness_groups
from windtunnel.papers.l4s_tests.rfc3168 import rfc3168_group
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Suite

#: The files of experiments, in the order of the report.
TOPICS = ("balance", "bursty", "steps")


def suite(*, quick: bool) -> Suite:
    """The whole suite, or its quick part: fewer runs of each setup, DualPI2 with both rates, FQ-CoDel with one, CUBIC
    alone in RFC 3168's queues, CUBIC next to Prague over a bursty link.
    """
    setups: dict[str, Setup] = {}
    fairness = fairness_groups(setups, quick=quick)
    groups = [*fairness, rfc3168_group(setups, quick=quick)]
    for topic in TOPICS:
        listed = read(L4S_TESTS.toml(f"experiments/{topic}.toml"), L4S_TESTS.template, setups, quick=quick)
        groups += map(group_of, listed)
    aliases = {"fairness": [group.id for group in fairness]}
    for queue in dict.fromkeys(group.id.rpartition("-")[0] for group in fairness):
        aliases[queue] = [group.id for group in fairness if group.id.rpartition("-")[0] == queue]
    return Suite("l4s-tests", "heistp/l4s-tests", setups, groups, L4S_TESTS.text("notes.md"), aliases)
