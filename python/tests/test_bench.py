"""``windtunnel bench``: what it prints, what it compares, what it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from conftest import Cli, environment, refused

from windtunnel import Scenario, _core
from windtunnel.bench import LARGE, WORKS, against, growth, instructions, million, training
from windtunnel.errors import RunFailedError

needs_valgrind = pytest.mark.skipif(not instructions.available(), reason="counting instructions needs valgrind")


def test_works(shell: Cli) -> None:
    """One work is printed as JSON: its speed, its memory, and the required speed."""
    refused(shell("bench", "--only", "W77"), "W77", "W1, W2, W3, W4, W5")
    done = shell("bench", "--only", "w1", "--json", "--repeat", "2", "--no-instructions")
    assert (done.returncode, done.stderr) == (0, "")
    (work,) = json.loads(done.stdout)["works"]
    assert work["work"] == "W1"
    # 100 Mbit/s carry 8333 packets of 1500 bytes per second; the start-up costs a little.
    assert 0.9 * 8333 * 60 < work["packets"] <= 8333 * 60 + 1
    assert work["simulated_seconds"] == 60
    assert work["packets_per_second"] == pytest.approx(work["packets"] / work["cpu_seconds"])
    assert work["events"] > work["packets"]
    assert 20 < work["peak_mib"] < 300
    assert work["required_packets_per_second"] == 8e6
    assert work["met"] == (work["packets_per_second"] >= 8e6)
    assert work["cost"] is None


def test_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make wheel-pgo` learns from is each work whose instructions are counted, for as long as they are."""
    asked = []
    monkeypatch.setattr(_core, "run", lambda text, file, overrides: asked.append((Path(file).stem, overrides)))
    training.main()
    assert asked[0] == ("w1", ["duration=10 s"])
    assert [name for name, _ in asked] == [work.file.stem for work in WORKS if work.counted]


def test_speed_relative_to_the_calibration(cli: Cli) -> None:
    """Packets per hold are those of the run, divided by the holds that the machine does in the same seconds."""
    done = cli("bench", "--only", "W1", "--json", "--no-instructions")
    (work,) = json.loads(done.stdout)["works"]
    assert work["packets_per_hold"] == pytest.approx(work["packets_per_second"] / work["holds_per_second"])
    # A hold takes longer than a few instructions, and not as long as a packet of a slow simulator.
    assert 1e6 < work["holds_per_second"] < 1e9


def test_the_calibration_is_the_same_work_everywhere() -> None:
    """The number that the crate's own test pins."""
    assert _core.holds(100_000) == 0xCD5A_AA3D_17F4_3AFE


def test_a_python_controller(cli: Cli) -> None:
    """The work with a controller in Python prints ACKs per second, and what is required of them; others have none."""
    done = cli("bench", "--only", "W11", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (work,) = json.loads(done.stdout)["works"]
    # An ACK acknowledges one segment, or two.
    assert 0.45 * work["packets"] < work["acks"] <= 1.01 * work["packets"]
    assert work["acks_per_second"] == pytest.approx(work["acks"] / work["cpu_seconds"])
    assert work["required_acks_per_second"] == 2e5
    assert work["met"] == (work["acks_per_second"] >= 2e5 and work["peak_mib"] < 300)
    assert work["cost"] is None  # the interpreter's instructions would count


@pytest.mark.long
@needs_valgrind
def test_instructions_and_cache_misses(shell: Cli) -> None:
    """More than a tenth of a packet's instructions use memory, but not all do; few of these miss the cache."""
    done = shell("bench", "--only", "W1", "--json", "--cache")
    assert (done.returncode, done.stderr) == (0, "")
    (work,) = json.loads(done.stdout)["works"]
    cost = work["cost"]
    assert cost["instructions"] > 100
    assert 0.1 * cost["instructions"] < cost["data_references"] < cost["instructions"]
    assert 0 < cost["l1_misses"] < 0.1 * cost["data_references"]


def test_what_does_not_go_together(shell: Cli) -> None:
    """Each of these options says what to run; caches are simulated by valgrind alone."""
    refused(shell("bench", "--growth", "--large"), "--large and --growth do not go together")
    refused(shell("bench", "--against", "x", "--only", "W1"), "--against and --only do not go together")
    refused(shell("bench", "--cache", "--no-instructions"), "--cache does not go with --no-instructions")
    without = {**environment(), "PATH": ""}
    refused(shell("bench", "--cache", env=without), "--cache needs valgrind, which is not installed")


@pytest.mark.parametrize("work", LARGE, ids=lambda work: work.name)
def test_large_works(work: object, cli: Cli) -> None:
    """They have the flows whose memory they report, and are refused in one line where they need more than they may."""
    (chosen,) = (one for one in LARGE if one is work)
    scenario = Scenario.from_file(chosen.file)
    flows = sum(flow["count"] for flow in json.loads(_core.resolve(chosen.file.read_text()))["flow"])
    assert flows == chosen.flows
    assert scenario.estimate()["memory_bytes"] > 50e6
    refused(cli("bench", "--only", chosen.name, "--memory", "50 MB"), "needs about", "allow more memory")


def test_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table from one flow on; the flows differ in nothing but their number, so that each step has its own cost.
    A quarter of the packets is timed here: that a cost is measured matters, not how exactly.
    """
    monkeypatch.setattr(growth, "_TIMED", 1_000_000)
    (ideal, linux) = growth.steps(1, count=False, cache=False, memory=None, numbers=[1000])
    assert (ideal.flows, ideal.endpoints, linux.endpoints) == (1000, "ideal", "linux")
    for step in (ideal, linux):
        assert 0 < step.cpu_ns < 1e6
        assert step.holds > 0
        assert step.bytes_per_flow is not None
        assert 100 < step.bytes_per_flow < 1e6
        assert step.cost is None


@pytest.mark.parametrize("flows", growth.FLOWS)
def test_growth_measures_whole_windows(flows: int) -> None:
    """Between the two lengths each flow has a round trip, and together they send enough to be timed or counted."""
    for packets in (20_000, 500_000):
        shorter, longer = growth.span(flows, packets)
        assert longer - shorter >= 0.04 - 1e-9
        assert (longer - shorter) * flows * 2e6 / 12_000 >= packets * 0.999


#: Another simulator: it delivers what the link carries, and takes its time.
FAKE = f"""#!{sys.executable}
import sys
options = dict(word.split("=") for word in sys.argv[1:])
assert set(options) == {{"flows", "rate", "buffer", "packet", "duration", "rtts"}}
assert len(options["rtts"].split(",")) in (1, 10)
n = int(options["rate"]) * int(options["duration"]) // 8 // int(options["packet"]) // 10**9
sum(range(10 * n))
print("a line of its own")
print(n, "packets")
"""


def program(folder: Path, text: str) -> str:
    path = folder / "other"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_against_another_simulator(tmp_path: Path) -> None:
    """Costs for a packet are those of each; the ratio says how many times as fast the core is."""
    (outcome,) = against.outcomes(program(tmp_path, FAKE), 2, count=False, contests=against.CONTESTS[:1])
    assert outcome.other_packets == 2_000_000  # 100 Mbit/s for 240 s
    assert outcome.packets > 0.9 * outcome.other_packets
    assert outcome.cpu_ns > 0
    assert outcome.other_cpu_ns > 0
    assert outcome.ratio_least <= outcome.ratio <= outcome.ratio_most


@pytest.mark.parametrize("contest", against.CONTESTS, ids=lambda contest: contest.name)
def test_both_get_the_same_path(contest: against.Contest) -> None:
    """The scenario has the flows, rate, buffer and round trips of the command line."""
    resolved = json.loads(_core.resolve(contest.scenario()))
    words = dict(word.split("=") for word in contest.command("x", contest.seconds)[1:])
    groups = resolved["flow"]
    assert sum(group["count"] for group in groups) == int(words["flows"])
    assert _core.quantity(resolved["bottleneck"]["rate"]) == int(words["rate"])
    assert [round(1e9 * _core.quantity(group["rtt"])) for group in groups] == [int(r) for r in words["rtts"].split(",")]
    assert _core.quantity(resolved["bottleneck"]["queue"]["limit"]) == int(words["buffer"])
    assert 1e9 * _core.quantity(resolved["duration"]) == int(words["duration"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho no queue >&2\nexit 3\n", "ended with 3: no queue"),
        ("#!/bin/sh\necho done\n", "delivered no packets"),
        ("#!/bin/sh\necho 0 packets\n", "delivered no packets"),
        ("#!/no/such/interpreter\n", "No such file or directory"),
    ],
)
def test_a_program_that_does_not_simulate(text: str, said: str, cli: Cli, tmp_path: Path) -> None:
    """One message names the program and what it did."""
    refused(cli("bench", "--against", program(tmp_path, text), "--repeat", "1"), "--against", "other", said)


def test_a_program_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    """Nothing is simulated before the message."""
    refused(cli("bench", "--against", tmp_path / "nothing"), "nothing", "there is no such program")
    (tmp_path / "text").write_text("not a program", encoding="utf-8")
    refused(cli("bench", "--against", tmp_path / "text"), "text", "there is no such program")


def test_what_surrounds_the_runs_of_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time is of this campaign's runs, and the table has all of them. Other places are as this one."""
    from rich.console import Console

    from windtunnel.bench import campaign
    from windtunnel.cli import bench_tables
    from windtunnel.engine.threads import Threads

    monkeypatch.setattr(campaign, "places", lambda: {"threads": Threads(1)})
    (measured,) = campaign.coordination(100)
    assert (measured.backend, measured.runs) == ("threads", 100)
    assert measured.conducting_ms >= 0 and measured.writing_ms > 0 and measured.working_ms > 0
    with Console(width=80, record=True, file=io.StringIO()) as console:
        bench_tables.show("campaign", [measured], console)
    text = console.export_text()
    assert "threads" in text and f"{measured.writing_ms:.3f}" in text


def test_what_commands_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command takes the time of its process, compared with its goal; one that fails is told."""
    from rich.console import Console

    from windtunnel.bench import commands
    from windtunnel.cli import bench_tables

    worked = "sum(range(3_000_000))"
    monkeypatch.setattr(commands, "COMMANDS", (("idle", ("-c", "pass"), 60.0), ("busy", ("-c", worked), 0.0)))
    idle, busy = commands.command_times(1)
    assert idle.met and not busy.met
    assert 0 < idle.cpu_seconds < busy.cpu_seconds and idle.peak_mib > 1
    with Console(width=80, record=True, file=io.StringIO()) as console:
        bench_tables.show("commands", [idle, busy], console)
    assert "NO" in console.export_text()
    monkeypatch.setattr(commands, "COMMANDS", (("broken", ("-c", "raise SystemExit(3)"), None),))
    with pytest.raises(RunFailedError, match=r"SystemExit\(3\) failed"):
        list(commands.command_times(1))


def test_peak_memory_of_a_command(tmp_path: Path) -> None:
    """The peak is the command's own: not that of the process that starts it, which has 300 MB here, and not less than
    what the command takes. Of a command that fails, the last line is told.
    """
    from windtunnel.bench.child import taken_by

    large = bytearray(b"x") * 300_000_000
    idle = taken_by([sys.executable, "-I", "-c", "pass"], tmp_path)
    busy = taken_by([sys.executable, "-I", "-c", "x = bytearray(b'x') * 200_000_000"], tmp_path)
    assert len(large) > 2e8
    assert idle.peak_bytes < 1e8
    assert 2e8 < busy.peak_bytes < 3e8
    with pytest.raises(RunFailedError, match="failed: no such thing"):
        taken_by([sys.executable, "-I", "-c", "raise SystemExit('no such thing')"], tmp_path)


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row on one thread and on two has one digest, a ratio of times, and a model of more cores by counted events."""
    from rich.console import Console

    from windtunnel.bench import threads
    from windtunnel.cli import bench_tables

    row = threads.Row("T", "a few flows", 4, 20, "100 Mbit/s", "0.3 s", "10 ms")
    (measured,) = threads.shared(2, 1, (row,))
    assert measured.times_as_fast > 0 and measured.cpu > 0 and measured.required == 1.7
    assert measured.expected.keys() == {2, 4}
    assert 1 < measured.expected[2] < 2 and measured.expected[2] < measured.expected[4] < 4
    with Console(width=80, record=True, file=io.StringIO()) as console:
        bench_tables.show("threads", [measured], console)
    text = console.export_text()
    assert "times as fast" in text and "2 threads compared with one" in text and "…" not in text
    monkeypatch.setattr(threads.Row, "scenario", lambda _: "nothing")
    with pytest.raises(RunFailedError, match="ended with 1"):
        list(threads.shared(2, 1, (row,)))


def test_waits_count_as_events() -> None:
    """Two parts with 500 events each in every window: 1000 events in the time of 500 and a wait."""
    from windtunnel.bench.threads import WAIT, expected

    assert expected({"windows": 10, "events": 10_000, "most": 5_000}) == 10_000 / (5_000 + 10 * WAIT)


def test_a_flow_is_expected_to_need_no_more_because_there_are_more_links() -> None:
    """Ten times the links with as many flows each: the links' own memory apart, that is ten times the memory."""

    def memory(links: int) -> float:
        return float(Scenario.from_toml(million.scenario(links, 100)).estimate()["memory_bytes"])

    assert memory(100) == pytest.approx(10 * memory(10), rel=0.1)
    assert len(Scenario.from_toml(million.scenario(2, 3)).run().flows) == 6
