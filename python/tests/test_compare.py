"""``windtunnel compare`` as typed: differences, the first event that differs, gates, Markdown, the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from campaigns import BASE, FILE
from conftest import Cli, refused
from scipy import stats

from windtunnel import Scenario
from windtunnel.campaign.results import load as load_campaign


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """The same scenario with another queue."""
    (tmp_path / "long.toml").write_text(BASE)
    (tmp_path / "short.toml").write_text(BASE.replace("50 packets", "20 packets"))
    return tmp_path


def first_by_hand(a: Scenario, b: Scenario) -> tuple[float, int]:
    """The time and the sequence number of the first departure that differs, from whole recordings."""
    one, two = (each.override("record.events=true").run().tables["dequeue_events"] for each in (a, b))
    count = min(one.rows, two.rows)
    same = [all(one[k][i] == two[k][i] for k in ("t_ns", "flow", "seq", "size", "mark")) for i in range(count)]
    index = same.index(False)
    return min(int(one["t_ns"][index]), int(two["t_ns"][index])) / 1e9, int(one["seq"][index])


def test_scenarios(cli: Cli, two: Path) -> None:
    """Scenario files are run: the table has the numbers that differ, and the first departure that does is found
    without recording the whole runs.
    """
    done = cli("compare", "long.toml", "short.toml")
    assert done.returncode == 0, done.stderr
    assert "short compared with long" in done.stdout
    a, b = (Scenario.from_file(two / name).run() for name in ("long.toml", "short.toml"))
    p99 = [each.queues[0]["sojourn_ms"]["p99"] for each in (a, b)]
    row = re.search(r"bottleneck: sojourn_ms\.p99 +([\d.]+) +([\d.]+) +(-[\d.]+)", done.stdout)
    assert row and [float(row[1]), float(row[2])] == pytest.approx(p99, rel=1e-3)
    assert float(row[3]) == pytest.approx(p99[1] - p99[0], rel=1e-3)
    time_s, seq = first_by_hand(*(Scenario.from_file(two / name) for name in ("long.toml", "short.toml")))
    assert f"first difference at {time_s:.9f} s; long: " in done.stdout and f"seq {seq} of flow" in done.stdout


def test_folders(cli: Cli, two: Path) -> None:
    """Result folders, whether they recorded departures or not, say the same as scenario files."""
    for name in ("long", "short"):
        assert cli("run", f"{name}.toml").returncode == 0
        assert cli("run", f"{name}.toml", "--out", f"full/{name}", "--set", "record.events=true").returncode == 0
    folders = cli("compare", "results/long", "results/short").stdout
    assert folders == cli("compare", "long.toml", "short.toml").stdout
    assert folders == cli("compare", "full/long", "full/short").stdout
    assert "first difference: the runs are the same" in cli("compare", "results/long", "long.toml").stdout


def test_late_difference(cli: Cli, tmp_path: Path) -> None:
    """A difference after the first beginning that is compared: a flow starts at 3 s in one of the runs."""
    text = BASE.replace('"1 s"', '"5 s"')
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "b.toml").write_text(text + '\n[[flow]]\nname = "c"\ncc = "reno"\nrtt = "10 ms"\nstart = "3 s"\n')
    done = cli("compare", "a.toml", "b.toml")
    match = re.search(r"first difference at ([\d.]+) s; a: .*; b: .* of flow c ", done.stdout)
    assert match and 3 <= float(match[1]) < 3.1


def test_gates(cli: Cli, two: Path) -> None:
    """A condition that holds makes the exit code 1; one that does not is fine; the baseline is the first."""
    delay = "p99(queue.sojourn_ms) {} * baseline(p99(queue.sojourn_ms))"
    fine = cli("compare", "long.toml", "short.toml", "--fail-if", delay.format("> 1.1"))
    assert fine.returncode == 0 and "no condition of 1 fails" in fine.stdout
    bad = cli("compare", "short.toml", "long.toml", "--fail-if", delay.format("> 1.1"), "--fail-if", "packets < 0")
    assert bad.returncode == 1
    assert [line for line in bad.stdout.splitlines() if line.startswith("fails: ")] == [
        line for line in bad.stdout.splitlines() if line.startswith(f"fails: long: {delay.format('> 1.1')}: ")
    ]
    assert bad.stdout.count("fails: ") == 1
    ratio = cli("compare", "short.toml", "long.toml", "--fail-if", "ratio(packets, baseline(packets)) in [0.99, 1.01]")
    counts = [Scenario.from_file(two / name).run().summary["packets"] for name in ("short.toml", "long.toml")]
    assert ratio.returncode == int(0.99 <= counts[1] / counts[0] <= 1.01)


def test_nothing_to_judge_fails(cli: Cli, two: Path) -> None:
    """A number that a run lacks is no pass: no transfer was made."""
    done = cli("compare", "long.toml", "short.toml", "--fail-if", "queue.drops.full / (packets - packets) > 5")
    assert done.returncode == 1 and "no run has a value" in done.stdout


def test_markdown_and_page(cli: Cli, two: Path) -> None:
    """Markdown is all that is printed; the page has the flows of both runs."""
    gate = "flows.a.goodput < 2 * baseline(flows.a.goodput)"
    done = cli("compare", "long.toml", "short.toml", "--markdown", "--fail-if", gate, "--page", "both.html")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "### short compared with long" and lines[3] == "| --- | --- | --- | --- |"
    assert any(line.startswith("| bottleneck: sojourn\\_ms.p99 |") and "**" in line for line in lines)
    assert "**1 failing**" in lines and any(line.startswith(f"- `{gate}`: ") for line in lines)
    assert "both.html" in done.stderr
    page = (two / "both.html").read_text()
    for name in ("long: a", "long: b", "short: a", "short: b", "long: bottleneck"):
        assert name in page
    assert 'data-panel="throughput"' in page and 'data-panel="fairness"' not in page
    refused(cli("compare", "long.toml", "short.toml", "--page", "both.html"), "both.html", "--force")
    assert cli("compare", "long.toml", "short.toml", "--page", "both.html", "--force").returncode == 0


def test_campaigns(cli: Cli, tmp_path: Path) -> None:
    """Runs with the same cell, seed and offset are paired: mean and Student's interval of the differences are those
    that scipy computes from the rows.
    """
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(FILE)
    assert cli("sweep", "campaign.toml", "--out", "before").returncode == 0
    queue = 'bottleneck.queue={ kind = "fifo", limit = "20 packets" }'
    assert cli("sweep", "campaign.toml", "--out", "after", "--set", queue).returncode == 0
    done = cli("compare", "before", "after", "--markdown", "--fail-if", "delay > 0.2 * baseline(delay)")
    assert done.returncode == 1, done.stderr
    rows = [load_campaign(tmp_path / name).runs.to_pylist() for name in ("before", "after")]
    of_cell = [[row["delay"] for row in each if row["cell"] == 0] for each in rows]
    difference = np.subtract(of_cell[1], of_cell[0])
    low, high = stats.t.interval(0.95, len(difference) - 1, difference.mean(), stats.sem(difference))
    line = next(line for line in done.stdout.splitlines() if line.startswith("|") and "| delay |" in line)
    assert f"{low:+.4g} to {high:+.4g} | 3 |" in line and f"{difference.mean():+.4g}" in line
    fine = cli("compare", "before", "after", "--fail-if", "p99(queue.sojourn) > 2 * baseline(delay)")
    assert fine.returncode == 0 and "no condition of 1 fails" in fine.stdout
    assert "flow.a.cc = reno, bottleneck.rate = 5 Mbit/s" in " ".join(
        cli("compare", "before", "after", "--markdown").stdout.replace("\\", "").split()
    )


def test_refused(cli: Cli, two: Path) -> None:
    """One message for each kind of wrong input."""
    refused(cli("compare", "long.toml"), "two or more are needed")
    refused(cli("compare", "long.toml", "short.toml", "--fail-if", "packets"), "--fail-if 'packets': is no comparison")
    refused(cli("compare", "long.toml", "short.toml", "--fail-if", "flows.x.goodput > 1"), "no flow is named `x`")
    refused(cli("compare", "long.toml", "short.toml", "--fail-if", "baseline() > 1"), "takes 1 arguments, not 0")
    (two / "empty").mkdir()
    refused(cli("compare", "long.toml", "empty"), "is not a result folder")
    (two / "bad.toml").write_text(BASE.replace('"reno"', '"rno"'))
    refused(cli("compare", "long.toml", "bad.toml"), "bad.toml:14", "did you mean `reno`?")
    (two / "base.toml").write_text(BASE)
    (two / "campaign.toml").write_text(FILE)
    assert cli("sweep", "campaign.toml", "--out", "data").returncode == 0
    refused(cli("compare", "data", "long.toml"), "long.toml: is no campaign, but data is")
    assert cli("sweep", "campaign.toml", "--out", "other", "--set", "duration=2 s").returncode == 0
    refused(cli("compare", "data", "other", "--fail-if", "packets > 1"), "`packets` is no metric of the campaign")
    claim = '\n[[claim]]\ntext = "A."\ncheck = "packets > baseline(packets)"\n'
    (two / "claim.toml").write_text(BASE + claim)
    refused(cli("run", "claim.toml"), "claim.toml:19", "baseline() is known only where two are compared")
