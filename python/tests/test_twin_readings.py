"""What a guest tells about a run on the real Linux: controllers' state, and packets."""

from __future__ import annotations

import lzma
import shutil
import struct
import subprocess
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from conftest import Cli, refused
from kernel_captures import ENDS, KERNEL, KernelCapture, captures, headers, recorded
from test_twin import KERNELS, TEXT, needs_kernel

from windtunnel import Scenario, load
from windtunnel.twin import run_linux
from windtunnel.twin.state import readers, state_table

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@pytest.mark.parametrize(
    ("controller", "data", "values"),
    [
        # DCTCP's alpha has 10 bits behind the point; 0 in the first word: ECN was not negotiated.
        ("dctcp", struct.pack("=2H3I", 1, 0, 256, 0, 0), {"alpha": 0.25}),
        ("dctcp", struct.pack("=2H3I", 0, 0, 256, 0, 0), {"alpha": np.nan}),
        # BBR's bandwidth is in bytes in a second; its gains have 8 bits behind the point.
        (
            "bbr",
            struct.pack("=5I", 0x80000000, 1, 20_000, 320, 512),
            {"bw_bit_per_s": 8.0 * (2**32 + 2**31), "min_rtt_s": 0.02, "pacing_gain": 1.25, "cwnd_gain": 2.0},
        ),
        # Vegas has its base in the third word, Illinois and NV in the fourth; before a sample it is the greatest.
        ("vegas", struct.pack("=4I", 1, 5, 30_000, 31_000), {"base_rtt_s": 0.03}),
        ("vegas", struct.pack("=4I", 1, 0, 0x7FFFFFFF, 0x7FFFFFFF), {"base_rtt_s": np.nan}),
        ("illinois", struct.pack("=4I", 1, 5, 31_000, 30_000), {"base_rtt_s": 0.03}),
        ("nv", struct.pack("=4I", 1, 5, 31_000, 30_000), {"min_rtt_s": 0.03}),
        ("dctcp", b"", {"alpha": np.nan}),
    ],
)
def test_the_state_of_a_controller(controller: str, data: bytes, values: dict[str, float]) -> None:
    """The structures of linux/inet_diag.h, in the units of our own columns."""
    read = {name: reader(data.hex()) for name, reader in readers(controller).items()}
    assert read == pytest.approx(values, nan_ok=True)


def test_the_table_of_state() -> None:
    """Flows that tell nothing have no rows, and a flow that has not started has no values."""
    times = np.array([0.1, 0.2])
    dctcp = {"there": np.array([0.0, 1.0]), "alpha": np.array([0.0, 0.5])}
    vegas = {"there": np.ones(2), "base_rtt_s": np.array([0.01, 0.02])}
    table = state_table([(0, "dctcp", dctcp), (1, "cubic", {}), (2, "vegas", vegas)], times)
    assert table["time_s"].tolist() == [0.1, 0.1, 0.2, 0.2] and table["flow"].tolist() == [0, 2, 0, 2]
    np.testing.assert_array_equal(table["alpha"], [np.nan, np.nan, 0.5, np.nan])
    np.testing.assert_array_equal(table["base_rtt_s"], [np.nan, 0.01, np.nan, 0.02])
    assert state_table([(0, "reno", {})], times) == {}


def test_captures_are_of_one_run(cli: Cli, tmp_path: Path) -> None:
    """Ten draws of two sides have no place for one capture, and a capture has none without a folder."""
    file = tmp_path / "one.toml"
    file.write_text(TEXT, encoding="utf-8")
    refused(cli("twin", file, "--capture"), "--capture: has the packets of one run: add --only linux")
    refused(cli("twin", file, "--capture", "--only", "linux", "--json"), "give --out, too")


@needs_kernel
def test_what_controllers_measure() -> None:
    """The kernel's Vegas measures the path's round trip, and one packet's time on the wire, as its base; its BBR the
    rate of segments of 1448 bytes in packets of 1500, without what TCP's timestamps take.
    """
    vegas, bbr = (
        run_linux(Scenario.from_toml(TEXT, overrides=(f"flow.0.cc={cc}",)), KERNELS[0]).tables["cc"]
        for cc in ("vegas", "bbr")
    )
    assert vegas["base_rtt_s"][-1] == pytest.approx(0.0403, abs=1e-5)
    assert bbr["bw_bit_per_s"][-1] == pytest.approx(40e6 * 1448 / 1500, rel=1e-3)


def test_headers_alone() -> None:
    """What is kept of a capture: of both interfaces, IP and TCP headers, times in microseconds, no checksums."""

    def block(kind: int, content: bytes) -> bytes:
        length = struct.pack("<I", len(content) + 12)
        return struct.pack("<I", kind) + length + content + length

    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 2, 1500, 7, 0x4000, 64, 6, 0x1234, b"\x0a\1\0\1", b"\x0a\3\0\1")
    tcp = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, 0x80, 0x10, 500, 0x5678, 0) + b"\1\1\x08\x0a" + bytes(range(8))
    frame = bytes(14) + ip + tcp + b"data"
    other = bytes(14) + ip[:9] + b"\x11" + ip[10:] + bytes(20)

    def packet(interface: int, content: bytes) -> bytes:
        time = 2**32 * 1000 + 2999
        about = struct.pack("<5I", interface, time >> 32, time % 2**32, len(content), 1514)
        return block(6, about + content + bytes(-len(content) % 4))

    section, device = block(0x0A0D0D0A, bytes(16)), block(1, bytes(8))
    capture = section + device * 2 + packet(1, other) + packet(1, frame)
    one, two = headers(capture, 5000)
    bare = ip[:4] + bytes(2) + ip[6:10] + bytes(2) + ip[12:] + tcp[:16] + bytes(2) + tcp[18:]
    raw = block(1, struct.pack("<HHI", 101, 0, 0))
    assert one[28:] == raw
    assert two[28:] == raw + block(6, struct.pack("<5I", 0, 1, 2, 52, 1500) + bare)
    # The packet is from 4294.967298 s.
    assert headers(capture, 4294.967298)[1] == one and headers(capture, 4294.9673)[1] == two


@pytest.mark.long
@pytest.mark.skipif(all(kernel.sha256 != KERNEL for kernel in KERNELS), reason="the captures are of another kernel")
def test_the_captures_of_explain_again() -> None:
    """The same kernel gives the same packets as those that the tests of `explain` read."""
    [kernel] = [kernel for kernel in KERNELS if kernel.sha256 == KERNEL]
    path = next(each.path for each in captures() if each.path.name == "fifo-3bdp")
    for end, capture in zip(ENDS, recorded(path, "vegas", kernel), strict=True):
        assert lzma.decompress(KernelCapture(path, "vegas", end).file.read_bytes()) == capture


@pytest.mark.long
@needs_kernel
@needs_tshark
@pytest.mark.parametrize("stack", ["linux", "linux-kernel"])
def test_a_capture(cli: Cli, tmp_path: Path, stack: str) -> None:
    """Packets at both ends, with Linux's network and with ours: half of the round trip of 40 ms is between the first
    SYN at the sender and at the receiver, with its time on the wire and the readings of the clock. The same command
    gives the same file. To look at packets takes readings of the clock: goodput is within 1 % of that without.
    """
    file, out = tmp_path / "one.toml", tmp_path / "out"
    file.write_text(TEXT.replace('"5 s"', '"1 s"'), encoding="utf-8")
    options = ["--only", "linux", "--kernel", KERNELS[0].folder, "--set", f"flow.0.stack={stack}"]
    done = cli("twin", file, *options, "--capture", "--out", out)
    assert done.returncode == 0, done.stderr
    fields = ["-e", "frame.time_epoch", "-e", "frame.interface_name", "-e", "tcp.flags.syn", "-e", "frame.len"]
    command = ["tshark", "-r", str(out / "capture.pcapng"), "-T", "fields", *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in said.splitlines()]
    [sent, arrived] = [float(time) for time, where, syn, _ in rows if syn in ("1", "True")][:2]
    assert rows[0][1] == "m1/s0" and 0 <= sent < 1e-4
    assert arrived - sent == pytest.approx(0.02, abs=5e-5)
    data = sum(int(length) > 1500 for _, where, _, length in rows if where == "m2/r0")
    [flow] = load(out).flows
    assert data * 1448 >= flow["delivered_bytes"] > 0.9 * data * 1448
    folders = tmp_path / "again", tmp_path / "without"
    for folder, more in zip(folders, (["--capture"], []), strict=True):
        assert cli("twin", file, *options, *more, "--out", folder).returncode == 0
    again, without = map(load, folders)
    assert (folders[0] / "capture.pcapng").read_bytes() == (out / "capture.pcapng").read_bytes()
    assert again.digest == load(out).digest
    assert without.flows[0]["delivered_bytes"] == pytest.approx(flow["delivered_bytes"], rel=0.01)


def _packets(capture: bytes) -> dict[str, list[tuple[bytes, int, int]]]:
    """What the sender at 10.1.0.1 has sent, by device: IP's identification, time in ns, and the packet's size."""
    packets: dict[str, list[tuple[bytes, int, int]]] = {"m1/s0": [], "m2/r0": []}
    devices, at = list(packets), 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            device, high, low, _, size = struct.unpack_from("<5I", capture, at + 8)
            packet = capture[at + 28 :][14:]
            if packet[12:16] == bytes([10, 1, 0, 1]):
                packets[devices[device]].append((packet[4:6], high << 32 | low, size - 14))
        at += length
    return packets


@needs_kernel
@pytest.mark.parametrize(("stack", "p99", "most"), [("linux", 1e3, 1e3), ("linux-kernel", 8e3, 40e3)])
def test_departures(stack: str, p99: float, most: float) -> None:
    """Each packet leaves the network when it is due: after those before it, its time on the wire of 20 Mbit/s, and half
    of the round trip (Lindley's recursion over the times at which packets entered). HTB and netem are late by less than
    a microsecond, our network in the guest by some readings of the guest's clock, more for the first packets.
    """
    settings = ("duration='1 s'", "bottleneck.rate='20 Mbit/s'", "bottleneck.queue.limit='10000 packets'")
    capture = BytesIO()
    run_linux(Scenario.from_toml(TEXT, overrides=(f"flow.0.stack={stack}", *settings)), KERNELS[0], capture=capture)
    entered, left = _packets(capture.getvalue()).values()
    arrived, free, late = {key: time for key, time, _ in left}, 0.0, []
    for key, time, size in entered:
        free = max(free, time) + size * 8e9 / 20e6
        if key in arrived:
            late.append(arrived[key] - free - 20e6)
    assert len(late) == len(left) > 1000
    assert np.percentile(np.abs(late), 99) < p99 and np.abs(late).max() < most
