"""Claims of scenarios and campaigns, as typed: verdicts, exit codes, the JUnit report, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from campaigns import BASE, FILE, campaign
from conftest import Cli, refused

from windtunnel import InputError, Scenario, ScenarioError, load
from windtunnel.claims.decide import of_values
from windtunnel.claims.model import Claim
from windtunnel.experiment.measures import Condition, Expression
from windtunnel.experiment.runs import key_of_run
from windtunnel.experiment.verdict import of_interval

CLAIMS = """
[[claim]]
name = "full"
text = "The link is full."
check = "queue.utilization in [0.9, 1]"

[[claim]]
text = "The queue is short."
check = "p99(queue.sojourn_ms) < 5"
"""

OF_CAMPAIGN = """
[[claim]]
name = "reno"
text = "Two Renos use the link."
check = "queue.utilization > 0.5"
where = { "flow.a.cc" = "reno" }

[[claim]]
text = "The queue is short."
check = "delay < 5"

[[claim]]
text = "The first flow has its share."
check = "share in [-1000, 1000]"
where = { "flow.a.cc" = "cubic", "bottleneck.rate" = ["5 Mbit/s", "20 Mbit/s"] }
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


def test_claims_of_a_run(cli: Cli, tmp_path: Path) -> None:
    """Each is decided by the run's one value, which is said; a refuted one makes the exit code 1, and the result is
    written all the same, with the claims in summary, page and report.
    """
    (tmp_path / "s.toml").write_text(BASE + CLAIMS)
    done = cli("run", "s.toml", "--junit", "claims.xml")
    assert done.returncode == 1, done.stderr
    result = load(tmp_path / "results" / "s")
    full, short = result.claims
    assert (full["name"], full["verdict"]) == ("full", "confirmed")
    assert full["value"] == result.queues[0]["utilization"]
    assert (short["name"], short["verdict"], short["value"]) == (
        "claim-2",
        "refuted",
        result.queues[0]["sojourn_ms"]["p99"],
    )
    assert f"queue.utilization in [0.9, 1]: {full['value']:.4g} (one run)" in done.stdout
    assert "refuted: The queue is short." in done.stdout
    page = (tmp_path / "results" / "s" / "report.html").read_text()
    assert "<h2>Claims</h2>" in page and "p99(queue.sojourn_ms) &lt; 5" in page
    suite = ET.parse(tmp_path / "claims.xml").getroot()[0]
    assert dict(suite.attrib) == {"name": "s", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    assert [(case.get("name"), case[0].tag) for case in suite] == [("full", "system-out"), ("claim-2", "failure")]
    assert "refuted" in str(suite[1][0].get("message"))
    without = cli("run", "s.toml", "--out", "without", "--set", "claim=[]")
    assert without.returncode == 0 and "refuted" not in without.stdout
    assert load(tmp_path / "without").digest == result.digest


def test_undecided(cli: Cli, tmp_path: Path) -> None:
    """A number that the run does not have leaves a claim undecided, which fails unless it may pass."""
    claim = '\n[[claim]]\ntext = "Small."\ncheck = "p99(flows.c.rtt) < 5"\n'
    (tmp_path / "s.toml").write_text(BASE + claim)
    strict = cli("run", "s.toml", "--out", "a", "--junit", "a.xml")
    assert strict.returncode == 1 and "no flow is named `c`; there are a, b" in strict.stdout
    lax = cli("run", "s.toml", "--out", "b", "--undecided", "pass", "--junit", "b.xml")
    assert lax.returncode == 0
    tags = [ET.parse(tmp_path / name).getroot()[0][0][0].tag for name in ("a.xml", "b.xml")]
    assert tags == ["failure", "skipped"]


def test_claims_of_a_campaign(cli: Cli, tmp_path: Path) -> None:
    """Each is decided in each cell that it is about, by the mean over runs and its interval; names of metrics stand
    for their expressions.
    """
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(FILE + OF_CAMPAIGN)
    done = cli("sweep", "campaign.toml", "--junit", "claims.xml")
    assert done.returncode == 1, done.stderr
    reno, short, share = json.loads((tmp_path / "results" / "campaign" / "claims.json").read_text())
    assert [len(claim["cells"]) for claim in (reno, short, share)] == [3, 6, 2]
    assert {cell["cell"]["flow.a.cc"] for cell in reno["cells"]} == {"reno"}
    assert (reno["verdict"], short["verdict"], share["verdict"]) == ("confirmed", "refuted", "confirmed")
    import pyarrow.parquet as pq

    rows = pq.read_table(tmp_path / "results" / "campaign" / "cells.parquet").to_pylist()
    delays = {row["cell"]: row for row in rows if row["metric"] == "delay"}
    for number, cell in enumerate(short["cells"]):
        row = delays[number]
        assert (cell["count"], cell["mean"]) == (row["count"], pytest.approx(row["mean"]))
        assert (cell["low"], cell["high"]) == (pytest.approx(row["mean_low"]), pytest.approx(row["mean_high"]))
    assert len(list(ET.parse(tmp_path / "claims.xml").getroot().iter("testcase"))) == 11
    page = (tmp_path / "results" / "campaign" / "report.html").read_text()
    assert '<td class="agrees">confirmed</td><td>3 confirmed</td>' in page
    counts = Counter(cell["verdict"] for cell in short["cells"])
    assert (
        f"{counts['refuted']} refuted" in page[page.index('<td class="differs">refuted</td>') :].partition("</tr>")[0]
    )
    fine = cli("sweep", "campaign.toml", "--out", "fine", "--only", "flow.a.cc=reno", "--undecided", "pass")
    assert fine.returncode == 1 and "no cell was run that it is about" in fine.stdout


def test_claims_from_python(tmp_path: Path) -> None:
    """The same model; a claim whose quantity needs a table is read from it."""
    claims = [{"text": "Short.", "check": "p90(queue.sojourn) < 1000 and True"}]
    with pytest.raises(InputError, match=r"claim\[0\].check: .* is no comparison"):
        campaign(claims=claims)
    made = campaign(metrics={}, claims=[{"text": "Short.", "check": "p90(queue.sojourn) < 1000"}])
    made.run(tmp_path / "out")
    (decided,) = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert decided["verdict"] == "confirmed" and all(cell["mean"] > 0 for cell in decided["cells"])
    scenario = Scenario(
        duration="1 s", bottleneck={"rate": "5 Mbit/s"}, flows=[{"cc": "reno", "rtt": "20 ms"}],
        claims=[{"text": "Some.", "check": "packets > 0"}],
    )  # fmt: skip
    assert [claim["verdict"] for claim in scenario.run().claims] == ["confirmed"]


def test_claims_change_no_run() -> None:
    """The cache knows a run whatever is claimed of it."""
    plain, claimed = (Scenario.from_toml(text).resolve_text() for text in (BASE, BASE + CLAIMS))
    assert plain != claimed and key_of_run(plain, None) == key_of_run(claimed, None)


@pytest.mark.parametrize(
    ("limits", "interval", "verdict"),
    [
        ("packets < 5", (4.0, 4.9), "agrees"),
        ("packets < 5", (4.0, 5.0), "undecided"),
        ("packets < 5", (5.0, 5.0), "differs"),
        ("packets <= 5", (5.0, 5.0), "agrees"),
        ("packets in [1, 2]", (0.9, 1.5), "undecided"),
        ("packets in [1, 2]", (2.1, 2.5), "differs"),
        ("packets in [1, 2]", (0.5, 2.5), "undecided"),
    ],
)
def test_verdicts(limits: str, interval: tuple[float, float], verdict: str) -> None:
    """The whole interval within the limits, none of it, or some."""
    assert of_interval(Condition.parse(limits).limits, interval) == verdict


def test_interval_decides() -> None:
    """Student's interval of 1, 2, 3 at 95 % is 2 +- 4.303 / sqrt(3): -0.48 to 4.48."""
    claim = Claim("a", "A.", Condition.parse("packets < 4"))
    decision = of_values(claim, [1.0, 2.0, 3.0], 0.95, "t")
    assert decision.verdict == "undecided"
    assert decision.interval == (
        pytest.approx(2 - 4.3027 / 3**0.5, abs=1e-4),
        pytest.approx(2 + 4.3027 / 3**0.5, abs=1e-4),
    )
    assert of_values(claim, [1.0], 0.95, "t").verdict == "agrees"
    assert of_values(claim, [1.0, 2.0, 3.0], 0.5, "t").verdict == "agrees"


def test_names_stand_for_metrics() -> None:
    """A name is replaced by its expression, whose precedence is kept; the root of a path is no name of a metric."""
    names = {"a": Expression.parse("packets + 1"), "flows": Expression.parse("packets")}
    condition = Condition.parse("2 * a < p99.9(flows.x.rtt)", names)
    assert condition.quantity.text == "2 * (packets + 1) - p99_9(flows.x.rtt)" and condition.limits.high == 0
    assert Expression.parse(condition.quantity.text).root == condition.quantity.root


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            'text = "A."\ncheck = "p99(queue.sojourn"',
            "s.toml:18: claim[0].check: 'p99(queue.sojourn': is no expression",
        ),
        (
            'text = "A."\ncheck = "queu.utilization < 1"',
            "s.toml:18: claim[0].check: 'queu.utilization < 1': `queu` is not",
        ),
        ('text = "A."\ncheck = 5', "s.toml:18: claim[0].check: 5 is not allowed: a text in quotes"),
        ('text = "A."\nchek = "packets > 0"', "s.toml:18: claim[0].chek: is not a key here; the keys are text, check"),
    ],
)
def test_refused_in_a_scenario(cli: Cli, tmp_path: Path, claim: str, message: str) -> None:
    """One message with file and line; nothing is run."""
    (tmp_path / "s.toml").write_text(f"{BASE}[[claim]]\n{claim}\n")
    for command in ("check", "run"):
        refused(cli(command, "s.toml"), message)
    assert not (tmp_path / "results").exists()
    with pytest.raises(ScenarioError):
        Scenario.from_file(tmp_path / "s.toml").run()


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ('text = "A."\ncheck = "delay"', "claim[0].check: 'delay': is no comparison"),
        ('text = "A."\ncheck = "dely < 5"', "claim[0].check: 'dely < 5': `dely` is not known"),
        ('check = "delay < 5"', "claim[0].text: is required"),
        ('text = "A."\ncheck = "delay < 5"\nwhere = { cc = "reno" }', "claim[0].where.cc: is no axis"),
        ('text = "A."\ncheck = "delay < 5"\nwhere = { "flow.a.cc" = "rno" }', "'rno' is no value of this axis: reno"),
        ('text = "A."\nchek = "delay < 5"', "claim[0].chek: is not a key here"),
    ],
)  # fmt: skip
def test_refused_in_a_campaign(cli: Cli, tmp_path: Path, claim: str, message: str) -> None:
    """The same for campaigns."""
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(f"{FILE}\n[[claim]]\n{claim}\n")
    refused(cli("sweep", "campaign.toml"), message)
    assert not (tmp_path / "results").exists()


def test_what_no_run_has(cli: Cli, tmp_path: Path) -> None:
    """A name that runs do not have is seen in the first one, which ends the sweep."""
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(f'{FILE}\n[[claim]]\ntext = "A."\ncheck = "flows.c.goodput < 5"\n')
    done = cli("sweep", "campaign.toml")
    assert done.returncode == 2 and not (tmp_path / "results").exists()
    assert "campaign.toml:18: claim[0].check: 'flows.c.goodput < 5': flows.c.goodput: no flow is named" in done.stderr


def test_places_of_the_report(cli: Cli, tmp_path: Path) -> None:
    """A place where the report cannot be is refused before the run."""
    (tmp_path / "s.toml").write_text(BASE + CLAIMS)
    (tmp_path / "folder").mkdir()
    refused(cli("run", "s.toml", "--junit", "folder"), "is a folder")
    refused(cli("run", "s.toml", "--junit", "none/claims.xml"), "there is no folder")
    assert not (tmp_path / "results").exists()
