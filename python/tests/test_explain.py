"""``windtunnel explain``: each answer against runs whose truth is known, and against captures of a real kernel.

The simulator records what the answers are about: its senders' windows, flights, limits and losses. The kernel's
captures were made on paths whose rates, delays and queues are written next to them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from honest_flows import ENDS, KnownFlow, flows
from traces import Script, captured, explained, honest, run_of, simulated

from windtunnel import RunResult, ScenarioError
from windtunnel.explain import families
from windtunnel.explain.limits import limits_of, shares
from windtunnel.explain.rounds import rounds_of
from windtunnel.explain.shadows import SHADOWS, fit, shadows
from windtunnel.explain.trace import OVERTAKEN, RECEIVER, SENDER, _handshake, of_run


def truth(result: RunResult, column: str) -> Any:
    """What the sender of the first flow recorded at each departure of data."""
    packets = result.tables["packets"]
    return packets[column][
        (packets["tap"] == 0) & (packets["dir"] == 0) & (packets["flow"] == 0) & (packets["payload"] > 0)
    ]


def flow_of(result: RunResult, point: int = SENDER) -> dict[str, Any]:
    flow: dict[str, Any] = explained(result, point).document["flows"][0]
    return flow


# --- the walk --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("controller", ["reno", "cubic", "scalable"])
def test_the_flight_is_the_senders_own(controller: str) -> None:
    """What is in flight at each departure, from headers alone, is what the sender counts (RFC 6675's pipe)."""
    result = run_of(controller)
    sends = explained(result).trace.flows[0].sends
    assert sends is not None
    counted = truth(result, "in_flight")
    assert np.mean(sends["in_flight"] == counted) > 0.98
    assert int(np.sum(sends["kind"] > 0)) == int(truth(result, "retransmission").sum())


@pytest.mark.parametrize("point", [SENDER, RECEIVER])
def test_cwnd_from_what_is_in_flight(point: int) -> None:
    """In 9 of 10 round trips the estimate is the sender's window, to one segment, wherever the capture was made."""
    result = run_of("reno")
    seen = explained(result, point)
    rounds = seen.rounds[0]
    assert rounds is not None
    shown = (rounds.lost == 0) & (rounds.sent > 0)
    cwnd = np.interp(rounds.end, truth(result, "t_ns") / 1e9, truth(result, "cwnd")) / 1448
    assert np.mean(np.abs(rounds.window - cwnd)[shown] <= 1.01) > 0.9
    window = seen.document["flows"][0]["window"]
    at_end = np.interp(window["last_s"], truth(result, "t_ns") / 1e9, truth(result, "cwnd")) / 1448
    assert window["last_segments"] == pytest.approx(at_end, abs=1.1)


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "flow"),
    [
        ("cwnd", {"cc": "reno"}),
        ("receiver", {"cc": "reno", "tcp": {"receive_window": "16 kB", "autotuning": False}}),
        (
            "application",
            {"cc": "reno", "app": {"kind": "request-response", "size": {"kind": "fixed", "value": "9 kB"}}},
        ),
        ("pacing", {"cc": "reno", "pacing": True, "tcp": {"max_pacing_rate": "4 Mbit/s"}}),
    ],
)
def test_what_limits_the_sender(limit: str, flow: dict[str, Any]) -> None:
    """The limit that the scenario sets has the most time, as the packets alone show it. The answer is what the sender
    itself counted, with the same limit.
    """
    result = simulated([{"name": "one", "rtt": "40 ms", **flow}], seconds=6)
    seen = explained(result)
    rounds, codes = seen.rounds[0], seen.codes[0]
    assert rounds is not None and codes is not None
    captured_alone = shares(rounds, codes)
    assert max(captured_alone, key=captured_alone.__getitem__) == limit, captured_alone
    assert captured_alone[limit] > 0.8
    answer, counted = seen.document["flows"][0]["limits"], result.flows[0]["limited"]
    assert answer["from"] == "the sender's own counters"
    assert answer["shares"] == pytest.approx({name: n / sum(counted.values()) for name, n in counted.items()})
    assert max(answer["shares"], key=answer["shares"].get) == limit, counted


def test_a_runs_counters_decide() -> None:
    """A capture at the receiver sees no pacing (``test_what_limits_a_real_sender``); the run's counters are about its
    sender, wherever the packets were seen.
    """
    flow = {"name": "one", "cc": "reno", "rtt": "40 ms", "pacing": True, "tcp": {"max_pacing_rate": "4 Mbit/s"}}
    result = simulated([flow], seconds=6)
    assert flow_of(result, RECEIVER)["limits"] == flow_of(result, SENDER)["limits"]


@pytest.mark.parametrize(
    ("capture", "limit"),
    [
        ("application-limited.pcap", "application"),
        ("receiver-limited.pcap", "receiver"),
        ("reno-at-sender.pcap", "cwnd"),
        ("bbr-at-sender.pcap", "pacing"),
    ],
)
def test_what_limits_a_real_sender(capture: str, limit: str) -> None:
    assert captured(capture).document["flows"][0]["limits"]["shares"][limit] > 0.8


# --- the law of the window -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("controller", "a", "b"),
    [
        # RFC 5681: one segment per round trip, half; the Linux sender grows by less than a segment while SACK
        # recovery ends, which is within the tolerance.
        ("reno", 1.0, 0.5),
        ({"kind": "aimd", "a": 0.5, "b": 0.75}, 0.5, 0.25),
        ({"kind": "aimd", "a": 2.0, "b": 0.6}, 2.0, 0.4),
    ],
)
def test_a_and_b(controller: Any, a: float, b: float) -> None:
    result = simulated([{"name": "one", "cc": controller, "rtt": "40 ms"}], seconds=25)
    aimd = flow_of(result)["aimd"]
    assert aimd["a_segments_per_round_trip"]["median"] == pytest.approx(a, rel=0.1)
    assert aimd["b"]["median"] == pytest.approx(b, abs=0.04)
    assert aimd["fit"] > 0.95


def test_a_and_b_of_a_real_reno() -> None:
    aimd = captured("two-flows.pcap").document["flows"][0]["aimd"]
    # Delayed acknowledgements and the kernel's integer arithmetic at 15 to 30 segments.
    assert aimd["a_segments_per_round_trip"]["median"] == pytest.approx(0.9, abs=0.12)
    assert aimd["b"]["median"] == pytest.approx(0.5, abs=0.06)
    assert aimd["fit"] > 0.95


def test_b_of_a_real_cubic() -> None:
    aimd = captured("cubic-at-sender.pcapng").document["flows"][0]["aimd"]
    assert aimd["b"]["median"] == pytest.approx(0.3, abs=0.04)


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [SENDER, RECEIVER])
def test_loss_events(point: int) -> None:
    """As many as the sender had episodes of recovery; a full queue is seen as such from both ends."""
    result = run_of("reno")
    losses = flow_of(result, point)["overflow"]
    assert losses["events"] == result.flows[0]["loss_episodes"]
    assert losses["with_a_full_queue"] == losses["events"]
    assert losses["segments"] == pytest.approx(result.flows[0]["retransmits"], rel=0.05)


def test_random_losses_are_no_overflows() -> None:
    loss = {"kind": "loss", "probability": "0.5 %", "affects": "data"}
    result = simulated([{"name": "one", "cc": "reno", "rtt": "40 ms"}], impair=[loss])
    losses = flow_of(result)["overflow"]
    assert losses["events"] > 10
    assert losses["with_a_full_queue"] < 0.3 * losses["events"]


def test_flows_that_lose_together() -> None:
    """Two equal flows that start together over a short queue lose in the same overflows if each segment has an ACK; at
    random they do not.
    """
    flow = {"cc": "reno", "rtt": "40 ms", "ack": "immediate"}
    together = explained(simulated([{"name": "one", **flow}, {"name": "two", **flow}]))
    synchronisation = together.document["together"]["synchronisation"]
    assert synchronisation["index"] > 0.5
    losses = {"kind": "loss", "probability": "0.5 %", "affects": "data"}
    random = explained(
        simulated([{"name": "one", **flow}, {"name": "two", **flow}], rate="100 Mbit/s", impair=[losses])
    )
    assert random.document["together"]["synchronisation"]["index"] < synchronisation["index"] / 2


def test_convergence() -> None:
    """A second Reno gets its share; over one bottleneck with different round trips rates stay unequal."""
    flow = {"cc": "reno", "rtt": "40 ms"}
    # At 5.1 s the queue has room for the second SYN; at 5 s it is full, and the flow begins a second later.
    flows = [{"name": "one", **flow}, {"name": "two", "start": "5.1 s", **flow}]
    queue = {"kind": "fifo", "limit": "33 packets"}
    fair = explained(simulated(flows, seconds=40, queue=queue)).document["together"]["convergence"]
    assert fair["together_from_s"] == pytest.approx(5, abs=0.2)
    assert 0 <= fair["converged_after_s"] < 20
    assert fair["jain_of_steps"]["low"] < fair["jain_of_steps"]["mean"] < fair["jain_of_steps"]["high"]
    # Rates as the inverse of the round trips, queue included (about 60 and 340 ms): an index of 0.67.
    flows[1]["rtt"] = "320 ms"
    unfair = explained(simulated(flows, seconds=40, queue=queue)).document["together"]["convergence"]
    assert unfair["jain"] < 0.8
    assert unfair["jain"] < fair["jain"]


# --- BBR -------------------------------------------------------------------------------------------------------------


def test_phases_of_a_real_bbr() -> None:
    """BBR version 1 probes for the round-trip time 10 s after it last saw the least, for 200 ms."""
    bbr = captured("bbr-at-sender.pcap").document["flows"][0]["bbr"]
    probes = [phase for phase in bbr["phases"] if phase["phase"] == "round-trip probe"]
    assert len(probes) == 1
    assert 9.5 < probes[0]["from_s"] < 10.8
    assert 0.15 < probes[0]["to_s"] - probes[0]["from_s"] < 0.5
    assert bbr["phases"][0]["phase"] == "start-up"


@pytest.mark.parametrize("capture", ["reno-at-sender.pcap", "reno-at-receiver.pcap", "cubic-at-sender.pcapng"])
def test_others_have_no_probes_for_the_round_trip(capture: str) -> None:
    bbr = captured(capture).document["flows"][0]["bbr"]
    assert bbr is None or bbr["round_trip_probes"] == 0


# --- cheating --------------------------------------------------------------------------------------------------------


def signs(flow: dict[str, Any]) -> dict[str, bool | None]:
    return {sign["sign"]: sign["found"] for sign in flow["misbehaviour"]}


def divides(script: Script, at: float, n: int) -> None:
    """Savage et al. 1999, section 2.1: several acknowledgements for one segment."""
    for part in (0.25, 0.5, 0.75, 1.0):
        script.ack(at + 1e-4 * part, n + part)


def spoofs(script: Script, at: float, n: int) -> None:
    """Section 2.2: duplicates that no arrival causes."""
    for copy in range(6):
        script.ack(at + 1e-5 * copy, n + 1)


def hurries(script: Script, at: float, n: int) -> None:
    """Section 2.3: acknowledgements of segments that have not been sent."""
    script.ack(at, n + 40)


@pytest.mark.parametrize(
    ("sign", "acks"),
    [
        ("ACK division", divides),
        ("duplicate-ACK spoofing", spoofs),
        ("optimistic ACKs", hurries),
        (None, honest),
    ],
)
def test_misbehaving_receivers(sign: str | None, acks: Any) -> None:
    """Each attack is found, and only that one."""
    answers = signs(Script().transfer(12, 10, acks).explain())
    assert {name for name, there in answers.items() if there} == ({sign} if sign else set())


def test_data_that_were_not_captured_accuse_nobody() -> None:
    """A capture misses packets on a busy machine; an honest receiver acknowledges them too, with duplicates below the
    hole that a lost segment leaves.
    """
    for missed in (lambda n: n % 3 == 1, lambda n: n % 12 >= 8, lambda n: n > 100):
        script = Script().transfer(12, 10, honest)
        for n in range(120, 130):
            script.data(1.3, n)
            script.ack(1.4, 120)  # segment 120 is lost
        rows = [row for row in script.rows if not row["payload"] or not missed((row["seq"] - 1) // script.mss)]
        assert len(rows) < len(script.rows)
        flow = Script(rows=rows).explain()
        assert not [name for name, there in signs(flow).items() if there], flow["misbehaviour"]
    optimistic = next(sign for sign in flow["misbehaviour"] if sign["sign"] == "optimistic ACKs")
    assert "acknowledge data that were not captured" in optimistic["evidence"]


def test_holes_hide_no_optimist() -> None:
    """The same capture of a receiver that does cheat, with the part of its data that was captured."""
    script = Script().transfer(12, 10, hurries)
    rows = [row for row in script.rows if not row["payload"] or (row["seq"] - 1) // script.mss % 3 != 1]
    answers = signs(Script(rows=rows).explain())
    assert {name for name, there in answers.items() if there} == {"optimistic ACKs"}


def test_a_handshake_with_a_lost_syn() -> None:
    """A SYN that is sent again after a second makes no acknowledgement early: the handshake begins with the SYN that
    was answered. Differences of less than a millisecond are those of a host.
    """
    syns = {"t_ns": np.array([0, 1_000_000_000, 1_040_000_000]), "dir": np.array([0, 0, 1])}
    assert _handshake({**syns, "flags": np.array([0x02, 0x02, 0x12])}) == pytest.approx(0.04)
    # Only the answer was captured; and the receiver of the data opened the connection.
    assert _handshake({name: column[2:] for name, column in {**syns, "flags": np.array([2, 2, 0x12])}.items()}) is None
    other = {"t_ns": syns["t_ns"], "dir": 1 - syns["dir"], "flags": np.array([0x02, 0x02, 0x12])}
    assert _handshake(other) == pytest.approx(0.04)
    script = Script()
    for n in range(60):
        script.data(0.001 * n, n)
        script.ack(0.001 * n + 0.0001, n + 1)
    assert signs(script.explain(handshake_s=0.0009))["optimistic ACKs"] is False
    assert signs(script.explain(handshake_s=0.1))["optimistic ACKs"] is True


def test_hidden_marks() -> None:
    """Marks that pass the capture point and are never echoed; echoed ones are no sign."""
    for flags, hidden in ((0x10, True), (0x50, False)):
        script = Script()
        for n in range(60):
            script.data(0.01 * n, n, ecn=3)
            script.ack(0.01 * n + 0.05, n + 1, flags=flags)
        assert signs(script.explain())["hidden marks"] is hidden


@pytest.mark.parametrize(("share", "hidden"), [(1.0, True), (0.0, False)])
def test_marks_that_a_simulated_receiver_hides(share: float, hidden: bool) -> None:
    """A run knows the marks that its receiver got, although no packet at the sender shows them."""
    flow = {"name": "one", "cc": "reno", "rtt": "40 ms", "ecn": True, "ack": {"hide_marks": share}}
    result = simulated([flow], seconds=8, queue={"kind": "codel", "ecn": True})
    assert signs(flow_of(result))["hidden marks"] is hidden


@pytest.mark.parametrize(
    ("controller", "queue", "rate", "rtt"),
    [
        ("reno", {"kind": "fifo", "limit": "1 bdp"}, "20 Mbit/s", "40 ms"),
        ("cubic", {"kind": "codel"}, "12 Mbit/s", "28 ms"),
        ("scalable", {"kind": "fifo", "limit": "0.6 bdp"}, "7 Mbit/s", "31 ms"),
    ],
)
def test_a_sender_that_ignores_losses(controller: str, queue: dict[str, Any], rate: str, rtt: str) -> None:
    """A deaf sender is accused, and the same sender that hears is not, with random losses on their way."""
    loss = {"kind": "loss", "probability": "0.5 %", "affects": "data"}
    for unresponsive, deaf in (("all", True), (None, False)):
        flow = {"name": "one", "cc": controller, "rtt": rtt, "unresponsive": unresponsive}
        result = simulated([flow], impair=[loss], rate=rate, queue=queue, seconds=8)
        assert bool(signs(flow_of(result))["sender ignores losses"]) is deaf


@pytest.mark.parametrize(
    ("controller", "probability"), [("illinois", "0.5 %"), ("bbr3", "1 %"), ("copa", "1 %"), ("vivace", "0.5 %")]
)
def test_losses_at_random_may_stay_without_an_answer(controller: str, probability: str) -> None:
    """Where there is no queue, Illinois (Linux ``tcp_illinois.c``) falls by an eighth and gains ten segments per round
    trip, so that it is soon back; the others keep their rate below 2 % of losses and more. A few losses accuse none.
    """
    loss = {"kind": "loss", "probability": probability, "affects": "data"}
    flow = {"name": "one", "cc": controller, "rtt": "40 ms"}
    result = simulated([flow], impair=[loss], rate="40 Mbit/s", seconds=6)
    for point in (SENDER, RECEIVER):
        assert not any(signs(flow_of(result, point)).values())


def test_data_that_were_overtaken_are_not_lost() -> None:
    """At the receiver a segment that others have overtaken comes late, as one that was sent again, but sooner than its
    sender can have heard of the hole: it is no loss, and accuses no one.
    """
    jitter = {"kind": "jitter", "mean": "5 ms", "deviation": "5 ms", "reorder": True}
    result = simulated([{"name": "one", "cc": "cubic", "rtt": "60 ms"}], impair=[jitter], rate="10 Mbit/s", seconds=8)
    seen = explained(result, RECEIVER)
    sends = seen.trace.flows[0].sends
    assert sends is not None
    packets = result.tables["packets"]
    here = (packets["tap"] == RECEIVER) & (packets["dir"] == 0) & (packets["payload"] > 0)
    again, kinds = packets["retransmission"][here] > 0, sends["kind"]
    late = np.diff(np.maximum.accumulate(sends["seq"]), prepend=0) == 0
    # First transmissions that came late.
    assert np.sum(late & ~again) > 100
    assert np.mean(kinds[late & ~again] == OVERTAKEN) > 0.95
    assert np.mean(kinds[again] == OVERTAKEN) < 0.05
    assert not any(signs(seen.document["flows"][0]).values())


_MARKING: dict[str, dict[str, Any]] = {
    **{kind: {"kind": kind, "ecn": True} for kind in ("fq_codel", "codel", "pie", "red")},
    **{kind: {"kind": kind} for kind in ("cake", "dualpi2", "step")},
}


@pytest.mark.parametrize("queue", _MARKING)
@pytest.mark.parametrize("controller", ["dctcp", "illinois"])
def test_answers_to_a_few_marks_may_be_small(controller: str, queue: str) -> None:
    """DCTCP lowers its window by half of the average share of marks (RFC 8257 section 3.3), Illinois by an eighth where
    delays are short, and both grow again within the three round trips that count: no sign of a deaf sender.
    """
    flow = {"name": "one", "cc": controller, "rtt": "40 ms", "ecn": True}
    for rate in ("10 Mbit/s", "40 Mbit/s"):
        result = simulated([flow], rate=rate, queue=_MARKING[queue])
        answers = flow_of(result)["misbehaviour"]
        assert not [sign for sign in answers if sign["found"]], (rate, answers)


@pytest.mark.parametrize("controller", ["reno", "dctcp"])
def test_a_sender_that_ignores_marks(controller: str) -> None:
    """It fills its receiver's window, three times what the path holds, and lets marks go on, so that they are many: an
    answer to them would show. One that answers is not accused.
    """
    flow = {"name": "one", "cc": controller, "rtt": "40 ms", "ecn": True}
    flow["tcp"] = {"receive_window": "600 kB", "autotuning": False}
    honest_result = simulated([flow], queue={"kind": "step"}, rate="40 Mbit/s")
    assert not signs(flow_of(honest_result))["sender ignores losses"]
    flow["unresponsive"] = "marks"
    result = simulated([flow], queue={"kind": "step"}, rate="40 Mbit/s")
    assert signs(flow_of(result))["sender ignores losses"] is True


#: Flows on which a simpler rule accuses an honest sender, and the controller that would have done the same.
_HARD = (
    # It loses a tenth and more in each round trip for minutes, and gives up two thirds of a segment for each.
    (KnownFlow("iiad", "tail drop of 2 BDP", 513), "iiad"),
    # What is in flight is less than its window while much is lost at once.
    (KnownFlow("iiad", "PIE", 713), "iiad"),
    # An answer to marks of one segment in a hundred.
    (KnownFlow("iiad", "CAKE", 513), "iiad"),
    # It gains ten segments in the round trip after each answer, and loses them.
    (KnownFlow("illinois", "policer", 514), "illinois"),
    # It keeps to a rate that it has measured.
    (KnownFlow("c4", "RED", 504), "c4"),
)


@pytest.mark.parametrize(("flow", "like"), _HARD, ids=[flow.name for flow, _ in _HARD])
def test_hard_cases_of_honest_senders(flow: KnownFlow, like: str) -> None:
    """Most of their losses and marks leave the window as it was, and they go on; no one is accused. The evidence names
    the controller that does so, at both ends or at the one where as much is seen to be lost.
    """
    ends = flow.signs()
    for signs_of_end in ends.values():
        assert not [sign for sign in signs_of_end.values() if sign["found"]]
    assert like in {signs_of_end["sender ignores losses"]["like"] for signs_of_end in ends.values()}


@pytest.mark.parametrize(
    "flow",
    [
        # It keeps its window; a shadow of IIAD has it to a segment after each single loss.
        KnownFlow("iiad", "tail drop of 2 BDP", 513, "all"),
        KnownFlow("cubic", "tail drop of 1 BDP", 508, "losses"),
        KnownFlow("illinois", "policer", 514, "losses"),
        KnownFlow("ledbat-pp", "tail drop of 4 BDP", 516, "all"),
    ],
    ids=lambda flow: flow.name,
)
def test_hard_cases_of_deaf_senders(flow: KnownFlow) -> None:
    """The same paths, or such as make the window of a deaf sender look like that of an honest one."""
    for signs_of_end in flow.signs().values():
        assert signs_of_end["sender ignores losses"]["found"] is True


#: All but Copa: BBR2 over a queue that marks, where it is not recognised; and IIAD in few round trips, in which so
#: much is lost that the flight seldom shows the window.
_STILL_ACCUSED = {"bbr2, DualPI2 503", "iiad, random loss 517", "iiad, DualPI2 517"}


@pytest.mark.long
def test_honest_senders_are_not_accused() -> None:
    """600 flows and more, of every controller of TCP over paths of every family, seen at both ends. Copa is excepted:
    where its queueing delay does not grow with its rate, it never slows down, by design, and a third and more of what
    it sends is lost. Where it can be told that it is Copa, it is not accused either.
    """
    seen, accused = 0, set()
    for flow in flows():
        try:
            signs_of_flow = flow.accused()
        except ScenarioError:
            continue
        seen += len(ENDS)
        if signs_of_flow and flow.controller != "copa":
            accused.add(flow.name)
    assert seen >= 600
    assert accused <= _STILL_ACCUSED


def test_a_handshake_that_met_a_queue() -> None:
    """The handshake took 100 ms; the path takes 5 ms, and 100 ms where its queue is full. A path that has shown such
    delays accuses no receiver.
    """
    script = Script()
    for n in range(60):
        waits = 0.1 if 20 <= n < 25 else 0.005
        script.data(0.2 * n, n)
        script.ack(0.2 * n + waits, n + 1)
    assert signs(script.explain(handshake_s=0.1))["optimistic ACKs"] is False


@pytest.mark.parametrize(
    "capture", ["reno-at-sender.pcap", "reno-at-receiver.pcap", "two-flows.pcap", "ecn-marked.pcap"]
)
def test_honest_kernels(capture: str) -> None:
    for flow in captured(capture).document["flows"]:
        assert not any(signs(flow).values()), flow["misbehaviour"]


# --- the path --------------------------------------------------------------------------------------------------------


def test_bleached_signals() -> None:
    """Middleboxes of the scenario; without them nothing is said."""
    flow = {"name": "one", "cc": "reno", "rtt": "40 ms", "ecn": True}
    clean = flow_of(simulated([flow], seconds=3))
    assert clean["bleaching"] == []
    bleached = flow_of(simulated([flow], seconds=3, impair=["ecn-bleacher"]))
    assert any("lost their ECN code point" in line for line in bleached["bleaching"])


def test_stripped_options() -> None:
    """The option with which a receiver reports marks (AccECN), taken away on the way back."""
    flow = {"name": "one", "cc": "reno", "rtt": "40 ms", "ecn": "accecn"}
    assert flow_of(simulated([flow], seconds=3))["bleaching"] == []
    stripped = flow_of(simulated([flow], seconds=3, reverse={"impair": ["option-stripper"]}))
    assert any("acknowledgements lost their AccECN option" in line for line in stripped["bleaching"])


def test_where_the_queue_is() -> None:
    """A capture at the sender has the queue after it, one at the receiver before it; its size is the buffer's."""
    result = run_of("reno")
    after, before = flow_of(result, SENDER)["queue"], flow_of(result, RECEIVER)["queue"]
    assert after["verdict"].startswith("after the capture point")
    assert before["verdict"] == "before the capture point"
    # 10 Mbit/s x 40 ms: 33 packets.
    assert after["after"]["p95_segments"] == pytest.approx(33, rel=0.15)
    assert before["before"]["p95_segments"] == pytest.approx(33, rel=0.15)
    assert before["after"]["p95_segments"] < 2
    assert before["lost"]["in_front"] > 0
    assert before["lost"]["behind"] == 0


def test_where_the_queue_of_a_real_path_is() -> None:
    """20 packets, 2 Mbit/s."""
    queue = captured("reno-at-receiver.pcap").document["flows"][0]["queue"]
    assert queue["verdict"] == "before the capture point"
    assert queue["before"]["p95_segments"] == pytest.approx(20, rel=0.15)
    queue = captured("reno-at-sender.pcap").document["flows"][0]["queue"]
    assert queue["after"]["p95_segments"] == pytest.approx(20, rel=0.15)


# --- controllers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capture", "flow", "controller"),
    [
        ("reno-at-sender.pcap", 0, "reno"),
        ("reno-at-receiver.pcap", 0, "reno"),
        ("cubic-at-sender.pcapng", 0, "cubic"),
        ("two-flows.pcap", 0, "reno"),
        ("two-flows.pcap", 1, "cubic"),
        ("ecn-marked.pcap", 0, "reno"),
    ],
)
def test_which_controller_a_real_kernel_uses(capture: str, flow: int, controller: str) -> None:
    """The model has only seen simulated runs. Windows stay below 40 segments here, where Compound is Reno by definition
    (its delay window opens at 38), Westwood+ is where its estimate is half of the window, and H-TCP in the first second
    after a loss, if the queue doubles the round trip: one of them may come first, and then the answer must say that it
    is not clear.
    """
    answer = captured(capture).document["flows"][flow]["controller"]
    names = [{fit["controller"], *fit["same"]} for fit in answer["fits"]]
    assert any(controller in group for group in names)
    alike = {"reno", "compound", "westwood", "htcp"} if controller == "reno" else {controller}
    assert names[0] & alike
    assert controller in names[0] or not answer["sure"]


@pytest.mark.parametrize("capture", ["reno-at-sender.pcap", "reno-at-receiver.pcap", "cubic-at-sender.pcapng"])
def test_a_shadow_follows_a_real_kernel(capture: str) -> None:
    """Told of the same acknowledgements and losses, our controller has the kernel's window in all stretches and answers
    but one: far from the sender, the end of slow start's overshoot is not seen exactly. NewReno's growth and its half
    are RFC 5681's, CUBIC's RFC 9438's.
    """
    controller = capture.split("-")[0]
    heard = captured(capture).heard[0]
    assert heard is not None
    compared = len([first for first, _ in heard.stretches if first > 0]) + len(heard.episodes)
    assert compared >= 5
    assert (1 - fit(heard, controller).near) * compared < 1.5
    laws = captured(capture).document["flows"][0]["laws"]
    assert any(controller in (law["controller"], *law["same"]) for law in laws)


@pytest.mark.parametrize("controller", ["reno", "cubic", "highspeed", "htcp", "iiad", "scalable", "vegas", "westwood"])
@pytest.mark.parametrize("point", [SENDER, RECEIVER])
def test_a_shadow_follows_its_own_controller(controller: str, point: int) -> None:
    """A run's own controller is the nearest, at both ends of the path. The window that it would have had is within a
    segment, or 3 %, in four of five stretches and answers.
    """
    result = simulated([{"name": "one", "cc": controller, "rtt": "50 ms"}], rate="20 Mbit/s", seconds=30)
    flow = of_run(result, Path("run"), point).flows[0]
    rounds = rounds_of(flow)
    assert rounds is not None
    heard = shadows(flow, rounds, limits_of(flow, rounds))
    assert heard is not None
    own = fit(heard, controller)
    assert own.near >= 0.8
    assert own.near >= max(fit(heard, name).near for name in SHADOWS) - 0.05
    others = {"reno": "scalable", "vegas": "scalable"}.get(controller, "reno" if controller != "iiad" else "sqrt")
    if controller != "westwood":
        assert fit(heard, others).error > own.error or fit(heard, others).near < own.near


@pytest.mark.parametrize("controller", ["reno", "cubic"])
@pytest.mark.parametrize(("family", "number"), [("CAKE", 1), ("CAKE", 3), ("PIE", 3), ("FQ-CoDel", 6)])
def test_a_shadow_follows_answers_that_follow_each_other(family: str, number: int, controller: str) -> None:
    """What is lost in a recovery asks for another one, which begins when the first has ended (RFC 6675 section 5): CAKE
    drops the head of its queue meanwhile, and the window is halved three times. An answer to marks lasts until
    something is acknowledged that left after CWR (RFC 3168 section 6.1.2), and makes no second one if losses follow.
    """
    result = families.scenario(controller, families.path(family, number)).run()
    flow = next(flow for flow in of_run(result, Path("run"), SENDER).flows if flow.name == families.ONE)
    rounds = rounds_of(flow)
    assert rounds is not None
    heard = shadows(flow, rounds, limits_of(flow, rounds))
    assert heard is not None
    assert heard.episodes
    own = fit(heard, controller)
    assert own.near >= 0.95
    for error in (own.loss, own.marks):
        assert not error > 0.02


@pytest.mark.parametrize("capture", ["application-limited.pcap", "receiver-limited.pcap"])
def test_no_controller_where_none_decided(capture: str) -> None:
    answer = captured(capture).document["flows"][0]["controller"]
    assert answer["fits"] == []
    assert not answer["sure"]


def test_a_run_without_packets() -> None:
    """Its series still show the window; what only packets show is said to be missing, not absent."""
    result = simulated([{"name": "one", "cc": "cubic", "rtt": "40 ms"}], packets=False, seconds=25)
    seen = explained(result)
    flow = seen.document["flows"][0]
    assert any("record.packets=true" in note for note in seen.document["notes"])
    assert flow["misbehaviour"] is None
    assert flow["bleaching"] is None
    assert flow["limits"]["shares"]["cwnd"] > 0.9
    assert flow["aimd"]["b"]["median"] == pytest.approx(0.3, abs=0.06)
    assert flow["overflow"]["events"] == pytest.approx(result.flows[0]["loss_episodes"], abs=1)


def test_media_over_rtp_are_left_out() -> None:
    """What is explained are TCP's windows and answers; a flow over RTP has a window, but none of these."""
    media = {"kind": "media", "protocol": "rtp"}
    flows = [
        {"name": "call", "cc": "scream", "rtt": "40 ms", "app": media},
        {"name": "one", "cc": "cubic", "rtt": "40 ms"},
    ]
    document = explained(simulated(flows, seconds=5)).document
    assert [flow["name"] for flow in document["flows"]] == ["one"]
    assert "call: is not a TCP connection, and is not explained." in document["notes"]
