"""Captures of real QUIC stacks as tshark decrypts them: packet numbers and frames (RFC 9000), and ECN fields."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from tshark import COMMENT, NOTE, needs_tshark, tshark

import windtunnel as wt
from windtunnel.export import export_file
from windtunnel.export.packets import POINTS

#: Frame types (RFC 9000 section 19).
ACKS, CRYPTO, STREAMS = {"2", "3"}, "6", {str(kind) for kind in range(8, 16)}
#: ECN fields (RFC 3168).
ECT0, CE = 2, 3
#: IMMEDIATE_ACK of draft-ietf-quic-ack-frequency, which both stacks send where a loss is suspected.
IMMEDIATE_ACK = "0x1f"
#: The client sends the data.
CLIENT, SERVER = "192.0.2.1", "198.51.100.1"
#: Its queue marks packets.
BOTTLENECK = {"rate": "10 Mbit/s", "queue": {"kind": "codel", "ecn": True}}


def run(*stacks: str, **record: Any) -> wt.RunResult:
    flows = [{"name": stack, "stack": stack, "cc": "cubic", "rtt": "20 ms"} for stack in stacks]
    record = {"packets": True, "payloads": True, **record}
    return wt.Scenario(duration="2 s", bottleneck=BOTTLENECK, flows=flows, record=record).run()


@pytest.fixture(scope="module", params=["quinn", "noq"])
def result(request: pytest.FixtureRequest) -> wt.RunResult:
    return run(request.param)


@pytest.fixture(scope="module")
def capture(result: wt.RunResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What tcpdump would have written at the sender."""
    path = tmp_path_factory.mktemp("quic") / "x.pcapng"
    export_file(result, "pcapng", path)
    return path


def at_sender(result: wt.RunResult, column: str) -> list[int]:
    table = result.tables["packets"]
    return list(table[column][table["tap"] == 0].tolist())


@needs_tshark
def test_every_packet_is_decrypted(result: wt.RunResult, capture: Path) -> None:
    """Each datagram of the table is one of QUIC with frames, as long as in the table; checksums are right, nothing is
    malformed, and the only remark but for comments is on a frame that tshark 4.0 does not know.
    """
    datagrams = tshark(capture, "udp.length", "udp.checksum.status", "ip.checksum.status", only="quic.frame_type")
    assert datagrams == [[str(size + 8), "1", "1"] for size in at_sender(result, "payload")]
    assert len(datagrams) > 1500
    assert tshark(capture, "frame.number", only="_ws.malformed || _ws.short") == []
    remarks = tshark(capture, "_ws.expert.severity", "_ws.expert.message", only="_ws.expert")
    for severities, messages in remarks:
        for severity, message in zip(severities.split("|"), messages.split("|"), strict=True):
            assert severity == COMMENT or (severity, message) == (NOTE, f"Unknown Frame Type {IMMEDIATE_ACK}")


@needs_tshark
def test_without_secrets_only_the_first_packets_are_readable(result: wt.RunResult, tmp_path: Path) -> None:
    """The keys of Initial packets follow from the connection ID (RFC 9001 section 5.2); all others need the secrets."""
    meta = {key: value for key, value in result.meta.items() if key != "secrets"}
    export_file(wt.RunResult(result.summary, result.tables, meta), "pcapng", tmp_path / "x.pcapng")
    frames = tshark(tmp_path / "x.pcapng", "quic.frame_type", "quic.long.packet_type", only="quic.frame_type")
    assert 0 < len(frames) < 10
    assert all("0" in types.split("|") for _, types in frames)


@needs_tshark
def test_packet_numbers_and_frames(capture: Path) -> None:
    """Both ends: CRYPTO and ACK frames; packet numbers of 1-RTT packets (short headers) increase, as RFC 9000 section
    12.3 demands; data go one way.
    """
    fields = ("ip.src", "quic.header_form", "quic.packet_number", "quic.frame_type")
    rows = tshark(capture, *fields, only="quic")
    assert {row[0] for row in rows} == {CLIENT, SERVER}
    for end in (CLIENT, SERVER):
        numbers: list[int] = []
        frames: set[str] = set()
        for _, forms, of_packets, of_frames in (row for row in rows if row[0] == end):
            # A datagram may hold several packets, and each has a number.
            packets = zip(forms.split("|"), of_packets.split("|"), strict=True)
            numbers += [int(number) for form, number in packets if form == "0"]
            frames |= set(of_frames.split("|"))
        assert CRYPTO in frames and ACKS & frames
        assert bool(STREAMS & frames) == (end == CLIENT)
        assert len(numbers) > 100 and all(one < next_one for one, next_one in pairwise(numbers))


@needs_tshark
def test_ecn_fields_are_those_of_the_simulation(result: wt.RunResult, tmp_path: Path) -> None:
    """At all places of the path, in the order of the table: ECT(0), which the stacks set, and CE behind the queue."""
    export_file(result, "pcapng", tmp_path / "x.pcapng", points=POINTS)
    seen = [int(row[0]) for row in tshark(tmp_path / "x.pcapng", "ip.dsfield.ecn")]
    assert seen == result.tables["packets"]["ecn"].tolist()
    assert {ECT0, CE} <= set(seen)


@needs_tshark
def test_marks_are_counted_in_acks(result: wt.RunResult, tmp_path: Path) -> None:
    """The receiver reports how many packets came with CE (RFC 9000 section 13.4.1): as many as in the table, but for
    the last packets, which may not have been acknowledged.
    """
    export_file(result, "pcapng", tmp_path / "x.pcapng", points=["receiver"])
    rows = tshark(tmp_path / "x.pcapng", "quic.ack.ecn_ce_count", only=f"ip.src == {SERVER}")
    counted = max(int(count) for row in rows for count in row[0].split("|") if count)
    table = result.tables["packets"]
    marked = np.count_nonzero((table["ecn"] == CE) & (table["tap"] == 3))
    assert marked > 3 and counted in (marked, marked - 1)


@needs_tshark
@pytest.mark.parametrize("ip", [4, 6])
def test_flows_share_a_capture(tmp_path: Path, ip: int) -> None:
    """Each connection is decrypted with its own secrets, over both versions of IP; a copy of a packet, which a medium
    made, has the packet's payload.
    """
    flows = [{"name": name, "stack": name, "cc": "cubic", "rtt": "20 ms"} for name in ("quinn", "noq")]
    duplicated = {**BOTTLENECK, "impair": [{"kind": "duplication", "probability": 0.05}]}
    record = {"packets": True, "payloads": True}
    both = wt.Scenario(duration="1 s", bottleneck=duplicated, flows=flows, record=record).run()
    table = both.tables["packets"]
    export_file(both, "pcapng", tmp_path / "x.pcapng", points=["receiver"], ip=ip)
    rows = tshark(tmp_path / "x.pcapng", "udp.stream", "udp.checksum.status", only="quic.frame_type")
    at_receiver = table["tap"] == 3
    assert np.count_nonzero(table["copy_of"][at_receiver]) > 10
    assert [int(stream) for stream, _ in rows] == table["flow"][at_receiver].tolist()
    assert {status for _, status in rows} == {"1"}


def test_payloads_in_files(result: wt.RunResult, capture: Path, tmp_path: Path) -> None:
    """A result that was read back gives the same capture; CSV has hexadecimal digits, Parquet and pandas bytes."""
    folder = result.save(tmp_path / "run")
    for again in (wt.load(folder), wt.load(folder, lazily=["packets"])):
        export_file(again, "pcapng", tmp_path / "again.pcapng", force=True)
        assert (tmp_path / "again.pcapng").read_bytes() == capture.read_bytes()
        assert again.meta["secrets"] == result.meta["secrets"] != ""
    contents = result.tables["payloads"]["content"].tolist()
    assert wt.load(folder).table("payloads")["content"].to_pylist() == contents
    wt.export.export(result, "csv", tmp_path / "csv")
    lines = (tmp_path / "csv/payloads.csv").read_text(encoding="utf-8").splitlines()
    assert [bytes.fromhex(line.split(",")[1].strip('"')) for line in lines[1:]] == contents


def test_a_capture_starts_with_its_headers(result: wt.RunResult, tmp_path: Path) -> None:
    """``snaplen`` limits the frames here, too; 42 bytes are the headers of Ethernet, IPv4 and UDP."""
    for snaplen in (None, 0, 42):
        export_file(result, "pcapng", tmp_path / f"{snaplen}.pcapng", snaplen=snaplen)
    whole, all_of_it, headers = ((tmp_path / f"{name}.pcapng").read_bytes() for name in (None, 0, 42))
    sizes = sum(at_sender(result, "payload"))
    assert whole == all_of_it
    assert len(whole) - len(headers) == pytest.approx(sizes, rel=0.01)


def test_zeros_are_announced(cli: Cli, tmp_path: Path) -> None:
    """Without recorded payloads the export says so once, and how to have them; else it says nothing, as for TCP."""
    run("quinn", payloads=False).save(tmp_path / "zeros")
    run("quinn").save(tmp_path / "payloads")
    flows = [{"cc": "cubic", "rtt": "20 ms"}]
    record = {"packets": True}
    wt.Scenario(duration="1 s", bottleneck=BOTTLENECK, flows=flows, record=record).run().save(tmp_path / "tcp")
    said = {name: cli("export", name, "--pcapng", f"{name}.pcapng").stderr for name in ("zeros", "payloads", "tcp")}
    assert said["zeros"].count("are zeros in the capture") == 1
    assert "--set record.packets=true --set record.payloads=true" in said["zeros"]
    assert said["payloads"] == said["tcp"] == ""


@pytest.mark.parametrize(
    ("record", "stack", "says"),
    [
        ({"payloads": True}, "quinn", "record.payloads: needs packets = true"),
        ({"packets": True, "payloads": True}, None, "record.payloads: needs a flow over a real stack"),
    ],
)
def test_refusals(record: dict[str, Any], stack: str | None, says: str) -> None:
    flow = {"cc": "cubic", "rtt": "20 ms", **({"stack": stack} if stack else {})}
    with pytest.raises(wt.ScenarioError, match=says):
        wt.Scenario(duration="1 s", bottleneck=BOTTLENECK, flows=[flow], record=record).resolve()


def test_damaged_payloads(result: wt.RunResult, tmp_path: Path) -> None:
    """A table without bytes has a message, and so has its file."""
    ids = result.tables["payloads"]["id"]
    tables = {**result.tables, "payloads": {"id": ids, "content": ids}}
    broken = wt.RunResult(result.summary, tables, result.meta)
    with pytest.raises(wt.InputError, match="payloads of the result"):
        export_file(broken, "pcapng", tmp_path / "x.pcapng")
    folder = broken.save(tmp_path / "run")
    with pytest.raises(wt.InputError, match="column `content` holds uint64, not bytes"):
        wt.load(folder)
