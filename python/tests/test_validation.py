"""``windtunnel validate``: the comparisons run, may differ, and are written to a page."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli

from windtunnel import Scenario
from windtunnel.validation import SECTIONS, linux_bbr, linux_scalable, run_sections, write_lines, write_page
from windtunnel.validation.comparison import Line
from windtunnel.validation.curve import fit
from windtunnel.validation.linux import comparisons as linux_comparisons
from windtunnel.validation.linux import welch_margin
from windtunnel.validation.linux_queues import means, ranges
from windtunnel.validation.linux_scalable import recordings
from windtunnel.validation.linux_scripts import reduce as follow
from windtunnel.validation.scripts import SCRIPTS, shorten
from windtunnel.validation.scripts.follow import Sent, sent_data
from windtunnel.validation.scripts.script import MSS
from windtunnel.validation.suite import execute


def section(name: str) -> list:
    return [s for s in SECTIONS if s.name == name]


def test_every_recovery_script_is_followed(tmp_path: Path) -> None:
    """The transmissions of each script, derived by hand from the RFCs named there."""
    outcomes = run_sections(section("scripts"), quick=False, jobs=1, done=lambda _: None)
    assert len(outcomes) == len(SCRIPTS)
    wrong = [(o.comparison.name, line) for o in outcomes for line in o.lines if line.verdict == "differs"]
    assert wrong == []
    page, table = tmp_path / "validation.md", tmp_path / "lines.csv"
    write_page(outcomes, page)
    assert "| One loss | 5 | 0 | 0 |" in page.read_text(encoding="utf-8")
    write_lines(outcomes, table)
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(outcome.lines) for outcome in outcomes)
    assert (rows[0]["check"], rows[0]["what"]) == ("One loss", "transmissions")
    assert rows[0]["measured"] == rows[0]["expected"] == "1-10 | 11-20 5r 21 | 22-28 | 29-36 | 37-40"
    # What differs is on the page.
    wrong_line = replace(outcomes[0].lines[0], measured="1-9")
    outcomes[0] = replace(outcomes[0], lines=[wrong_line])
    write_page(outcomes, page)
    text = page.read_text(encoding="utf-8")
    assert f"| {outcomes[0].comparison.name} | transmissions |" in text
    assert "| One loss | 0 | 1 | 0 |" in text


def test_one_flow_is_as_in_linux() -> None:
    """One flow alone over tail drop: goodput within 1 %, mean window and round trip within 3 % of the Linux stack."""
    for comparison in linux_comparisons()[:3]:
        (run,) = comparison.runs
        lines = comparison.lines({run.name: execute(run)})
        assert [line for line in lines if line.verdict == "differs"] == [], comparison.name


def test_dctcp_sends_what_linux_sends() -> None:
    """Each of the 20 scripts of losses, timeouts, marks and idle times, segment by segment."""
    scripts = [linux_scalable.followed(script) for script in linux_scalable.scripts()]
    assert len(scripts) == 20
    for comparison in scripts:
        (run,) = comparison.runs
        lines = comparison.lines({run.name: execute(run)})
        sent = [line for line in lines if line.what == "transmissions" and line.verdict == "differs"]
        assert sent == [], comparison.name


def test_the_reordering_timer_expires_when_that_of_linux_does() -> None:
    """The first eight segments are lost, and only the reordering timer shows it.

    Kernel 7.3.4 sends the first one again 27.02 ms after the last ACK: what is left, 2 ms, and up to a tick of 1 ms.
    """
    name = "The first eight of the initial window, BBR, Linux 7.3"
    (comparison,) = (c for c in linux_bbr.comparisons() if c.name == name)
    recorded = recordings()["The first eight of the initial window, bbr"]
    result = Scenario.from_toml(comparison.runs[0].toml).run()
    assert follow(result, MSS)["sent"] == recorded["sent"][0]
    (linux,) = (row[0] for row in recorded["transmissions"] if row[1] == 1 and row[2])
    chosen = sent_data(result)[0]
    ours = np.asarray(result.tables["packets"]["t_ns"])[chosen][14] / 1e6
    assert 0 <= linux - ours <= 1.0


def test_dctcp_alone_is_as_in_linux() -> None:
    """Over DualPI2 and over a step, with either feedback: goodput and round trip of the Linux stack."""
    for discipline in linux_scalable.DISCIPLINES:
        for feedback in linux_scalable.FEEDBACK:
            comparison = linux_scalable.marks(discipline, feedback, ())
            runs = comparison.runs[:2]
            lines = comparison.lines({run.name: execute(run) for run in runs})
            assert [line.verdict for line in lines] == ["agrees", "agrees", "info", "info"], comparison.name


def test_verdicts() -> None:
    """A line differs as soon as the distance is larger than the tolerance; texts must be equal."""
    assert Line("x", 1.0, 1.1, 0.1000001).verdict == "agrees"
    assert Line("x", 1.0, 1.1, 0.09).verdict == "differs"
    assert Line("x", 1.0, 5.0, None).verdict == "info"
    assert Line("x", "1-3", "1-2", None).verdict == "differs"
    assert Line("x", 1.0, float("nan"), 0.1).verdict == "differs"


def test_segments_are_shortened() -> None:
    """Consecutive new segments become a range; retransmissions stay single."""
    sent = [Sent(1, again=False), Sent(2, again=False), Sent(3, again=False), Sent(2, again=True), Sent(4, again=False)]
    assert shorten(sent) == "1-3 2r 4"
    ends = [
        Sent(3, again=False),
        Sent(4, again=False, fin=True),
        Sent(4, again=True, fin=True),
        Sent(None, again=True, fin=True),
    ]
    assert shorten(ends) == "3 4+FIN 4+FINr FINr"


def test_the_fit_finds_c_and_k() -> None:
    """Points of a cubic with C = 0.4 and K = 3 s give these values back."""
    t = np.linspace(0.0, 6.0, 61)
    t = t[np.abs(t - 3.0) > 0.5]
    c, k = fit(t, 0.4 * (t - 3.0) ** 3 + 1000.0, 1000.0)
    assert c == pytest.approx(0.4, rel=1e-6)
    assert k == pytest.approx(3.0, rel=1e-6)


def test_welch() -> None:
    """Two samples of four: variance 5/3 each, standard error 0.913, six degrees of freedom, t = 2.447."""
    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert welch_margin(a, a + 10.0) == pytest.approx(2.447 * (2 * (5 / 3) / 4) ** 0.5, rel=1e-3)


def test_samples_without_variance_have_no_margin() -> None:
    assert welch_margin(np.full(3, 2.0), np.full(5, 2.1)) == 0.0


def test_ranges_agree_if_they_overlap() -> None:
    """The ranges 1 to 3 and 3 to 7 touch: the middles, 2 and 5, are as far apart as half of both ranges together. If
    they are farther apart, only an allowed share makes them agree.
    """
    touching, apart = np.array([3.0, 7.0]), np.array([3.2, 7.2])
    assert ranges("x", np.array([1.0, 3.0]), touching, "").verdict == "agrees"
    assert ranges("x", np.array([1.0, 3.0]), apart, "").verdict == "differs"
    assert ranges("x", np.array([100.0, 100.0]), np.array([100.9, 100.9]), "", 0.01).verdict == "agrees"
    assert ranges("x", np.array([100.0, 100.0]), np.array([101.1, 101.1]), "", 0.01).verdict == "differs"


def test_means_agree_within_their_error_or_the_share() -> None:
    equal = np.full(4, 100.0)
    assert means("x", equal, equal + 0.9, 0.01, "").verdict == "agrees"
    assert means("x", equal, equal + 1.1, 0.01, "").verdict == "differs"
    # Margin of two samples of four as in test_welch: 2.23.
    spread = np.array([1.0, 2.0, 3.0, 4.0])
    assert means("x", spread, spread + 2.2, 0.0, "").verdict == "agrees"
    assert means("x", spread, spread + 2.3, 0.0, "").verdict == "differs"


def test_an_unknown_section_is_refused(cli: Cli) -> None:
    """The message names the sections and the nearest one; exit code 2."""
    done = cli("validate", "--only", "linus")
    assert done.returncode == 2
    assert "did you mean `linux`" in done.stderr
