"""qlog: what a run's logs say, that they keep to the schemas, and that they are explained as the run's captures are."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli, refused
from packets import MSS, recorded
from qlog_schema import checked, records
from traces import simulated

from windtunnel import InputError, RunResult, load, stored
from windtunnel.export import export, packets
from windtunnel.export.qlog import _file_names, write_qlog

POINTS = packets.POINTS


@cache
def lossy() -> RunResult:
    """A run with overflows."""
    return simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}])


def logs(result: RunResult, folder: Path, **options: Any) -> dict[str, Path]:
    folder.mkdir()
    return {path.name: path for path in write_qlog(result, folder, **options)}


def of(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The events with this name, without its namespace and version."""
    return [event for event in events if event["name"].split(":")[1].removeprefix("recovery_") == name]


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_logs_keep_to_the_schema(tmp_path: Path, version: str) -> None:
    """Every record of every vantage point, of runs by hand and of real ones; times do not decrease."""
    mixed = simulated(
        [{"name": "a", "cc": "cubic", "rtt": "20 ms"}, {"name": "b", "cc": "bbr3", "rtt": "30 ms"}], seconds=3
    )
    for n, result in enumerate((recorded(), lossy(), mixed)):
        for path in logs(result, tmp_path / str(n), points=POINTS, version=version).values():
            times = [event["time"] for event in checked(path, version)]
            assert times == sorted(times)
            # The recording's third flow has only datagrams.
            assert len(times) > 3 or path.name.startswith("voice")


def data_of(events: list[dict[str, Any]], name: str) -> list[tuple[int, int]]:
    """The bytes of each packet with data, as a reader of a log finds them: a packet without frames carries what follows
    the data so far, and its headers are as long as those of the packet with data before it, unless it says so.
    """
    end, headers, rows = 0, 0, list[tuple[int, int]]()
    for event in of(events, name):
        data = event["data"]
        frames = data.get("frames", [{"frame_type": "stream", "offset": end}])
        if data["header"]["packet_type"] != "1RTT" or frames[0]["frame_type"] != "stream":
            continue
        length = data["raw"]["length"]
        payload = data["raw"].get("payload_length", frames[0].get("length", length - headers))
        headers = length - payload
        end = max(end, frames[0]["offset"] + payload + frames[0].get("fin", False))
        rows.append((frames[0]["offset"], payload))
    return rows


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_every_byte_is_told(tmp_path: Path, version: str) -> None:
    """At the sender and at the receiver the data are those of the run, though most packets have no frames."""
    result = lossy()
    table = result.tables["packets"]
    data = (table["dir"] == 0) & (table["payload"] > 0)
    for point, vantage, event in (("sender", "client", "packet_sent"), ("receiver", "server", "packet_received")):
        path = logs(result, tmp_path / point, points=[point], version=version)[f"one.{vantage}.sqlog"]
        events = checked(path, version)
        mine = data & (table["tap"] == POINTS.index(point))
        told = list(zip((table["seq"][mine] - 1).tolist(), table["payload"][mine].tolist(), strict=True))
        assert data_of(events, event) == told
        without = sum("frames" not in e["data"] for e in of(events, event))
        assert without > 0.9 * len(told) if version == "0.4" else without <= 1


def test_the_size_of_a_log(tmp_path: Path) -> None:
    """A minute at 50 Mbit/s is 250 thousand packets and takes at most 60 MB: 240 bytes for each packet with data, its
    share of the acknowledgements and of the sender's numbers included.
    """
    result = lossy()
    path = logs(result, tmp_path / "q")["one.client.sqlog"]
    table = result.tables["packets"]
    sent = ((table["tap"] == 0) & (table["dir"] == 0) & (table["payload"] > 0)).sum()
    assert path.stat().st_size / sent < 240


def test_what_a_loss_looks_like(tmp_path: Path) -> None:
    """The recording's first flow: its third segment is lost and sent again under a new number; what the last of the
    segments above it were acknowledged by names them, and the mark of the sixth is counted.
    """
    events = checked(logs(recorded(), tmp_path / "q")["cubic.client.sqlog"])
    sent = [e["data"] for e in of(events, "packet_sent") if e["data"]["header"]["packet_type"] == "1RTT"]
    numbers = [packet["header"]["packet_number"] for packet in sent]
    assert numbers == list(range(len(numbers)))
    offsets = [offset for offset, _ in data_of(events, "packet_sent")]
    again = next(n for n, offset in enumerate(offsets) if offset in offsets[:n])
    assert offsets[again] == 2 * MSS
    assert sent[again]["trigger"] in ("retransmit_reordered", "pto_probe")
    assert [e["data"]["header"]["packet_number"] for e in of(events, "packet_lost")] == [2]
    acks = [e["data"]["frames"][0] for e in of(events, "packet_received")]
    assert acks[-1]["ce"] >= 1


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_numbers(tmp_path: Path, version: str) -> None:
    """A number is sent once, lost or acknowledged after it was sent, never acknowledged after it was lost; as many are
    lost as the sender has sent again.
    """
    result = lossy()
    events = checked(logs(result, tmp_path / "q", version=version)["one.client.sqlog"], version)
    sent, lost, acked = set[int](), set[int](), set[int]()
    for event in events:
        name, data = event["name"].split(":")[1], event["data"]
        if data.get("header", {}).get("packet_type") != "1RTT":
            continue
        number = data["header"]["packet_number"]
        if name == "packet_sent":
            assert number == len(sent)
            sent.add(number)
        elif name == "packet_lost":
            assert number in sent and number not in acked
            lost.add(number)
        elif name == "packet_received":
            for frame in data["frames"]:
                for low, *high in frame.get("acked_ranges", ()):
                    acked |= set(range(low, (high or [low])[0] + 1))
            assert acked <= sent
            assert not acked & lost
    table = result.tables["packets"]
    data = (table["tap"] == 0) & (table["dir"] == 0) & (table["payload"] > 0)
    assert len(sent) == data.sum()
    assert len(lost) == (table["retransmission"] & data).sum() == result.flows[0]["retransmits"]
    assert lost and len(acked) > 0.9 * len(sent) - len(lost)


def test_the_senders_numbers(tmp_path: Path) -> None:
    """Windows are those that the run has recorded at its departures; recovery follows each overflow."""
    result = lossy()
    events = checked(logs(result, tmp_path / "q")["one.client.sqlog"])
    table = result.tables["packets"]
    mine = (table["tap"] == 0) & (table["dir"] == 0) & (table["cwnd"] > 0)
    windows = dict(zip(table["t_ns"][mine].tolist(), table["cwnd"][mine].tolist(), strict=True))
    told = [e for e in of(events, "metrics_updated") if "congestion_window" in e["data"]]
    at = np.array(list(windows))
    assert len(told) > 100
    for event in told:
        ns = round(event["time"] * 1e6)
        assert event["data"]["congestion_window"] in {
            table["cwnd"][n] for n in np.flatnonzero(mine & (table["t_ns"] == ns))
        }
        assert ns in at
    states = of(events, "congestion_state_updated")
    assert [e["data"].get("old") for e in states[1:]] == [e["data"]["new"] for e in states[:-1]]
    recoveries = sum(e["data"]["new"] == "recovery" for e in states)
    assert recoveries == result.flows[0]["loss_episodes"]


def test_the_modes_of_a_controller(tmp_path: Path) -> None:
    """BBR has its own."""
    run = simulated([{"name": "one", "cc": "bbr3", "rtt": "40 ms"}], seconds=3)
    events = checked(logs(run, tmp_path / "q")["one.client.sqlog"])
    modes = [event["data"]["new"] for event in of(events, "congestion_state_updated")]
    assert modes[:2] == ["startup", "drain"]
    assert set(modes) <= {"startup", "drain", "probe_rtt"} | {
        f"probe_bw_{m}" for m in ("down", "cruise", "refill", "up")
    }


def test_queues(tmp_path: Path) -> None:
    """The path's log has the sojourn time of each packet, and a drop where it happens."""
    result = lossy()
    events = checked(logs(result, tmp_path / "q", points=["queue-out"])["one.network.sqlog"])
    table = result.tables["packets"]
    left = of(events, "queue_updated")
    assert len(left) == (table["tap"] == 2).sum()
    longest = max(event["data"]["sojourn"] for event in left)
    # The summary counts up to the start of the packet's own serialisation: 1500 bytes at 10 Mbit/s.
    assert longest == pytest.approx(result.queues[0]["sojourn_ms"]["max"] + 1.2, rel=1e-3)
    assert len(of(events, "packet_dropped")) == (table["drop"] > 0).sum()


@pytest.mark.parametrize("version", ["0.3", "0.4"])
def test_a_flow_over_a_stack(tmp_path: Path, version: str) -> None:
    """Its datagrams at both ends and on the path, the stack's own window, and as many lost packets as it counts."""
    result = simulated([{"name": "q", "stack": "quinn", "cc": "cubic", "rtt": "40 ms"}], seconds=4)
    written = logs(result, tmp_path / "q", points=POINTS, version=version)
    table = result.tables["packets"]
    sent, received = ("udp_datagrams_sent", "udp_datagrams_received")
    if version == "0.3":
        sent, received = ("packet_sent", "packet_received")
    for vantage, tap, directions in (("client", 0, {sent: 0, received: 1}), ("server", 3, {sent: 1, received: 0})):
        events = checked(written[f"q.{vantage}.sqlog"], version)
        times = [event["time"] for event in events]
        assert times == sorted(times)
        for name, direction in directions.items():
            lengths = [(e["time"], e["data"]["raw"]) for e in of(events, name)]
            seen = [(round(ms * 1e6), (raw if version == "0.3" else raw[0])["length"]) for ms, raw in lengths]
            mine = (table["tap"] == tap) & (table["dir"] == direction)
            assert seen == list(zip(table["t_ns"][mine].tolist(), table["payload"][mine].tolist(), strict=True))
    events = checked(written["q.client.sqlog"], version)
    windows = [
        e["data"]["congestion_window"] for e in of(events, "metrics_updated") if "congestion_window" in e["data"]
    ]
    assert set(windows) <= set(table["cwnd"].tolist()) and max(windows) > 5 * min(windows)
    cc = result.tables["cc"]
    assert len(of(events, "packet_lost")) == np.ceil(np.nanmax(cc["lost"]) / (1500 - 28)) > 10
    path = checked(written["q.network.sqlog"], version)
    assert len(of(path, "queue_updated")) == (table["tap"] == 2).sum()
    assert len(of(path, "packet_dropped")) == (table["drop"] > 0).sum() > 10


def test_parts_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored table is read in parts; the logs are those of the whole, to the byte."""
    lossy().save(tmp_path / "run")
    whole = logs(lossy(), tmp_path / "1", points=POINTS)
    monkeypatch.setattr(stored, "PART", 1000)
    monkeypatch.setattr(packets, "PART", 1000)
    parts = logs(load(tmp_path / "run", lazily=["packets"]), tmp_path / "2", points=POINTS)
    assert len(whole) == 3
    assert {n: p.read_bytes() for n, p in whole.items()} == {n: p.read_bytes() for n, p in parts.items()}


def test_names_of_files() -> None:
    """Any name of a flow gives one that file systems take, and no two the same."""
    assert _file_names(["a/b", "a_b", "A_B", "../x", "", "é" * 300]) == [
        *("a_b", "a_b-1", "A_B-2", "_x", "flow"),
        "_" * 80,
    ]


def test_run_writes_them(cli: Cli, tmp_path: Path) -> None:
    """`run --qlog` records packets by itself; `export --qlog` writes the same logs."""
    (tmp_path / "a.toml").write_text(
        'duration = "1 s"\n[bottleneck]\nrate = "5 Mbit/s"\n[[flow]]\ncc = "reno"\nname = "a"\nrtt = "20 ms"\n',
        encoding="utf-8",
    )
    assert cli("run", "a.toml", "--qlog", "--qlog-version", "0.3", "--out", "r").returncode == 0
    done = cli("export", "r", "--qlog", "q", "--qlog-version", "0.3")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "q" / "a.client.sqlog").read_bytes() == (tmp_path / "r/qlog/a.client.sqlog").read_bytes()
    assert next(records(tmp_path / "q" / "a.client.sqlog"))["qlog_version"] == "0.3"
    refused(cli("run", "a.toml", "--qlog", "--json"), "--qlog", "--out")
    refused(cli("export", "r", "--qlog", "q"), "q: exists already")
    packed = cli("export", "r", "--qlog", "q", "--qlog-version", "0.3", "--qlog-gzip", "--force")
    assert packed.returncode == 0, packed.stderr
    (file,) = (tmp_path / "q").iterdir()
    assert file.name == "a.client.sqlog.gz"
    assert gzip.decompress(file.read_bytes()) == (tmp_path / "r/qlog/a.client.sqlog").read_bytes()
    again = cli("export", "r", "--qlog", "q", "--qlog-version", "0.3", "--force")
    assert again.returncode == 0, again.stderr
    (tmp_path / "u.toml").write_text(
        'duration = "1 s"\n[bottleneck]\nrate = "5 Mbit/s"\n[[flow]]\napp = { kind = "cbr", rate = "1 Mbit/s" }\n'
        'name = "voice"\nrtt = "20 ms"\n',
        encoding="utf-8",
    )
    without = cli("run", "u.toml", "--qlog", "--out", "u")
    assert without.returncode == 0, without.stderr
    assert "not in the qlog, because they are not one connection each: voice" in without.stderr
    assert (tmp_path / "u" / "summary.json").exists() and not (tmp_path / "u" / "qlog").exists()
    unknown = cli("export", "r", "--qlog", "x", "--qlog-version", "1")
    assert unknown.returncode == 2 and "'1' is not one of '0.3', '0.4'" in unknown.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    """A run without packets, and one without a TCP flow."""
    with pytest.raises(InputError, match=r"run the scenario with `packets = true`"):
        export(
            simulated([{"name": "a", "cc": "reno", "rtt": "40 ms"}], seconds=1, packets=False), "qlog", tmp_path / "q"
        )
    udp = simulated([{"name": "u", "app": {"kind": "cbr", "rate": "1 Mbit/s"}, "rtt": "40 ms"}], seconds=1)
    with pytest.raises(InputError, match="no flow that is one connection"):
        export(udp, "qlog", tmp_path / "q")
    assert not (tmp_path / "q").exists()


def test_an_interrupted_export_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = packets.packet_parts

    def interrupted(of: RunResult) -> Iterator[dict[str, Any]]:
        yield next(written(of))
        raise KeyboardInterrupt

    monkeypatch.setattr("windtunnel.export.qlog.packet_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(recorded(), "qlog", tmp_path / "q")
    assert list(tmp_path.iterdir()) == []
