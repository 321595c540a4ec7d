"""Captures of real runs as tshark reads them: its report of each run must equal what the simulator did."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from packets import ACK, AE, CE, CWR, ECE, ECT0, ECT1, FIN, MDS_DSCP, RECEIVER, SENDER, SYN
from tshark import COMMENT, needs_tshark, tshark

from windtunnel import RunResult, Scenario
from windtunnel.export import export_file

pytestmark = needs_tshark

Mask = npt.NDArray[np.bool_]

#: Expert information, by the start of its message. Each case names the remarks that it may show; no others may appear.
#: Two need an explanation: tshark takes a retransmission that follows new data within the handshake's round trip for an
#: ``out-of-order`` segment, even in a capture at the sender, which reorders nothing; and it warns about D-SACK, by
#: which a receiver reports that something arrived twice.
HANDSHAKE = {"Connection establish"}
LOSS = {"Duplicate ACK", "This frame is a (suspected) fast retransmission"}
FINISH = {
    "Connection finish (FIN)",
    "This frame initiates the connection closing",
    "This frame undergoes the connection closing",
}
AGAIN = "This frame is a (suspected) retransmission"
EARLY = "This frame is a (suspected) out-of-order segment"
TWICE = "D-SACK Sequence"

#: tshark's names for segments when it has already seen a part of them.
KINDS = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")


#: While something is missing the window still grows: a duplicate ACK offers more than the one before.
UPDATE = "TCP window update"


#: tshark 4.0 warns of four NOPs in a row where five are anywhere among the options: two in front of the timestamps and
#: three behind an AccECN option with one counter, which is how Linux aligns them.
NOPS = "4 NOP in a row"


@dataclass(frozen=True)
class Case:
    """A scenario, and the remarks of tshark that it explains, besides those on the handshake.

    ``possible`` are remarks that not all versions of tshark make.
    """

    scenario: Scenario
    remarks: set[str] = field(default_factory=set)
    possible: set[str] = field(default_factory=set)
    ip: int = 4


def path(*flows: dict[str, Any], duration: str = "2 s", **bottleneck: Any) -> Scenario:
    """A path of 10 Mbit/s and, unless a flow says otherwise, 40 ms."""
    return Scenario(
        duration=duration,
        seed=3,
        flows=[{"rtt": "40 ms", **flow} for flow in flows],
        bottleneck={"rate": "10 Mbit/s", **bottleneck},
        record={"packets": True},
    )


def transfer(size: str) -> dict[str, Any]:
    return {"cc": "reno", "app": {"kind": "transfer", "size": size}}


def losses(*numbers: int, affects: str = "data") -> dict[str, Any]:
    return {"kind": "scripted-loss", "packets": list(numbers), "affects": affects}


def tail_drop(packets: int) -> dict[str, Any]:
    return {"kind": "fifo", "limit": f"{packets} packets"}


TWO_CUBICS = path({"cc": "cubic"}, {"cc": "cubic", "start": "0.5 s"}, queue=tail_drop(40))
BESIDE_UDP = path(
    {"cc": "cubic"},
    {"app": {"kind": "cbr", "rate": "2 Mbit/s"}},
    {"app": "probe"},
    queue=tail_drop(30),
)
CASES = {
    "tail drop": Case(TWO_CUBICS, {*LOSS, AGAIN, EARLY, UPDATE}),
    "tail drop, IPv6": Case(TWO_CUBICS, {*LOSS, AGAIN, EARLY, UPDATE}, ip=6),
    "reordering and duplication": Case(
        path(
            {"cc": "reno"},
            impair=[{"kind": "reordering", "delay": "15 ms"}, {"kind": "duplication", "probability": "1 %"}],
            queue=tail_drop(60),
        ),
        {*LOSS, AGAIN, EARLY, TWICE, UPDATE},
    ),
    "ECN": Case(path({"cc": "reno", "ecn": True}, queue={"kind": "brickwall", "ce_threshold": "5 ms"})),
    "AccECN": Case(
        path(
            {"cc": "cubic", "ecn": "accecn"},
            impair=losses(300, 304, 308, 312),
            queue={"kind": "brickwall", "ce_threshold": "5 ms"},
        ),
        {*LOSS, AGAIN, EARLY},
        possible={NOPS},
    ),
    "QUIC's counts": Case(
        path(
            {"cc": "reno", "ecn": "quic"},
            impair=losses(300),
            queue={"kind": "brickwall", "ce_threshold": "5 ms"},
        ),
        {*LOSS, AGAIN},
    ),
    "MDS": Case(path({"cc": "reno-mds"}, queue={"kind": "deltim", "burst": "5 ms"})),
    "lost SYN": Case(path(transfer("100 kB"), impair=losses(1, affects="all")), {AGAIN, *FINISH}),
    # 70 segments.
    "tail loss": Case(path(transfer("100 kB"), impair=losses(70)), {AGAIN, *FINISH}),
    # The retransmission of segment 30 is the 69th segment sent.
    "lost retransmission": Case(
        path(transfer("300 kB"), impair=losses(30, 69)), {*LOSS, AGAIN, EARLY, UPDATE, *FINISH}
    ),
    "spurious RTO": Case(
        path(transfer("1 MB"), impair={"kind": "outage", "hold": True, "times": [{"from": "300 ms", "to": "900 ms"}]}),
        {"Duplicate ACK", AGAIN, TWICE, *FINISH},
    ),
    "no SACK": Case(path({"cc": "newreno"}, queue=tail_drop(20)), {*LOSS, AGAIN, EARLY}),
    "no timestamps": Case(
        path({"cc": "cubic", "tcp": {"timestamps": False}}, queue=tail_drop(20)), {*LOSS, AGAIN, EARLY, UPDATE}
    ),
    "UDP": Case(BESIDE_UDP, {*LOSS, AGAIN, EARLY, UPDATE}),
    "UDP, IPv6": Case(BESIDE_UDP, {*LOSS, AGAIN, EARLY, UPDATE}, ip=6),
}

FIELDS = (
    *("frame.packet_id", "frame.comment", "_ws.malformed", "_ws.short", "_ws.expert.severity", "_ws.expert.message"),
    *("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "ip.len", "ipv6.plen", "udp.length"),
    *(
        "ip.dsfield.ecn",
        "ip.dsfield.dscp",
        "ipv6.tclass.ecn",
        "ipv6.tclass.dscp",
        "tcp.flags",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
    ),
    *("tcp.options.sack_le", "tcp.options.sack_re", "tcp.window_size"),
    *("tcp.flags.ace", "tcp.option_kind", *(f"tcp.options.acc_ecn.{name}" for name in ("ee0b", "eceb", "ee1b"))),
    *(f"tcp.analysis.{kind}" for kind in (*KINDS, "lost_segment")),
)


@dataclass(frozen=True)
class Seen:
    """A run, its packets at one place, and what tshark reports for each of them."""

    case: Case
    result: RunResult
    table: dict[str, npt.NDArray[Any]]
    rows: list[dict[str, str]]

    def flagged(self, *kinds: str) -> Mask:
        """The packets to which tshark gives one of these names."""
        return np.array([any(row[f"tcp.analysis.{kind}"] for kind in kinds) for row in self.rows])

    def numbers(self, name: str) -> list[int]:
        return [int(row[name], 0) for row in self.rows]


@cache
def run(name: str) -> RunResult:
    return CASES[name].scenario.run()


def seen_at(point: str, tap: int, name: str, folder: Path) -> Seen:
    case, result = CASES[name], run(name)
    file = folder / "x.pcapng"
    export_file(result, "pcapng", file, points=(point,), ip=case.ip, snaplen=0)
    # SACK blocks have no raw fields.
    rows = tshark(file, *FIELDS, options=("-otcp.relative_sequence_numbers:FALSE",))
    packets = result.tables["packets"]
    here = packets["tap"] == tap
    assert here.sum() == len(rows) > 100
    table = {name: values[here] for name, values in packets.items()}
    assert [row[0] for row in rows] == [str(number) for number in table["id"]]
    return Seen(case, result, table, [dict(zip(FIELDS, row, strict=True)) for row in rows])


@pytest.fixture(scope="module", params=CASES)
def sender(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What a capture at the senders shows."""
    return seen_at("sender", SENDER, request.param, tmp_path_factory.mktemp("sender"))


@pytest.fixture(scope="module", params=CASES)
def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What a capture at the receivers shows."""
    return seen_at("receiver", RECEIVER, request.param, tmp_path_factory.mktemp("receiver"))


def test_packets_are_well_formed(sender: Seen) -> None:
    """Checksums are right, nothing is malformed, and packets, SYNs included, are as long as in the simulation."""
    good, of_ip = "1", "1" if sender.case.ip == 4 else ""
    for row, size, protocol in zip(sender.rows, sender.table["size"], sender.table["proto"], strict=True):
        assert (row["_ws.malformed"], row["_ws.short"], row["ip.checksum.status"]) == ("", "", of_ip)
        of_tcp, of_udp = (good, "") if protocol == 6 else ("", good)
        assert (row["tcp.checksum.status"], row["udp.checksum.status"]) == (of_tcp, of_udp)
        # IPv6 headers are 20 bytes longer, and not counted in their length.
        assert (row["ip.len"], row["ipv6.plen"]) == ((str(size), "") if of_ip else ("", str(size - 20)))
        assert row["udp.length"] == (str(size - 20) if of_udp else "")


def test_remarks_are_explained(sender: Seen) -> None:
    """Each remark that a case explains appears, and no other remark."""
    remarks = set()
    for row in sender.rows:
        severities, messages = row["_ws.expert.severity"].split("|"), row["_ws.expert.message"].split("|")
        remarks |= {m for s, m in zip(severities, messages, strict=True) if s not in ("", COMMENT)}
    expected = HANDSHAKE | sender.case.remarks
    allowed = expected | sender.case.possible
    kinds = {message: {one for one in allowed if message.startswith(one)} for message in remarks}
    assert [message for message, explained in kinds.items() if not explained] == []
    assert set().union(*kinds.values()) - sender.case.possible == expected


def test_connections_are_complete(sender: Seen, tmp_path: Path) -> None:
    """A transfer ends with both FINs: tshark finds SYN, SYN|ACK, ACK, data and FIN (1 + 2 + 4 + 8 + 16), and no segment
    that it has not seen. The last packet acknowledges the second FIN.
    """
    if not sender.case.remarks >= FINISH:
        pytest.skip("this flow goes on")
    file = tmp_path / "x.pcapng"
    export_file(sender.result, "pcapng", file, points=("sender",), ip=sender.case.ip, snaplen=0)
    rows = tshark(file, "tcp.completeness", "tcp.flags", "tcp.seq", "tcp.ack", "tcp.analysis.ack_lost_segment")
    assert rows[-1][0] == "31"
    assert not sender.flagged("lost_segment").any()
    assert not any(row[4] for row in rows)
    fins = [at for at, row in enumerate(rows) if int(row[1], 16) & FIN]
    ours, theirs = rows[fins[0]], rows[fins[-1]]
    assert {rows[at][2] for at in fins} == {ours[2], theirs[2]}, "the same FIN may come again"
    assert int(theirs[3]) == int(ours[2]) + int(sender.table["payload"][fins[0]]) + 1
    assert (rows[-1][2], int(rows[-1][3])) == (theirs[3], int(theirs[2]) + 1)


def test_retransmissions(sender: Seen) -> None:
    """Each retransmission is found, and nothing else is taken for one.

    tshark's name for a retransmission depends on when it is sent (see above): the union is the right set.
    """
    table = sender.table
    again = table["retransmission"] & (table["dir"] == 0)
    assert np.array_equal(sender.flagged(*KINDS), again)
    syn = (table["flags"] & SYN != 0) & again
    assert again.sum() - syn.sum() == sum(flow["retransmits"] or 0 for flow in sender.result.flows)
    for at in np.flatnonzero(sender.flagged("out_of_order")):
        mine = (table["flow"] == table["flow"][at]) & (table["dir"] == 0)
        sent, new = table["t_ns"][mine], mine & ~again & (table["payload"] > 0)
        latest = table["t_ns"][new & (np.arange(len(new)) < at)].max()
        assert table["t_ns"][at] - latest < sent[1] - sent[0], "the handshake takes a round trip"


def test_feedback(sender: Seen) -> None:
    """Flags, acknowledgement numbers, windows and SACK blocks are those of the simulation."""
    table = sender.table
    blocks = 0
    for at, row in enumerate(sender.rows):
        if table["proto"][at] != 6:
            continue
        syn, reply = bool(table["flags"][at] & SYN), bool(table["dir"][at])
        data = 1000 * (int(table["flow"][at]) + 1)
        source, destination = (data + 500_000, data) if reply else (data, data + 500_000)
        assert int(row["tcp.seq_raw"]) == source + table["seq"][at]
        assert int(row["tcp.flags"], 16) == table["flags"][at] | (0 if syn else ACK)
        assert int(row["tcp.len"]) == table["payload"][at]
        if reply:
            assert int(row["tcp.ack_raw"]) == destination + table["ack"][at]
            # The window of the SYN|ACK is not scaled, so that it is at most 64 KiB.
            assert int(row["tcp.window_size"]) == min(table["window"][at], 65535 if syn else 2**30)
        n = int(table["sack_n"][at])
        for edge, name in (("start", "tcp.options.sack_le"), ("end", "tcp.options.sack_re")):
            numbers = [destination + int(table[f"sack{k}_{edge}"][at]) for k in range(1, n + 1)]
            assert row[name] == "|".join(map(str, numbers))
        blocks += n
    sack = "Duplicate ACK" in sender.case.remarks and sender.case is not CASES["no SACK"]
    assert (blocks > 0) == sack


def test_duplicate_sack(sender: Seen) -> None:
    """A first block below the acknowledgement, or within the second one, is a duplicate (RFC 2883)."""
    table = sender.table
    start, end = table["sack1_start"], table["sack1_end"]
    inside = (table["sack_n"] > 1) & (start >= table["sack2_start"]) & (end <= table["sack2_end"])
    duplicate = (table["sack_n"] > 0) & ((end <= table["ack"]) | inside)
    assert [TWICE in row["_ws.expert.message"] for row in sender.rows] == duplicate.tolist()
    assert duplicate.any() == (TWICE in sender.case.remarks)


def test_hidden_state(sender: Seen) -> None:
    """A packet that a TCP sender sends has a comment if state or ssthresh are not those after the packet before
    it; no other packet has one, because analysers list all comments among their remarks.
    """
    table = sender.table
    state = re.compile(r"cwnd=(\d+) ssthresh=(\d+|inf) in_flight=(\d+) srtt_ms=([\d.]+) state=(\w+) limited_by=(\w+)")
    states = ("Open", "Disorder", "CWR", "Recovery", "Loss")
    told = 0
    last: dict[int, tuple[int, int]] = {}
    connections = table.get("connection", table["flow"])
    for at, row in enumerate(sender.rows):
        match = state.search(row["frame.comment"])
        if table["proto"][at] == 6 and table["dir"][at] == 0:
            now = (int(table["state"][at]), int(table["ssthresh"][at]))
            assert (match is not None) == (last.get(connections[at]) != now)
            last[connections[at]] = now
        else:
            assert match is None
        if match:
            cwnd, ssthresh, in_flight, srtt, name, _ = match.groups()
            numbers = [cwnd, in_flight, "18446744073709551615" if ssthresh == "inf" else ssthresh]
            assert numbers == [str(table[column][at]) for column in ("cwnd", "in_flight", "ssthresh")]
            assert float(srtt) == pytest.approx(table["srtt_ns"][at] / 1e6, abs=1e-3)
            assert name == states[table["state"][at]]
            told += 1
        again = bool(table["retransmission"][at]) and table["dir"][at] == 0
        assert ("retransmission" in row["frame.comment"].split(",")[0].split("|")[0]) == again
    assert told > 0


def test_receivers_see_what_came_late(receiver: Seen) -> None:
    """Behind the path, a segment that starts below the highest end seen is late: sent again, overtaken or doubled.

    tshark guesses by time and duplicate ACKs which of these it was, but it knows that it was one of them.
    """
    table = receiver.table
    late = np.zeros(len(receiver.rows), np.bool_)
    for flow in np.unique(table["flow"][table["proto"] == 6]):
        mine = np.flatnonzero((table["flow"] == flow) & (table["dir"] == 0))
        length = table["payload"][mine] + (table["flags"][mine] & SYN != 0)
        highest = np.maximum.accumulate(table["seq"][mine] + length)
        late[mine[1:]] = table["seq"][mine[1:]] < highest[:-1]
        # The answer to the SYN is the only ACK that is sent again.
        answers = np.flatnonzero((table["flow"] == flow) & (table["flags"] == SYN | ACK))
        late[answers[1:]] = True
    assert np.array_equal(receiver.flagged(*KINDS), late)


def test_receivers_miss_what_was_lost(receiver: Seen) -> None:
    """`Previous segment not captured` appears where the highest number jumps; the segments in between were dropped or
    are late themselves (spec 18.1).
    """
    table, everywhere = receiver.table, receiver.result.tables["packets"]
    gaps = np.zeros(len(receiver.rows), np.bool_)
    for flow in np.unique(table["flow"][table["proto"] == 6]):
        dropped = (everywhere["flow"] == flow) & (everywhere["drop"] > 0)
        lost = set(everywhere["seq"][dropped].tolist())
        arrivals = np.flatnonzero((table["flow"] == flow) & (table["payload"] > 0))
        first_try = set(table["seq"][arrivals[~table["retransmission"][arrivals]]].tolist())
        mss = int(table["payload"][arrivals].max())
        highest = 1
        for at in arrivals:
            seq = int(table["seq"][at])
            gaps[at] = seq > highest
            for missing in range(highest, seq, mss):
                assert missing in lost or missing in first_try
            highest = max(highest, seq + int(table["payload"][at]))
    assert np.array_equal(receiver.flagged("lost_segment"), gaps)
    assert gaps.any() == (receiver.case.remarks >= LOSS)


def test_cases_are_what_they_are_called() -> None:
    """Each case contains the events that it is meant to test."""
    flows = {name: run(name) for name in CASES}
    first = {name: result.flows[0] for name, result in flows.items()}
    assert flows["tail drop"].queues[0]["drops"]["full"] > 10
    assert first["tail drop"]["loss_episodes"] > 1
    assert first["reordering and duplication"]["undos"] > 1
    assert first["ECN"]["ecn_reductions"] > 2
    syns = flows["lost SYN"].tables["packets"]
    assert ((syns["flags"] == SYN) & (syns["tap"] == SENDER)).sum() == 2
    tail = first["tail loss"]
    assert (tail["tlps"], tail["retransmits"], tail["rtos"], tail["drops"]["wire"]) == (1, 1, 0, 1)
    table = flows["lost retransmission"].tables["packets"]
    lost = table["drop"] > 0
    assert (len(set(table["seq"][lost])), table["retransmission"][lost].tolist()) == (1, [False, True])
    assert (first["spurious RTO"]["rtos"], first["spurious RTO"]["spurious_rtos"]) == (1, 1)
    assert [flow["datagrams"] is not None for flow in flows["UDP"].flows] == [False, True, True]


def test_ecn_counts(receiver: Seen) -> None:
    """Spec 18.1: counts of the ECN field, the ACKs' reports of marks, and the DSCP are those of the simulator."""
    table, flow = receiver.table, receiver.result.flows[0]
    version = "ipv6.tclass" if receiver.case.ip == 6 else "ip.dsfield"
    ecn, dscp = (np.array(receiver.numbers(f"{version}.{field}")) for field in ("ecn", "dscp"))
    data = (table["payload"] > 0) & (table["proto"] == 6)
    accecn, mds = receiver.case is CASES["AccECN"], receiver.case is CASES["MDS"]
    quic = receiver.case is CASES["QUIC's counts"]
    capable = accecn or mds or quic or receiver.case is CASES["ECN"]
    seen = Counter(ecn[data].tolist())
    assert (seen[CE], seen[ECT1]) == (flow["ce_marks"], flow["sce_marks"])
    # Retransmissions are not ECN-capable, but with AccECN in Linux they are, and ACKs too.
    again = data & table["retransmission"] & (not accecn)
    assert seen[ECT0] == ((data & ~again).sum() - seen[CE] - seen[ECT1] if capable else 0)
    assert (seen[CE] > 2, seen[ECT1] > 50) == (capable, mds)
    syn = table["flags"] & SYN > 0
    assert set(ecn[~data & syn].tolist()) <= {0}
    assert set(ecn[~data & ~syn].tolist()) <= {ECT0 if accecn else 0}
    assert np.all(dscp[data] == (MDS_DSCP if mds else 0))
    if accecn:
        return  # its flags are a counter
    flags = table["flags"][(table["dir"] == 1) & ~syn]
    if quic:
        counts = [table[f"accecn{n}"][table["accecn_kind"] == 254][-1] for n in (1, 2, 3)]
        assert (counts[1], counts[2], abs(int(counts[0]) - seen[ECT0]) <= 2) == (0, seen[CE], True)
        assert not np.any(flags & (AE | ECE)) and seen[CE] > 2
        return
    assert (np.any(flags & AE), np.any(flags & ECE)) == (seen[ECT1] > 0, seen[CE] > 0)


@pytest.mark.parametrize("ect", ["ect0", "ect1"])
def test_accecn(ect: str, tmp_path: Path) -> None:
    """RFC 9768 as tshark decodes it: what both ends say in the handshake (tables 2 and 3), and what ACKs report.

    At the receiver, ACE field and option of each ACK are the counts of the ECN fields that tshark has seen before.
    """
    flow = {"cc": "cubic", "ecn": "accecn", "ect": ect}
    queue = {"kind": "brickwall", "ce_threshold": "5 ms", "ecn_mode": "rfc3168"}
    lost = losses(300, 304, 308, 312, 316)
    result = path(flow, queue=queue, impair=lost, duration="8 s").run()
    file = tmp_path / "x.pcapng"
    export_file(result, "pcapng", file, points=("receiver",), snaplen=0)
    options = tuple(f"tcp.options.acc_ecn.{name}" for name in ("ee0b", "eceb", "ee1b"))
    names = ("tcp.srcport", "tcp.flags", "tcp.flags.ace", "tcp.len", "ip.dsfield.ecn", "tcp.option_kind", *options)
    packets = [dict(zip(names, row, strict=True)) for row in tshark(file, *names)]
    # What is missing here was lost on the way, and was sent again.
    explained = (*LOSS, AGAIN, EARLY, NOPS, *HANDSHAKE, "Previous segment(s) not captured")
    remarks = tshark(file, "_ws.expert.message", only=f"_ws.expert.severity != {COMMENT}")
    assert [text for (row,) in remarks for text in row.split("|") if not text.startswith(explained)] == []
    assert tshark(file, "frame.number", only="_ws.malformed || _ws.short || tcp.checksum.status != 1") == []

    client = packets[0]["tcp.srcport"]
    syn, answer, third = packets[:3]
    three = AE | CWR | ECE
    assert int(syn["tcp.flags"], 16) == SYN | three
    # 010 on the SYN|ACK and on its ACK: the packet that each answers arrived as Not-ECT.
    assert int(answer["tcp.flags"], 16) == SYN | ACK | CWR
    assert int(third["tcp.flags"], 16) == ACK | CWR
    assert [answer[name] for name in options] == ["1", "0", "1"] == [third[name] for name in options]

    # r.cep, and r.e0b, r.ceb and r.e1b by code point.
    cep, counters = 5, {ECT0: 1, CE: 0, ECT1: 1}
    with_option, kinds, at_last = 0, set(), ["", "", ""]
    for packet in packets[3:]:
        if packet["tcp.srcport"] == client:
            code = int(packet["ip.dsfield.ecn"], 0)
            if code in counters:
                counters[code] += int(packet["tcp.len"])
            cep += code == CE
            continue
        assert int(packet["tcp.flags.ace"], 0) == cep % 8
        told = [packet[name] for name in options]
        of_accecn = {"172", "174"} & set(packet["tcp.option_kind"].split("|"))
        assert bool(of_accecn) == any(told)
        if of_accecn:
            expected = [str(counters[code] % 2**24) for code in (ECT0, CE, ECT1)]
            assert all(got in ("", wanted) for got, wanted in zip(told, expected, strict=True))
            with_option, kinds, at_last = with_option + 1, kinds | of_accecn, told
    # Order 0 starts with ECT(0), order 1 with ECT(1) (section 3.2.3).
    assert kinds == {"172" if ect == "ect0" else "174"}
    assert (at_last[0] != "", at_last[2] != "") == (ect == "ect0", ect == "ect1")
    assert with_option > 300
    assert cep > 5 + 8, "the ACE field went round"
    assert result.flows[0]["ce_marks"] == cep - 5
    assert result.flows[0]["retransmits"] >= 5, "there were SACK blocks next to the option"
