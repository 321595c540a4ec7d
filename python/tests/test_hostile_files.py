"""Scenarios that a stranger wrote, run from the command line: what they may read, how much, and what they can print."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest
from conftest import HUNG, PROGRAM, SCENARIO, Cli, environment, refused, snapshot
from traces import CAPTURES

from windtunnel import Campaign, InputError, Scenario, ScenarioError

TRACED = """\
duration = "1 s"
[bottleneck]
rate = { trace = "%s" }
[[flow]]
cc = "reno"
rtt = "20 ms"
"""

#: The content of a foreign file: no message may reveal it.
SECRET = "root:x:0"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder next to the scenario's own, with a trace and with a file that is not a trace."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "up.trace").write_text("1\n2\n", encoding="utf-8")
    (folder / "secret").write_text(SECRET, encoding="utf-8")
    return folder


def traced(tmp_path: Path, trace: str | Path) -> Path:
    """A scenario file in a folder of its own."""
    path = tmp_path / "ours" / "s.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(TRACED % trace, encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [("check",), ("run", "--json")])
def test_a_trace_elsewhere_needs_permission(cli: Cli, tmp_path: Path, shared: Path, command: tuple[str, ...]) -> None:
    """A foreign file is refused with exit code 2, and read with ``--allow-read``."""
    file = traced(tmp_path, shared / "up.trace")
    refused = cli(*command, file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{file}:3: bottleneck.rate.trace: " in refused.stderr
    assert "--allow-read" in refused.stderr
    assert cli(*command, file, "--allow-read", shared).returncode == 0
    missing = cli(*command, file, "--allow-read", "sharde")
    assert (missing.returncode, missing.stderr) == (
        2,
        "error: sharde: there is no such file or folder for a scenario to read\n",
    )


def test_a_suite_has_the_option_too(cli: Cli, tmp_path: Path, shared: Path) -> None:
    """A setting of ``reproduce`` that names a file elsewhere is refused before any run, in the same words."""
    ours = tmp_path / "ours"
    ours.mkdir()
    setting = f"bottleneck.rate={{ trace = '{shared / 'up.trace'}' }}"
    refused = cli("reproduce", "mds", "--only", "fig3a", "--set", setting, cwd=ours)
    assert refused.returncode == 2
    assert "--allow-read" in refused.stderr
    assert not list(ours.iterdir())


def test_messages_do_not_quote_files(cli: Cli, tmp_path: Path, shared: Path) -> None:
    """Messages quote neither files that may be read nor others."""
    for more in ((), ("--allow-read", shared)):
        done = cli("check", traced(tmp_path, shared / "secret"), *more)
        assert done.returncode == 2
        assert SECRET not in done.stderr


def test_a_pipe_as_a_trace(cli: Cli, tmp_path: Path) -> None:
    """A pipe is refused at once: opening it would wait for a writer."""
    file = traced(tmp_path, "pipe")
    os.mkfifo(file.parent / "pipe")
    done = cli("check", file)
    assert done.returncode == 2
    assert "a regular file; this is a pipe or a device" in done.stderr


def test_from_python(tmp_path: Path, shared: Path) -> None:
    """``allow_read`` is an argument of each way to make a scenario, and overrides keep it."""
    file, trace = traced(tmp_path, shared / "up.trace"), shared / "up.trace"
    with pytest.raises(ScenarioError, match="allow_read"):
        Scenario.from_file(file).check()
    Scenario.from_file(file, allow_read=[shared]).override("seed=2").check()
    Scenario.from_toml(TRACED % trace, allow_read=[str(trace)]).resolve()
    parts = {"duration": "1 s", "bottleneck": {"rate": {"trace": str(trace)}}, "flows": [{"cc": "reno", "rtt": "1 ms"}]}
    with pytest.raises(ScenarioError, match="allow_read"):
        Scenario(**parts).check()
    assert Scenario(**parts, allow_read=[shared]).run().summary["packets"] > 0
    with pytest.raises(InputError, match="there is no such file or folder"):
        Scenario.from_file(file, allow_read=[tmp_path / "missing"])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"tcp": [True, False]}, r"^Scenario\(\.\.\.\)\.tcp: a list is not allowed: a table"),
        ({"record": ["20 ms"]}, r"^Scenario\(\.\.\.\)\.record: a list is not allowed: a table"),
        ({"windows": [["w", "0 s", "1 s"]]}, r"windows\[0\]: a list is not allowed: a table$"),
        ({"bottleneck": ["1 Mbit/s", "fifo"]}, r"bottleneck: a list is not allowed: a table"),
    ],
)
def test_a_list_is_no_table(part: dict[str, object], message: str) -> None:
    """Python dictionaries are checked like files: values have keys, not positions."""
    parts = {"bottleneck": {"rate": "1 Mbit/s"}, "flows": [{"cc": "reno", "rtt": "20 ms"}], **part}
    with pytest.raises(ScenarioError, match=message):
        Scenario(duration="10 s", **parts).check()  # type: ignore[arg-type]


def test_terminal_escapes(cli: Cli, tmp_path: Path) -> None:
    """What a scenario says cannot pass for a message of windtunnel, nor command the terminal."""
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.replace("20 Mbps", r"1 x\nerror: forged \u001b[31m"), encoding="utf-8")
    done = cli("check", file)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert r"`x\nerror: forged \u{1b}[31m` is not a unit" in done.stderr


def test_a_scenario_from_a_pipe(shell: Cli, tmp_path: Path) -> None:
    """A scenario can come through a pipe, as in ``windtunnel check <(...)``; the files that it names are in the current
    folder.
    """
    (tmp_path / "up.trace").write_text("1\n2\n", encoding="utf-8")
    done = shell("check", "/dev/stdin", input=TRACED % "up.trace")
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_a_pipe_without_end(shell: Cli) -> None:
    """No more is read than the size that a scenario may have."""
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = shell("check", "/dev/stdin", stdin=endless.stdout, timeout=HUNG)
        endless.terminate()
    assert done.returncode == 2
    assert "too large for a scenario file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_that_says_nothing(number: signal.Signals) -> None:
    """A signal ends the wait for the rest of a scenario, or of a capture."""
    for command, start in (("check", b"#"), ("explain", b"\xd4\xc3\xb2\xa1")):
        ours, theirs = os.pipe()
        with os.fdopen(ours, "rb") as reading, os.fdopen(theirs, "wb", 0) as writing:
            writing.write(start)
            with checking(Path("-"), command=command, stdin=reading) as program:
                wait_until_read(reading, program)
                assert interrupted(program, number) == 128 + number


def wait_until_read(stream: IO[bytes], program: subprocess.Popen[str]) -> None:
    """Until the program has read what a pipe holds."""
    held = bytearray(b"\xff" * 4)
    while any(held) and program.poll() is None:
        time.sleep(0.01)
        fcntl.ioctl(stream, termios.FIONREAD, held)


@pytest.mark.parametrize(
    "command",
    ["run", "check", "sweep", "hunt", "tune", "explain", "compare two.toml", "flowgrind --script", "flowgrind --path"],
)
def test_what_is_no_file_is_refused(cli: Cli, tmp_path: Path, scenario: Path, command: str) -> None:
    """A named pipe is refused at once, whether it has a writer or not; so is a device, and nothing is written."""
    del scenario
    os.mkfifo(tmp_path / "pipe")
    before = snapshot(tmp_path)
    for name, what in (("pipe", "is a pipe"), ("/dev/zero", "is a device")):
        done = cli(*command.split(), name)
        refused(done, f"error: {name}: {what}; a regular file is needed, or - for the standard input")
    assert snapshot(tmp_path) == before


def test_folders_with_pipes(cli: Cli, tmp_path: Path) -> None:
    """A folder in which the description of results is a pipe holds no results."""
    for name in ("summary.json", "campaign.json", "hunt.json", "tune.json"):
        (tmp_path / name.partition(".")[0]).mkdir()
        os.mkfifo(tmp_path / name.partition(".")[0] / name)
    for command in ("plot summary", "export summary --csv x", "explain summary", "compare campaign campaign"):
        refused(cli(*command.split()), "is not a")
    for out in ("campaign", "hunt", "tune"):
        refused(cli("plot", out), "is not a result folder")


def test_a_capture_from_a_stream(shell: Cli) -> None:
    """`tcpdump -w - | windtunnel explain -`, and what a shell makes of ``<(command)``."""
    capture = CAPTURES / "reno-at-sender.pcap"
    whole = shell("explain", capture)
    for name in ("-", "/dev/stdin", "/dev/fd/0"):
        with subprocess.Popen(["cat", capture], stdout=subprocess.PIPE) as source:
            done = shell("explain", name, stdin=source.stdout)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[1:] == whole.stdout.splitlines()[1:]


def test_reading_is_interrupted(tmp_path: Path) -> None:
    """A signal ends the reading of a long chain of nodes, in which as many flows search for their routes: it would take
    minutes.
    """
    nodes = range(60_000)
    text = 'duration = "1 s"\n' + "".join(f'[[node]]\nname = "{i}"\n' for i in nodes)
    text += "".join(f'[[link]]\nname = "{i}"\nfrom = "{i}"\nto = "{i + 1}"\nrate = "1 Gbps"\n' for i in nodes[:-1])
    text += '[[flow]]\ncc = "reno"\nrtt = "1 s"\nfrom = "0"\nto = "9"\n' * len(nodes)
    file = tmp_path / "chain.toml"
    file.write_text(text, encoding="utf-8")
    with checking(file) as program:
        time.sleep(3)
        assert program.poll() is None
        assert interrupted(program, signal.SIGINT) == 128 + signal.SIGINT


def checking(file: Path, *, command: str = "check", stdin: IO[bytes] | None = None) -> subprocess.Popen[str]:
    """The program while it reads a scenario, or what else a command reads."""
    words = [sys.executable, *PROGRAM, command, str(file)]
    return subprocess.Popen(
        words, env=environment(), stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def interrupted(program: subprocess.Popen[str], number: signal.Signals) -> int:
    """Sends a signal; returns the exit code, and checks that there is no traceback."""
    program.send_signal(number)
    try:
        code = program.wait(HUNG)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    errors: IO[str] | None = program.stderr
    assert errors is not None
    assert "Traceback" not in errors.read()
    return code


CAMPAIGN = """\
scenario = %s
seeds = 2
[axes.grid]
"flow.0.rtt" = ["10 ms", "20 ms"]
[metrics]
use = "queue.utilization"
"""

HUNT = """\
scenario = %s
runs = 3
space = { "flow.0.rtt" = { from = "10 ms", to = "20 ms" } }
find = { minimize = "queue.utilization", below = 0.1 }
"""

TUNE = """\
scenario = %s
runs = 3
space = { "bottleneck.queue.limit" = { from = "10 packets", to = "20 packets" } }
paths.grid = { "flow.0.rtt" = ["10 ms", "20 ms"] }
held_out.grid = { "flow.0.rtt" = ["15 ms"] }
objectives.use = { maximize = "queue.utilization" }
"""

SEARCHES = [("sweep", CAMPAIGN), ("hunt", HUNT), ("tune", TUNE)]


def naming(tmp_path: Path, text: str, scenario: str) -> Path:
    """A campaign or a search in a folder of its own. It names a scenario; one is in a folder next to it."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, ours / "below", theirs):
        folder.mkdir(exist_ok=True)
        (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    path = ours / "c.toml"
    path.write_text(text % f'"{scenario}"', encoding="utf-8")
    return path


@pytest.mark.parametrize(("command", "text"), SEARCHES)
def test_a_scenario_elsewhere_needs_permission(cli: Cli, tmp_path: Path, command: str, text: str) -> None:
    """What a campaign or a search names is in its folder or below it, as for the files of a scenario: else exit code 2,
    one message, nothing written; ``--allow-read`` allows more. Links count by where they lead; whether a foreign file
    exists is not told.
    """
    theirs = tmp_path / "theirs"
    for name in (
        "../theirs/s.toml",
        f"{theirs}/s.toml",
        "../theirs/none.toml",
        "below/../../theirs/s.toml",
        "link.toml",
    ):
        file = naming(tmp_path, text, name)
        link = file.parent / "link.toml"
        link.unlink(missing_ok=True)
        link.symlink_to(theirs / "s.toml")
        refused = cli(command, file, "--dry-run")
        assert (refused.returncode, refused.stdout) == (2, ""), name
        assert refused.stderr.startswith(f"error: {file}:1: scenario: '{name}' is not allowed: "), refused.stderr
        assert "--allow-read PATH" in refused.stderr and refused.stderr.count("\n") == 1
        if "none" not in name:
            allowed = cli(command, file, "--dry-run", "--allow-read", theirs)
            assert allowed.returncode == 0, allowed.stderr
    for name in ("s.toml", "below/s.toml", "below/../s.toml"):
        done = cli(command, naming(tmp_path, text, name), "--dry-run")
        assert done.returncode == 0, done.stderr
    missing = cli(command, naming(tmp_path, text, "s.tml"), "--dry-run")
    assert missing.returncode == 2 and "there is no such file" in missing.stderr
    missing = cli(command, naming(tmp_path, text, "s.toml"), "--dry-run", "--allow-read", "thiers")
    assert missing.stderr.endswith("thiers: there is no such file or folder for a scenario to read\n")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("command", "text"), SEARCHES)
def test_other_names_of_scenarios(cli: Cli, tmp_path: Path, command: str, text: str) -> None:
    """Pipes, folders and links in a circle are refused at once."""
    for name, words in (
        ("pipe.toml", "a regular file"),
        ("below", "is a folder"),
        ("circle.toml", "lead nowhere"),
    ):
        file = naming(tmp_path, text, name)
        if name == "pipe.toml":
            os.mkfifo(file.parent / name)
        if name == "circle.toml":
            (file.parent / name).symlink_to(name)
        refused = cli(command, file, "--dry-run")
        assert refused.returncode == 2 and words in refused.stderr, refused.stderr


def test_a_campaign_through_a_pipe(tmp_path: Path) -> None:
    """It has the current folder, as a scenario does that comes so."""
    naming(tmp_path, CAMPAIGN, "s.toml")
    program = [sys.executable, *PROGRAM, "sweep", "-", "--dry-run"]
    for name, code in (("s.toml", 0), ("../theirs/s.toml", 2)):
        text = CAMPAIGN % f'"{name}"'
        done = subprocess.run(program, cwd=tmp_path / "ours", input=text, text=True, capture_output=True,
                              env=environment(), timeout=60)  # fmt: skip
        assert done.returncode == code, done.stderr


def test_axes_name_traces_by_the_rule_of_scenarios(cli: Cli, tmp_path: Path, shared: Path) -> None:
    """A trace that a campaign sets is next to the scenario, or allowed."""
    file = naming(tmp_path, CAMPAIGN, "s.toml")
    trace = shared / "up.trace"
    text = file.read_text().replace(
        '"flow.0.rtt" = ["10 ms", "20 ms"]', f'"bottleneck.rate" = [{{ trace = "{trace}" }}]'
    )
    file.write_text(text, encoding="utf-8")
    refused = cli("sweep", file, "--dry-run")
    assert refused.returncode == 2 and "--allow-read" in refused.stderr
    assert cli("sweep", file, "--dry-run", "--allow-read", shared).returncode == 0


def test_many_scenarios_of_a_campaign(tmp_path: Path) -> None:
    """Scenario files have a bound together: a file that is named often enough would fill the memory."""
    file = naming(tmp_path, CAMPAIGN, "s.toml")
    (file.parent / "s.toml").write_text(SCENARIO + "# " + "x" * 9_900_000, encoding="utf-8")
    names = "\n".join(f'a{i} = "s.toml"' for i in range(12))
    file.write_text(f"[scenarios]\n{names}\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"c\.toml:12: scenarios\.a10: the scenario files have more than 100 MB together"
    ):
        Campaign.from_file(file)
