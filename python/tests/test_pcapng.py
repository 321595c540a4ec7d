"""Captures as tshark reads them: it reports what the small recording holds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import packets
import pytest
from packets import ACK, AE, CE, ECT0, ECT1, MDS_DSCP, MSS, Recording, recorded, recording
from tshark import CHAT, COMMENT, NOTE, WARNING, needs_tshark, tshark

from windtunnel import InputError, RunResult, Scenario, contract, load, stored
from windtunnel.export import export, export_file, pcapng
from windtunnel.export.connections import connections
from windtunnel.export.packets import POINTS, packet_parts

#: tshark's remarks on any connection (its start, comments), and on this one: the loss and its effects.
EXPLAINED = {"duplicate ack", "(suspected) fast retransmission", "(suspected) retransmission"}


@pytest.fixture(scope="module")
def result() -> RunResult:
    return recorded()


def capture(result: RunResult, path: Path, **options: Any) -> Path:
    export_file(result, "pcapng", path, **options)
    return path


@needs_tshark
@pytest.mark.parametrize("link", ["ethernet", "raw"])
@pytest.mark.parametrize("ip", [4, 6])
def test_checksums_are_right_and_nothing_is_malformed(result: RunResult, tmp_path: Path, link: str, ip: int) -> None:
    """A capture of whole packets, at all points, with either link and version of IP."""
    path = capture(result, tmp_path / "x.pcapng", points=POINTS, link=link, ip=ip, snaplen=0)
    fields = ("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "_ws.malformed", "_ws.short")
    seen = tshark(path, *fields)
    assert len(seen) == len(result.tables["packets"]["t_ns"])
    good, of_ip = "1", "1" if ip == 4 else ""
    assert {tuple(row) for row in seen} == {(of_ip, good, "", "", ""), (of_ip, "", good, "", "")}


@needs_tshark
@pytest.mark.parametrize("snaplen", [0, 128])
def test_a_sender_sees_what_happened(result: RunResult, tmp_path: Path, snaplen: int) -> None:
    """Expert information at the sender: one fast retransmission, its duplicate ACKs, no more."""
    path = capture(result, tmp_path / "x.pcapng", snaplen=snaplen)
    sent_again = packets_of(result.tables["packets"], tap=packets.SENDER, retransmission=True)
    assert len(tshark(path, "frame.number", only="tcp.analysis.retransmission")) == len(sent_again) == 1
    assert len(tshark(path, "frame.number", only="tcp.analysis.fast_retransmission")) == 1
    # Segments 4 to 10 above the hole: seven duplicate ACKs.
    assert len(tshark(path, "frame.number", only="tcp.analysis.duplicate_ack")) == 7
    experts = tshark(path, "_ws.expert.severity", "_ws.expert.message", only="_ws.expert")
    for severities, messages in experts:
        for severity, message in zip(severities.split("|"), messages.split("|"), strict=True):
            if severity == NOTE:
                assert any(word in message.lower() for word in EXPLAINED), message
            else:
                assert severity in (CHAT, COMMENT), message
    assert Counter(s for row in experts for s in row[0].split("|"))[NOTE] == 7 + 2


@needs_tshark
def test_a_receiver_misses_the_drop_only(result: RunResult, tmp_path: Path) -> None:
    """Behind the queue there is one gap: by spec 18.1 only drops cause `previous segment not captured`."""
    path = capture(result, tmp_path / "x.pcapng", points=["receiver"])
    gaps = tshark(path, "tcp.stream", "tcp.seq", only="tcp.analysis.lost_segment")
    assert gaps == [["0", str(3 * MSS + 1)]]


@needs_tshark
def test_handshakes(result: RunResult, tmp_path: Path) -> None:
    """Options of both SYNs: MSS 1460, SACK permitted, window scale 14, timestamps; ECN as in RFC 3168; MDS's option."""
    path = capture(result, tmp_path / "x.pcapng")
    fields = ("tcp.stream", "tcp.flags.ece", "tcp.flags.cwr", "tcp.options.mss_val", "tcp.options.wscale.shift")
    fields += (
        "tcp.option_kind",
        "tcp.options.timestamp.tsecr",
        "tcp.window_size_value",
        "tcp.options.experimental.exid",
    )
    syns = tshark(path, *fields, only="tcp.flags.syn == 1")
    usual, with_mds = "2|4|8|1|3", "2|4|8|1|3|1|1|254"
    assert syns == [
        ["0", "1", "1", "1460", "14", usual, "0", "64240", ""],
        ["1", "1", "1", "1460", "14", with_mds, "0", "64240", "0x4d44"],
        ["0", "1", "0", "1460", "14", usual, "1000", "65160", ""],
        ["1", "1", "0", "1460", "14", with_mds, "2000", "65160", "0x4d44"],
    ]
    assert len(tshark(path, "frame.number", only="tcp.option_kind == 254")) == 2


@needs_tshark
def test_sequence_numbers(result: RunResult, tmp_path: Path) -> None:
    """Relative numbers are the simulator's own; SACK blocks are in the numbers of the data."""
    path = capture(result, tmp_path / "x.pcapng")
    rows = tshark(path, "tcp.seq", "tcp.ack", "tcp.len", only="tcp.stream == 0 && ip.src == 192.0.2.1 && tcp.len > 0")
    expected = [n * MSS + 1 for n in range(10)] + [2 * MSS + 1]
    assert rows == [[str(seq), "1", str(MSS)] for seq in expected]
    as_on_the_wire = ("-otcp.relative_sequence_numbers:FALSE",)
    fields = ("tcp.options.sack_le", "tcp.options.sack_re", "tcp.ack")
    blocks = tshark(path, *fields, only="tcp.options.sack.count", options=as_on_the_wire)
    # The initial sequence number is 1000.
    ack, hole = 1000 + 2 * MSS + 1, 1000 + 3 * MSS + 1
    assert blocks == [[str(hole), str(hole + n * MSS), str(ack)] for n in range(1, 8)]
    windows = tshark(path, "tcp.window_size", only="tcp.flags.syn == 0")
    assert {row[0] for row in windows} == {str(1 << 20)}


@needs_tshark
def test_ecn_fields(result: RunResult, tmp_path: Path) -> None:
    """Spec 18.1: counts of the ECN field equal the recording's; marks are between a queue's two sides."""
    path = capture(result, tmp_path / "x.pcapng", points=POINTS)
    table = result.tables["packets"]
    seen = Counter((row[0], int(row[1])) for row in tshark(path, "frame.interface_name", "ip.dsfield.ecn"))
    for tap, prefix in enumerate(("snd.", "q.bottleneck.in", "q.bottleneck.out", "rcv.")):
        at_tap: Counter[int] = Counter()
        for (name, ecn), count in seen.items():
            at_tap[ecn] += count * name.startswith(prefix)
        assert +at_tap == Counter(table["ecn"][table["tap"] == tap].tolist())
    before, after = "q.bottleneck.in", "q.bottleneck.out"
    # Ten and four segments; one of each flow is marked, and one is dropped.
    assert [seen[before, ecn] for ecn in (ECT0, ECT1, CE)] == [14, 0, 0]
    assert [seen[after, ecn] for ecn in (ECT0, ECT1, CE)] == [14 - 3, 1, 1]


@needs_tshark
def test_ecn_feedback(result: RunResult, tmp_path: Path) -> None:
    """ECE from the mark on, CWR on the answer; ESCE as AE on MDS's ACK alone; the MDS identifier as DSCP."""
    path = capture(result, tmp_path / "x.pcapng")
    only = "ip.src == 198.51.100.{} && tcp.flags.syn == 0"
    ece = [row[0] for row in tshark(path, "tcp.flags.ece", only=only.format(1))]
    # Two ACKs in order, two duplicates before the mark, five after it, the last one after CWR.
    assert ece == ["0"] * 4 + ["1"] * 5 + ["0"]
    assert len(tshark(path, "frame.number", only="tcp.flags.cwr == 1 && tcp.flags.syn == 0")) == 1
    accurate = [int(row[0], 16) & AE for row in tshark(path, "tcp.flags", only=only.format(2))]
    assert accurate == [0, AE, 0, 0]
    mds = tshark(path, "tcp.stream", only=f"ip.dsfield.dscp == {MDS_DSCP}")
    assert mds == [["1"]] * 4


@needs_tshark
def test_identity_ttl_and_comments(result: RunResult, tmp_path: Path) -> None:
    """The dropped segment: seen twice, with one identification and packet identity, and the reason at the second."""
    path = capture(result, tmp_path / "x.pcapng", points=POINTS)
    (dropped,) = packets_of(result.tables["packets"], drop=1)
    identity = int(result.tables["packets"]["id"][dropped])
    fields = ("frame.interface_name", "ip.ttl", "frame.comment", "frame.packet_id")
    rows = tshark(path, *fields, only=f"ip.id == {identity}")
    assert [row[:2] for row in rows] == [["snd.cubic", "64"], ["q.bottleneck.in", "64"]]
    assert [row[3] for row in rows] == [str(identity)] * 2
    assert rows[0][2] == "", "the sender's state is that of the packet before"
    first = tshark(path, "frame.comment", only='frame.interface_name == "snd.cubic" && tcp')
    assert "cwnd=14480 ssthresh=inf" in first[0][0]
    assert rows[1][2] == "drop:full"
    arrived = tshark(path, "ip.ttl", only='frame.interface_name contains "rcv." && ip.src == 192.0.2.0/24')
    assert {row[0] for row in arrived} == {"63"}
    again = tshark(
        path, "frame.comment", only='frame.comment == "retransmission" && frame.interface_name == "snd.cubic"'
    )
    assert len(again) == 1
    assert "state=Recovery limited_by=cwnd" in again[0][0]


@needs_tshark
def test_the_profile_for_wireshark(result: RunResult, tmp_path: Path) -> None:
    """No file of it makes tshark say a word, which it does of unknown fields, preferences and filters. Each kind of
    packet in the recording has its colour; the expert filter leaves out the packets that have nothing but comments.
    """
    export(result, "wireshark_profile", tmp_path / "config" / "wireshark" / "profiles" / "windtunnel")
    path = capture(result, tmp_path / "x.pcapng", points=POINTS)

    def profiled(*options: str) -> list[list[str]]:
        env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "COLORTERM": "truecolor"}
        command = ["tshark", "-C", "windtunnel", "-n", "-r", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)
        said = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
        assert (done.returncode, said) == (0, [])
        return [line.split("\t") for line in done.stdout.splitlines()]

    rows = profiled("-Ttabs")
    assert len(rows) == len(result.tables["packets"]["t_ns"])
    # The 16 columns, and the arrow between two of them.
    assert {len(row) for row in rows} == {17}
    assert rows[0][2].startswith("snd.")
    assert any("cwnd=14480 ssthresh=inf" in row[15] for row in rows)
    assert any("Congestion Experienced" in row[14] for row in rows)
    colours = Counter(row[0] for row in profiled("--color", "-Tfields", "-eframe.coloring_rule.name"))
    table = result.tables["packets"]
    assert colours["Lost here"] == np.sum(table["drop"] > 0)
    # The packet with CWR is the retransmission.
    assert colours.keys() == {"Lost here", "Retransmission", "CE", "ECE", "SACK", "Start and end", "Data", "ACK"}
    remarks = profiled("-Tfields", "-e_ws.expert.severity", "-Y", "_ws.expert")
    buttons = (tmp_path / "config/wireshark/profiles/windtunnel/dfilter_buttons").read_text(encoding="utf-8")
    (expert,) = (line.split('","')[2] for line in buttons.splitlines() if '"Expert"' in line)
    kept = profiled("-Tfields", "-e_ws.expert.severity", "-Y", expert)
    serious = [row for row in remarks if {NOTE, WARNING} & set(row[0].split(","))]
    assert 0 < len(kept) == len(serious) < len(remarks)
    for line in buttons.splitlines():
        profiled("-Y", line.split('","')[2].replace(r"\x22", '"'))
    # An IO graph counts what its filter passes; tshark counts the same without drawing it. A row has Wireshark's
    # columns: whether it is shown, name, filter, colour, style, unit, field, moving average, factor.
    graphs = (tmp_path / "config/wireshark/profiles/windtunnel/io_graphs").read_text(encoding="utf-8")
    drawn = [line.replace(r"\x22", '"').strip('"').split('","') for line in graphs.splitlines()]
    assert {len(graph) for graph in drawn} == {9}
    filters = [graph[2] for graph in drawn]
    (counted,) = (row for row in profiled("-q", "-z", ",".join(["io,stat,0", *filters])) if "<>" in row[0])
    frames = [int(cell) for cell in counted[0].split("|")[2:-1:2]]
    assert frames == [len(profiled("-Tfields", "-eframe.number", "-Y", each)) for each in filters]
    assert min(frames) > 0 and max(frames) < len(rows)


@needs_tshark
def test_udp(result: RunResult, tmp_path: Path) -> None:
    """Datagrams are 200 bytes long, start with their number, and carry the DSCP EF."""
    path = capture(result, tmp_path / "x.pcapng", snaplen=0)
    rows = tshark(path, "udp.length", "ip.dsfield.dscp", "udp.payload", only="udp")
    assert [row[:2] for row in rows] == [["180", "46"]] * 3
    assert [int(row[2][:16], 16) for row in rows] == [0, 1, 2]


@needs_tshark
def test_many_flows_are_still_tcp(tmp_path: Path) -> None:
    """None of a thousand flows has a port for which tshark would try to decode a protocol in the zeros."""
    run = Recording()
    for flow in range(0, 1000, 13):
        run.data(flow, flow, 1, flags=ACK, ack=1, payload=MSS)
    few = recorded(run.table())
    flows = [{"name": str(n), "cc": "reno"} for n in range(1000)]
    many = RunResult({**few.summary, "flows": flows}, few.tables, few.meta)
    path = capture(many, tmp_path / "x.pcapng", snaplen=0)
    protocols = {row[0] for row in tshark(path, "frame.protocols")}
    assert protocols == {"eth:ethertype:ip:tcp:data"}
    assert len({row[0] for row in tshark(path, "tcp.stream")}) == len(range(0, 1000, 13))


@needs_tshark
def test_connections_that_arrive(tmp_path: Path) -> None:
    """A run with `poisson`: one interface per flow; a stream with one SYN for each connection that was admitted."""
    path = {"rtt": "20 ms"}
    web = {"name": "web", "cc": "reno", "app": {"kind": "poisson", "load": "2 Mbit/s"}, **path}
    record = {"packets": True, "points": "0 s"}
    flows = [{"name": "bulk", "cc": "reno", **path}, web]
    run = Scenario(duration="2 s", flows=flows, bottleneck={"rate": "10 Mbit/s"}, record=record).run()
    table = run.tables["packets"]
    assert set(table["flow"].tolist()) == {0, 1}
    arrived = run.flows[1]["transfers"]["arrived"]
    assert arrived > 10
    syns = tshark(
        capture(run, tmp_path / "x.pcapng", snaplen=0),
        *("frame.interface_name", "tcp.stream", "ip.dst", "tcp.dstport", "tcp.checksum.status"),
        only="tcp.flags.syn == 1 && tcp.flags.ack == 0",
    )
    expected = [["snd.web", str(stream), "198.51.100.2", "5201", "1"] for stream in range(1, 1 + arrived)]
    assert syns == [["snd.bulk", "0", "198.51.100.1", "5201", "1"], *expected]


def test_equal_runs_give_equal_files(result: RunResult, tmp_path: Path) -> None:
    one = capture(result, tmp_path / "1.pcapng", points=POINTS)
    two = capture(recorded(), tmp_path / "2.pcapng", points=POINTS)
    assert one.read_bytes() == two.read_bytes()


def test_rows_are_written_in_order_of_time(result: RunResult, tmp_path: Path) -> None:
    """A table in another order gives the same file."""
    table = result.tables["packets"]
    # Rows of equal time move as a block: reversing them would be a different order of events.
    _, first = np.unique(table["t_ns"], return_index=True)
    order = np.concatenate(np.split(np.arange(len(table["t_ns"])), first[1:])[::-1])
    mixed = recorded({name: values[order] for name, values in table.items()})
    straight = capture(result, tmp_path / "1.pcapng")
    assert capture(mixed, tmp_path / "2.pcapng").read_bytes() == straight.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of a run with connections that arrive, whose packets are a few thousand rows."""
    path = {"rtt": "20 ms"}
    web = {"name": "web", "cc": "reno", "app": {"kind": "poisson", "load": "1 Mbit/s"}, **path}
    flows = [{"name": "bulk", "cc": "reno", **path}, web]
    bottleneck = {"rate": "5 Mbit/s", "queue": {"kind": "fifo", "limit": "20 packets"}}
    scenario = Scenario(duration="1 s", flows=flows, bottleneck=bottleneck, record={"packets": True})
    return scenario.run().save(tmp_path_factory.mktemp("capture") / "run")


@pytest.mark.parametrize("part", [100, 1000, 1 << 15])
def test_packets_are_exported_in_parts(
    folder: Path, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture is the same however many rows are in memory at a time, and all of them never are."""
    whole = capture(load(folder), tmp_path / "1.pcapng", points=POINTS)
    monkeypatch.setattr(stored, "PART", part)
    result = load(folder, lazily=["packets"])
    assert isinstance(result.tables, stored.StoredTables)
    monkeypatch.setattr(contract, "read_table", lambda file: pytest.fail(f"{file} was read at once"))
    assert capture(result, tmp_path / "2.pcapng", points=POINTS).read_bytes() == whole.read_bytes()
    parts = list(stored.parts(result.tables, "packets", ["t_ns", "retransmission", "nope"]))
    rows = [one.rows for one in parts]
    assert sum(rows[:-1]) == part * (len(rows) - 1) and sum(rows) > 2000
    assert all(list(one) == ["t_ns", "retransmission"] for one in parts)
    assert {one["retransmission"].dtype for one in parts} == {np.dtype(bool)}


def test_a_table_that_stays_in_its_file(folder: Path) -> None:
    """It is there like the others, and is read when it is asked for."""
    lazy, eager = load(folder, lazily=["packets"]), load(folder)
    assert sorted(lazy.tables) == sorted(eager.tables) and len(lazy.tables) == len(eager.tables)
    assert "packets" in lazy.tables and "nope" not in lazy.tables
    for name in lazy.tables:
        for column, values in eager.tables[name].items():
            np.testing.assert_array_equal(lazy.tables[name][column], values)
    with pytest.raises(KeyError, match="nope"):
        lazy.tables["nope"]


def test_damaged_packets(folder: Path, tmp_path: Path) -> None:
    """A damage within the file is found in the middle of the export: it has a message, and no capture is left."""
    broken = tmp_path / "run"
    shutil.copytree(folder, broken)
    file = broken / "packets.parquet"
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(4096)
    file.write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):
        capture(load(broken, lazily=["packets"]), tmp_path / "x.pcapng")
    assert list(tmp_path.iterdir()) == [broken]


def test_an_interrupted_export_leaves_nothing(
    result: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the first part: neither a capture nor a part of one."""
    written = packet_parts

    def interrupted(of: RunResult) -> Iterator[dict[str, Any]]:
        yield next(written(of))
        raise KeyboardInterrupt

    monkeypatch.setattr(pcapng, "packet_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        capture(result, tmp_path / "x.pcapng")
    assert list(tmp_path.iterdir()) == []


def test_large_packets(tmp_path: Path) -> None:
    """Packets of 9000 bytes, which the resolved scenario calls 9 kB, have an MSS of 8960 (RFC 6691)."""
    flow = {"cc": "reno", "rtt": "20 ms"}
    scenario = Scenario(
        duration="1 s", mtu="9000 B", flows=[flow], bottleneck={"rate": "10 Mbit/s"}, record={"packets": True}
    )
    (connection,) = connections(scenario.run())
    assert (connection.mtu, connection.mss) == (9000, 8948)
    content = capture(scenario.run(), tmp_path / "x.pcapng").read_bytes()
    assert content.count(b"\x02\x04" + (8960).to_bytes(2, "big") + b"\x04\x02\x08\x0a") == 2


@pytest.mark.parametrize("mtu", ["x", "", "40 B", "5000 MB"])
def test_a_result_without_an_mtu(result: RunResult, mtu: str) -> None:
    with pytest.raises(InputError, match="the result's scenario has an MTU"):
        connections(RunResult(result.summary, result.tables, {**result.meta, "scenario": {"mtu": mtu}}))


def test_what_cannot_be_exported(result: RunResult, tmp_path: Path) -> None:
    """A run without packets, a missing column and an impossible row each have their own message, and no file is
    left.
    """
    table = dict(result.tables["packets"])
    without = RunResult(result.summary, {}, result.meta)
    flow = table["flow"].copy()
    flow[3] = 9
    wrong = [
        (without, r"no packets.*packets = true"),
        (recorded({k: v for k, v in table.items() if k != "cwnd"}), "lack cwnd"),
        (recorded({**table, "flags": table["flags"] * np.nan}), "no whole numbers in flags"),
        (recorded({**table, "flow": flow}), "packet 3: flow 9 is not one of 3"),
    ]
    for bad, message in wrong:
        with pytest.raises(InputError, match=message):
            capture(bad, tmp_path / "x.pcapng")
    assert list(tmp_path.iterdir()) == []
    capture(result, tmp_path / "x.pcapng")
    with pytest.raises(InputError, match="exists already"):
        capture(result, tmp_path / "x.pcapng")


def packets_of(table: Any, **values: Any) -> list[int]:
    """The rows of a table that have these values."""
    mine = np.logical_and.reduce([table[name] == value for name, value in values.items()])
    return [int(n) for n in np.flatnonzero(mine)]


def test_the_recording_is_honest() -> None:
    """The tests above rely on this: one packet is lost, and every other packet reaches the end of its path."""
    run = recording()
    table = run.table()
    ids = {tap: set(table["id"][(table["tap"] == tap)].tolist()) for tap in range(4)}
    assert len(ids[0] | ids[3]) == run.packets
    assert len(ids[0] - ids[3]) == np.count_nonzero(table["drop"]) == 1
