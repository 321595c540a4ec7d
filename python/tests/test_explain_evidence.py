"""What ``windtunnel explain`` measures before it names a controller, next to what RFCs and publications say.

Captures of the unmodified Linux 7.3.4 (``data/explain-kernel``) at both ends, captures of an older one, and simulated
runs whose scenario is the truth.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_captures import DATA
from traces import CAPTURES, Script, captured, explained, honest, simulated

from windtunnel import kinds
from windtunnel.explain import Explanation, explain
from windtunnel.explain.evidence import answers_of
from windtunnel.explain.evidence.published import LAWS, PROPORTIONAL, kept_after_loss, kept_after_mark
from windtunnel.explain.evidence.sentences import sentences
from windtunnel.explain.seen import seen_in
from windtunnel.explain.trace import RECEIVER, SENDER
from windtunnel.panels import Run, panel_of

BOTH = ("sender", "receiver")
POINTS = (SENDER, RECEIVER)


@cache
def kernel(name: str) -> Explanation:
    """``PATH/CONTROLLER-END`` of the kernel's captures."""
    return explain(DATA / f"{name}.pcapng.xz")


def of_kernel(name: str) -> dict[str, Any]:
    evidence: dict[str, Any] = kernel(name).document["flows"][0]["evidence"]
    return evidence


@cache
def _run(flow: str, link: str, seconds: float) -> Any:
    return simulated([{"name": "one", "rtt": "40 ms", **json.loads(flow)}], seconds=seconds, **json.loads(link))


def of_run(flow: dict[str, Any], point: int = SENDER, seconds: float = 8, **link: Any) -> dict[str, Any]:
    """The evidence of a simulated flow; equal runs are computed once."""
    evidence: dict[str, Any] = explained(_run(json.dumps(flow), json.dumps(link), seconds), point).document["flows"][0][
        "evidence"
    ]
    return evidence


def of_capture(name: str) -> dict[str, Any]:
    evidence: dict[str, Any] = captured(name).document["flows"][0]["evidence"]
    return evidence


def said(evidence: dict[str, Any], question: str) -> str:
    return dict(sentences(evidence))[question]


# --- what congestion leaves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", BOTH)
@pytest.mark.parametrize(
    ("capture", "low", "high"),
    [
        ("fifo-1bdp/reno", 0.5, 0.5),  # RFC 5681 section 3.1
        ("fifo-1bdp/cubic", 0.7, 0.7),  # RFC 9438 section 4.6
        ("fifo-1bdp/scalable", 0.875, 0.875),  # Kelly 2003
        ("fifo-1bdp/bic", 0.8, 0.8),
        ("fifo-1bdp/htcp", 0.5, 0.8),
        ("fq_codel/htcp", 0.5, 0.8),
        ("loss/dctcp", 0.5, 0.5),  # RFC 8257 section 3.5
    ],
)
def test_what_a_loss_leaves(capture: str, low: float, high: float, end: str) -> None:
    """A window of whole segments is the law's, rounded down: within a segment of those in flight before it."""
    losses = of_kernel(f"{capture}-{end}")["reductions"]["loss"]
    flow = kernel(f"{capture}-{end}")
    segment = float(np.median([1 / a.before for a in flow.answers[0] if a.cause == "loss"]))
    assert losses["kept"]["count"] >= 10
    assert low - segment <= losses["kept"]["median"] <= high + segment / 2


@pytest.mark.parametrize("point", POINTS)
def test_losses_and_timeouts_are_told_apart(point: int) -> None:
    """RFC 5681 section 3.1: a timeout leaves one segment, and slow start goes up to half of what was in flight; a loss
    leaves half. Four times, when no other loss is being repaired, the path is silent for longer than the timeout. At
    the receiver the sender's restart shows as a silence, and what was in flight then is not known.
    """
    times = [{"from": f"{at} s", "to": f"{at}.7 s"} for at in (4, 9, 14, 19)]
    outages = [{"kind": "outage", "times": times}]
    reductions = of_run({"cc": "reno"}, point, seconds=23, impair=outages)["reductions"]
    assert reductions["timeout"]["events"] == 4
    restart = reductions["timeout"]["restart_segments"]
    assert restart["median"] == 1 if point == SENDER else restart is None
    # The first window without slow start's growth has that of a round trip.
    assert reductions["timeout"]["kept"]["median"] == pytest.approx(0.5, abs=2 / 55)
    assert reductions["loss"]["kept"]["median"] == pytest.approx(0.5, abs=1 / 60)
    assert reductions["loss"]["events"] >= 3


def test_a_deaf_sender_keeps_its_window() -> None:
    """The other side of the law: a sender that does not answer leaves all."""
    loss = [{"kind": "loss", "probability": "0.5 %", "affects": "data"}]
    reductions = of_run({"cc": "reno", "unresponsive": "all"}, impair=loss, rate="4 Mbit/s", seconds=10)["reductions"]
    assert reductions["loss"]["kept"]["median"] > 0.9


def test_how_losses_are_repaired() -> None:
    """Proportional rate reduction (RFC 9937), which Linux has, sends in both halves of a repair; without it
    retransmissions wait until half of the window has left (RFC 6675). The receiver cannot tell.
    """
    assert of_kernel("fifo-1bdp/reno-receiver")["reductions"]["repair"] is None
    assert of_kernel("fifo-1bdp/reno-sender")["reductions"]["repair"] == "spread"
    flow = {"cc": "reno", "tcp": {"reduction": "none"}}
    assert of_run(flow, seconds=20)["reductions"]["repair"] == "waits"


def test_few_answers_tell_nothing() -> None:
    two = of_kernel("fifo-1bdp/bbr-sender")
    assert said(two, "What does congestion leave?") == "Answers to 2 losses are too few to tell."


def test_the_laws_are_those_of_the_registry() -> None:
    """Every name is a controller's; where the registry states what a loss leaves, nothing else is claimed."""
    controllers = {kind["name"]: kind for kind in kinds.listing()["controllers"]}
    assert set(LAWS) <= set(controllers)
    for name in LAWS:
        law = kept_after_loss(name)
        assert law is None or 0.5 <= law[0] <= law[1] <= 1
        if "kept" in controllers[name]:
            assert law == (controllers[name]["kept"],) * 2, name
    assert kept_after_mark("dctcp") == PROPORTIONAL
    assert kept_after_mark("cubic") == kept_after_loss("cubic") == (0.7, 0.7)
    assert kept_after_loss("no such") is None


# --- delay -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capture", "answer"),
    [
        *((f"vegas-{end}", "holds") for end in BOTH),
        # At the receiver waiting and window are of round trips half apart, and the flight falls within one.
        ("cdg-sender", "yields"),
        *((f"reno-{end}", "ignores") for end in BOTH),
        ("scalable-sender", "ignores"),
        *((f"illinois-{end}", None) for end in BOTH),
        *((f"bbr-{end}", None) for end in BOTH),
    ],
)
def test_the_response_to_delay(capture: str, answer: str | None) -> None:
    """Vegas keeps two to four packets queued (Brakmo and Peterson 1995), CDG backs off, Reno and Scalable grow as ever.
    Illinois grows less with delay, and with time: alone on its path that cannot be told apart. BBR has no window that
    answers.
    """
    delay = of_kernel(f"fifo-1bdp/{capture}")["delay"]
    assert delay["answer"] == answer
    if answer == "holds":
        # Their round-trip times are those of the packets with most and with least in front of them.
        assert 2 - 0.5 <= delay["queue_segments"]["median"] <= 4 + 0.5
        assert delay["law"] == (2, 4)
    if answer == "ignores":
        assert delay["growth"]["much_waiting"] == pytest.approx(delay["growth"]["little_waiting"], abs=0.1)
    if answer is None:
        assert delay["why_not"]


# --- pacing ----------------------------------------------------------------------------------------------------------


def test_departures_that_acknowledgements_let_go() -> None:
    """Each acknowledgement of two segments lets two go at once."""
    pacing = of_kernel("fifo-1bdp/reno-sender")["pacing"]
    assert pacing["at_once"] > 0.95
    assert pacing["burst_segments"]["median"] == 2
    assert pacing["pace"] is None


def test_departures_of_a_clock() -> None:
    """Linux paces at 200 % of cwnd/srtt in slow start (``tcp_pacing_ss_ratio``); BBR paces always, a segment at a time,
    at the path's rate.
    """
    paced = of_run({"cc": "reno", "pacing": True}, rate="50 Mbit/s", seconds=4)["pacing"]
    assert paced["at_once_in_slow_start"] < 0.5
    assert paced["pace_in_slow_start"] == pytest.approx(2.0, rel=0.1)
    bbr = of_kernel("fifo-1bdp/bbr-sender")["pacing"]
    assert bbr["at_once"] < 0.3
    assert bbr["burst_segments"] == {"median": 1, "p90": 1}
    assert bbr["pace"] == pytest.approx(1.0, abs=0.1)


def test_pacing_is_hidden_at_the_receiver() -> None:
    evidence = of_kernel("fifo-1bdp/bbr-receiver")
    assert set(evidence["pacing"]) == {"why_not"}
    assert said(evidence, "Is it paced?").startswith("It cannot be seen")
    assert evidence["start"]["paced"] is None and evidence["start"]["initial"]["spread"] is None


# --- probes and levels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", BOTH)
@pytest.mark.parametrize("path", ["fifo-1bdp", "fifo-3bdp"])
def test_the_probes_of_bbr(path: str, end: str) -> None:
    """BBR version 1: eight phases of a round trip, one with a quarter more and one with a quarter less; and after
    10 s without a new least round-trip time four segments for 200 ms (draft-cardwell-iccrg-bbr-congestion-control-00,
    sections 4.3.3 and 4.3.5). Phases end with a packet, and the probe itself waits for one. The receiver sees the same
    times; its least round trip has less of the packets' own time.
    """
    evidence = of_kernel(f"{path}/bbr-{end}")
    probes, dips = evidence["probes"], evidence["dips"]
    assert probes["found"] and probes["regular"]
    if end == "sender":
        assert 8 <= probes["every_round_trips"] <= 9
    sent = of_kernel(f"{path}/bbr-sender")["probes"]["every_s"]["median"]
    assert probes["every_s"]["median"] == pytest.approx(sent, rel=0.02)
    assert 1.1 < probes["gain"]["median"] <= 1.25
    if end == "sender":
        assert probes["drain"]["median"] < 0.96
    assert dips["count"] == 2
    assert 10 <= dips["every_s"]["median"] < 11
    assert dips["segments"]["median"] == 4
    assert 0.2 <= dips["length_s"]["median"] < 0.35
    assert probes["law_round_trips"] in ((8, 8), None) and dips["law_s"] in (10, None)


@pytest.mark.parametrize("point", POINTS)
def test_the_probes_of_bbr_3(point: int) -> None:
    """draft-ietf-ccwg-bbr: probes for bandwidth 2 to 3 s after the last, twice what the path holds at most; and half of
    it for 200 ms.
    """
    evidence = of_run({"cc": "bbr3"}, point, rate="20 Mbit/s", seconds=25)
    assert evidence["probes"]["found"]
    assert 2 <= evidence["probes"]["every_s"]["median"] <= 3.1
    assert 1.25 < evidence["probes"]["gain"]["median"] < 2.1
    assert evidence["dips"]["share"]["median"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("controller", ["reno", "cubic", "scalable", "cdg", "westwood"])
def test_sawteeth_are_no_probes(controller: str) -> None:
    evidence = of_kernel(f"fifo-1bdp/{controller}-sender")
    assert not evidence["probes"]["found"]
    assert not evidence["target"]["found"]
    assert evidence["dips"]["count"] == 0


@pytest.mark.parametrize("end", BOTH)
def test_a_level_in_flight(end: str) -> None:
    """Vegas has found its window; a receiver of 12 kB never lets it grow."""
    vegas = of_kernel(f"fifo-1bdp/vegas-{end}")["target"]
    assert vegas["found"] and vegas["share"] > 0.9
    assert vegas["by"] is None
    limited = of_capture("receiver-limited.pcap")["target"]
    assert limited["found"] and limited["by"] == "receiver"


# --- ECN -------------------------------------------------------------------------------------------------------------

_CODEL = {"kind": "codel", "ecn": True}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("flow", "queue", "codepoint", "negotiated", "echo", "answer", "taken"),
    [
        # RFC 3168: a mark is echoed until CWR, and answered as a loss.
        ({"cc": "reno", "ecn": True}, _CODEL, "ect0", "classic", "until CWR", "once per round trip", 0.5),
        # RFC 9768 counts marks; the answer is RFC 9438's.
        ({"cc": "cubic", "ecn": "accecn"}, _CODEL, "ect0", "accecn", "counter", "once per round trip", 0.3),
        # RFC 8257: each mark is echoed; half of the average share of marks.
        ({"cc": "dctcp", "ecn": "dctcp"}, {"kind": "step"}, "ect0", "classic", "each mark", "proportional", None),
        # RFC 9331: ECT(1), and the same answer.
        ({"cc": "prague"}, {"kind": "dualpi2"}, "ect1", "accecn", "counter", "proportional", None),
    ],
    ids=["reno", "cubic", "dctcp", "prague"],
)
def test_ecn(
    flow: dict[str, Any],
    queue: dict[str, Any],
    codepoint: str,
    negotiated: str,
    echo: str,
    answer: str,
    taken: float | None,
    point: int,
) -> None:
    ecn = of_run(flow, point, seconds=12, rate="20 Mbit/s", queue=queue)["ecn"]
    assert ecn["negotiated"] == negotiated
    others = {"ect0", "ect1"} - {codepoint}
    assert ecn["data"][codepoint] > 0.8 * sum(ecn["data"].values()) and not any(ecn["data"][name] for name in others)
    # The bottleneck marks after the sender, and in front of the receiver.
    assert (ecn["data"]["ce"] > 0) == (point == RECEIVER)
    assert (ecn["echo"], ecn["answer"]) == (echo, answer)
    if taken is not None:
        assert ecn["taken"]["median"] == pytest.approx(taken, abs=0.02)
    else:
        assert ecn["taken"]["median"] == pytest.approx(ecn["average_share"] / 2, abs=0.04)
        assert ecn["taken"]["median"] < 0.1


def test_ecn_of_real_kernels() -> None:
    reno = of_capture("ecn-marked.pcap")["ecn"]
    assert (reno["negotiated"], reno["echo"], reno["answer"]) == ("classic", "until CWR", "once per round trip")
    assert reno["taken"]["median"] == pytest.approx(0.5, abs=1 / 20)
    for end in BOTH:
        dctcp = of_kernel(f"fq_codel/dctcp-{end}")["ecn"]
        assert (dctcp["echo"], dctcp["answer"]) == ("each mark", "proportional")
        assert (dctcp["data"]["ce"] > 0) == (end == "receiver")
    plain = of_kernel("fifo-1bdp/reno-sender")["ecn"]
    assert plain["negotiated"] == "none" and plain["data"]["not_ect"] == sum(plain["data"].values())


def test_a_sender_that_ignores_marks() -> None:
    flow = {"cc": "dctcp", "ecn": "dctcp", "unresponsive": "marks"}
    flow["tcp"] = {"receive_window": "300 kB", "autotuning": False}
    ecn = of_run(flow, seconds=5, rate="40 Mbit/s", queue={"kind": "step"})["ecn"]
    assert ecn["echoes"] > 100
    assert ecn["answer"] not in ("proportional", "once per round trip")


# --- slow start ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", BOTH)
def test_how_the_kernel_starts(end: str) -> None:
    """RFC 6928: ten segments; RFC 5681 and RFC 3465: twice as much in each round trip. The buffer overflows, and what
    is lost is what the loss events count.
    """
    flow = kernel(f"fifo-1bdp/reno-{end}").document["flows"][0]
    start = flow["evidence"]["start"]
    assert start["initial"]["segments"] == 10 and not start["initial"]["at_least"]
    assert start["growth"]["factor"] == pytest.approx(2, abs=0.1)
    assert start["exit"]["cause"] == "loss"
    assert start["exit"]["lost"] == flow["overflow"]["list"][0]["segments"]
    # One of ten was lost on the way to this receiver.
    lossy = of_kernel(f"loss/dctcp-{end}")["start"]["initial"]
    assert lossy["segments"] == 10
    # Linux's Hybla starts with rho segments, its round trip over 25 ms, and not with RFC 6928's.
    assert of_kernel(f"fifo-3bdp/hybla-{end}")["start"]["initial"]["segments"] <= 76 / 25
    if end == "sender":
        assert start["initial"]["spread"] < 0.01
        assert start["paced"] is False


@pytest.mark.parametrize("end", BOTH)
@pytest.mark.parametrize("path", ["fifo-3bdp", "pie"])
def test_hystart_leaves_before_a_loss(path: str, end: str) -> None:
    """The kernel's CUBIC has HyStart, its Reno has not: over these queues one leaves by delay, with much less in flight
    than the other when it loses.
    """
    cubic, reno = (of_kernel(f"{path}/{name}-{end}")["start"]["exit"] for name in ("cubic", "reno"))
    assert (cubic["cause"], reno["cause"]) == ("delay", "loss")
    assert cubic["waiting_ms"] > 16
    assert not cubic["drained"]
    assert cubic["segments"] < 0.6 * reno["segments"]
    assert cubic["time_s"] < reno["time_s"]


@pytest.mark.parametrize(
    ("flow", "cause"),
    [
        ({"cc": {"kind": "cubic", "slow_start": "hystart"}}, "delay"),
        ({"cc": {"kind": "cubic", "slow_start": "standard"}}, "loss"),
        ({"cc": "bbr3"}, "delay"),
        ({"cc": "reno", "tcp": {"receive_window": "30 kB", "autotuning": False}}, "receiver"),
    ],
    ids=["hystart", "standard", "bbr3", "receiver"],
)
@pytest.mark.parametrize("point", POINTS)
def test_why_slow_start_ends(flow: dict[str, Any], cause: str, point: int) -> None:
    queue = {"kind": "fifo", "limit": "3 bdp"}
    end = of_run(flow, point, seconds=3, rate="20 Mbit/s", queue=queue)["start"]["exit"]
    assert end["cause"] == cause
    if flow["cc"] == "bbr3":
        assert end["drained"]


def test_other_ends_of_slow_start() -> None:
    """An application that has no more, a mark, and a trace that is too short."""
    limited = of_capture("application-limited.pcap")["start"]
    assert limited["exit"]["cause"] == "application" and limited["initial"]["at_least"]
    assert of_capture("ecn-marked.pcap")["start"]["exit"]["cause"] == "mark"
    short = of_run({"cc": "reno", "iw": 4}, seconds=0.3, rate="100 Mbit/s")["start"]
    assert short["initial"]["segments"] == 4
    assert short["exit"]["cause"] is None
    # The capture began later.
    late = Script().transfer(6, 10, honest).explain(handshake_s=None)["evidence"]
    assert late["start"]["why_not"] and "cannot be seen" in said(late, "How does it start?")


# --- acknowledgements ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("ack", "segments"), [("immediate", 1), ({"policy": "every"}, 2), ({"policy": "every", "count": 4}, 4)]
)
def test_segments_of_an_acknowledgement(ack: Any, segments: int, point: int) -> None:
    acks = of_run({"cc": "reno", "ack": ack}, point, seconds=4)["acks"]
    assert acks["mean_segments"] == pytest.approx(segments, rel=0.15)
    assert acks["policy"] == {1: "every segment", 2: "every second segment", 4: "fewer"}[segments]
    assert acks["thinned_by"] == ("receiver or path" if point == SENDER else "receiver")


def test_acknowledgements_that_the_path_leaves_out() -> None:
    """The receiver sends one for two segments; one of four comes through."""
    thinning = {"impair": [{"kind": "ack-thinning", "keep_every": 4}]}
    here, there = (of_run({"cc": "reno"}, point, seconds=4, reverse=thinning)["acks"] for point in POINTS)
    assert here["segments"]["more"] > 0.8
    assert there["policy"] == "every second segment"


def test_the_kernels_receiver() -> None:
    """One for two segments (RFC 5681 section 4.2), at first one for each (``TCP_MAX_QUICKACKS`` is 16), and SACK."""
    for end in BOTH:
        acks = of_kernel(f"fifo-1bdp/reno-{end}")["acks"]
        assert acks["policy"] == "every second segment"
        assert acks["quick"] >= 16
        assert acks["sack"] and acks["sack_reports"] > 100 and not acks["dsack_reports"]


def test_the_timer_of_an_acknowledgement() -> None:
    """A segment alone waits for another one: 40 ms here, where a pair is acknowledged at once."""
    script = Script()
    for n in range(0, 60, 3):
        at = 0.04 * n
        script.data(at, n)
        script.data(at + 0.0001, n + 1)
        script.ack(at + 0.0101, n + 2)
        script.data(at + 0.0105, n + 2)
        script.ack(at + 0.0205 + (0.04 if n % 2 else 0), n + 3)
    assert script.explain()["evidence"]["acks"]["timer_ms"] == pytest.approx(40, abs=1)


# --- together --------------------------------------------------------------------------------------------------------


def test_the_law_is_next_to_the_number() -> None:
    """For the run's own controller, or the likeliest one."""
    evidence = of_kernel("fifo-1bdp/cubic-sender")
    assert evidence["law_of"] == "cubic"
    assert "A loss leaves 0.690 of the window (13 answers; CUBIC, RFC 9438 section 4.6: 0.7)." in said(
        evidence, "What does congestion leave?"
    )
    assert of_run({"cc": "reno", "ack": "immediate"}, seconds=4)["law_of"] == "reno"


def test_a_run_without_packets_has_what_its_series_show() -> None:
    result = simulated([{"name": "one", "cc": "bbr", "rtt": "40 ms"}], packets=False, seconds=12)
    evidence = explained(result).document["flows"][0]["evidence"]
    assert [name for name in ("reductions", "pacing", "ecn", "acks") if evidence[name] is not None] == []
    assert evidence["dips"]["count"] == 1


def test_pictures_of_evidence() -> None:
    """Dots are the answers, the law is a line, and no controller's law is drawn where none is known."""
    capture = DATA / "fifo-1bdp/cubic-sender.pcapng.xz"
    run = Run(seen_in(capture))
    by_time, by_window = panel_of(run, "reductions").choices
    law, losses = by_time.series
    assert set(law.y) == {0.7} and law.label == "as CUBIC would: 0.7"
    answers = [a for a in kernel("fifo-1bdp/cubic-sender").answers[0] if a.cause == "loss"]
    np.testing.assert_allclose(losses.y, [a.kept for a in answers])
    np.testing.assert_allclose(losses.x, [a.start_s for a in answers])
    assert not by_window.x.time and sorted(by_window.series[1].x) == sorted(a.before for a in answers)
    (dots,) = panel_of(run, "delay").series
    assert len(dots.x) > 200 and np.corrcoef(dots.x, dots.y)[0, 1] > 0.9
    marks = panel_of(Run(seen_in(CAPTURES / "ecn-marked.pcap")), "reductions")
    assert [s.label for s in marks.series] == ["marks"]


def test_an_answer_is_found_once() -> None:
    """Losses of one window are one answer; the acknowledgement of what was sent before ends it."""
    flow = kernel("fifo-1bdp/reno-sender")
    trace, rounds, codes = flow.trace.flows[0], flow.rounds[0], flow.codes[0]
    assert rounds is not None
    answers = answers_of(trace, rounds, codes)
    assert len(answers) == flow.document["flows"][0]["overflow"]["events"]
    assert all(a.end_s <= b.start_s for a, b in pairwise(answers))
    assert sum(a.lost for a in answers) == flow.document["flows"][0]["overflow"]["segments"]
