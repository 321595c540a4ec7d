"""Real programs over the path of a scenario: what passes it, what the result says, and how it is refused."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, Cli, environment, refused
from emulations import CLIENT, SCENARIO, SERVER, needs_namespaces, needs_root, program

from windtunnel import load
from windtunnel.emulate import device, ends, namespaces
from windtunnel.emulate.lateness import Lateness
from windtunnel.kernel import tools

#: Tests share their machine, which may be late: only those about lateness have a bound that means anything.
PATIENT = ("--bound", "10 min")
QUICHE = Path(__file__).parents[2] / "examples/quiche/target/release/windtunnel-quiche"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A path of 8 Mbit/s and 20 ms."""
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture
def serve(tmp_path: Path) -> tuple[str, str]:
    """The options that start a server which counts bytes."""
    return "--serve", shlex.join(program(tmp_path, "server", SERVER))


@pytest.fixture
def client(tmp_path: Path) -> tuple[str, ...]:
    """The near command that sends to it."""
    return "--", *program(tmp_path, "client", CLIENT)


# What passes


@needs_namespaces
def test_a_transfer(cli: Cli, scenario: Path, serve: tuple[str, str], client: tuple[str, ...]) -> None:
    """Over IPv4 and IPv6: all bytes arrive at the link's rate, no round trip is shorter than the path's, and the result
    is an ordinary one with a capture, a page, and a file for Flent.
    """
    done = cli("emulate", scenario, "--capture", *PATIENT, *serve, *client, "10.0.0.2", "fd00::2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10.0.0.2 500000\nfd00::2 500000\n")
    folder = scenario.parent / "results/path-emulated"
    result = load(folder)
    four, six = (each["ends"] for each in result.meta["emulation"]["connections"])
    assert four.startswith("10.0.0.1:") and four.endswith(" > 10.0.0.2:7000 TCP")
    assert "fd00::2" in six
    assert f"connection-1: {four}" in done.stdout
    for flow in result.flows:
        assert flow["delivered_bytes"] == 500_000
        assert flow["rtt_ms"]["min"] >= 20.0
    [link] = result.queues
    # 500 kB of data twice, and headers, take a second at 8 Mbit/s.
    assert result.meta["duration_s"] > 1.0
    assert link["dequeued"] >= 2 * 500_000 // 1448
    assert link["rate_mbps"] == 8.0
    # All data are in it twice, as they enter the path and as they leave it.
    capture = (folder / "capture.pcapng").read_bytes()
    assert len(capture) > 4 * 500_000
    # pcapng's first block, and the names of both interfaces.
    assert capture[:4] == b"\x0a\x0d\x0d\x0a" and b"near" in capture and b"far" in capture
    explained = cli("explain", folder / "capture.pcapng")
    assert explained.returncode == 0, explained.stderr
    assert "10.0.0.2:7000" in explained.stdout
    with gzip.open(folder / "flows.flent.gz") as file:
        flent = json.load(file)
    assert any(value is not None for value in flent["results"]["TCP upload::1"])
    page = (folder / "report.html").read_text()
    for text in (
        "Lateness",
        "windtunnel0 in a namespace of its own, 10.0.0.1/24",
        "fd00::2",
        "MTU 1500 B",
        "in time: ",
    ):
        assert text in page


@needs_namespaces
def test_headers_pass(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """The DSCP as it was, ECT(1) as CE behind a queue that marks each packet, the MTU of the scenario, and no route but
    that to the other end.
    """
    server = program(
        tmp_path,
        "receiver",
        """
        import socket
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind(("10.0.0.2", 7000))
        _, control, _, sender = receiver.recvmsg(100, 100)
        receiver.sendto(control[0][2][:1], sender)
        """,
    )
    near = program(
        tmp_path,
        "sender",
        """
        import pathlib, socket, subprocess
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2 | 1)
        sender.settimeout(10)
        sender.sendto(b"x", ("10.0.0.2", 7000))
        print(sender.recv(100)[0])
        print(*(name for _, name in socket.if_nameindex()))
        try:
            sender.sendto(bytes(1300), ("10.0.0.2", 7001))
        finally:
            sender.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: fragment nothing
        try:
            sender.sendto(bytes(1300), ("10.0.0.2", 7001))
        except OSError as error:
            print(error.strerror)
        try:
            sender.sendto(b"x", ("192.0.2.1", 7000))
        except OSError as error:
            print(error.strerror)
        """,
    )
    marks = "bottleneck.queue={kind='nth', n='1 packets', limit='1000 packets', ecn_mode='rfc3168'}"
    settings = ("--set", marks, "--set", "mtu='1300 B'")
    done = cli("emulate", scenario, *PATIENT, *settings, "--serve", shlex.join(server), "--", *near)
    assert done.returncode == 0, done.stderr
    ce = 46 << 2 | 3
    assert done.stdout.splitlines()[:4] == [f"{ce}", "lo windtunnel0", "Message too long", "Network is unreachable"]


@needs_namespaces
def test_a_small_mtu_has_no_ipv6(cli: Cli, scenario: Path) -> None:
    """IPv6 needs links of 1280 bytes (RFC 8200, section 5)."""
    arguments = ("--set", "mtu='600 B'", "--json", "--duration", "100 ms")
    document = json.loads(cli("emulate", scenario, *arguments).stdout)
    assert [end["addresses"] for end in document["meta"]["emulation"]["ends"]] == [["10.0.0.1/24"], ["10.0.0.2/24"]]


@needs_namespaces
def test_ways_in(cli: Cli, scenario: Path) -> None:
    """Without a command it says how a shell gets to each end, and goes on for its time."""
    done = cli("emulate", scenario, "--duration", "200 ms", "--out", "there")
    assert done.returncode == 0, done.stderr
    near, far = done.stderr.splitlines()[:2]
    assert near.startswith("near end (10.0.0.1, fd00::1): nsenter -t ")
    assert far.startswith("far end (10.0.0.2, fd00::2): nsenter -t ")
    assert near.endswith(" -n bash")
    assert load(scenario.parent / "there").meta["duration_s"] == pytest.approx(0.2, abs=0.15)
    refused(cli("emulate", scenario, "--out", "there"), "there: exists already")


@needs_namespaces
def test_next_to_simulated_flows(cli: Cli, scenario: Path, serve: tuple[str, str], client: tuple[str, ...]) -> None:
    """With `--keep` the flows of the scenario are in the queue as well, and the real one has less of it."""
    out = ("--out", scenario.parent / "kept")
    done = cli("emulate", scenario, "--keep", *PATIENT, *out, *serve, *client)
    assert done.returncode == 0, done.stderr
    result = load(scenario.parent / "kept")
    assert [flow["name"] for flow in result.flows] == ["cubic", "connection-1"]
    assert all(flow["goodput_mbps"] > 0.5 for flow in result.flows)
    assert sum(flow["goodput_mbps"] for flow in result.flows) < 8.0


@needs_namespaces
def test_datagrams_that_the_kernel_splits(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """QUIC stacks hand several datagrams to the kernel at once (UDP_SEGMENT), and take several at once (UDP_GRO). On
    the path each is a packet of its own, which a queue marks by itself, and the last is shorter.
    """
    receiver = program(
        tmp_path,
        "receiver",
        """
        import socket
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.setsockopt(socket.IPPROTO_UDP, 104, 1)  # UDP_GRO
        receiver.bind(("10.0.0.2", 7000))
        sizes, marks = [], []
        while sum(sizes) < 4500:
            data, control, _, sender = receiver.recvmsg(65535, 200)
            sizes.append(len(data))
            marks += [value[0] & 3 for level, _, value in control if level == socket.IPPROTO_IP]
        receiver.sendto(f"{sizes} {marks}".encode(), sender)
        """,
    )
    sender = program(
        tmp_path,
        "sender",
        """
        import socket
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
        sender.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
        sender.settimeout(10)
        sender.sendto(bytes(4500), ("10.0.0.2", 7000))
        print(sender.recv(1000).decode())
        """,
    )
    marks = "bottleneck.queue={kind='nth', n='1 packets', limit='1000 packets', ecn_mode='rfc3168'}"
    done = cli("emulate", scenario, *PATIENT, "--set", marks, "--serve", shlex.join(receiver), "--", *sender)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[1000, 1000, 1000, 1000, 500] [3, 3, 3, 3, 3]"
    [link] = load(scenario.parent / "results/path-emulated").queues
    assert (link["dequeued"], link["ce"]) == (5, 5)


@needs_namespaces
@pytest.mark.skipif(not QUICHE.exists(), reason="needs examples/quiche: `make quiche` builds it")
@pytest.mark.parametrize("cc", ["reno", "cubic", "bbr2"])
def test_a_quic_stack(cli: Cli, scenario: Path, cc: str) -> None:
    """quiche, by its own clock: all bytes arrive, not faster than the link and not much slower. A datagram of 1452
    bytes has at most 1409 of the stream's: a short header with a connection ID of 20 bytes, a tag of 16, and a frame's
    type, stream and offset (RFC 9000 sections 17.3.1 and 19.8, RFC 9001 section 5.3).
    """
    server, near = f"{QUICHE} server 10.0.0.2:4433", [str(QUICHE), "client", "10.0.0.2:4433", "3000000", "--cc", cc]
    done = cli("emulate", scenario, *PATIENT, "--serve", server, "--", *near)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[0])
    assert (report["cc"], report["bytes"]) == (cc, 3_000_000)
    assert 0.8 * 8.0 < report["goodput_mbps"] < 8.0 * 1409 / 1480
    assert report["min_rtt_ms"] >= 20.0
    result = load(scenario.parent / "results/path-emulated")
    [connection] = result.meta["emulation"]["connections"]
    assert connection["ends"].endswith(" > 10.0.0.2:4433 UDP")
    [link] = result.queues
    # Each packet that the queue takes is one of quiche's: none is merged or split on its way.
    assert link["dequeued"] + sum(link["drops"].values()) == pytest.approx(report["sent"], abs=3)


@needs_namespaces
def test_a_terminal(scenario: Path, serve: tuple[str, str], client: tuple[str, ...]) -> None:
    """The commands' lines are there, and below them numbers of the link."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(scenario.parent)
        words = [sys.executable, *PROGRAM, "emulate", str(scenario), *PATIENT, *serve, *client]
        os.execve(sys.executable, words, {**environment(), "TERM": "xterm", "COLUMNS": "100"})
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError:  # it has ended
            break
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, shown
    os.close(terminal)
    text = shown.decode()
    assert "10.0.0.2 500000\r\n" in text
    assert "sojourn ms" in text and "lateness in us: p50" in text


# How it ends


@needs_namespaces
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--", "sh", "-c", "exit 7"), 7, "the command of the near end failed: exit code 7"),
        (("--serve", "sh -c 'exit 7'"), 1, "the command of the far end failed before it listened: exit code 7"),
        (("--", "/no/such/program"), 2, "/no/such/program: cannot be started: No such file"),
        (("--serve", "/no/such/program"), 2, "/no/such/program: cannot be started: No such file"),
    ],
)
def test_commands_that_fail(cli: Cli, scenario: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    """Their code, or one line."""
    done = cli("emulate", scenario, *PATIENT, *arguments)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert (scenario.parent / "results").exists() == (code == 7)


@needs_namespaces
def test_packets_that_were_late(cli: Cli, scenario: Path, serve: tuple[str, str], client: tuple[str, ...]) -> None:
    """No machine keeps a bound of a nanosecond: no verdict, also not on a claim that holds, and exit code 1."""
    claim = "claim=[{text='The link is used', check='queue.utilization > 0'}]"
    done = cli("emulate", scenario, "--bound", "1 ns", "--set", claim, *serve, *client)
    assert done.returncode == 1, done.stderr
    assert "warning: no verdict: 1 % of the packets left" in done.stdout
    result = load(scenario.parent / "results/path-emulated")
    assert result.meta["emulation"]["in_time"] is False
    assert result.notes[0]["rule"] == "lateness" and result.notes[0]["level"] == "warning"
    [decided] = result.claims
    assert decided["verdict"] == "undecided" and decided["why"].startswith("no verdict")
    done = cli("emulate", scenario, *PATIENT, "--force", "--set", claim, *serve, *client)
    assert done.returncode == 0, done.stderr
    assert load(scenario.parent / "results/path-emulated").claims[0]["verdict"] == "confirmed"


def test_verdicts_on_lateness() -> None:
    """On both sides of the bound, and without a packet."""
    late = {"packets": 100, "p50_us": 10.0, "p90_us": 20.0, "p99_us": 1000.0, "p999_us": 1500.0, "max_us": 2000.0}
    lateness = Lateness.of({**late, "histogram": [[10, 99], [2000, 1]]})
    assert not lateness.exceeds(1e-3) and lateness.verdict(1e-3).startswith("in time: 1 % of the packets left 1 ms")
    assert lateness.exceeds(0.999e-3) and lateness.verdict(0.999e-3).startswith("no verdict: ")
    none = Lateness.of({**dict.fromkeys(late, None), "packets": 0})
    assert not none.exceeds(1e-3) and none.verdict(1e-3).startswith("no packet passed")


# What is refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--way", "cubik"), "--way: `cubik` is none of cubic; did you mean `cubic`?"),
        (("--duration", "5"), "--duration: '5' is not allowed: a time above 0"),
        (("--bound", "5 MB"), "--bound: '5 MB' is not allowed"),
        (("--bound", "0 s"), "--bound: '0 s' is not allowed"),
        (("--serve", "'iperf3"), "is not a command: No closing quotation"),
        (("--serve", ""), "--serve: the command is empty"),
        (("--in", "../x"), "--in: '../x' is not the name of a network namespace"),
        (("--in", "one", "--far-in", "one"), "both ends cannot be in one namespace"),
        (("--set", "mtu='x'"), "mtu"),
        (("--json", "--capture"), "--capture writes into the result folder"),
    ],
)
def test_wrong_arguments(cli: Cli, scenario: Path, arguments: tuple[str, ...], says: str) -> None:
    """One line, before anything starts."""
    refused(cli("emulate", scenario, *arguments), says)
    assert not (scenario.parent / "results").exists()


@needs_namespaces
def test_what_has_no_real_time(cli: Cli, scenario: Path) -> None:
    """What the core cannot put into real time is named with the file."""
    done = cli("emulate", scenario, "--keep", "--set", "endpoints='ideal'", "--duration", "1 s")
    refused(done, "path.toml: endpoints", "ideal")


def test_no_ip(cli: Cli, scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that has it is named."""
    monkeypatch.setattr(tools, "path", str)
    monkeypatch.setattr(ends, "require", tools.require)
    refused(cli("emulate", scenario), "emulate needs ip: apt-get install iproute2")


def test_no_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The module's name, or the right that is missing."""
    monkeypatch.setattr(device, "_FILE", str(tmp_path / "tun"))
    with pytest.raises(namespaces.RefusedError, match="`modprobe tun` loads it, as root"):
        device.open_device("x%d")
    (tmp_path / "tun").touch()
    with pytest.raises(namespaces.RefusedError, match="no TUN device can be made here"):
        device.open_device("x%d")


@pytest.mark.parametrize(
    ("number", "switches", "says"),
    [
        (errno.EPERM, ("0", None), "`sysctl -w kernel.unprivileged_userns_clone=1` allows it"),
        (errno.EPERM, ("1", "1"), "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows it"),
        (errno.EPERM, (None, None), "use sudo, or allow CAP_SYS_ADMIN"),
        (errno.ENOSPC, (None, None), "raise user.max_user_namespaces"),
        (errno.EINVAL, (None, None), "this kernel makes no namespaces"),
    ],
)
def test_no_namespaces(number: int, switches: tuple[Any, ...], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch that forbids them is named. A system without a switch has no file of it."""
    lines = {file: value or "" for file, value in zip(namespaces._SWITCHES, switches, strict=True)}
    monkeypatch.setattr(namespaces, "_line", lines.__getitem__)
    monkeypatch.setattr(namespaces, "_unshare", lambda _: number)
    with pytest.raises(namespaces.RefusedError) as caught:
        namespaces.leave_network()
    assert says in str(caught.value)


# Rights


@needs_namespaces
@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_root(scenario: Path, serve: tuple[str, str], client: tuple[str, ...]) -> None:
    """An ordinary user has the same, in a user namespace. The only right that is left is to read this interpreter,
    which may be in the folder of another user.
    """
    rights = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override", "--bounding-set=-all,+dac_override")
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *rights]
    python = [shutil.which("python3", path="/usr/bin") or "", *client[2:]]
    server = shlex.split(serve[1])[1:]
    if not python[0] or not os.access(python[1], os.R_OK):
        pytest.skip("needs a python3 of the system's")
    scenario.parent.chmod(0o755)
    (scenario.parent / "results").mkdir(mode=0o777)
    everyone = [parent for parent in scenario.parents if parent.stat().st_mode & 0o005 != 0o005]
    for parent in everyone:
        parent.chmod(0o755)
    command = [*words, sys.executable, *PROGRAM, "emulate", str(scenario), *PATIENT]
    command += ["--serve", shlex.join([python[0], *server]), "--", *python]
    done = subprocess.run(
        command, cwd=scenario.parent, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10.0.0.2 500000\n")
    refusal = subprocess.run(
        [*command[: command.index("--serve")], "--in", "windtunnel-none", "--out", "x"],
        cwd=scenario.parent, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    refused(refusal, "there is no network namespace `windtunnel-none`")


@needs_namespaces
@needs_root
def test_a_namespace_with_a_name(cli: Cli, scenario: Path) -> None:
    """The device is there while the emulation goes on, and not afterwards; a route to the same addresses is refused."""
    name = f"windtunnel-test-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no namespaces with names here: {made.stderr}")
    try:
        look = shlex.split("sh -c 'ip -brief address show windtunnel0'")
        done = cli("emulate", scenario, "--in", name, "--", *look)
        assert done.returncode == 0, done.stderr
        assert "10.0.0.1/24 fd00::1/64" in done.stdout
        links = subprocess.run(["ip", "-n", name, "-brief", "link"], capture_output=True, text=True, check=True).stdout
        assert [line.split()[0] for line in links.splitlines()] == ["lo"]
        for words in (("link", "set", "lo", "up"), ("route", "add", "10.0.0.0/16", "dev", "lo")):
            subprocess.run(["ip", "-n", name, *words], check=True)
        refused(
            cli("emulate", scenario, "--in", name, "--out", "x"),
            f"the namespace `{name}` has a route to these addresses: 10.0.0.0/16 dev lo",
        )
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
