"""Laws of the controllers that measure delay: what each promises about its queue, and next to Reno.

The documents are those that the controllers' files name; the bounds are theirs.
"""

import numpy as np
import pytest

from windtunnel.result import RunResult
from windtunnel.scenario import Scenario

RATE_MBPS, RTT_MS = 10.0, 40.0
#: A packet of 1500 bytes, in ms.
PACKET_MS = 1500 * 8 / RATE_MBPS * 1e-3
#: What fills the path, in Mbit/s of data.
FULL = RATE_MBPS * 1448 / 1500


def run(*flows: str, seconds: float = 40, queue: str = "2 bdp", impair: str = "[]") -> RunResult:
    """Flows over tail drop, measured from a quarter of the run on."""
    tables = "".join(f'[[flow]]\nrtt = "{RTT_MS:g} ms"\nack = "immediate"\ncc = {flow}\n' for flow in flows)
    return Scenario.from_toml(
        f"""
duration = "{seconds} s"
[bottleneck]
rate = "{RATE_MBPS:g} Mbit/s"
queue = {{ kind = "fifo", limit = "{queue}" }}
impair = {impair}
{tables}
[record]
interval = "100 ms"
points = "0 s"
[[window]]
name = "steady"
from = "{seconds / 4} s"
to = "{seconds} s"
""",
        file="law.toml",
    ).run()


def goodput(result: RunResult, flow: int = 0) -> float:
    return float(result.windows[0]["flows"][flow]["goodput_mbps"])


def queued_ms(result: RunResult, flow: int = 0) -> float:
    """The mean of what the flow's smoothed round trip exceeds that of an empty path by, in the steady part."""
    rows = result.tables["flows"]
    time = np.asarray(rows["time_s"], dtype=np.float64)
    own = (np.asarray(rows["flow"]) == flow) & (time > time.max() / 4)
    return float(np.nanmean(np.asarray(rows["srtt_ms"], dtype=np.float64)[own])) - RTT_MS - PACKET_MS


def share(cc: str, **settings: float) -> float:
    """The share of a flow next to Reno."""
    result = run(cc, '"reno"', **settings)  # type: ignore[arg-type]
    return goodput(result, 0) / (goodput(result, 0) + goodput(result, 1))


@pytest.mark.parametrize("variant", ["linux", "paper"])
def test_vegas_queues_between_alpha_and_beta(variant: str) -> None:
    """Brakmo and Peterson 1995: two to four packets wait, and the path is full. A delayed ACK adds up to a packet."""
    result = run(f'{{ kind = "vegas", variant = "{variant}" }}')
    assert goodput(result) > 0.99 * FULL
    assert 1.5 <= queued_ms(result) / PACKET_MS <= 5.5


def test_vegas_starves_beside_reno() -> None:
    """It takes the queue of others for its own."""
    assert share('"vegas"') < 0.25


def test_veno_withstands_random_losses() -> None:
    """Fu and Liew 2003: with 1 % of random loss it gives up a fifth, not a half, and keeps more of the path."""
    loss = '{ kind = "loss", probability = "1 %" }'
    veno, reno = (goodput(run(cc, seconds=60, impair=loss)) for cc in ('"veno"', '"reno"'))
    assert veno > 1.15 * reno


def test_illinois_and_yeah_fill_the_path() -> None:
    """Their decrease is small where the queue is small: the path stays full with half of the buffer that Reno needs."""
    for cc in ('"illinois"', '"yeah"', '"compound"'):
        assert goodput(run(cc, queue="0.5 bdp")) >= goodput(run('"reno"', queue="0.5 bdp")) - 0.01 * FULL


def test_compound_is_not_slower_than_reno() -> None:
    """Tan et al. 2006: its loss window is Reno's."""
    assert share('"compound"', seconds=60) > 0.4


def test_cdg_backs_off_before_the_queue_is_full() -> None:
    """Hayes and Armitage 2011: no losses alone, and a queue far below that of Reno, which fills it."""
    cdg, reno = run('"cdg"'), run('"reno"')
    assert goodput(cdg) > 0.85 * FULL
    assert queued_ms(cdg) < queued_ms(reno) / 3


def test_nv_loses_nothing_alone() -> None:
    """Brakmo 2010: a window beyond what the rate needs, and the pad, shrinks before the queue is full."""
    nv, reno = run('"nv"', queue="4 bdp"), run('"reno"', queue="4 bdp")
    assert goodput(nv) > 0.99 * FULL
    assert nv.flows[0]["retransmits"] == 0 < reno.flows[0]["retransmits"]


def test_lp_gives_way() -> None:
    """Kuzmanovic and Knightly 2003: alone it uses most of the path; next to Reno, what Reno leaves."""
    lp = '{ kind = "lp", variant = "paper" }'
    assert goodput(run(lp, seconds=60)) > 0.7 * FULL
    assert share(lp, seconds=60) < 0.2


def test_lp_of_linux_is_reno() -> None:
    """Linux's TCP-LP, where the receiver's timestamps start at 2^29 ms or later: the same share as Reno."""
    lp = '{ kind = "lp", timestamp_offset = 600000000 }'
    assert share(lp) == share('"reno"')


def test_ledbat_pp_holds_its_target_and_gives_way() -> None:
    """draft-irtf-iccrg-ledbat-plus-plus: alone 60 ms of queue at most and, apart from slowdowns, the whole path; a
    quarter at most of what Reno has next to it, where Reno's queue is longer than the target.
    """
    alone = run('"ledbat++"', seconds=120, queue="4 bdp")
    assert goodput(alone) > 0.8 * FULL
    assert 30 < queued_ms(alone) < 75
    assert share('"ledbat++"', seconds=60, queue="4 bdp") < 0.2
