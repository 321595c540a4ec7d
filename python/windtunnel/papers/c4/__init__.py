"""The suite of C4's tests (draft-huitema-ccwg-c4-test): its author's limits on the worst of 100 runs, with C4 here."""

from __future__ import annotations

from windtunnel.papers.c4.trials import NAMES, read_trials, trial_group
from windtunnel.papers.data_folder import C4
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Suite


def suite(*, quick: bool) -> Suite:
    """The whole suite, 100 runs of each test, or its quick part: all tests, with fewer runs."""
    setups: dict[str, Setup] = {}
    trials = read_trials()
    groups = [trial_group(setups, name, [t for t in trials if t.group == name], quick=quick) for name in NAMES]
    aliases = {"downloads": [name for name in NAMES if name != "media"], "competition": ["self", "cubic", "bbr"]}
    return Suite("c4", "The tests of C4", setups, groups, C4.text("notes.md"), aliases)
