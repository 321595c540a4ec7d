"""Runs of paper suites and the cache: what was measured once is not run again, and what could differ is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SCENARIO

from windtunnel.engine.cache import Store
from windtunnel.papers import jobs
from windtunnel.papers.jobs import Job, JobResult, run_all
from windtunnel.papers.setups import Measurement

MEAN = Measurement("summary", "0", 'window_value("late", "throughput_mbps")')
JOB = Job("cell", 1, "late", SCENARIO, ("seed=3",), 1.0, (MEAN,))


def computed(kept: Store, *wanted: Job, monkeypatch: pytest.MonkeyPatch) -> tuple[list[JobResult], int]:
    """The outcomes, and how many of them had to be computed."""
    count = 0

    def counting(key: bytes, value: bytes) -> None:
        nonlocal count
        count += 1
        Store.put(kept, key, value)

    monkeypatch.setattr(kept, "put", counting)
    return run_all(wanted, 1, lambda _: None, kept), count


def test_what_was_run_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time everything is known, with the same values; another seed or measurement is another run."""
    kept = Store(tmp_path / "kept")
    first, count = computed(kept, JOB, monkeypatch=monkeypatch)
    assert (count, first[0].error, len(first[0].values)) == (1, "", 1)
    again, count = computed(kept, JOB, monkeypatch=monkeypatch)
    assert (again, count) == (first, 0)
    other = replace(JOB, overrides=("seed=4",))
    more = replace(JOB, measurements=(MEAN, replace(MEAN, flow="1")))
    _, count = computed(kept, other, more, monkeypatch=monkeypatch)
    assert count == 2


def test_other_code_measures_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's code is part of the key, because it turns a run into numbers."""
    kept = Store(tmp_path / "kept")
    computed(kept, JOB, monkeypatch=monkeypatch)
    monkeypatch.setattr(jobs, "package", lambda: b"another version")
    _, count = computed(kept, JOB, monkeypatch=monkeypatch)
    assert count == 1


def test_a_failed_run_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error may have come from outside."""
    kept = Store(tmp_path / "kept")
    wrong = replace(JOB, measurements=(replace(MEAN, method="nothing_like_that()"),))
    for _ in range(2):
        (outcome,), count = computed(kept, wrong, monkeypatch=monkeypatch)
        assert outcome.error
        assert count == 0
