"""The recordings of the Linux sender, and the path and receiver that they were made with."""

from __future__ import annotations

import pytest

from windtunnel.validation import linux_buffer, linux_close, linux_cubic, linux_scripts
from windtunnel.validation.linux_scripts import LinuxScript, recordings
from windtunnel.validation.recorder.path import MS, Agenda, Bottleneck, Medium
from windtunnel.validation.recorder.receiver import ISS, Receiver
from windtunnel.validation.recorder.wire import ACK, CE, CWR, ECE, SYN, Segment, build, internet_checksum, parse
from windtunnel.validation.suite import execute

MSS = 1000

SCRIPTS = (*linux_scripts.SCRIPTS, *linux_cubic.SCRIPTS, *linux_close.SCRIPTS, *linux_buffer.SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_sender_does_as_linux_did(script: LinuxScript) -> None:
    """Each transmission, with cwnd, ssthresh and state at that time."""
    every = (linux_scripts, linux_cubic, linux_close, linux_buffer)
    (comparison,) = (c for module in every for c in module.comparisons() if c.name == script.name)
    lines = comparison.lines({run.name: execute(run) for run in comparison.runs})
    assert [line for line in lines if line.verdict == "differs"] == []


def test_every_script_is_recorded() -> None:
    """Each script was recorded five times, and most of its recordings are equal."""
    recorded = recordings()["scripts"]
    assert list(recorded) == [script.name for script in SCRIPTS]
    for name, script in recorded.items():
        assert len(script["sent"]) == 5, name
        assert max(map(script["sent"].count, script["sent"])) >= 3, name


def data(number: int, **fields: int) -> Segment:
    """The segment with this number, from 1 on, of a sender whose initial sequence number is 99."""
    start = 100 + (number - 1) * MSS
    timestamps = (fields.pop("stamp"), 0) if "stamp" in fields else None
    return Segment(1, 2, start, ISS + 1, fields.pop("flags", ACK), payload=MSS, timestamps=timestamps, **fields)


def receiver(*, timestamps: bool = False, ecn: bool = False) -> Receiver:
    """A receiver that has answered a SYN."""
    end = Receiver(sack=True, timestamps=timestamps, ecn=ecn)
    flags = SYN | (ECE | CWR if ecn else 0)
    syn = Segment(1, 2, 99, 0, flags, sack_permitted=True, timestamps=(1, 0) if timestamps else None)
    answer = end.on_segment(syn, 0)
    assert answer is not None
    assert (answer.ack, answer.sack_permitted, bool(answer.flags & ECE)) == (100, True, ecn)
    return end


def blocks(end: Receiver, *numbers: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """The last segment acknowledged, and the first and last ones of the SACK blocks, after each of these segments."""
    out = []
    for number in numbers:
        answer = end.on_segment(data(number), 0)
        assert answer is not None
        sack = [((start - 100) // MSS + 1, (stop - 100) // MSS) for start, stop in answer.sack]
        out.append(((answer.ack - 100) // MSS, sack))
    return out


def test_sack_blocks() -> None:
    """RFC 2018 section 4: the block with the latest segment comes first; adjacent blocks are merged."""
    assert blocks(receiver(), 1, 3, 5, 4, 2) == [
        (1, []),
        (1, [(3, 3)]),
        (1, [(5, 5), (3, 3)]),
        (1, [(3, 5)]),
        (5, []),
    ]
    assert blocks(receiver(), 3, 5, 7, 9, 11)[-1] == (0, [(11, 11), (9, 9), (7, 7), (5, 5)])


def test_duplicates_are_reported() -> None:
    """RFC 2883 section 4: the duplicate comes first, and then the block that contains it."""
    assert blocks(receiver(), 1, 1) == [(1, []), (1, [(1, 1)])]
    assert blocks(receiver(), 3, 4, 7, 3)[-1] == (0, [(3, 3), (3, 4), (7, 7)])


def test_timestamps() -> None:
    """RFC 7323: only timestamps of acknowledged segments are echoed, not those above a gap or of old duplicates; PAWS
    discards a segment with an old timestamp.
    """
    end = receiver(timestamps=True)
    echoes = []
    for segment in (data(1, stamp=10), data(3, stamp=30), data(2, stamp=20), data(1, stamp=40), data(4, stamp=18)):
        answer = end.on_segment(segment, 0)
        assert answer is not None
        assert answer.timestamps is not None
        echoes.append((answer.ack, answer.timestamps[1]))
    assert echoes == [(1100, 10), (1100, 10), (3100, 20), (3100, 20), (3100, 20)]


def test_ce_is_echoed_until_cwr() -> None:
    """RFC 3168 section 6.1.3."""
    end = receiver(ecn=True)
    segments = (data(1, ecn=CE), data(2), data(3, flags=ACK | CWR), data(4, flags=ACK | CWR, ecn=CE))
    answers = [end.on_segment(segment, 0) for segment in segments]
    assert [bool(answer and answer.flags & ECE) for answer in answers] == [True, True, False, True]


def passage(impair: str, times_ms: list[int]) -> list[tuple[int, int]]:
    """When data segments 1, 2, ... come out, and which, if they come in at these times."""
    agenda, out = Agenda(), []
    medium = Medium(impair, agenda, lambda segment, at: out.append((at // MS, (segment.seq - 100) // MSS + 1)))
    for number, time_ms in enumerate(times_ms, start=1):
        agenda.at(time_ms * MS, lambda at, number=number: medium.enter(data(number), at))
    while agenda.next_due is not None:
        agenda.run_next()
    return out


def test_the_medium() -> None:
    """The impairments have the same effect as in scenarios."""
    assert passage('{ kind = "scripted-loss", packets = [2], affects = "data" }', [1, 2, 3]) == [(1, 1), (3, 3)]
    assert passage('{ kind = "scripted-loss", packets = [2], affects = "acks" }', [1, 2]) == [(1, 1), (2, 2)]
    late = '{ kind = "scripted-reordering", packets = [1], overtaken_by = 2, affects = "data" }'
    assert passage(late, [1, 2, 3, 4]) == [(2, 2), (3, 3), (3, 1), (4, 4)]
    held = '{ kind = "outage", times = [{ from = "2 ms", to = "9 ms" }], hold = true }'
    assert passage(held, [1, 2, 8, 10]) == [(1, 1), (9, 2), (9, 3), (10, 4)]
    assert passage(held.replace("true", "false"), [1, 2, 8, 9]) == [(1, 1), (9, 4)]
    with pytest.raises(ValueError, match="no impairment 'jitter'"):
        passage('{ kind = "jitter" }', [])


def test_the_bottleneck() -> None:
    """1000 bytes of data with 40 of headers take 83.2 us at 100 Mbit/s; the second packet gets CE."""
    agenda, out = Agenda(), []
    link = Bottleneck(100, frozenset({2}), agenda, lambda segment, at: out.append((at, segment.ecn)))
    for number in (1, 2):
        link.enter(data(number, ecn=2), 0)
    while agenda.next_due is not None:
        agenda.run_next()
    assert out == [(83_200, 2), (166_400, CE)]


def test_segments_as_bytes() -> None:
    """A packet that was built can be parsed, and its checksums are right: the sum over the covered bytes is zero (RFC
    1071).
    """
    segment = Segment(5001, 40000, 7, 9, SYN | ACK, mss=1460, scale=14, sack_permitted=True, timestamps=(3, 4))
    segment.sack = ((10, 20), (30, 40))
    packet = build(segment, "10.0.0.1", "10.0.0.2")
    assert parse(packet) == segment
    assert len(packet) == segment.size
    assert internet_checksum(packet[:20]) == 0
    pseudo = packet[12:20] + bytes([0, 6]) + (len(packet) - 20).to_bytes(2, "big")
    assert internet_checksum(pseudo + packet[20:]) == 0
    assert parse(packet[:19]) is None
