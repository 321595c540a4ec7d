"""`export --tc`: the scenario as commands of tc. What tc accepts is decided by the real tc, in a network namespace."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from windtunnel import Scenario
from windtunnel.export.tc import script
from windtunnel.export.tc.qdiscs import QDISCS, Link, qdisc
from windtunnel.export.tc.words import tc_rate, tc_time

#: One flow for a moment: the script needs the result's names and paths only.
PATH = """
duration = "10 ms"
[bottleneck]
rate = "40 Mbit/s"
overhead = "{overhead} B"
queue = {queue}
{more}
[[flow]]
cc = "reno"
rtt = "20 ms"
"""

TWO_ROUND_TRIPS = '[[flow]]\ncc = "cubic"\nrtt = "80 ms"\ncount = 2\n'

#: An element of each kind that netem knows.
ELEMENTS = """impair = [
    { kind = "gilbert-elliott", p = 0.01, r = 0.3 }, { kind = "corruption", probability = 0.001 },
    { kind = "duplication", probability = 0.002 }, { kind = "jitter", distribution = "normal", reorder = true },
    { kind = "reordering", mode = "early", probability = 0.05 },
]"""


def lines(queue: str, more: str = "", flows: str = "", overhead: int = 14) -> list[str]:
    toml = PATH.format(queue=queue, more=more, overhead=overhead) + flows
    return list(script(Scenario.from_toml(toml).run()))


def commands(text: list[str]) -> list[str]:
    return [line.strip() for line in text if line.strip().startswith("tc ")]


def test_codel() -> None:
    """Every key of tc-codel(8), with the scenario's values; tbf counts 14 bytes for Ethernet, as the link does."""
    text = commands(
        lines('{ kind = "codel", limit = "500 packets", target = "2.5 ms", ecn = true, ce_threshold = "1 ms" }')
    )
    assert text[0] == 'tc qdisc replace dev "$BOTTLENECK" root handle 1: tbf rate 40mbit burst 1514b limit 1514000b'
    assert text[1].endswith("codel limit 500 target 2.5ms interval 100ms ce_threshold 1ms ecn")
    assert text[2:] == [
        'tc qdisc replace dev "$RECEIVERS" root netem limit 1000000 delay 10ms',
        'tc qdisc replace dev "$SENDERS" root netem limit 1000000 delay 10ms',
    ]


def test_overhead() -> None:
    """A link that counts IP packets alone takes Ethernet's header off again; a frame with preamble and gap adds 24."""
    assert "stab overhead -14 linklayer ethernet tbf" in commands(lines('"codel"', overhead=0))[0]
    assert "stab overhead 24 linklayer ethernet tbf" in commands(lines('"codel"', overhead=38))[0]


def test_impairments_of_selected_packets_are_no_netem() -> None:
    """Netem affects every packet: an element with `only` becomes a remark, and none of its words."""
    text = lines('"codel"', 'impair = { kind = "loss", probability = "1 %", only = { flows = [0] } }')
    assert not any("loss" in command for command in commands(text))
    assert any("loss: tc would affect all packets" in line for line in text)


@pytest.mark.parametrize("law", ['"wifi"', '{ kind = "listed", values = ["1 ms", "9 ms"] }'])
def test_delays_that_netem_does_not_draw(law: str) -> None:
    """Netem has no law of Wi-Fi, and takes no list: the script says so, and has no jitter."""
    text = lines('"codel"', f'impair = {{ kind = "jitter", distribution = {law} }}')
    assert any("jitter: tc has no equivalent" in line for line in text)
    assert not any("distribution" in line for line in commands(text))


def test_limits() -> None:
    """A limit in another unit becomes full frames or bytes: 12 ms at 40 Mbit/s are 60,000 bytes, 39 frames of 1514."""
    link = Link(40e6, 1514)
    assert qdisc({"kind": "codel", "limit": "12 ms"}, link)[0][:3] == ["codel", "limit", "39"]
    assert qdisc({"kind": "fifo", "limit": "12 ms"}, link)[0] == ["bfifo", "limit", "60000b"]
    assert qdisc({"kind": "fifo", "limit": "100 packets"}, link)[0] == ["pfifo", "limit", "100"]
    assert qdisc({"kind": "fifo", "limit": "9 packets", "headdrop": True}, link)[0] == [
        "pfifo_head_drop",
        "limit",
        "9",
    ]


def test_unknown_queue() -> None:
    """A queue that no kernel has is named, and tail drop of its size replaces it."""
    text = lines('{ kind = "deltim", limit = "100 packets" }')
    assert any("deltim: tc has no such discipline" in line for line in text)
    assert commands(text)[1].endswith("pfifo limit 100")


def test_quantities() -> None:
    assert [tc_time(s) for s in (2.0, 0.0125, 40e-6, 0.0)] == ["2s", "12.5ms", "40us", "0us"]
    assert [tc_rate(r) for r in (1.5e9, 4e7, 1234.0)] == ["1.5gbit", "40mbit", "1.234kbit"]


def test_changes_and_paths() -> None:
    """Changes of the rate are commented commands; flows with other round trips have a class of their own."""
    text = lines('"pie"', 'changes = [{ at = "5 ms", rate = "20 Mbit/s" }]', TWO_ROUND_TRIPS)
    assert '# tc qdisc change dev "$BOTTLENECK" root handle 1: tbf rate 20mbit burst 1514b limit 1514000b' in text
    assert sum("netem" in line and "delay 40ms" in line for line in commands(text)) == 2
    assert sum("198.51.100.3/32" in line and "flowid 1:2" in line for line in commands(text)) == 1


def test_a_router_gets_the_queue_alone(tmp_path: Path) -> None:
    """Without the interfaces of a test bed, the script sets up the queue and nothing else: the path's delay is on the
    path already. Without the bottleneck's it stops.
    """
    script_file, log = tmp_path / "setup.sh", tmp_path / "log"
    script_file.write_text("\n".join(lines('"codel"', ELEMENTS, TWO_ROUND_TRIPS)) + "\n", encoding="utf-8")
    stub = tmp_path / "tc"
    stub.write_text('#!/bin/sh\necho "$*" >> "$LOG"\n', encoding="utf-8")
    stub.chmod(0o755)
    environment = {"PATH": str(tmp_path), "LOG": str(log)}

    def run(**interfaces: str) -> tuple[int, list[str]]:
        log.write_text("")
        done = subprocess.run(
            ["/bin/sh", script_file], env={**environment, **interfaces}, capture_output=True, check=False
        )
        return done.returncode, log.read_text().splitlines()

    code, called = run(BOTTLENECK="wan0")
    assert code == 0 and called and all(" dev wan0 " in call and "netem" not in call for call in called)
    code, called = run(BOTTLENECK="wan0", RECEIVERS="lan0", SENDERS="lan1")
    assert code == 0 and {call.split(" dev ")[1].split()[0] for call in called if "netem" in call} == {"lan0", "lan1"}
    assert run()[0] != 0


def refusals(text: list[str], tmp_path: Path) -> list[str]:
    """What tc says against each command, in a namespace with one interface for each variable of the script."""
    devices = sorted(set(re.findall(r"\$(\w+)", "\n".join(commands(text)))))
    names = {device: f"wt{number}" for number, device in enumerate(devices)}
    steps = [
        f"ip link add {name} type veth peer name {name}p || ip tuntap add {name} mode tap" for name in names.values()
    ]
    steps += [f"{device}={name}" for device, name in names.items()]
    steps += [f"echo ':: {line.replace(chr(34), '')}' >&2; {line}" for line in commands(text)]
    shell = tmp_path / "in-namespace.sh"
    shell.write_text("\n".join(steps) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["unshare", "--net", "--map-root-user", "sh", shell], capture_output=True, text=True, check=False
    )
    out = []
    for part in done.stderr.split(":: ")[1:]:
        command, _, said = part.partition("\n")
        # A kernel without the module has parsed nothing; what depends on the missing discipline fails with it.
        if said.strip() and not re.search(
            r"kind is unknown|Failed to find|Parent Qdisc|No such file|does not support", said
        ):
            out.append(f"{command}: {said.strip()}")
    return out


@pytest.fixture(scope="module")
def _tc() -> None:
    if not shutil.which("tc"):
        pytest.skip("tc is not installed")
    probe = ["unshare", "--net", "--map-root-user", "true"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no network namespaces here")


@pytest.mark.usefixtures("_tc")
@pytest.mark.parametrize("kind", ["fifo", *QDISCS])
def test_accepted(kind: str, tmp_path: Path) -> None:
    """The real tc accepts every command for a queue with its defaults. Where the kernel lacks a discipline, tc alone
    has judged the words.
    """
    if (
        "hence option"
        in subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", QDISCS[kind].name if kind in QDISCS else "pfifo", "limit", "x"],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    ):
        pytest.skip("this tc is older than the discipline")
    assert not refusals(lines(f'"{kind}"', ELEMENTS, TWO_ROUND_TRIPS, overhead=0), tmp_path)


#: Queues with more than their defaults: every optional parameter of tc once, and queues inside of queues.
RICH = {
    "dualpi2": '{ kind = "dualpi2", step_thresh = "2 ms", classic_protection = 0.2, max_rtt = "80 ms", '
    'typical_rtt = "20 ms", memlimit = "1 MB" }',
    "dualpi2 in packets": '{ kind = "dualpi2", step_thresh = "5 packets", target = "10 ms", tupdate = "10 ms", '
    "alpha = 0.1, beta = 2.0, overflow = true, drop_enqueue = true }",
    "cake": '{ kind = "cake", bandwidth = "20 Mbit/s", diffserv = "diffserv4", flow_mode = "triple-isolate", '
    'memlimit = "4 MB", overhead = "38 B", mpu = "84 B", ingress = true, wash = true, ack_filter = "aggressive" }',
    "red": '{ kind = "red", limit = "1 MB", min = "30 kB", max = "90 kB", avpkt = "1 kB", burst = 55, ecn = true, '
    "adaptive = true }",
    "sfq": '{ kind = "sfq", limit = "200 packets", flows = 64, headdrop = true, redflowlimit = "100 kB", min = "8 kB", '
    'max = "24 kB", avpkt = "1 kB", burst = 20, probability = "5 %", ecn = true, harddrop = true }',
    "sfb": '{ kind = "sfb", limit = "200 packets", max = 40, target = 20 }',
    "choke": '{ kind = "choke", limit = "1000 packets", min = 20, max = 60, ecn = true }',
    "tbf": '{ kind = "tbf", rate = "20 Mbit/s", peakrate = "30 Mbit/s", child = "fq_codel" }',
    "prio": '{ kind = "prio", bands = 2, filters = [{ dscp = [46], band = 0 }, { ecn = ["ect1", "ce"], band = 0 }], '
    'children = ["codel", { kind = "tbf", rate = "10 Mbit/s", child = "pie" }] }',
    "drr": '{ kind = "drr", quanta = ["3 kB", "1500 B"], filters = [{ dscp = [46], band = 0 }], '
    'children = ["codel", "fifo"] }',
}


@pytest.mark.usefixtures("_tc")
@pytest.mark.parametrize("name", RICH)
def test_accepted_with_parameters(name: str, tmp_path: Path) -> None:
    """The real tc accepts what is written for all parameters that the table above knows."""
    if name.startswith("dualpi2"):
        usage = subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", "dualpi2", "help"], capture_output=True, check=False
        )
        if b"hence option" in usage.stderr:
            pytest.skip("this tc is older than the discipline")
    assert not refusals(lines(RICH[name]), tmp_path)


def test_queues_inside_queues() -> None:
    """A shaper in a band of strict priority: handles lead from the root to each leaf, and filters to their bands."""
    text = commands(lines(RICH["prio"]))
    assert [line.partition('"$BOTTLENECK" ')[2] for line in text[1:7]] == [
        "parent 1:1 handle 10: prio bands 2 priomap " + " ".join(["1"] * 16),
        "parent 10:1 handle 11: codel limit 1000 target 5ms interval 100ms noecn",
        "parent 10:2 handle 12: tbf rate 10mbit burst 15000b limit 1514000b",
        text[4].partition('"$BOTTLENECK" ')[2],
        "parent 10: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 10:1",
        "parent 10: protocol ip prio 2 u32 match ip dsfield 0x01 0x03 flowid 10:1",
    ]
    assert "parent 12:1 handle 13: pie limit 1000" in text[4]


@pytest.mark.usefixtures("_tc")
def test_refused(tmp_path: Path) -> None:
    """The check can fail: tc refuses a parameter that codel does not have."""
    text = [line.replace("target", "tarket") for line in lines('"codel"')]
    assert refusals(text, tmp_path)
