"""Flows of the real kernel in our network, inside of the guest (``windtunnel/twin/ours.py``)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli, refused
from test_twin import KERNELS, linux, needs_kernel

from windtunnel import Scenario
from windtunnel.errors import InputError
from windtunnel.kernel.guest import Outcome, boot
from windtunnel.twin import Ours, Plan, merged, planned, run_linux, script
from windtunnel.twin.ours import model, network, over_kernel
from windtunnel.twin.readings import digest_of

MIXED = """
duration = "4 s"
[bottleneck]
rate = "20 Mbit/s"
queue = "deltim"
[[flow]]
name = "real"
cc = "bbr"
stack = "linux-kernel"
rtt = "20 ms"
count = 2
stagger = "500 ms"
[[flow]]
cc = "reno-mds"
rtt = "20 ms"
"""
PLAIN = """
duration = "10 s"
[record]
interval = "100 ms"
[bottleneck]
rate = "20 Mbit/s"
queue = { kind = "fifo", limit = "60 packets" }
[[flow]]
cc = "cubic"
rtt = "40 ms"
"""


def test_the_kernels_part() -> None:
    """Each flow of the kernel has two hosts, whose addresses the network knows; ours has none."""
    made = planned(Scenario.from_toml(MIXED), linux())
    assert isinstance(made, Ours) and made.flows == (0, 1) and made.why == ""
    assert [(flow.name, flow.controller, flow.start) for flow in made.plan.flows] == [
        ("real-1", "bbr", 0),
        ("real-2", "bbr", 500_000_000),
    ]
    work = json.loads(made.work(7))
    assert work["hosts"] == [["real-1", "10.1.0.1", "10.3.0.1"], ["real-2", "10.1.1.1", "10.3.1.1"]]
    assert (work["zero"], work["end"]) == (7, 4_000_000_007)
    text = script(made.plan, network(made))
    assert "windtunnel.twin.inside > /run/ready" in text and "netem" not in text and "tc -batch" not in text


def test_our_model_takes_the_place_of_the_kernel() -> None:
    """The other side of a comparison has the same flows over our TCP."""
    flows = model(Scenario.from_toml(MIXED)).resolve()["flow"]
    assert ["stack" in flow for flow in flows] == [False, False]
    assert [flow["cc"]["kind"] for flow in flows] == ["bbr", "reno"]
    assert [flow["ecn"] for flow in flows] == [False, True]


def test_what_linux_lacks_is_in_our_network() -> None:
    """All flows are the kernel's then, and the network is the scenario's. Flows that Linux cannot have stay refused."""
    scenario = Scenario.from_toml(PLAIN, overrides=("bottleneck.queue=pi2",))
    made = planned(scenario, linux())
    assert isinstance(made, Ours) and made.why == "bottleneck.queue.kind = pi2: tc has no such discipline"
    [flow] = made.scenario.resolve()["flow"]
    assert (flow["cc"]["kind"], flow["stack"]["kind"]) == ("cubic", "linux-kernel")
    assert isinstance(planned(Scenario.from_toml(PLAIN), linux()), Plan)
    with pytest.raises(InputError, match="mds_dscp"):
        planned(scenario.override("flow.0.cc=reno-mds"), linux())
    with pytest.raises(InputError, match="rledbat"):
        planned(scenario.override("flow.0.rledbat=ledbat-pp"), linux())
    with pytest.raises(InputError, match="connection"):
        planned(scenario.override("flow.0.connection=m"), linux())


def test_several_links_are_in_our_network() -> None:
    """A graph of links, which tc's one link is not."""
    nodes = "node=[{name='x'}, {name='y'}, {name='z'}]"
    links = "link=[{name='a', from='x', to='y', rate='20 Mbit/s'}, {name='b', from='y', to='z', rate='10 Mbit/s'}]"
    text = PLAIN.replace('rtt = "40 ms"', 'rtt = "40 ms"\npath = ["a", "b"]')
    text = text.replace('[bottleneck]\nrate = "20 Mbit/s"\nqueue = { kind = "fifo", limit = "60 packets" }\n', "")
    made = planned(Scenario.from_toml(text, overrides=(nodes, links)), linux())
    assert isinstance(made, Ours) and made.why == "link: the guest has one link between two hosts"
    assert [flow["path"] for flow in made.scenario.resolve()["flow"]] == [["a", "b"]]


def test_a_run_alone_is_refused(cli: Cli, tmp_path: Path) -> None:
    """The kernel's flows have no ends in a simulation; the message names the command that gives them some."""
    (tmp_path / "mixed.toml").write_text(MIXED, encoding="utf-8")
    refused(cli("run", tmp_path / "mixed.toml"), "flow[0].stack", "`windtunnel twin` runs the scenario")


@pytest.mark.long
@needs_kernel
def test_the_kernel_meets_our_flows() -> None:
    """BBR of the kernel and our Reno-MDS fill one queue of ours. The kernel tells its windows; its flows have no marks,
    as they do not ask for ECN, and ours has. A repetition gives the same bytes.
    """
    scenario = Scenario.from_toml(MIXED)
    result = run_linux(scenario, KERNELS[0])
    real, other, mds = result.flows
    assert (real["name"], other["name"], mds["cc"]) == ("real-1", "real-2", "reno-mds")
    assert result.queues[0]["utilization"] > 0.95
    assert min(flow["goodput_mbps"] for flow in result.flows) > 0.5
    assert real["sce_marks"] == other["sce_marks"] == 0 < mds["sce_marks"]
    assert real["cwnd_bytes"]["max"] > 10 * 1448
    # What is dropped last is not sent again before the end.
    assert real["retransmits"] == pytest.approx(real["drops"]["aqm"], abs=5) and real["drops"]["aqm"] > 20
    table = result.tables["flows"]
    starts = table["time_s"][(table["flow"] == 1) & np.isfinite(table["cwnd_bytes"])]
    assert starts[0] == pytest.approx(0.5, abs=0.05)
    assert run_linux(scenario, KERNELS[0]).digest == result.digest


@pytest.mark.long
@needs_kernel
@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_our_network_is_linuxs(cc: str) -> None:
    """The kernel's flow over tc (HTB, a FIFO, netem) and over our network: the same windows at each tenth of a second,
    to a segment or two, and the same losses.
    """
    scenario = Scenario.from_toml(PLAIN, overrides=(f"flow.0.cc={cc}",))
    tc = run_linux(scenario, KERNELS[0])
    inside = over_kernel(scenario, KERNELS[0], "")
    outcome = boot(KERNELS[0], script(inside.plan, network(inside)), seed=1)
    here = merged.result_of(inside, KERNELS[0], outcome)
    assert here.flows[0]["goodput_mbps"] == pytest.approx(tc.flows[0]["goodput_mbps"], rel=0.005)
    assert abs(here.queues[0]["drops"]["full"] - tc.queues[0]["drops"]["full"]) <= 2
    windows = [result.tables["flows"]["cwnd_bytes"][4:] / 1448 for result in (tc, here)]
    assert np.median(np.abs(windows[0] - windows[1])) <= 1
    assert np.quantile(np.abs(windows[0] - windows[1]), 0.9) <= 3


@needs_kernel
def test_side_by_side_with_our_model(cli: Cli, tmp_path: Path) -> None:
    """The command says whose network it is, and judges the kernel's flows against our model of them."""
    path = tmp_path / "pi2.toml"
    path.write_text(PLAIN.replace('{ kind = "fifo", limit = "60 packets" }', '"pi2"'), encoding="utf-8")
    words = ["--kernel", KERNELS[0].folder, "--draws", "2", "--out", tmp_path / "out", "--json"]
    done = cli("twin", path, "--set", "duration=3 s", *words)
    assert done.returncode == 0, done.stderr
    assert "the network in the guest is windtunnel's: bottleneck.queue.kind = pi2" in done.stderr
    rows = {(row["subject"], row["name"]): row for row in json.loads(done.stdout)}
    row = rows["bottleneck", "utilization"]
    assert min(row["linux"] + row["windtunnel"]) > 50


def test_a_digest_knows_no_folder() -> None:
    """What the guest is told names files of this machine; the digest covers what it wrote about the run."""
    here, there = (
        Outcome({"summary.json": b"{}", "work.json": path}, 1.0) for path in (b'"/here/a.toml"', b'"/there/a.toml"')
    )
    assert digest_of(here) == digest_of(there)


APPLICATIONS = """
duration = "5 s"
endpoints = "linux"
[bottleneck]
rate = "20 Mbit/s"
queue = "pi2"
[[flow]]
name = "web"
cc = "cubic"
rtt = "20 ms"
app = { kind = "request-response" }
[[flow]]
name = "call"
rtt = "20 ms"
app = { kind = "media" }
[[flow]]
cc = "cubic"
rtt = "20 ms"
"""


@pytest.mark.long
@needs_kernel
def test_applications() -> None:
    """Over a queue that Linux lacks, messages and datagrams are what the scenario's applications send: as many
    datagrams as in our model, with the same delays but for what PI2 drops of others; a message takes its time on the
    wire and a round trip at least.
    """
    scenario = Scenario.from_toml(APPLICATIONS)
    result, ours = run_linux(scenario, KERNELS[0]), scenario.run()
    web, call, _ = result.flows
    table = result.tables["transfers"]
    assert set(table["flow"]) == {0} and len(table["flow"]) == web["transfers"]["completed"] >= 4
    assert table["slowdown"].min() > 1 and table["slowdown"] == pytest.approx(
        table["time_ms"] / (20 + table["size_bytes"] * 8 / 20e3)
    )
    assert (call["cc"], call["application"], call["cwnd_bytes"]) == ("media", "media", None)
    [of_model] = [flow["datagrams"] for flow in ours.flows if flow["name"] == "call"]
    assert call["datagrams"]["sent"] == of_model["sent"]
    assert call["datagrams"]["one_way_ms"]["mean"] == pytest.approx(of_model["one_way_ms"]["mean"], rel=0.1)
    rows = result.tables["flows"]["flow"] == 1
    assert np.isnan(result.tables["flows"]["cwnd_bytes"][rows]).all()
