"""``windtunnel explain`` as a user types it: text, JSON, the page, and what it refuses."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli, environment, refused, snapshot
from traces import CAPTURES, explained, simulated

from fuzz.attacks.captures import ACK, FIN, MSS, RST, SYN, Writer
from windtunnel import InputError, _core
from windtunnel.explain import explain
from windtunnel.explain.findings import findings
from windtunnel.explain.packed import unpacked
from windtunnel.explain.page import write_page
from windtunnel.explain.seen import seen_in
from windtunnel.export.pcapng import write_pcapng
from windtunnel.input_file import open_input
from windtunnel.panels import Run, panel_of

RENO = CAPTURES / "reno-at-sender.pcap"


def test_every_question_has_an_answer(cli: Cli) -> None:
    done = cli("explain", RENO)
    assert done.returncode == 0, done.stderr
    for question in (
        *("Which controller?", "What limits the sender?", "How large is cwnd?", "What are a and b?", "Overflows?"),
        *("Where is the queue?", "Does an endpoint cheat?", "Is a signal bleached?"),
    ):
        assert question in done.stdout


def test_json(cli: Cli) -> None:
    """The same answers as the library gives, without NaN."""
    done = cli("explain", RENO, "--json")
    document = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert document == json.loads(explain(RENO).to_json())
    assert document["schema_version"] == 1
    assert len(document["flows"]) == 1


def test_page(cli: Cli, tmp_path: Path) -> None:
    """A page with the panels of a run's and the findings; it is not replaced unasked."""
    page = tmp_path / "page.html"
    done = cli("explain", CAPTURES / "two-flows.pcap", "--page", page)
    assert done.returncode == 0, done.stderr
    html = page.read_text(encoding="utf-8")
    assert "<h2>Findings</h2>" in html
    assert "Do flows lose together?" in html
    sections = re.findall(r'<section class="panel"[^>]*>', html)
    assert len([section for section in sections if " hidden" not in section]) == 4
    refused(cli("explain", RENO, "--page", page), "exists already", "--force")
    assert page.read_text(encoding="utf-8") == html
    assert cli("explain", RENO, "--page", page, "--force").returncode == 0
    assert page.read_text(encoding="utf-8") != html


def test_its_plots_are_those_of_the_run(tmp_path: Path) -> None:
    """A run's packets, and the capture of them that was exported, give the same time-sequence and IO graphs; round-trip
    times and what is in flight have the extremes that the sender counted.
    """
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}], seconds=4)
    write_pcapng(result, tmp_path / "run.pcapng")
    run, capture = Run(result), Run(seen_in(tmp_path / "run.pcapng"))
    ours, theirs = ({s.key: s for s in panel_of(each, "sequence").series} for each in (capture, run))
    assert len(theirs["again"]) == result.flows[0]["retransmits"] > 0
    assert ours.keys() == theirs.keys() == {"sent", "again", "acked", "sacked", "window"}
    for key, series in theirs.items():
        np.testing.assert_allclose(ours[key].x, series.x, atol=1e-9)
        np.testing.assert_array_equal(ours[key].y, series.y)
    for name, of_capture, of_run in zip(
        ("packets", "bits"), panel_of(capture, "io").choices, panel_of(run, "io").choices, strict=True
    ):
        assert of_capture.name.startswith(name) and of_run.name == f"{name} of one"
        totals = [[s.y.sum() * (s.x[1] - s.x[0]) for s in each.series] for each in (of_capture, of_run)]
        np.testing.assert_allclose(*totals, rtol=1e-9)
    (rtt,), (flight,) = (panel_of(capture, name).series for name in ("rtt", "in_flight"))
    assert rtt.high is not None
    assert np.nanmax(rtt.high) == pytest.approx(result.flows[0]["rtt_ms"]["max"], rel=1e-6)
    # At the end of an interval, a window's last segments may not have left.
    assert np.nanmax(flight.y) * 1e3 == pytest.approx(result.tables["packets"]["in_flight"].max(), rel=0.02)


def test_plots_of_captures(cli: Cli, tmp_path: Path) -> None:
    """``plot`` draws captures as it draws runs, named after their files: of the kernel's Reno, which retransmitted 33
    segments (as tshark counts them), with the receive window.
    """
    shutil.copy(RENO, tmp_path / "reno.pcap")
    done = cli("plot", "reno.pcap", "--panel", "sequence", "--panel", "io", "--format", "svg")
    assert (done.returncode, done.stdout) == (0, "reno.svg\n"), done.stderr
    drawn = (tmp_path / "reno.svg").read_text(encoding="utf-8")
    for text in ("receive window", "SACKed", "sent again", "Sequence number (kB)", "Packets (packets/s, means of"):
        assert text in drawn
    assert len(next(s for s in panel_of(Run(seen_in(RENO)), "sequence").series if s.key == "again")) == 33
    marked = panel_of(Run(seen_in(CAPTURES / "ecn-marked.pcap")), "io")
    assert "ACKs with ECE" in [s.label for s in marked.series]
    refused(cli("plot", "reno.pcap", "--flent"), "--flent draws runs", "reno.pcap")
    refused(cli("plot", "nowhere.pcap"), "nowhere.pcap")


def test_a_result_folder(cli: Cli, tmp_path: Path) -> None:
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}], seconds=8)
    result.save(tmp_path / "run")
    done = cli("explain", "run", "--page", "page.html")
    assert done.returncode == 0, done.stderr
    assert "one (reno)" in done.stdout
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Findings</h2>" in html
    assert "<h2>Scenario</h2>" in html


@pytest.mark.parametrize("ip", [4, 6])
def test_its_own_captures(tmp_path: Path, ip: int) -> None:
    """What the exporter writes is explained like the run: headers lose nothing that the answers need."""
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}])
    write_pcapng(result, tmp_path / "run.pcapng", ip=ip)
    captured, run = explain(tmp_path / "run.pcapng").document["flows"][0], explained(result).document["flows"][0]
    assert captured["overflow"]["events"] == run["overflow"]["events"]
    assert captured["overflow"]["segments"] == run["overflow"]["segments"]
    assert captured["window"]["last_segments"] == pytest.approx(run["window"]["last_segments"])
    assert captured["controller"]["fits"][0]["controller"] == "reno"


def test_several_points_of_one_capture(tmp_path: Path) -> None:
    """A packet that several interfaces show is counted once."""
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}], seconds=3)
    points = ("sender", "queue-in", "queue-out", "receiver")
    write_pcapng(result, tmp_path / "all.pcapng", points=points)
    write_pcapng(result, tmp_path / "one.pcapng")
    every, one = explain(tmp_path / "all.pcapng"), explain(tmp_path / "one.pcapng")
    assert any("4 interfaces" in note for note in every.document["notes"])
    assert every.document["flows"][0]["overflow"] == one.document["flows"][0]["overflow"]


def test_a_cut_capture_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cut.pcap").write_bytes(RENO.read_bytes()[:150_000])
    done = cli("explain", "cut.pcap")
    assert done.returncode == 0, done.stderr
    assert "ends in the middle of a packet at byte 149" in done.stdout
    assert "Which controller?" in done.stdout and "How large is cwnd?" in done.stdout


def one_direction(source: Path, target: Path, from_sender: bool) -> None:
    """Only the packets of one direction: at byte 12 of a raw IPv4 packet is its source, 10.1.0.1 or 10.2.0.1."""
    data = source.read_bytes()
    kept, at = [data[:24]], 24
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        record = data[at : at + 16 + length]
        if (record[16 + 13] == 1) == from_sender:
            kept.append(record)
        at += 16 + length
    target.write_bytes(b"".join(kept))


@pytest.mark.parametrize(
    ("from_sender", "missing"),
    [(True, "only data were captured, no acknowledgements"), (False, "only acknowledgements were captured")],
)
def test_one_sided_captures(cli: Cli, tmp_path: Path, from_sender: bool, missing: str) -> None:
    one_direction(RENO, tmp_path / "half.pcap", from_sender)
    done = cli("explain", "half.pcap")
    assert done.returncode == 0, done.stderr
    assert missing in " ".join(done.stdout.split())


def test_connections_without_data(cli: Cli, tmp_path: Path) -> None:
    """Scans are counted, named and left out; a connection with data among them is explained, and one of whose data only
    the acknowledgements were captured too.
    """
    with (tmp_path / "scan.pcap").open("wb") as file:
        writer = Writer(file)
        for port in (1001, 1002, 1003):
            writer.packet(port, 0, 7, 0, SYN)
        writer.packet(1004, 0, 7, 0, SYN)
        writer.packet(1004, 1, 0, 8, RST | ACK)
        writer.handshake(1005)
        writer.packet(1005, 0, 1, 1, FIN | ACK)
        writer.packet(1005, 1, 1, 2, FIN | ACK)
        writer.handshake(1006)
        writer.packet(1006, 0, 1, 1, ACK, 100)
        writer.packet(1006, 1, 1, 101, ACK)
        writer.transfer(1007, 200)
        writer.handshake(1008)
        for n in range(50):
            writer.packet(1008, 1, 1, 1 + n * MSS, ACK)
    document = explain(tmp_path / "scan.pcap").document
    assert [flow["name"] for flow in document["flows"]] == [
        "10.0.0.1:1007 > 10.0.0.2:80",
        "10.0.0.1:1008 > 10.0.0.2:80",
    ]
    assert "controller" in document["flows"][0]
    assert document["notes"][0] == (
        "Left out, because they carry too few data: 6 of 8 connections, 3 without an answer, 1 reset before any data, "
        "1 without data, 1 with a single segment of data (10.0.0.1:1001 > 10.0.0.2:80, 10.0.0.1:1002 > 10.0.0.2:80, "
        "10.0.0.1:1003 > 10.0.0.2:80, ...)."
    )
    with (tmp_path / "syn.pcap").open("wb") as file:
        Writer(file).packet(1001, 0, 7, 0, SYN)
    refused(cli("explain", "syn.pcap"), "has no TCP connection with data among 1 packets", "1 without an answer")


def test_a_scan_is_read_and_no_more(tmp_path: Path) -> None:
    """Of connections that are left out nothing comes out of the core: neither they nor their segments."""
    with (tmp_path / "scan.pcap").open("wb") as file:
        writer = Writer(file)
        for port in range(1, 30_001):
            writer.packet(port, 0, 7, 0, SYN)
        writer.transfer(40_000, 10)
    with (tmp_path / "scan.pcap").open("rb") as file:
        _, (connections, segments, packets, notes, _) = _core.read_trace(file)  # type: ignore[arg-type]
    assert (len(connections), len(segments), packets) == (1, 18, 30_018)
    assert segments.syns()["flow"].tolist() == [0, 0]
    assert "30000 of 30001 connections, 30000 without an answer" in notes[0]


def test_connections_with_most_data_alone_leave_the_core(cli: Cli, tmp_path: Path) -> None:
    """Of 1000 connections with data the core gives the 40 with most, in their order: what is done with each (its
    objects, the walk, the answers) is done 40 times. The page and the text tell of the others.
    """
    with (tmp_path / "many.pcap").open("wb") as file:
        writer = Writer(file)
        for n in range(1000):
            writer.transfer(1 + n, 12 if n % 25 == 7 else 4)
    with (tmp_path / "many.pcap").open("rb") as file:
        _, (connections, segments, packets, _, less) = _core.read_trace(file, 40)  # type: ignore[arg-type]
    ports = [connection["sender"]["port"] for connection in connections]
    assert (ports, less) == ([8 + 25 * n for n in range(40)], 960)
    # A handshake, the data, and an acknowledgement of every second segment.
    assert (len(segments), packets) == (40 * (3 + 12 + 6), 960 * 9 + 40 * 21)
    assert np.bincount(segments.walk([(MSS, False, False)] * 40)["sends"]["flow"]).tolist() == [12] * 40
    assert len(segments) == 0
    explanation = explain(tmp_path / "many.pcap", 40)
    assert [flow["name"] for flow in explanation.document["flows"]] == [
        f"10.0.0.1:{port} > 10.0.0.2:80" for port in ports
    ]
    note = "960 of 1000 connections, those with less data, are not explained; --all explains them."
    assert explanation.document["notes"] == [note]
    assert note in " ".join(cli("explain", "many.pcap").stdout.split())
    assert len(explain(tmp_path / "many.pcap").document["flows"]) == 1000


def test_work_does_not_go_with_rounds_times_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection of two segments in each round trip has as many round trips as acknowledgements: a search of a column
    converts all of it, so that there is a fixed number of searches, however many round trips there are.
    """
    searches: list[int] = []
    search = np.searchsorted
    monkeypatch.setattr(np, "searchsorted", lambda *args, **more: (searches.append(1), search(*args, **more))[1])
    counts = []
    for segments in (1000, 4000):
        with (tmp_path / "short.pcap").open("wb") as file:
            Writer(file, cut=True).transfer(1000, segments)
        searches.clear()
        explanation = explain(tmp_path / "short.pcap")
        rounds = explanation.rounds[0]
        assert rounds is not None and len(rounds) > 0.4 * segments
        counts.append(len(searches))
    assert counts[0] == counts[1] < 50


#: Peak memory and answers of a process that explains one capture.
_EXPLAIN_ALONE = """\
import sys
from windtunnel.bench.worker import peak_mib
from windtunnel.explain import explain
flow = explain(sys.argv[1]).trace.flows[0]
print(len(flow.sends["t_ns"]), int((flow.sends["kind"] > 0).sum()), int(peak_mib() * 2**20))
"""


@pytest.mark.long
def test_losses_take_memory_in_proportion(tmp_path: Path) -> None:
    """One segment in a hundred is lost, so that nearly all acknowledgements have SACK blocks. Each is found to be sent
    again; and twice the packets need twice the memory, next to what the program itself needs: less than 95 bytes for
    each, so that 10^7 packets take less than 1 GB (966 MB were measured).
    """
    peaks, packets = [], []
    for segments in (250_000, 500_000, 1_000_000):
        with (tmp_path / "lossy.pcap").open("wb") as file:
            Writer(file, cut=True).lossy_transfer(1000, segments, window=400, every=100)
        command = [sys.executable, "-c", _EXPLAIN_ALONE, str(tmp_path / "lossy.pcap")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
        sent, again, peak = map(int, done.stdout.split())
        assert (sent, again) == (segments + segments // 100, segments // 100)
        peaks.append(peak)
        # Each segment that arrives is acknowledged.
        packets.append(sent + segments)
    per_packet = np.diff(peaks) / np.diff(packets)
    assert per_packet.max() < 95
    assert per_packet[1] < 1.1 * per_packet[0]


def test_a_capture_that_lacks_packets_says_so(tmp_path: Path) -> None:
    """Acknowledgements of data that were not captured are counted, and accuse no one."""
    with (tmp_path / "lacks.pcap").open("wb") as file:
        writer = Writer(file)
        writer.handshake(1001)
        for n in range(200):
            writer.at_us += 100
            # Of the last 20 segments only the acknowledgements were captured.
            if n < 180:
                writer.packet(1001, 0, 1 + n * MSS, 1, ACK, MSS)
            writer.packet(1001, 1, 1, 1 + (n + 1) * MSS, ACK)
    document = explain(tmp_path / "lacks.pcap").document
    name = "10.0.0.1:1001 > 10.0.0.2:80"
    assert document["notes"] == [
        f"{name}: the capture lacks packets: 20 acknowledgements are of data that were not captured."
    ]
    assert not [sign for sign in document["flows"][0]["misbehaviour"] if sign["found"]]


def test_what_is_refused(cli: Cli, tmp_path: Path) -> None:
    """One message, exit code 2, nothing written."""
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "text.pcap").write_text("no capture at all, but text", encoding="utf-8")
    (tmp_path / "packed.pcap.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "twice.pcap.gz").write_bytes(gzip.compress(gzip.compress(RENO.read_bytes())))
    (tmp_path / "zstd.pcap").write_bytes(b"\x28\xb5\x2f\xfd and more")
    (tmp_path / "packed.pcap.xz").write_bytes(lzma.compress(b""))
    (tmp_path / "damaged.pcap.xz").write_bytes(b"\xfd7zXZ\x00" + bytes(40))
    (tmp_path / "damaged.pcap.gz").write_bytes(b"\x1f\x8b\x01\x00" + bytes(40))
    (tmp_path / "head.pcap").write_bytes(RENO.read_bytes()[:24])
    (tmp_path / "folder").mkdir()
    before = snapshot(tmp_path)
    for name, message in (
        ("empty.pcap", "is empty"),
        ("text.pcap", "is neither pcap, pcapng nor qlog"),
        ("packed.pcap.gz", "is empty"),
        ("packed.pcap.xz", "is empty"),
        ("damaged.pcap.xz", "Corrupt input data"),
        ("twice.pcap.gz", "is compressed: unpack it first"),
        ("zstd.pcap", "is compressed: unpack it first"),
        ("damaged.pcap.gz", "Unknown compression method"),
        ("head.pcap", "has no TCP connection with data among 0 packets"),
        ("missing.pcap", "there is no such file or folder"),
        ("folder", "is not a result folder: it has no summary.json"),
    ):
        refused(cli("explain", name, "--page", "page.html"), name, message)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(("packer", "suffix"), [(gzip.compress, "gz"), (lzma.compress, "xz")])
def test_compressed_files(shell: Cli, tmp_path: Path, packer: Callable[[bytes], bytes], suffix: str) -> None:
    """A packed capture says what the capture says: whole, cut or damaged, in several members, from a stream."""
    data = RENO.read_bytes()
    whole = explain(RENO).document
    packed = packer(data[:9_000]) + packer(data[9_000:])
    for name, content in ((f"whole.pcap.{suffix}", packed), ("padded", packed + bytes(512))):
        (tmp_path / name).write_bytes(content)
        document = explain(tmp_path / name).document
        assert {**document, "path": "", "title": ""} == {**whole, "path": "", "title": ""}
    # The sum of the first member is wrong, or xz's index: the second is not read.
    at = len(packer(data[:9_000])) - 6
    (tmp_path / "damaged").write_bytes(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :])
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    for name in ("cut", "damaged"):
        document = explain(tmp_path / name).document
        assert len(document["flows"]) == 1
        assert any("what comes after is missing" in note for note in document["notes"]), name
    with (tmp_path / f"whole.pcap.{suffix}").open("rb") as stream:
        done = shell("explain", "-", "--json", stdin=stream)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"] == json.loads(explain(RENO).to_json())["flows"]


def _xz_packer() -> Any:
    return lzma.LZMACompressor(preset=0)


def _gzip_packer() -> Any:
    return zlib.compressobj(9, wbits=31)


@pytest.mark.parametrize(("packer", "command"), [(_gzip_packer, "gunzip -c"), (_xz_packer, "xz -dc")])
def test_a_file_that_unpacks_without_end(cli: Cli, tmp_path: Path, packer: Callable[[], Any], command: str) -> None:
    """300 MB of blanks in 300 kB are refused, when 64 MB of them have been unpacked, with a way to read them."""
    packing = packer()
    bomb = tmp_path / "bomb.qlog.packed"
    bomb.write_bytes(b"".join(packing.compress(b" " * 1_000_000) for _ in range(300)) + packing.flush())
    refused(cli("explain", bomb.name), f"{bomb.name}: unpacks to more than 200 times its size", command)
    least = 0
    with open_input(bomb) as packed, pytest.raises(InputError, match="200 times"):
        file = unpacked(packed, "bomb")
        while part := file.read(1 << 18):
            assert len(part) <= 1 << 18
            least += len(part)
    assert 1 << 26 <= least + (1 << 18) <= (1 << 26) + (1 << 19)


def test_an_xz_file_that_asks_for_memory(cli: Cli, tmp_path: Path) -> None:
    """A dictionary of 1 GiB is refused before it is made: xz's own presets ask for 64 MiB at most."""
    asks = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
    data = bytearray(lzma.compress(RENO.read_bytes(), filters=asks))
    # Stream header (12 bytes); the block's header: sizes, flags, the filter's id, size and dictionary; its sum.
    at = data.index(b"\x21\x01", 12) + 2
    data[at] = 36
    end = 12 + 4 * (data[12] + 1)
    data[end - 4 : end] = zlib.crc32(data[12 : end - 4]).to_bytes(4, "little")
    (tmp_path / "greedy.pcap.xz").write_bytes(data)
    refused(cli("explain", "greedy.pcap.xz"), "greedy.pcap.xz", "Memory usage limit exceeded")


@pytest.mark.parametrize("seed", range(24))
def test_damaged_captures(tmp_path: Path, seed: int) -> None:
    """Bytes changed or packets lost anywhere: answers or one message, never anything else, not even a warning."""
    random = np.random.default_rng(seed)
    source = sorted(CAPTURES.glob("*.pcap"))[seed % 7]
    data = bytearray(source.read_bytes()[: int(random.choice([3_000, 20_000, 100_000]))])
    kept, at = bytearray(data[:24]), 24
    while at + 100 < len(data):
        record = data[at : at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")]
        at += len(record)
        # A damaged length would end the capture: times and contents are damaged here, lengths in the tests of the core.
        if random.uniform() < 0.2:
            record[int(random.integers(16, len(record)))] = int(random.integers(256))
        if random.uniform() < 0.01:
            record[int(random.integers(0, 8))] = int(random.integers(256))
        if random.uniform() < 0.9:
            kept += record
    (tmp_path / "damaged.pcap").write_bytes(kept)
    explanation = explain(tmp_path / "damaged.pcap")
    assert list(findings(explanation.document))
    assert json.loads(explanation.to_json())["kind"] == "capture"
    write_page(explanation, tmp_path / "page.html")


def test_a_folder_whose_tables_are_damaged(cli: Cli, tmp_path: Path) -> None:
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}], seconds=1)
    result.save(tmp_path / "run")
    shutil.copy(tmp_path / "run" / "summary.json", tmp_path / "run" / "flows.parquet")
    refused(cli("explain", "run"), "flows.parquet", "is not a Parquet file")
