"""Evidence packs: their data, the judgements, and the command line as a user types it."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Cli
from headless import drive

from windtunnel import InputError, Scenario, _core
from windtunnel.evaluate.document import finding
from windtunnel.evaluate.fill import cells, scenario
from windtunnel.evaluate.grid import Cell, grids
from windtunnel.evaluate.judge import decide, decide_absolute, overall
from windtunnel.evaluate.pack import NAMES, Expect, read
from windtunnel.evaluate.picture import margins
from windtunnel.evaluate.results import Measured, Row, _margin
from windtunnel.evaluate.runs import SUBJECT, plan, seeds_in_words
from windtunnel.evaluate.subject import subject
from windtunnel.evaluate.terminal import measured, needs
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.scales import PERCENT, PLAIN, RATIO, SHARE, Scale
from windtunnel.notes import notes_before
from windtunnel.report.text import with_code

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Sections of RFC 9743 that have criteria or scenarios (its table of contents; 4 is on controlled environments).
RFC9743 = [
    *("4", "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
    *("6.1", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "7.9", "7.10", "7.11"),
]

#: Sections of RFC 7928 with tests or topics (its table of contents).
RFC7928 = [
    *("4.4", "4.5", "4.6", "5.1.1", "5.1.2", "5.2", "5.3", "5.4", "6", "7", "8.2.1", "8.2.2", "8.2.3", "8.2.4"),
    *("8.2.5", "8.2.6", "8.3", "9.1", "9.2", "10", "11", "12"),
]

#: What each kind of pack is tried with here.
DEFAULT = {"cc": "cubic", "queue": "pie"}

#: What packs are tried with that read a state.
WITH_STATE = {"ccwg-bbr": "bbr3"}


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, nothing on stdout, and one message on stderr that contains the words."""
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_data(name: str) -> None:
    """Every clause has its texts, every number of a check is measured, and every limit has a reason."""
    pack = read(name)
    assert len({clause.id for clause in pack.clauses}) == len(pack.clauses)
    assert (pack.seeds, pack.quantile_seeds) == (5, 10)  # docs/spec/queues-and-signalling.md, section 19.1
    for clause in pack.clauses:
        assert clause.title and clause.level and clause.cannot, clause.id
        assert len(clause.requirement) > 20, clause.id
        assert bool(clause.trials) == bool(clause.checks) == bool(clause.method), clause.id
        trials = {trial.id: trial for trial in clause.trials}
        assert len({check.id for check in clause.checks}) == len(clause.checks), clause.id
        assert {check.trial for check in clause.checks} == set(trials), clause.id
        for check in clause.checks:
            assert check.value in trials[check.trial].metrics, f"{clause.id} {check.id}"
            if check.expect is not None:
                assert check.why, f"{clause.id} {check.id}: a limit without a reason"
                assert check.expect.is_absolute or check.expect.is_relative
                assert set(check.expect.of) <= set(pack.baselines)
            if check.absolute is not None:
                assert check.absolute.is_absolute and not check.absolute.is_relative
                assert re.match(r"(RFC \d+, section|ITU-T [A-Z]\.\d+ \(\d+/\d+\))", check.source), check.id
            for axis, labels in check.at.items():
                there = {str(v["name"]) if isinstance(v, dict) else str(v) for v in trials[check.trial].axes[axis]}
                assert set(labels) <= there
        for trial in clause.trials:
            for text in trial.metrics.values():
                Expression.parse(re.sub(r"\$\w+", "1", text))
            assert set(trial.quick) <= set(trial.axes), f"{clause.id} {trial.id}"
            assert set(trial.baselines) <= set(pack.baselines)
            judged = [c.value for c in clause.checks if c.trial == trial.id and c.expect is not None]
            percentile = any(re.search(r"\bp\d+\b", trial.metrics[name]) for name in judged)
            assert clause.judges_quantile(trial) == percentile, f"{clause.id} {trial.id}"
            # A number of seeds of its own would not count.
            assert not (percentile and trial.seeds), f"{clause.id} {trial.id}"


def test_the_rfcs_sections() -> None:
    """The packs have every section with criteria, by its number, in the order of the document."""
    assert [clause.id for clause in read("rfc9743").clauses] == RFC9743
    assert [clause.id for clause in read("rfc7928").clauses] == RFC7928


def test_ten_seeds_where_a_percentile_is_judged() -> None:
    """Ten seeds for percentiles, five for means (section 19.1 of the specification of queues), and what a trial says
    where its runs are long; three with --quick. The runs have them.
    """
    pack = read("rfc9743")
    clauses = {clause.id: clause for clause in pack.clauses}
    for id, trial, seeds in (("5.1.2", 0, 10), ("5.1.1", 0, 5), ("6.3", 0, 3), ("6.3", 1, 2)):
        clause = clauses[id]
        assert pack.seeds_of(clause, clause.trials[trial], quick=False) == seeds, id
        assert pack.seeds_of(clause, clause.trials[trial], quick=True) == min(3, seeds), id
    made = plan(pack, pack.chosen(["5.1.2"]), subject("vegas", "cc"), quick=False)
    assert {run.seed for run in made.runs} == set(range(1, 11))
    assert (
        Expression.parse("p99.9(queue.sojourn)").is_quantile and Expression.parse("1 + flows.a.rtt_ms.p50").is_quantile
    )
    assert not Expression.parse("mean(queue.sojourn) / max(flows.goodput)").is_quantile


@pytest.mark.parametrize("scale", [PLAIN, RATIO, SHARE, PERCENT], ids=lambda scale: scale.kind)
def test_no_run_shows_anything(scale: Scale) -> None:
    """Where no run has a value, a row has none, on each scale: that of a share ended the evaluation."""
    nothing = Measured.of([math.nan, math.nan], scale)
    assert (nothing.mean, nothing.interval, nothing.runs) == (None, None, 2)


@pytest.mark.parametrize(
    ("name", "only", "quick", "words"),
    [
        ("rfc9743", ["5.1.2"], False, "10 seeds"),
        ("rfc9743", ["5.1.1"], False, "5 seeds"),
        ("rfc9743", ["5.1.1", "5.1.2"], False, "5 seeds, 10 where a percentile is judged"),
        ("rfc9743", ["5.1.1", "5.1.2", "6.3"], False, "2 to 5 seeds, 10 where a percentile is judged"),
        ("rfc9743", ["5.1.1", "5.1.2"], True, "3 seeds"),
        ("ccwg-bbr", ["12"], False, "1 to 3 seeds"),
    ],
)
def test_pages_say_the_seeds_that_there_are(name: str, only: list[str], quick: bool, words: str) -> None:
    """The seeds on a page are counted in the runs. Case 12 judges no percentile, and its cells have one to three."""
    pack = read(name)
    made = plan(pack, pack.chosen(only), subject("bbr3", "cc"), quick=quick)
    assert seeds_in_words(pack, made.runs) == words


@pytest.mark.parametrize("name", NAMES)
def test_scenarios(name: str) -> None:
    """Every scenario of the whole pack is valid, for what is examined and for the baselines."""
    pack = read(name)
    made = plan(pack, pack.clauses, subject(WITH_STATE.get(name, DEFAULT[pack.kind]), pack.kind), quick=False)
    assert not made.excluded
    for run in made.runs:
        if run.seed == 1 and run.arm != SUBJECT:
            Scenario.from_toml(run.text).check()
    assert len({run.file for run in made.runs}) == len(made.runs)


def test_packs_and_clauses_by_name() -> None:
    """A number also stands for those under it; a wrong name gets the nearest."""
    pack = read("rfc9743")
    assert [c.id for c in pack.chosen(["5.3", "7.1"])] == ["5.3.1", "5.3.2", "7.1"]
    assert [c.id for c in read("l4s-aqm").chosen(["9331"])] == ["9331-5.1", "9331-5.2", "9331-5.5"]
    with pytest.raises(InputError, match=r"numbered '5.1.9'; the nearest: .*5\.1\."):
        pack.chosen(["5.1.9"])
    with pytest.raises(InputError, match=r"named 'rfc9734'; the nearest: rfc9743"):
        read("rfc9734")


def test_seeds_move_starts() -> None:
    """A seed moves each flow within its round trip; the arms of one seed start alike, so that they are pairs."""
    trial = next(t for c in read("rfc9743").clauses if c.id == "5.2.1" for t in c.trials)
    cell = next(cells(trial, {}, quick=True))
    starts = {
        (seed, cc): tuple(flow["start"] for flow in scenario(trial, cell, "", seed, {"cc": cc})["flow"])
        for seed in (1, 2)
        for cc in ("cubic", "bbr3")
    }
    assert starts[1, "cubic"] == starts[1, "bbr3"] != starts[2, "cubic"]
    for start in starts[1, "cubic"]:
        assert 0 <= float(start.removesuffix(" us")) < 40e3  # the path has 40 ms


def test_what_a_pack_gives_to_its_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Axes, numbers and limits of the head are those of each trial, unless it has its own; numbers are computed in each
    cell, whichever stands first; a cell outside of the limits is left out.
    """
    from windtunnel.evaluate import pack as module

    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "pack.toml").write_text(HEAD)
    (tmp_path / "tiny" / "clauses.toml").write_text(CLAUSE)
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    monkeypatch.setattr(module, "NAMES", ("tiny",))
    pack = read.__wrapped__("tiny")
    (clause,) = pack.clauses
    one, other = clause.trials
    values = {cell.name: cell.values for cell in cells(one, {}, quick=False)}
    # At 10 ms, 1 Mbit/s has 0.8 packets.
    assert list(values) == ["rate=fast, rtt=10 ms", "rate=fast, rtt=40 ms", "rate=slow, rtt=40 ms"]
    assert values["rate=fast, rtt=40 ms"].items() >= {"rate": "fast", "packets": 33.333333, "long": 1}.items()
    assert [cell.name for cell in cells(one, {}, quick=True)] == ["rate=fast, rtt=40 ms"]
    assert [cell.name for cell in cells(other, {}, quick=False)] == ["rate=slow, rtt=10 ms"]
    seeds = [pack.seeds_of(clause, one, quick=False, values=each) for each in values.values()]
    assert seeds == [2, 2, 3]
    made = scenario(one, next(cells(one, {}, quick=True)), "", 1, {"cc": "reno"})
    assert made["duration"] == "1 s" and made["window"] == [{"name": "measured", "from": "0.25 s", "to": "1 s"}]
    row = Row(
        "1/x [..]", "1", "", "", "", Measured(None, None, 0), {}, None, "", "agrees", None, "", {}, trial="one",
        labels={"rate": "fast", "rtt": "40 ms"},
    )  # fmt: skip
    worse = replace(row, id="1/y [..]", verdict="differs", labels={"rate": "slow", "rtt": "10 ms"})
    (grid,) = grids([worse, row, replace(worse, id="1/z [..]", verdict="undecided")], pack)
    assert (grid.axes, grid.columns) == (("rate", "rtt"), ("fast", "slow"))
    met, not_met = Cell("agrees", ()), Cell("differs", ("y",))
    assert grid.rows == (("10 ms", (None, not_met)), ("40 ms", (met, None)))


HEAD = """
title = "Tiny"
document = "RFC 0"
subject = "cc"
seeds = 5
quantile_seeds = 10
quick_seeds = 3
about = ""
cannot = ""
[baselines]
[axes]
rate = [{ name = "fast", mbps = 10 }, { name = "slow", mbps = 1 }]
rtt = [{ name = "10 ms", s = 0.01 }, { name = "40 ms", s = 0.04 }]
[quick]
rtt = ["40 ms"]
[numbers]
seeds = "min(3, 2.5 / log2(mbps))"
packets = "mbps * s / 0.012"
[where]
packets = { above = 3 }
"""

CLAUSE = """
[[clause]]
id = "1"
title = "One"
level = "example"
requirement = "..."
cannot = "..."
[[clause.trial]]
id = "one"
window = ["begin", "long"]
[clause.trial.quick]
rate = ["fast"]
[clause.trial.numbers]
begin = "long / 4"
long = "ceil(25 * min(s, 0.04) - 0.1)"
seeds = "min(3, max(2, 5 - mbps))"
[clause.trial.metrics]
[clause.trial.scenario]
duration = "$long s"
[[clause.trial.scenario.flow]]
cc = "$cc"
[[clause.trial]]
id = "other"
[clause.trial.axes]
rtt = ["10 ms"]
[clause.trial.where]
packets = { below = 3 }
[clause.trial.metrics]
[clause.trial.scenario]
duration = "1 s"
flow = [{ cc = "$cc" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('rtt = ["10 ms"]', 'rtt = ["20 ms"]', "trial other: axes.rtt: '20 ms' is not known; there are 10 ms, 40 ms"),
        (
            'rate = ["fast"]',
            'rate = ["fats"]',
            "trial one: quick.rate: 'fats' is not known; there are fast, slow; did you",
        ),
        ('begin = "long / 4"', 'begin = "lnog / 4"', "trial one: numbers.begin: 'lnog' is not known"),
        ("ceil(25 * ", "ceil(begin + ", "trial one: numbers: need each other: "),
        ("packets = { below", "packet = { below", "trial other: where.packet is not known"),
        ("{ below = 3 }", "{ under = 3 }", "trial other: where.packets.under is not known; there are above, below"),
        ('["begin", "long"]', '["start", "long"]', "trial one: window: 'start' is not known"),
    ],
)
def test_mistakes_about_axes_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    """A name that does not exist is one message, which names the file, the clause, the trial and the key."""
    from windtunnel.evaluate import pack as module

    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "pack.toml").write_text(HEAD)
    file = tmp_path / "tiny" / "clauses.toml"
    assert old in CLAUSE
    file.write_text(CLAUSE.replace(old, new))
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    monkeypatch.setattr(module, "NAMES", ("tiny",))
    with pytest.raises(InputError) as error:
        read.__wrapped__("tiny")
    assert str(error.value).startswith(f"{file}: clause 1: {words}") and "\n" not in str(error.value)


def test_runs_that_need_much_memory_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers have half of the memory each: a run that needs more than that runs without another one, and ends."""
    from windtunnel.evaluate import execute

    pack = read("rfc9743")
    made = plan(pack, pack.chosen(["7.8"]), subject("vegas", "cc"), quick=True)
    runs = made.runs[:2]
    size = max(Scenario.from_toml(run.text).estimate()["memory_bytes"] for run in runs)
    monkeypatch.setattr(execute, "limit", lambda _: int(1.5 * size))
    outcomes = execute.run_all(runs, 2, lambda _: None, use_cache=False)
    assert [outcome.error for outcome in outcomes] == ["", ""]
    monkeypatch.setattr(execute, "limit", lambda _: size // 2)
    outcomes = execute.run_all(runs, 2, lambda _: None, use_cache=False)
    assert any("memory" in outcome.error for outcome in outcomes)


def test_changes_at_equal_intervals() -> None:
    """``{ from, to, every, rates }`` becomes the list that a scenario has."""
    clause = next(c for c in read("rfc7928").clauses if c.id == "8.2.6")
    slow = scenario(clause.trials[0], next(cells(clause.trials[0], {}, quick=False)), "", 1, {"queue": "pie"})
    changes = slow["bottleneck"]["changes"]
    assert [c["at"] for c in changes] == ["20000 ms", "40000 ms", "60000 ms", "80000 ms"]
    assert [c["rate"] for c in changes] == ["2 Mbit/s", "20 Mbit/s"] * 2


@pytest.mark.parametrize(
    ("expect", "values", "verdict"),
    [
        (Expect(below=10), [8, 9, 8, 9], "agrees"),
        (Expect(below=10), [12, 13, 12, 13], "differs"),
        (Expect(below=10), [8, 12, 8, 12], "undecided"),
        (Expect(below=10), [9.0], "undecided"),  # one run has no interval
        (Expect(below=10), [8, math.nan, 9], "undecided"),  # a run that shows nothing
        (Expect(above=1), [2, 2, 2], "agrees"),
        (Expect(above=1, below=3), [4, 4, 4], "differs"),
        (Expect(above=1, below=3), [2, 2, 2], "agrees"),
        # The worst of the two baselines has 10 (for at_least) or 20 (for at_most).
        (Expect(at_least=0.8), [9, 9, 9], "agrees"),
        (Expect(at_least=0.8), [7, 7, 7], "differs"),
        (Expect(at_most=1.25), [24, 24, 24], "agrees"),
        (Expect(at_most=1.25), [26, 26, 26], "differs"),
        (Expect(at_most=1.25, plus=2), [26, 26, 26], "agrees"),
        (Expect(at_most=1.25, of=("low",)), [24, 24, 24], "differs"),
        # Either of two limits suffices.
        (Expect(below=30, at_most=1.25), [26, 26, 26], "agrees"),
        (Expect(below=25, at_most=1.4), [26, 26, 26], "agrees"),
        (Expect(below=25, at_most=1.25), [26, 26, 26], "differs"),
        # A rule for each run: one that breaks it decides, and then one that does not show it.
        (Expect(below=3, each=True), [1, 2, 3], "agrees"),
        (Expect(below=3, each=True), [1, 2, 4], "differs"),
        (Expect(above=3, below=3, each=True), [3.0], "agrees"),
        (Expect(above=3, each=True), [3, math.nan], "undecided"),
        (Expect(above=3, each=True), [2, math.nan], "differs"),
        (None, [1, 2, 3], "info"),
    ],
)
def test_judgement(expect: Expect | None, values: list[float], verdict: str) -> None:
    """The interval of the mean against absolute limits and against the worst baseline."""
    n = len(values)
    assert decide(expect, values, {"low": [10.0] * n, "high": [20.0] * n}).verdict == verdict


def test_baselines_are_compared_run_by_run() -> None:
    """What differs between seeds alike for both arms cancels: 1 % less each time is decided, although seeds differ by
    half.
    """
    baseline = [10.0, 15.0, 20.0, 12.0, 18.0]
    slower = [0.99 * b for b in baseline]
    assert decide(Expect(at_least=0.995), slower, {"b": baseline}).verdict == "differs"
    assert decide(Expect(at_least=0.98), slower, {"b": baseline}).verdict == "agrees"
    shuffled = [*slower[1:], slower[0]]
    assert decide(Expect(at_least=0.98), shuffled, {"b": baseline}).verdict == "undecided"


def test_the_words_of_a_limit() -> None:
    """A limit is shown as a number and in words."""
    judged = decide(Expect(at_most=1.25, plus=1), [24, 24], {"cubic": [20, 20], "reno": [10, 10]})
    assert (judged.limit, judged.text) == (26.0, "at most 1.25 times cubic's and 1")
    assert decide(Expect(above=3), [4, 4], {}).text == "at least 3"


def test_an_absolute_limit_stands_next_to_the_comparison() -> None:
    """As long as CUBIC's queue is no longer than CUBIC's, but no shorter for that."""
    long = [600.0, 610.0, 605.0]
    assert decide(Expect(at_most=1.05), long, {"cubic": long}).verdict == "agrees"
    absolute = decide_absolute(Expect(below=130), long)
    assert absolute is not None and (absolute.verdict, absolute.text) == ("differs", "at most 130")
    assert decide_absolute(None, long) is None


def test_a_value_with_its_interval_is_no_limit() -> None:
    """`9.655, at least 7.966: undecided` read as an error: an interval explains it."""
    assert measured(Measured(9.655, (7.1, 12.2), 5), "Mbit/s") == "9.655 Mbit/s (95 % interval 7.100 to 12.20)"
    assert measured(Measured(9.655, None, 1), "ms") == "9.655 ms"
    judged = decide(Expect(at_least=0.8), [9.0, 10.0, 11.0], {"cubic": [10.0, 10.0, 10.0]})
    row = Row(
        "5/x", "5", "goodput", "", "Mbit/s", Measured.of([9.0, 10.0, 11.0]), {}, judged.limit, judged.text, "agrees",
        None, "", {},
    )  # fmt: skip
    assert needs(row) == "needs at least 8.000 Mbit/s, which is 0.8 times cubic's"


def test_a_clause_is_as_good_as_its_worst_row() -> None:
    """Met only where every judged row is; rows for information decide nothing."""
    assert overall(["agrees", "info", "agrees"]) == "agrees"
    assert overall(["agrees", "undecided", "info"]) == "undecided"
    assert overall(["undecided", "differs", "agrees"]) == "differs"
    assert overall(["n/a", "agrees"]) == "agrees"
    assert overall(["n/a", "info"]) == "n/a"
    assert overall(["failed", "differs"]) == "failed"
    assert overall([]) == overall(["info"]) == "info"


def test_code_in_texts() -> None:
    """Text between backticks is code on the page; all else is text."""
    assert with_code("`a<b` and <i>") == "<code>a&lt;b</code> and &lt;i&gt;"


def test_margins_point_the_same_way() -> None:
    """Twice as good as the limit is a margin of 2, whether more or less is better."""
    assert _margin(Measured(20.0, (10.0, 40.0), 3), 10.0, larger=True) == (2.0, 1.0, 4.0)
    assert _margin(Measured(5.0, (2.5, 10.0), 3), 10.0, larger=False) == (2.0, 1.0, 4.0)
    assert _margin(Measured(None, None, 3), 10.0, larger=True) is None
    assert margins([]) == ""


def test_no_queue_of_a_pack_drops_what_it_should_mark() -> None:
    """A queue that Linux does not have reads the ECN field as MDS by default, and drops ECT(1) where it would mark: a
    pack for L4S senders says which mode it means.
    """
    pack = read("rfc9743")
    made = plan(pack, pack.clauses, subject("prague", "cc"), quick=True)
    for run in made.runs:
        if run.seed == 1 and run.arm == SUBJECT:
            notes = {note.rule for note in notes_before(Scenario.from_toml(run.text).resolve())}
            assert "l4s-read-as-mds" not in notes, run.file


def test_what_cannot_take_part_says_why() -> None:
    """4.2BSD's sender has no ECN: clauses that need it do not apply, with the core's reason, and others do."""
    pack = read("rfc9743")
    made = plan(pack, pack.chosen(["5.3.2", "7.7"]), subject("bsd42", "cc"), quick=True)
    assert {key[:2] for key in made.excluded} == {("5.3.2", "middlebox")}
    assert all(each.state == "n/a" and "ecn" in each.reason for each in made.excluded.values())
    assert any(run.clause == "7.7" and run.arm == SUBJECT for run in made.runs)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("cubbic", "cc", r"--cc cubbic: no controller has this name; did you mean `cubic`"),
        ("reno", "queue", "--queue reno: is a controller, not a queue; a controller is given with --cc"),
        ("{ kind = ", "cc", "no table in TOML"),
        ("{ a = 1 }", "cc", "no controller has this name"),
        ("{ kind = 'pie', target = '-5 ms' }", "queue", "--queue"),
    ],
)
def test_wrong_subjects(text: str, kind: str, words: str) -> None:
    """What is no controller, or no queue, is refused before anything is planned."""
    with pytest.raises(InputError, match=words):
        subject(text, kind)  # type: ignore[arg-type]


def test_bad_input(cli: Cli, tmp_path: Path) -> None:
    """Names, kinds, clauses and places: one message, with the nearest name, and nothing is written."""
    refused(cli("evaluate", "rfc9734", "--cc", "cubic"), "rfc9734", "rfc9743")
    refused(cli("evaluate", "rfc9743"), "a controller", "--cc")
    refused(cli("evaluate", "rfc9743", "--queue", "pie"), "--cc", "not --queue")
    refused(cli("evaluate", "rfc9743", "--cc", "cubbic"), "cubbic", "did you mean `cubic`")
    refused(cli("evaluate", "rfc9743", "--cc", "fq_codel"), "is a queue, not a controller", "--queue")
    refused(cli("evaluate", "rfc9743", "--cc", "{ kind = 'aimd', a = -1 }"), "--cc", "-1")
    refused(cli("evaluate", "rfc9743", "--cc", "cubic", "--only", "5.9"), "5.9", "5.")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    refused(cli("evaluate", "rfc9743", "--cc", "cubic", "--out", "out"), "out", "exists already")
    refused(cli("evaluate", "rfc9743", "--cc", "cubic", "--out", "out", "--force"), "out", "other files")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


#: What is wider than its place.
CUT = """
const wide = [...document.querySelectorAll(".scroll, main")].filter((e) => e.scrollWidth > e.clientWidth + 1);
leave(wide.map((e) => `${e.className} ${e.scrollWidth} > ${e.clientWidth}`));
"""


def test_a_pack(cli: Cli, tmp_path: Path) -> None:
    """A pack of two clauses: it says what it will do, and writes page, rows, data, and scenarios that rerun to the same
    digest.
    """
    done = cli("evaluate", "rfc9743", "--cc", "vegas", "--quick", "--only", "5.1.2", "--only", "7.10", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith("vegas by RFC 9743, compared with cubic and reno: 36 runs, about ")
    folder = tmp_path / "results" / "rfc9743-vegas"
    pack = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    verdicts = {clause["id"]: clause["verdict"] for clause in pack["clauses"]}
    # Vegas keeps a few packets in the queue, whatever the buffer; nothing is simulated for multipath.
    assert verdicts == {"5.1.2": "met", "7.10": "info"}
    assert {clause["id"]: clause["absolute"] for clause in pack["clauses"]} == {"5.1.2": "met", "7.10": None}
    rows = list(csv.DictReader((folder / "rows.csv").read_text(encoding="utf-8").splitlines()))
    (deep,) = (row for row in rows if row["id"] == "5.1.2/delay [buffer=16 bdp]")
    assert float(deep["measured"]) < 10 < 300 < float(deep["cubic"])
    run = pack["runs"][0]
    again = json.loads(cli("run", folder / run["scenario"], "--json").stdout)
    assert again["meta"]["digest"] == run["digest"]
    data = pq.read_table(folder / "data" / "runs.parquet")
    assert data.num_rows == 36 * 2
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in (
        "Protection Against Bufferbloat",
        "What a simulation cannot show",
        "(RFC 9743, section 5.1.2; should)",
        '<svg class="margins"',
        "7.10",
    ):
        assert words in page
    # Figures that can be saved, and what an appendix needs; the archive has all files and no times of this run.
    figures = {file.name for file in (folder / "figures").iterdir()}
    assert figures == {"5.1.2-over-time.png", "5.1.2-values.png", "5.1.2-values.svg"}
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert "![5.1.2, values](figures/5.1.2-values.png)" in markdown
    assert "met: at most 130 ms (ITU-T G.114" in markdown and "; needs at most" not in markdown.split("Decides")[0]
    with zipfile.ZipFile(folder / "appendix.zip") as archive:
        names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
        assert set(archive.namelist()) == names - {"appendix.zip"}
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    # Nothing is cut off, neither on a screen of 1280 pixels nor on a phone.
    for size in ("1280,900", "500,900"):  # Chromium's windows are no narrower
        cut = drive(folder / "report.html", CUT, size=size)
        assert cut == [], size
    refused(cli("evaluate", "rfc9743", "--cc", "vegas", "--quick", "--only", "7.10"), "exists already")
    assert cli("evaluate", "rfc9743", "--cc", "vegas", "--quick", "--only", "7.10", "--force").returncode == 0


def test_a_queue_and_a_plugin(cli: Cli, tmp_path: Path) -> None:
    """A queue with parameters, and a controller that a plugin registers."""
    done = cli("evaluate", "bufferbloat", "--queue", "{ kind = 'pie', target = '5 ms' }", "--quick", "--only", "voip")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "bufferbloat-kind-pie-target-5-ms" / "report.html").is_file()
    plugin = EXAMPLES / "python-controller" / "delay_aimd.py"
    done = cli(
        "evaluate", "rfc9743", "--cc", "delay-aimd", "--plugin", plugin, "--quick", "--only", "7.8", "--out", "mine"
    )
    assert done.returncode == 0, done.stderr
    assert "foreign code: controller delay-aimd" in done.stdout
    # The folder holds the source as it was run, and with it its scenarios run again to the same digests.
    pack = json.loads((tmp_path / "mine" / "pack.json").read_text(encoding="utf-8"))
    (ours,) = pack["plugins"]
    copy = tmp_path / "mine" / ours["file"]
    assert copy.read_bytes() == plugin.read_bytes()
    assert ours["sha256"] == hashlib.sha256(plugin.read_bytes()).hexdigest()
    assert pack.get("commit") == _core.commit()
    run = next(run for run in pack["runs"] if run["arm"] == SUBJECT)
    again = json.loads(cli("run", tmp_path / "mine" / run["scenario"], "--plugin", copy, "--json").stdout)
    assert again["meta"]["digest"] == run["digest"]


def test_numbers_of_a_finding() -> None:
    """They come from the rows; a row that does not exist is an error, not a blank."""
    row = {"id": "5.1.2/delay [a=b]", "measured": {"mean": 12.345}, "baselines": {"reno": {"mean": 200.0}},
           "verdict": "met", "limit": 210.0}  # fmt: skip
    packs = {"rfc9743": {"clauses": [{"rows": [row]}]}}
    delay = "rfc9743: 5.1.2/delay [a=b]"
    text = f"{{{delay}}} ms, Reno {{{delay} | reno}} ms, {{{delay} | verdict}} (limit {{{delay} | limit}} ms)"
    assert finding(text, packs) == "12.3 ms, Reno 200 ms, met (limit 210 ms)"
    with pytest.raises(ValueError, match="no row"):
        finding("{rfc9743: 5.1.2/rate}", packs)
    row["measured"] = {"mean": None}
    with pytest.raises(ValueError, match="no value"):
        finding(f"{{{delay}}}", packs)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('limit = "1 bdp"', 'limit = "1 bpd"', ("trial ", "bottleneck.queue.limit", "`bpd`")),
        ('rate = "20 Mbit/s"', 'raet = "20 Mbit/s"', ("bottleneck.raet", "did you mean `rate`")),
        ("expect = { at_most", "expect = { at_mots", ("expect.at_mots is not known", "did you mean `at_most`")),
        ('value = "delay"', 'value = "dealy"', ("value: 'dealy' is not known", "did you mean `delay`")),
        ("[[clause.check]]", "[[clause.check]", ("is no TOML",)),
    ],
)
def test_mistakes_of_a_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: tuple[str, ...]
) -> None:
    """A typo of a pack's author is an error that names file and clause; it made clauses "n/a", with exit code 0."""
    from windtunnel.evaluate import pack as module

    shutil.copytree(module._FOLDER, tmp_path / "packs")
    file = next(f for f in sorted((tmp_path / "packs" / "rfc9743").glob("5*.toml")) if old in f.read_text())
    file.write_text(file.read_text().replace(old, new, 1))
    monkeypatch.setattr(module, "_FOLDER", tmp_path / "packs")
    with pytest.raises(InputError) as error:
        mistaken = read.__wrapped__("rfc9743")
        plan(mistaken, mistaken.clauses, subject("cubic", "cc"), quick=True)
    assert str(file) in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_what_cannot_take_part_is_no_mistake() -> None:
    """What only the examined algorithm is refused for stays a reason in the row."""
    pack = read("rfc9743")
    planned = plan(pack, pack.clauses, subject("prague", "cc"), quick=True)
    assert all(each.reason for each in planned.excluded.values())
