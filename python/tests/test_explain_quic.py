"""What is said about logs of real QUIC stacks, whose controllers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import quic_answers
import quic_packets
from answers import Answer, Counted
from kernel_captures import PATHS
from quic_answers import QuicCase

from windtunnel import RunResult
from windtunnel.explain import explain

#: What was counted with the model of today (docs/explain-quic.md); what does better sets new limits.
OWN = Counted(32, 18, 26, 6, 0)
OURS = Counted(30, 28, 30, 0, 0)
#: Of runs that differ: 26, 29, 0 and 18 were counted, and 16, 33, 2 and 18 another time.
DRAWN = Counted(48, 20, 26, 2, 18)


@pytest.fixture(scope="module")
def newreno() -> QuicCase:
    return QuicCase(PATHS[0], "quinn", "newreno")


def test_one_log_of_a_stack(newreno: QuicCase, tmp_path: Path) -> None:
    """Quinn's NewReno over a FIFO: what is in flight is what the stack counts at 98 of 100 departures, every packet
    that it counts as lost is one that is sent again, and the answer is plain.
    """
    result = quic_answers.run(newreno)
    quic_packets.write(result, tmp_path / "a.sqlog")
    [flow], [sends] = (
        (explanation := explain(tmp_path / "a.sqlog")).document["flows"],
        [explanation.trace.flows[0].sends],
    )
    assert explanation.document["notes"] == [] and sends is not None
    # The stack counts in its own table of packets, which has a row for each datagram.
    own = _in_flight(result)
    assert len(own) == len(sends["in_flight"])
    assert np.mean(np.abs(sends["in_flight"] - own) < 0.5 * flow["window"]["mss_bytes"]) > 0.98
    lost = np.nanmax(result.tables["cc"]["lost"]) / flow["window"]["mss_bytes"]
    assert flow["overflow"]["segments"] == pytest.approx(lost, abs=1)
    assert flow["overflow"]["events"] == result.flows[0]["loss_episodes"]
    answer = quic_answers.told_of(newreno)
    assert answer.right and answer.events >= 10 and not answer.accused and not answer.sure_and_wrong


def _in_flight(result: RunResult) -> npt.NDArray[np.float64]:
    """What the stack had in flight after each packet with data of streams."""
    table = result.tables["packets"]
    mine = np.flatnonzero((table["tap"] == 0) & (table["flow"] == 0) & (table["dir"] == 0))
    # Packets that share a datagram are in the log one after the other.
    rows, left = [], 0
    datagrams = iter(zip(table["payload"][mine].tolist(), table["in_flight"][mine].tolist(), strict=True))
    flight = 0
    for record in list(quic_packets.records(result))[1:]:
        if not record["name"].endswith("packet_sent"):
            continue
        data = record["data"]
        if left == 0:
            left, flight = next(datagrams)
        left -= data["raw"]["length"]
        streams = [f for f in data["frames"] if f["frame_type"] == "stream" and f["raw"]["payload_length"] > 0]
        if data["header"]["packet_type"] == "1RTT" and streams:
            rows.append(flight)
    return np.array(rows, float)


def test_packets_are_read_as_rfc_9000_writes_them() -> None:
    """Packet numbers from their low bits (the example of its appendix A.3), ranges and counts of ACK frames, streams
    with and without offset and length; what is not a frame is an error.
    """
    assert quic_packets.whole(0x9B32, 16, 0xA82F30EA) == 0xA82F9B32
    ack = bytes([3, 20, 0, 1, 2, 3, 4, 7, 0, 5])
    stream = bytes([0x0F, 4, 0x41, 0x00, 2]) + b"ab"
    rest = bytes([0x08, 8]) + b"cdef"
    assert list(quic_packets.frames(bytes(3) + ack + stream + rest)) == [
        {"frame_type": "padding"},
        {"frame_type": "ack", "acked_ranges": [[18, 20], [9, 13]], "ect0": 7, "ect1": 0, "ce": 5},
        {"frame_type": "stream", "stream_id": 4, "offset": 256, "raw": {"payload_length": 2}},
        {"frame_type": "stream", "stream_id": 8, "offset": 0, "raw": {"payload_length": 4}},
    ]
    for damaged in (bytes([0x3F]), bytes([0x0F, 4, 0x41]), bytes([2, 1, 0, 9])):
        with pytest.raises(ValueError, match="frame"):
            list(quic_packets.frames(damaged))


def test_logs_are_the_same_in_each_run(newreno: QuicCase) -> None:
    """The page can be written again: packets have the same times, numbers and lengths, whatever their TLS keys."""
    logs = []
    for _ in range(2):
        packets = [each for each in quic_packets.records(quic_answers.run(newreno)) if "data" in each]
        # TLS has random numbers.
        logs.append([each for each in packets if each["data"]["header"]["packet_type"] == "1RTT"])
    assert len(logs[0]) > 10_000 and logs[0] == logs[1]


def test_answers_about_stacks_are_counted(newreno: QuicCase) -> None:
    """The arithmetic of the page, by answers made by hand."""
    bbr = QuicCase(PATHS[1], "noq", "bbr3", marked=True)
    told = [
        Answer(newreno, 15, "reno", 0.9, 0, ()),
        Answer(bbr, 2, "bbr2", 0.71, 1, ("sender ignores losses",)),
        Answer(bbr, 2, "bbr2", 0.2, None, (), unknown=True),
    ]
    assert Counted.of(told) == Counted(3, 1, 2, 1, 1, 1)
    text = quic_answers.page(told, [], told)
    assert "| all | 3 | 1 (33 %) | 2 (67 %) | 1 | 1 | 1 |" in text
    assert "| noq bbr3 | 2 | 0 (0 %) | 1 (50 %) | 1 | 1 | 1 |" in text
    assert f"- {bbr.name}: bbr2 71 %, 2 events" in text and "| noq bbr3 | bbr2 2 |" in text
    assert bbr.name == "fifo-3bdp, marks, noq bbr3"


def test_a_log_from_elsewhere() -> None:
    """Google's QUIC with BBR version 1, in draft 00 with capitals: read as packets; BBR is the first answer, and
    its search for the round trip comes every ten seconds, as version 1 does it.
    """
    [log] = (Path(__file__).parent / "data" / "explain-quic").glob("*.xz")
    document = explain(log).document
    assert document["notes"] == ["1 of 18557 events have no time and were left out."]
    [flow] = document["flows"]
    assert flow["controller"]["fits"][0]["controller"] == "bbr"
    assert flow["bbr"]["round_trip_probes"] == 2
    assert flow["limits"]["shares"]["pacing"] > 0.8
    # Its own count, in events `packet_lost`, is 238; the walk finds one more.
    assert flow["overflow"]["segments"] == pytest.approx(238, abs=1)


@pytest.mark.long
def test_what_is_said_of_quic_stacks() -> None:
    """All logs: no worse than the limits, and as the page says."""
    told = [quic_answers.answers(of()) for of in quic_answers.GROUPS]
    for answers, limit in zip(told, (OWN, OURS, DRAWN), strict=True):
        counted = Counted.of(answers)
        assert counted.traces == limit.traces
        assert counted.right >= limit.right and counted.in_three >= limit.in_three
        assert counted.sure_and_wrong <= limit.sure_and_wrong and counted.accused <= limit.accused
    text = (Path(__file__).parents[2] / "docs" / "explain-quic.md").read_text(encoding="utf-8")
    same, drawn, _ = text.partition(quic_answers.DRAWN)
    assert drawn and quic_answers.page(*told).startswith(same), (
        "python python/tests/quic_answers.py docs/explain-quic.md writes it"
    )
