"""Flows over real QUIC stacks, from the file to the page. What the stacks do is tested in crates/quic/tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import windtunnel as wt
from windtunnel.notes import notes_before

DASH = "\N{EN DASH}"
BOTTLENECK = {"rate": "20 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}}
FILE = """duration = "3 s"
record = { packets = true }
[bottleneck]
rate = "20 Mbit/s"
queue = { kind = "fifo", limit = "1 bdp" }
[[flow]]
name = "tcp"
cc = "cubic"
rtt = "20 ms"
[[flow]]
name = "quic"
stack = "STACK"
cc = CC
rtt = "20 ms"
"""


def result_of(**flow: Any) -> wt.RunResult:
    """A flow of two seconds."""
    return wt.Scenario(duration="2 s", bottleneck=BOTTLENECK, flows=[{"rtt": "20 ms", **flow}]).run()


def test_what_draws_without_a_seed_is_named() -> None:
    """The BBR of quinn draws from the system's random numbers, its CUBIC draws none, and BBRv3 of ours in noq has the
    flow's seed.
    """
    assert result_of(stack="quinn", cc="bbr").meta["unseeded"] == ["bbr of quinn"]
    assert result_of(stack="quinn", cc="cubic").meta["unseeded"] == []
    assert result_of(stack="noq", cc={"windtunnel": "bbr3"}).meta["unseeded"] == []


@pytest.mark.parametrize(("stack", "cc", "says"), [("quinn", '"bbr"', True), ("noq", '{ windtunnel = "reno" }', False)])
def test_the_summary_has_what_the_stack_tells(cli: Cli, tmp_path: Path, stack: str, cc: str, says: bool) -> None:
    """Packets lost and loss episodes stand next to those of TCP; what no stack tells is a dash. A digest that does not
    bind says so, on the terminal and on the page.
    """
    (tmp_path / "quic.toml").write_text(FILE.replace("STACK", stack).replace("CC", cc), encoding="utf-8")
    done = cli("run", "quic.toml", "--out", "out")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("quic ") and line.count(DASH) == 3]
    lost, dash, episodes, *_ = line.split()[1:]
    assert int(lost) > 0 and dash == DASH and int(episodes) > 0
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert [("the digest does not bind" in text) for text in (done.stdout, page)] == [says] * 2
    # Its packets are UDP in a capture.
    assert cli("export", "out", "--pcapng", "out.pcapng").returncode == 0
    flows = cli("explain", "out.pcapng").stdout
    assert "not TCP over IP" in flows


def test_ect_is_no_wish_of_the_user() -> None:
    """QUIC stacks always set ECT(0): over a tail drop that is no note, as it is for a TCP flow with ``ecn = true``."""

    def notes(**flow: Any) -> list[str]:
        scenario = wt.Scenario(duration="2 s", bottleneck=BOTTLENECK, flows=[{"rtt": "20 ms", "cc": "cubic", **flow}])
        return [note.rule for note in notes_before(scenario.resolve())]

    assert "ecn-without-marks" in notes(ecn=True)
    assert "ecn-without-marks" not in notes(stack="noq")


def test_a_flow_without_a_stack_has_no_controller_inside_one() -> None:
    """The message names the key and what it belongs to."""
    with pytest.raises(wt.ScenarioError, match="belongs to a flow over a real stack"):
        wt.Scenario(duration="1 s", bottleneck=BOTTLENECK, flows=[{"rtt": "20 ms", "cc": {"windtunnel": "reno"}}]).run()


LIBRARY = """title = "a library"
seeds = 1
[scenario]
duration = "2 s"
[scenario.bottleneck]
rate = "20 Mbit/s"
queue = "fifo"
[[scenario.flow]]
stack = { kind = "library", file = "./libtiny.so" }
rtt = "20 ms"
[axes.grid]
rtt = { key = "flow.0.rtt", values = ["20 ms", "40 ms"] }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest stack in C, which the tests in Rust have, too."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler `cc` here")
    root, folder = Path(__file__).parents[2], tmp_path_factory.mktemp("library")
    source = root / "crates/quic/tests/stacks/tiny.c"
    command = ["cc", "-shared", "-fPIC", "-I", root / "crates/foreign", source, "-o", folder / "libtiny.so"]
    subprocess.run(command, check=True)
    return folder / "libtiny.so"


def test_a_library_runs_where_it_is_allowed(cli: Cli, tmp_path: Path, library: Path) -> None:
    """A scenario alone cannot load a library. With --plugin it runs, and says that its code is not windtunnel's."""
    shutil.copy(library, tmp_path)
    text = FILE.replace('stack = "STACK"', 'stack = { kind = "library", file = "libtiny.so" }').replace("CC", '"fixed"')
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    refused = cli("check", "own.toml")
    assert refused.returncode == 2
    assert 'own.toml:12: flow[1].stack.file: "libtiny.so" is not allowed: a library that you allow' in refused.stderr
    done = cli("run", "own.toml", "--plugin", "libtiny.so", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "foreign code: stack tiny 0.1 of libtiny.so" in done.stdout
    gone = cli("check", "own.toml", "--plugin", "libgone.so")
    assert (gone.returncode, "libgone.so: cannot be read" in gone.stderr) == (2, True), gone.stderr


def test_a_library_runs_in_other_processes(cli: Cli, tmp_path: Path, library: Path) -> None:
    """The processes that compute a campaign may load what the command may; nothing of it is kept for later commands."""
    shutil.copy(library, tmp_path)
    (tmp_path / "many.toml").write_text(LIBRARY, encoding="utf-8")
    for _ in range(2):
        done = cli("sweep", "many.toml", "--plugin", "libtiny.so", "--jobs", "2", "--out", "out", "--force")
        assert done.returncode == 0, done.stderr
        assert "cache" not in done.stdout, done.stdout


def test_a_stack_that_is_not_built_in_is_named(cli: Cli) -> None:
    """`list` has what is built in; the message about a stack that is known says so, and how to get it."""
    stacks = cli("list", "stacks").stdout
    assert "library" in stacks and "quinn" in stacks
    with pytest.raises(
        wt.ScenarioError,
        match=r"is not built in; built in are linux, ideal, quinn, noq, .*library, outside, linux-kernel; ",
    ):
        result_of(stack="msquic")
