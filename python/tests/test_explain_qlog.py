"""``windtunnel explain`` of logs: a run's own says what its capture says; those of QUIC stacks are read in all their
forms; what is damaged gives answers or one message.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli, refused, snapshot
from qlog_dialects import DIALECTS, quinn
from qlog_schema import records
from traces import simulated

from windtunnel import InputError, RunResult
from windtunnel.explain import explain
from windtunnel.explain.findings import findings
from windtunnel.explain.page import write_page
from windtunnel.export.pcapng import write_pcapng
from windtunnel.export.qlog import write_qlog

#: What a log does not have: options and code points of every header, and acknowledgements by bytes.
_NOT_IN_LOGS = ("controller", "laws", "bleaching", "misbehaviour", "evidence")

FLOWS: dict[str, dict[str, Any]] = {
    "losses": {"cc": "reno"},
    "marks": {"cc": "cubic", "ecn": True},
    "pacing": {"cc": "bbr3"},
    "receiver": {"cc": "reno", "tcp": {"receive_window": "16 kB", "autotuning": False}},
    "application": {
        "cc": "reno",
        "app": {"kind": "request-response", "size": {"kind": "fixed", "value": "9 kB"}},
    },
}


@cache
def run_of(what: str) -> RunResult:
    queue = {"kind": "codel"} if what == "marks" else {"kind": "fifo", "limit": "1 bdp"}
    return simulated([{"name": "one", "rtt": "40 ms", "start": "0.5 s", **FLOWS[what]}], seconds=12, queue=queue)


@cache
def events_of(what: str) -> list[dict[str, Any]]:
    """The events of its log, with the names of 0.3."""
    with tempfile.TemporaryDirectory() as folder:
        (path,) = write_qlog(run_of(what), Path(folder), version="0.3")
        return list(records(path))[1:]


@pytest.mark.parametrize("version", ["0.3", "0.4"])
@pytest.mark.parametrize("what", FLOWS)
def test_a_log_says_what_the_capture_says(tmp_path: Path, what: str, version: str) -> None:
    """Every answer but those that need headers, with all their numbers."""
    result = run_of(what)
    (log,) = write_qlog(result, tmp_path, version=version)
    write_pcapng(result, tmp_path / "run.pcapng")
    of_log, of_capture = explain(log).document, explain(tmp_path / "run.pcapng").document
    (logged,), (captured,) = of_log["flows"], of_capture["flows"]
    assert {name: logged[name] for name in logged if name not in _NOT_IN_LOGS} == {
        name: captured[name] for name in captured if name not in _NOT_IN_LOGS
    }
    assert logged["evidence"].pop("ecn") is None and captured["evidence"].pop("ecn")
    assert logged["evidence"]["acks"].pop("sack") is None and captured["evidence"]["acks"].pop("sack")
    assert logged["evidence"] == captured["evidence"]
    # A log's microseconds move a shadow of delays a little, and no shadow is near to a sender of rates.
    most = 1 if what == "pacing" else None
    assert [law["controller"] for law in logged["laws"][:most]] == [
        law["controller"] for law in captured["laws"][:most]
    ]
    firsts = [flow["controller"]["fits"][:1] for flow in (logged, captured)]
    assert [fit["controller"] for fit in firsts[0]] == [fit["controller"] for fit in firsts[1]]
    signs = {sign["sign"]: sign["found"] for sign in logged["misbehaviour"]}
    assert signs["ACK division"] is None
    assert signs["optimistic ACKs"] is False
    assert of_log["kind"] == "qlog"
    assert of_log["duration_s"] == pytest.approx(of_capture["duration_s"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_logs_of_quic_stacks(tmp_path: Path, dialect: str) -> None:
    """Followed by packet numbers, in each stack's form: the sender's losses, what limits it, and its last window."""
    result = run_of("losses")
    (tmp_path / "a.qlog").write_text(DIALECTS[dialect](events_of("losses")), encoding="utf-8")
    explanation = explain(tmp_path / "a.qlog")
    assert explanation.document["notes"] == []
    (flow,) = explanation.document["flows"]
    assert flow["overflow"]["events"] == result.flows[0]["loss_episodes"]
    assert flow["overflow"]["segments"] == pytest.approx(result.flows[0]["retransmits"], rel=0.05)
    assert flow["window"]["mss_bytes"] == 1500
    # ngtcp2 rounds times to milliseconds, in which several packets leave.
    assert flow["limits"]["shares"]["cwnd"] > 0.9
    table = result.tables["packets"]
    mine = (table["tap"] == 0) & (table["cwnd"] > 0)
    # Times in a trace begin with its first packet.
    cwnd = np.interp(flow["window"]["last_s"] + 0.5, table["t_ns"][mine] / 1e9, table["cwnd"][mine]) / 1448
    assert flow["window"]["last_segments"] == pytest.approx(cwnd, abs=1.5)
    assert flow["aimd"]["b"]["median"] == pytest.approx(0.5, abs=0.06)
    assert flow["controller"]["fits"][0]["controller"] == "reno"


def test_metrics_alone(tmp_path: Path) -> None:
    """A stack that logs no packets (quinn): its window, flight and round-trip times are explained."""
    (tmp_path / "a.qlog").write_text(quinn(events_of("losses")), encoding="utf-8")
    document = explain(tmp_path / "a.qlog").document
    (flow,) = document["flows"]
    assert "its packets were not logged" in document["notes"][0]
    assert flow["name"] == "client f00d"
    assert flow["limits"] is None and flow["misbehaviour"] is None
    assert flow["controller"]["fits"] == [] and "not logged" in flow["controller"]["why_not"]
    cwnd = run_of("losses").flows[0]["cwnd_bytes"]["max"] / 1448
    assert flow["window"]["greatest_segments"] == pytest.approx(cwnd, abs=2)
    assert flow["overflow"]["events"] == pytest.approx(run_of("losses").flows[0]["loss_episodes"], abs=2)


def test_the_log_of_a_flow_over_a_stack(tmp_path: Path) -> None:
    """Explained by what the stack has told: its window, and its losses."""
    result = simulated([{"name": "q", "stack": "quinn", "cc": "cubic", "rtt": "40 ms"}], seconds=6)
    document = explain(write_qlog(result, tmp_path)[0]).document
    (flow,) = document["flows"]
    assert "its packets were not logged" in document["notes"][0]
    assert flow["name"] == "192.0.2.1:40000 > 198.51.100.1:5201"
    greatest = result.tables["packets"]["cwnd"].max() / 1448
    # It is told eight times in a round trip, in which slow start doubles it.
    assert greatest / 2 ** (1 / 8) < flow["window"]["greatest_segments"] <= greatest
    assert flow["overflow"]["segments"] == np.ceil(np.nanmax(result.tables["cc"]["lost"]) / 1472)
    assert "not logged" in flow["controller"]["why_not"]
    # The least of the smoothed round-trip times stands for the path's.
    assert flow["overflow"]["with_a_full_queue"] == flow["overflow"]["events"] > 0


def test_the_receivers_log(tmp_path: Path) -> None:
    """What was in flight is not in it: it is refused with what would show it."""
    path = write_qlog(run_of("losses"), tmp_path, points=["receiver"])[0]
    with pytest.raises(InputError, match=r"no connection that sent data.*the log of the end that sent them"):
        explain(path)


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    """Text, a page, the standard input; files that are no logs get one message."""
    (log,) = write_qlog(run_of("losses"), tmp_path)
    done = cli("explain", log.name, "--page", "page.html")
    assert done.returncode == 0, done.stderr
    assert "192.0.2.1:40000 > 198.51.100.1:5201" in done.stdout
    assert "Only the packets themselves show it." in done.stdout
    assert "<h2>Findings</h2>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "empty.qlog").write_text("{}", encoding="utf-8")
    (tmp_path / "list.qlog").write_text(" [1, 2]", encoding="utf-8")
    (tmp_path / "cut.qlog").write_bytes(log.read_bytes()[:900])
    before = snapshot(tmp_path)
    for name in ("empty.qlog", "list.qlog", "cut.qlog"):
        refused(cli("explain", name, "--page", "other.html"), name, "has no connection that sent data among")
    assert snapshot(tmp_path) == before


def test_many_connections(cli: Cli, tmp_path: Path) -> None:
    """Of 60 connections the 40 with most data are explained, the text says how many are not, and ``--json`` has all."""
    count, packets = 60, 12
    events: list[dict[str, Any]] = []
    for number in range(packets):
        for group in range(count):
            header = {"header": {"packet_type": "1RTT", "packet_number": number}}
            # The last connections have most data.
            data = {**header, "raw": {"length": 500 + group}, "frames": [{"frame_type": "datagram"}]}
            events.append({"name": "transport:packet_sent", "group_id": f"g{group}", "data": data})
        for group in range(count):
            data = {**header, "frames": [{"frame_type": "ack", "acked_ranges": [[0, number]]}]}
            events.append({"name": "transport:packet_received", "group_id": f"g{group}", "data": data})
    lines = [{"trace": {}}, *({"time": n / 8, **event} for n, event in enumerate(events))]
    (tmp_path / "many.sqlog").write_text("".join(f"\x1e{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    done = cli("explain", "many.sqlog", "--page", "page.html")
    assert done.returncode == 0, done.stderr
    note = "20 of 60 connections, those with less data, are not explained; --all explains them."
    assert note in " ".join(done.stdout.split())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert note in page and ">g20<" in page and ">g59<" in page and ">g19<" not in page
    for option, flows in (("--json", 60), ("--all", 60)):
        done = cli("explain", "many.sqlog", option)
        assert done.returncode == 0 and "are not explained" not in done.stdout
        assert len({f"g{n}" for n in range(count) if f"g{n}" in done.stdout}) == flows


def test_hostile_names(cli: Cli, tmp_path: Path) -> None:
    """What a log calls its connection reaches neither the terminal as a control nor a page as markup."""
    events = [{**event, "group_id": "\x1b[2J<script>alert(1)</script>\n"} for event in events_of("losses")[2:400]]
    head = {"trace": {"title": "\x1b]0;x\x07[red]", "vantage_point": {"type": "<b>"}}}
    text = "".join(f"\x1e{json.dumps(record)}\n" for record in (head, *events))
    (tmp_path / "a.qlog").write_text(text, encoding="utf-8")
    done = cli("explain", "a.qlog", "--page", "page.html")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout and "[red] <b>" in done.stdout
    assert "<script>alert" not in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(20))
def test_damaged_logs(tmp_path: Path, seed: int) -> None:
    """Bytes changed, cut or doubled anywhere: answers or one message, and not even a warning."""
    random = np.random.default_rng(seed)
    names = list(DIALECTS)
    text = DIALECTS[names[seed % len(names)]](events_of("losses"))
    data = bytearray(text.encode()[: int(random.choice([4_000, 60_000, 400_000]))])
    for _ in range(int(random.integers(1, 60))):
        at = int(random.integers(len(data)))
        match int(random.integers(4)):
            case 0:
                data[at] = int(random.integers(256))
            case 1:
                data[at:at] = random.choice([b"}", b"]", b'"', b"[[", b"\\x1e", b"-", b"1e999", b"null,"])
            case 2:
                del data[at : at + int(random.integers(1, 40))]
            case _:
                data[at:at] = data[at : at + int(random.integers(1, 400))]
    (tmp_path / "damaged.qlog").write_bytes(data)
    try:
        explanation = explain(tmp_path / "damaged.qlog")
    except InputError as error:
        assert "damaged.qlog" in str(error)
        return
    assert list(findings(explanation.document))
    assert json.loads(explanation.to_json())["kind"] == "qlog"
    write_page(explanation, tmp_path / "page.html")
