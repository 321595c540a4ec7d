"""Flows over real QUIC stacks, from the file to the page. What the stacks do is tested in crates/quic/tests."""

from __future__ import annotations

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
