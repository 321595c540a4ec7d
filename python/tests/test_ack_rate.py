"""Requests for an ACK rate in whole runs: how many ACKs leave, and what that costs (spec/ccwg-2026 section H)."""

from __future__ import annotations

import pytest

from windtunnel import Bottleneck, Flow, Scenario

DATA, ACK = 0, 1
RECEIVER = 3


def outcome(**flow: object) -> tuple[float, float, int]:
    """Goodput in Mbit/s, segments per ACK in the second half, and requests: a flow alone, 20 Mbit/s, 40 ms, 1 BDP."""
    scenario = Scenario(
        duration="20 s",
        bottleneck=Bottleneck(rate="20 Mbit/s", queue={"kind": "fifo", "limit": "1 bdp"}),
        flows=[Flow(rtt="40 ms", **flow)],
        record={"packets": True},
    )
    run = scenario.run()
    packets = run.tables["packets"]
    late = (packets["tap"] == RECEIVER) & (packets["t_ns"] > 10_000_000_000)
    data = late & (packets["dir"] == DATA) & (packets["payload"] > 0)
    # An ACK with SACK is sent at once for each segment above a hole, and so is that which fills it.
    acks = late & (packets["dir"] == ACK) & (packets["sack_n"] == 0)
    data &= ~packets["retransmission"]
    requests = (packets["tap"] == RECEIVER) & (packets["ack_rate"] > 0) & (packets["ack_rate"] < 255)
    return run.flows[0]["goodput_mbps"], float(data.sum() / acks.sum()), int(requests.sum())


@pytest.mark.parametrize("cc", ["cubic", "bbr3"])
def test_ack_ratio(cc: str) -> None:
    """Spec H: ACKs fall as 1 / R, within 10 % (those of losses and timers are added), and at a buffer of 1 BDP the
    goodput stays 98 % of that with an ACK for every second segment.
    """
    usual, _, none = outcome(cc=cc)
    assert none == 0
    for ratio in (2, 10, 32):
        goodput, segments, requests = outcome(cc=cc, tcp={"ack_ratio": ratio})
        assert segments == pytest.approx(ratio, rel=0.1), (cc, ratio)
        assert goodput >= 0.98 * usual, (cc, ratio)
        assert requests > 100, "once per round trip"


def test_bbr_asks_for_acks() -> None:
    """A BBR that asks by its modes, most of the time in CRUISE, has at most half of the ACKs; it keeps its goodput."""
    usual, two, _ = outcome(cc="bbr3")
    goodput, segments, _ = outcome(cc={"kind": "bbr3", "ack_frequency": True})
    assert segments > 2 * two
    assert goodput >= 0.98 * usual
