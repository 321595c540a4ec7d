"""Searches: samplers, shrinking, topologies, the held-out logic, and ``windtunnel hunt`` and ``tune`` as typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import HUNG, PROGRAM, Cli, environment

from windtunnel import InputError, Scenario
from windtunnel.campaign.sweep import journal_of
from windtunnel.search.dimensions import Dimension, Point
from windtunnel.search.file import read_hunt, read_tune
from windtunnel.search.goal import Goal
from windtunnel.search.hunt import Findings, hunting
from windtunnel.search.laboratory import Answer, Ask, Search
from windtunnel.search.measure import Measured
from windtunnel.search.sampler import Sampler, Study
from windtunnel.search.shrink import shrink
from windtunnel.search.space import Space
from windtunnel.search.topology import space_of
from windtunnel.search.tune import Setting, choose, comparisons, front_of, tuning
from windtunnel.search.written import table_of

#: A short queue with a long round-trip time is where Reno uses little of the link (a BDP of buffer is needed): planted.
HUNT = """\
title = "Where one Reno flow leaves the link idle"
runs = 40
seeds = 1
check = 4
sampler = "tpe"

[scenario]
duration = "2 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "fifo", limit = "100 packets" } }
window = [{ name = "late", from = "1 s", to = "2 s" }]

[[scenario.flow]]
name = "a"
cc = "reno"
rtt = "20 ms"
ack = "immediate"

[[scenario.flow]]
name = "b"
cc = "reno"
rtt = "20 ms"

[space]
limit = { key = "bottleneck.queue.limit", from = "3 packets", to = "100 packets", whole = true, spacing = "log" }
rtt = { keys = ["flow.a.rtt", "flow.b.rtt"], from = "5 ms", to = "100 ms" }
"flow.a.ack" = ["immediate", "linux"]

[find]
minimize = "windows.late.queue.utilization"
below = 0.7

[compare]
"as it was" = { "bottleneck.queue.limit" = "100 packets", "flow.a.rtt" = "20 ms", "flow.b.rtt" = "20 ms" }
"""

TUNE = """\
title = "How long a queue should be"
runs = 96
seeds = 1
proof = 3
over = "relative"

[scenario]
duration = "2 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "fifo", limit = "300 packets" } }

[[scenario.flow]]
name = "a"
cc = "reno"
rtt = "20 ms"

[space]
limit = { key = "bottleneck.queue.limit", from = "4 packets", to = "300 packets", whole = true, spacing = "log" }

[paths.grid]
"flow.a.rtt" = ["10 ms", "30 ms"]

[held_out.grid]
"flow.a.rtt" = ["15 ms", "40 ms"]

[objectives]
delay = { minimize = "queue.sojourn.p99" }
utilization = { maximize = "queue.utilization" }

[constraints]
use = "queue.utilization > 0.5"
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def hunt_file(tmp_path: Path) -> Path:
    path = tmp_path / "idle.toml"
    path.write_text(HUNT)
    return path


@pytest.fixture
def tune_file(tmp_path: Path) -> Path:
    path = tmp_path / "length.toml"
    path.write_text(TUNE)
    return path


def imagined(search: Search[Any], value: Callable[[dict[str, Any], int], float]) -> Any:
    """Do a search whose runs are not run: ``value`` of the scenario's table and the seed is what they give."""
    asked = next(search)
    while True:
        answers = [Answer((value(table_of(ask.scenario), ask.seed),), "digest") for ask in asked]
        try:
            asked = search.send(answers)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("sampler", ["tpe", "cma-es", "random"])
def test_samplers_are_deterministic(sampler: Sampler) -> None:
    """The same seed asks for the same points, told the same values; and each sampler but chance comes near the least
    value of a parabola on a logarithmic range.
    """
    space = Space(
        (Dimension.of("x", {"from": 1, "to": 1000, "spacing": "log"}), Dimension.of("y", {"from": 0, "to": 1})),
        lambda _: Scenario.from_toml(""),
    )

    def values() -> list[float]:
        study = Study(space, sampler, 7, ["minimize"])
        objectives = []
        for _ in range(20):
            batch = study.ask(8)
            for candidate in batch:
                x, y = float(candidate.point["x"]), float(candidate.point["y"])
                objectives.append((x / 30 - 1) ** 2 + y)
                study.tell(candidate, [objectives[-1]])
        return objectives

    first = values()
    assert first == values()
    if sampler != "random":
        assert min(first[32:]) < 0.05


def test_shrinks_to_what_the_property_needs(hunt_file: Path) -> None:
    """A made-up property that needs a long round-trip time and nothing else: all else goes back, the number becomes
    round, the second flow goes, and the run gets shorter, but not below a quarter.
    """
    hunt = read_hunt(hunt_file)

    def value(table: dict[str, Any], seed: int) -> float:
        del seed
        return 0.5 if float(table["flow"][0]["rtt"].split()[0]) > 61.5 else 0.9

    # The flow `b` shares its key with `a`; a dimension that only `a` has lets it go.
    hunt.space.dimensions[1].__dict__["keys"] = ("flow.0.rtt",)
    point: Point = {"limit": 17, "rtt": 73.21, "flow.a.ack": "linux"}
    small = imagined(shrink(hunt, point), value)
    assert small.variant.point == {"rtt": 70}
    table = table_of(small.variant.scenario(hunt))
    assert [flow["name"] for flow in table["flow"]] == ["a"]
    assert "ack" not in table["flow"][0] and table["duration"] == "0.5 s"
    assert table["window"][0] == {"name": "late", "from": "0.25 s", "to": "0.5 s"}
    assert small.complete


def test_shrinking_keeps_what_the_hunt_is_about(hunt_file: Path) -> None:
    """`keep` names keys that stay, although the property does not need them."""
    hunt_file.write_text('keep = ["flow.a.ack"]\n' + HUNT)
    hunt = read_hunt(hunt_file)
    small = imagined(shrink(hunt, {"rtt": 70}), lambda table, seed: 0.5)
    assert table_of(small.variant.scenario(hunt))["flow"][0]["ack"] == "immediate"


def test_a_lucky_candidate_is_no_find(hunt_file: Path) -> None:
    """A property that only the first seed shows is found by candidates and refused by fresh runs."""
    hunt = read_hunt(hunt_file)
    findings: Findings = imagined(hunting(hunt), lambda table, seed: 0.5 if seed == 1 else 0.9)
    assert not findings.finds
    assert findings.lucky and all(held.held == 0 and len(held.values) == 4 for _, held in findings.lucky)


def test_goals() -> None:
    """What is a find, and that the score falls towards it, for each way to write a goal."""
    least = Goal.of({"minimize": "queue.utilization", "below": 0.7})
    assert least.holds(0.69) and not least.holds(0.7) and least.score(0.5) < least.score(0.6)
    most = Goal.of({"maximize": "queue.utilization", "above": 0.7})
    assert most.holds(0.71) and not most.holds(0.7) and most.score(0.9) < most.score(0.6)
    broken = Goal.of({"violate": "queue.utilization in [0.2, 0.7]"})
    assert broken.holds(0.1) and broken.holds(0.8) and not broken.holds(0.2) and not broken.holds(float("nan"))
    assert broken.score(0.1) < broken.score(0.3) and broken.score(0.8) < broken.score(0.5)
    strict = Goal.of({"violate": "queue.utilization > 0.7"})
    assert strict.holds(0.7) and not strict.holds(0.71) and strict.label == "queue.utilization"


def test_topologies_are_valid() -> None:
    """Each drawn topology is a scenario that the core takes, both kinds and all numbers of flows among them, and so is
    each that is made from one by moving a dimension to any of its probes.
    """
    space = space_of({"flows": [1, 4], "queues": ["fifo", "codel"], "applications": ["bulk", "on-off", "poisson"]})
    seen = set()
    for candidate in Study(space, "random", 3, ["minimize"]).ask(60):
        scenario = space.scenario(candidate.point).resolve()
        seen.add((candidate.point["kind"], candidate.point["flows"]))
        assert len(scenario["flow"]) == candidate.point["flows"]
        dimension = space.dimensions[candidate.number % len(space.dimensions)]
        for to in dimension.probes():
            space.scenario(space.moved(candidate.point, dimension.name, to)).resolve()
    assert "buffer" not in [d.name for d in space_of({"queues": ["codel"]}).dimensions]
    assert {kind for kind, _ in seen} == {"dumbbell", "parking lot"} and len(seen) == 8


def test_conditional_dimensions(hunt_file: Path) -> None:
    """A dimension with `when` exists only where the other has that value."""
    hunt_file.write_text(
        HUNT.replace('[space]\n', '[space]\nqueue = { key = "bottleneck.queue.kind", values = ["fifo", "codel"] }\n')
        .replace("limit = { key", 'limit = { when = { queue = "fifo" }, key')
    )  # fmt: skip
    hunt = read_hunt(hunt_file)
    points = [candidate.point for candidate in Study(hunt.space, "tpe", 1, ["minimize"]).ask(30)]
    assert {point["queue"] for point in points} == {"fifo", "codel"}
    assert all(("limit" in point) == (point["queue"] == "fifo") for point in points)


def measured(*paths: list[float]) -> Measured:
    return Measured(tuple(tuple(Answer((value, 0.9, 0.9)) for value in path) for path in paths))


def test_held_out_paths_decide(tune_file: Path) -> None:
    """Better on one path, worse on another, the same on a third: each is said, with p corrected for all six."""
    tune = read_tune(tune_file)
    new = measured([5.0, 5.1, 4.9], [9.0, 9.1, 8.95], [7.0, 7.5, 6.5])
    old = measured([8.0, 8.2, 7.9], [6.0, 6.0, 6.05], [7.1, 7.2, 6.6])
    rows = comparisons(tune, ["a", "b", "c"], new, old)
    assert [(row.path, row.verdict) for row in rows if row.objective == "delay"] == [
        ("a", "better"), ("b", "worse"), ("c", "no difference shown"),
    ]  # fmt: skip
    assert all(row.verdict == "no difference shown" for row in rows if row.objective == "utilization")
    assert all(row.p is None or row.p >= (row.difference.p or 0) for row in rows)


def test_front_and_choice(tune_file: Path) -> None:
    """Settings that another one beats, or that break a constraint, are not on the front; the choice is its knee."""
    wanted = read_tune(tune_file).objectives
    outcomes = [((1.0, 0.5), 0.0), ((2.0, 0.9), 0.0), ((9.0, 1.0), 0.0), ((3.0, 0.8), 0.0), ((0.5, 1.0), 0.1)]
    settings = [Setting(n, {"limit": n}, values, far) for n, (values, far) in enumerate(outcomes)]
    front = front_of(wanted, settings)
    assert [setting.number for setting in front] == [0, 1, 2]
    chosen = choose(wanted, front)
    assert chosen is not None and chosen.number == 1


def test_hunt_finds_what_is_planted(cli: Cli, hunt_file: Path, tmp_path: Path) -> None:
    """The planted worst case: a short queue. It is found, holds in fresh runs, and the file that is written shows it;
    with what the base had it is gone. With other numbers of jobs and by Dask, all files are the same.
    """
    done = cli("hunt", hunt_file.name, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert "40 candidates of 1 run: 40 runs" in done.stderr and done.stdout.endswith("results/idle\n")
    out = tmp_path / "results" / "idle"
    document = json.loads((out / "hunt.json").read_text())
    (find,) = document["finds"]
    assert find["checked"]["held"] >= 3 and find["final"]["held"] >= 3
    assert find["minimal"]["limit"] < 30
    assert find["compared"]["as it was"]["held"] == 0
    assert set(document["importances"]) == {"limit", "rtt", "flow.a.ack"}
    again = Scenario.from_file(out / find["file"]).run()
    assert again.summary["windows"][0]["queues"][0]["utilization"] < 0.7
    assert pq.read_table(out / "trials.parquet").num_rows == 40
    names = {"finds/1.toml", "trials.parquet", "hunt.json", "report.md", "history.png", "keys.png"}
    assert {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} == names
    for options in (["--jobs", 1], ["--jobs", 2, "--dask"]):
        other = cli("hunt", hunt_file.name, *options, "--no-cache", "--out", "other", "--force")
        assert other.returncode == 0, other.stderr
        assert all((out / name).read_bytes() == (tmp_path / "other" / name).read_bytes() for name in names)
    assert "exists already" in cli("hunt", hunt_file.name).stderr


def test_interrupted_hunt_continues(hunt_file: Path, cli: Cli, tmp_path: Path) -> None:
    """Ctrl-C keeps what was done and leaves no folder; the same command ends with what it would have found."""
    hunt_file.write_text(HUNT.replace('duration = "2 s"', 'duration = "120 s"'))
    command = [sys.executable, *PROGRAM, "hunt", hunt_file.name, "--jobs", "1"]
    started = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    journal = journal_of(tmp_path / "results" / "idle")
    deadline = time.monotonic() + 20
    while (
        started.poll() is None and time.monotonic() < deadline and (not journal.exists() or journal.stat().st_size == 0)
    ):
        time.sleep(0.02)
    time.sleep(1.0)  # the journal is written twice a second
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=HUNG)
    assert started.returncode == 130 and "the same command again" in said
    assert not (tmp_path / "results" / "idle").exists() and journal.exists()
    done = cli("hunt", hunt_file.name)
    assert done.returncode == 0 and "known from before" in done.stdout and not journal.exists()


def test_tune(cli: Cli, tune_file: Path, tmp_path: Path) -> None:
    """The default queue is far too long: the chosen one has less delay on paths that it was not tuned on, said with
    intervals; it is never said to be better at what it gave away.
    """
    done = cli("tune", tune_file.name)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "results" / "length" / "tune.json").read_text())
    assert document["chosen"]["point"]["limit"] < 200
    overall = {row["objective"]: row for row in document["overall"]}
    assert overall["delay"]["difference"] < 0 and overall["utilization"]["verdict"] != "better"
    assert len(document["proof"]) == 4 and document["front"]
    chosen = Scenario.from_file(tmp_path / "results" / "length" / "chosen.toml").resolve()
    assert "limit" in str(chosen["bottleneck"])
    assert (tmp_path / "results" / "length" / "front.png").exists()
    assert "held-out" in (tmp_path / "results" / "length" / "report.md").read_text()


WRONG = {
    "unknown key": ("runs = 40", "rnus = 40", "idle.toml:2: rnus: is not a key here", "did you mean `runs`"),
    "no goal": ("below = 0.7", "", "idle.toml:", "`minimize` needs `below`"),
    "bad metric": ("late.queue.utilization", "late.queue.utilisation", "idle.toml:", "did you mean `utilization`"),
    "bad sampler": ('"tpe"', '"tep"', "idle.toml:5: sampler", "did you mean `tpe`"),
    "bad range": ('to = "100 ms"', 'to = "1 ms"', "idle.toml:", "is no range"),
    "bad key": ("bottleneck.queue.limit", "bottleneck.queue.limt", "idle.toml:", "did you mean `limit`"),
    "bad budget": ("runs = 40", "runs = 0", "idle.toml:2: runs", "a whole number from 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refusals(hunt_file: Path, cli: Cli, case: str, tmp_path: Path) -> None:
    """One message with file and line, what is allowed, and the nearest name; nothing is written."""
    old, new, where, why = WRONG[case]
    assert old in HUNT
    hunt_file.write_text(HUNT.replace(old, new))
    done = cli("hunt", hunt_file.name)
    assert done.returncode == 2, done.stderr
    assert where in done.stderr and why in done.stderr, done.stderr
    assert not (tmp_path / "results").exists()


def test_an_empty_scenario_has_a_place(hunt_file: Path, cli: Cli) -> None:
    """The table of the file, and not the arguments of Python that it becomes."""
    hunt_file.write_text('scenario = {}\n[find]\nmaximize = "duration_s"\nabove = 1\n[space]\nmtu = ["1000 B"]\n')
    done = cli("hunt", hunt_file.name)
    assert done.returncode == 2 and "idle.toml:1: scenario.duration: is required" in done.stderr, done.stderr


def test_held_out_paths_are_others(tune_file: Path) -> None:
    """A path on which a setting was tuned proves nothing about others."""
    tune_file.write_text(TUNE.replace('["15 ms", "40 ms"]', '["15 ms", "30 ms"]'))
    with pytest.raises(InputError, match=r"length\.toml:\d+: held_out.grid: the path 30 ms is one of `paths` too"):
        read_tune(tune_file)


def test_paths_have_axes(tune_file: Path) -> None:
    """An empty table of paths is refused."""
    tune_file.write_text(TUNE.replace('[paths.grid]\n"flow.a.rtt" = ["10 ms", "30 ms"]', "[paths]"))
    with pytest.raises(InputError, match=r"length\.toml:\d+: paths: has no axes"):
        read_tune(tune_file)


def test_nothing_is_found(cli: Cli, hunt_file: Path, tune_file: Path, tmp_path: Path) -> None:
    """A property that no run has, and objectives without a value, are no failure: the folder says so."""
    hunt_file.write_text(HUNT.replace("below = 0.7", "below = 0").replace("runs = 40", "runs = 8"))
    done = cli("hunt", hunt_file.name)
    assert done.returncode == 0 and "nothing was found" in done.stdout
    assert "That is no proof that there is nothing" in (tmp_path / "results" / "idle" / "report.md").read_text()
    tune_file.write_text(TUNE.replace('"queue.sojourn.p99"', '"ratio(1, 0)"').replace("runs = 96", "runs = 8"))
    done = cli("tune", tune_file.name)
    assert done.returncode == 0 and "No setting has values" in done.stdout
    assert json.loads((tmp_path / "results" / "length" / "tune.json").read_text())["chosen"] is None


def test_without_optuna(hunt_file: Path, tmp_path: Path) -> None:
    """The message says what to install."""
    code = "import sys; sys.modules['optuna'] = None; from windtunnel.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "hunt", hunt_file.name], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "'optuna>=5'" in done.stderr and "pip install" in done.stderr


EXAMPLES = sorted(Path(__file__).parents[2].glob("scenarios/hunts/*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """The files in the repository are read, with all values that their spaces have."""
    made = read_tune(path) if "[objectives]" in path.read_text() else read_hunt(path)
    assert made.title


def test_tuning_asks_for_the_default_first(tune_file: Path) -> None:
    """The first runs are those of the scenario as it is, on each path."""
    search = tuning(read_tune(tune_file))
    asked: list[Ask] = list(next(search))
    assert [ask.scenario.resolve()["flow"][0]["rtt"] for ask in asked] == ["10 ms", "30 ms"]
    search.close()
