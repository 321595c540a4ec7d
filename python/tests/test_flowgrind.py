"""flowgrind's command lines: arguments, the loops around them, the scenario they make, and the command."""

import shlex
from pathlib import Path

import pytest
from conftest import Cli, refused

from windtunnel.errors import InputError
from windtunnel.flowgrind import Command, Stream, default_path, read_command, read_script, scenario_of
from windtunnel.papers.data_folder import TALK
from windtunnel.scenario import Scenario


def read(arguments: str) -> Command:
    return read_command(shlex.split(arguments))


def test_options_of_all_flows_and_of_one() -> None:
    """flowgrind(1): options hold for all flows until -F names one; -F -1 means all again."""
    command = read("flowgrind -n 2 -i 0.5 -T s=30,d=0 -F 1 -O s=TCP_CONGESTION=reno -Y s=5 -F -1 -W d=65536")
    assert command.flows == (Stream("cubic", 0, 30, 65536), Stream("reno", 5, 30, 65536))
    assert (command.interval_s, command.end_s) == (0.5, 35)


def test_options_without_effect_are_read() -> None:
    """Hosts with control addresses, the application's buffer, columns to print; a dump is asked of the source."""
    command = read("-H s=10.10.10.10/192.168.112.253,d=10.10.10.12 -U s=65536 -c end,cwnd -M s=192.168.112.253")
    assert command.flows == (Stream(),)
    assert command.dump == {"s"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-R s=1M", "-R is not simulated"),
        ("-T s=10,d=5", "from the destination"),
        ("-T 10", "is not s=..., d=... or b=..."),
        ("-T s=x", "is not a time in seconds"),
        ("-n 0", "whole number from 1"),
        ("-F 2 -T s=1", "there are 1 flows"),
        ("-O s=TCP", "is not TCP_CONGESTION=NAME"),
        ("-O", "needs an argument"),
        ("reno", "is not an option"),
    ],
)
def test_wrong_arguments_are_named(arguments: str, message: str) -> None:
    """One message that names the option and what is allowed."""
    with pytest.raises(InputError, match="flowgrind: ") as caught:
        read(arguments)
    assert message in str(caught.value)


def test_the_talks_loops() -> None:
    """Three loops of 15, 16 and 16 controllers, and one command; each writes its lines that start with S to a CSV."""
    expected = {"one": (15, "_60s_no_loss"), "five": (16, "_90s_intra_fair"), "friendly": (16, "_90s_reno_friendl")}
    for script, (count, suffix) in expected.items():
        lines = read_script(TALK.text(f"flowgrind/{script}.sh"))
        assert len(lines) == count
        assert [Path(line.file).name for line in lines] == [f"{each.command.flows[0].cc}{suffix}.csv" for each in lines]
        assert {line.pattern for line in lines} == {"^S"}
    (line,) = read_script(TALK.text("flowgrind/displaced.sh"), {"cong": "bic"})
    assert Path(line.file).name == "bic_100s_5str_converg.csv"
    assert [flow.delay_s for flow in line.command.flows] == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("rm -rf x", "is not read"),
        ("flowgrind -n 1 | sort > x", "filter is not read"),
        ("flowgrind -n 1 > x y", "redirection is not read"),
        ("flowgrind -O s=TCP_CONGESTION=$cong", r"\$cong is not set"),
        ("flowgrind 'x", "cannot be read"),
    ],
)
def test_scripts_that_are_not_understood(script: str, message: str) -> None:
    """A part of a script that is not read is named, not skipped."""
    with pytest.raises(InputError, match=message):
        read_script(script)


def test_kept_lines_are_those_that_the_filter_finds() -> None:
    """``egrep ^S`` keeps the sender's lines."""
    (line,) = read_script("flowgrind -n 1 | egrep ^S > a.csv")
    assert line.kept("# S\nS 1\nD 1\nS 2\n") == "S 1\nS 2\n"


def test_the_path_is_the_pattern_of_all_flows() -> None:
    """Everything of the path stays; flows are copies of its first one."""
    path = default_path() + '\n[flow.tcp]\ntimestamps = false\n\n[[window]]\nname = "w"\nfrom = "1 s"\nto = "2 s"\n'
    scenario = scenario_of(read("-n 2 -T s=4 -F 1 -Y s=1 -T s=2"), path)
    resolved = Scenario.from_toml(scenario).resolve()
    assert resolved["duration"] == "4 s"
    assert resolved["bottleneck"]["rate"] == "40 Mbit/s"
    assert [(f["start"], f.get("stop"), f["rtt"], f["tcp"]["timestamps"]) for f in resolved["flow"]] == [
        ("0 s", None, "100 ms", False),
        ("1 s", "3 s", "100 ms", False),
    ]
    with pytest.raises(InputError, match=r"no \[\[flow\]\]"):
        scenario_of(read_command([]), 'duration = "1 s"')


def test_the_command_prints_flowgrinds_report(cli: Cli, tmp_path: Path) -> None:
    """The talk's example, shortened: one line per interval and side; with -M a capture."""
    arguments = (
        "-H s=10.10.10.10/192.168.112.253,d=10.10.10.12 -O s=TCP_CONGESTION=reno -M s=192.168.112.253 -T s=1,d=0"
    )
    done = cli("flowgrind", *shlex.split(arguments), "-U", "s=65536")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("S") for line in lines) == sum(line.startswith("D") for line in lines) == 20
    assert (tmp_path / "flowgrind-sender.pcapng").stat().st_size > 10_000
    refused(cli("flowgrind", "-T", "s=1", "-M", "s=host"), "flowgrind-sender.pcapng: exists already")


def test_a_script_writes_its_files(cli: Cli, tmp_path: Path) -> None:
    """Each file has the lines that the filter keeps; a wrong controller is refused before anything is run."""
    flowgrind = "flowgrind -T s=1 -O s=TCP_CONGESTION=$c | egrep ^S > /nowhere/{$c}_1s.csv"
    loop = f"for c in 'reno' 'cubic'; do {flowgrind}; sleep 9; done"
    script = tmp_path / "loop.sh"
    script.write_text(loop)
    done = cli("flowgrind", "--script", script, "--out", "csv")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "csv").iterdir()} == {"reno_1s.csv", "cubic_1s.csv"}
    assert all(line.startswith("S") for line in (tmp_path / "csv/reno_1s.csv").read_text().splitlines())
    script.write_text(loop.replace("cubic", "cubix"))
    refused(cli("flowgrind", "--script", script, "--out", "other"), "cubix")
    assert not (tmp_path / "other").exists()
