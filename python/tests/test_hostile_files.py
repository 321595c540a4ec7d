"""Scenarios that a stranger wrote, run from the command line: what they may read, how much, and what they can print."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from conftest import PROGRAM, SCENARIO, Cli, environment

from windtunnel import InputError, Scenario, ScenarioError

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
    """A folder beside the scenario's own, with a trace and with a file that is not a trace."""
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
    done = cli("check", file, timeout=20)
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


def test_a_scenario_from_a_pipe(cli: Cli, tmp_path: Path) -> None:
    """A scenario can come through a pipe, as in ``windtunnel check <(...)``; the files that it names are in the current
    folder.
    """
    (tmp_path / "up.trace").write_text("1\n2\n", encoding="utf-8")
    done = cli("check", "/dev/stdin", input=TRACED % "up.trace")
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


def test_a_pipe_without_end(cli: Cli) -> None:
    """No more is read than the size that a scenario may have."""
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = cli("check", "/dev/stdin", stdin=endless.stdout, timeout=20)
        endless.terminate()
    assert done.returncode == 2
    assert "too large for a scenario file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pipe_that_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """A signal ends the wait for a scenario."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with checking(pipe) as program, pipe.open("wb"):  # returns when the program has opened it
        assert interrupted(program, number) == 128 + number


def test_reading_is_interrupted(tmp_path: Path) -> None:
    """A signal ends the reading of a long chain of nodes, in which as many flows search for their routes: it would take
    the better part of a minute.
    """
    nodes = range(25_000)
    text = 'duration = "1 s"\n' + "".join(f'[[node]]\nname = "{i}"\n' for i in nodes)
    text += "".join(f'[[link]]\nname = "{i}"\nfrom = "{i}"\nto = "{i + 1}"\nrate = "1 Gbps"\n' for i in nodes[:-1])
    text += '[[flow]]\ncc = "reno"\nrtt = "1 s"\nfrom = "0"\nto = "9"\n' * len(nodes)
    file = tmp_path / "chain.toml"
    file.write_text(text, encoding="utf-8")
    with checking(file) as program:
        time.sleep(3)
        assert program.poll() is None
        before = time.monotonic()
        assert interrupted(program, signal.SIGINT) == 128 + signal.SIGINT
        assert time.monotonic() - before < 3


def checking(file: Path) -> subprocess.Popen[str]:
    """The program while it reads a scenario."""
    command = [sys.executable, *PROGRAM, "check", str(file)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def interrupted(program: subprocess.Popen[str], number: signal.Signals) -> int:
    """Sends a signal; returns the exit code, and checks that there is no traceback."""
    program.send_signal(number)
    try:
        code = program.wait(20)
    except subprocess.TimeoutExpired:
        program.kill()
        raise
    errors: IO[str] | None = program.stderr
    assert errors is not None
    assert "Traceback" not in errors.read()
    return code
