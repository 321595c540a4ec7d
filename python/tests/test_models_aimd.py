"""The models of AIMD flows against "Friendliness between AIMD Algorithms" and against independent calculation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel import models
from windtunnel.models.losses import AQM_LOSSES, catch_probabilities, stationary, tail_drop_losses
from windtunnel.models.sawteeth import C_RENO, RENO, Aimd, Path, desynchronized, synchronized

FACTORS = st.floats(0.3, 0.95)
PATHS = st.builds(Path, st.floats(100, 1e5), st.floats(0.001, 0.2), st.floats(0.001, 0.3))


def test_friendly_increase_is_the_reports() -> None:
    """Equation 6: 9/17 for 0.7, 1 for Reno's own factor; RFC 9438's 3 (1 - b) / (1 + b)."""
    assert models.friendly_increase(0.7) == pytest.approx(9 / 17)
    assert models.friendly_increase(0.5) == pytest.approx(1)
    b = np.linspace(0.3, 0.9, 7)
    assert models.friendly_increase(b) == pytest.approx(3 * (1 - b) / (1 + b))


@given(FACTORS, FACTORS, st.floats(0.1, 5), PATHS)
def test_equal_rates_whatever_the_path(b: float, b_ref: float, a_ref: float, path: Path) -> None:
    """Equation 5, by integrating both curves over time: equal rates for any factors, with or without an empty queue."""
    flow = Aimd(float(models.friendly_increase(b, a_ref, b_ref)), b)
    reference, other = synchronized([Aimd(a_ref, b_ref), flow], path, steps=50).mean_rates()
    assert other / reference == pytest.approx(1, rel=1e-9)


@given(st.floats(0.1, 5), FACTORS, st.floats(0.1, 5), FACTORS, PATHS)
def test_a_cycle_closes(a1: float, b1: float, a2: float, b2: float, path: Path) -> None:
    """Equations 1 and 2: a cycle takes away what it adds; the windows fill the path at its end."""
    cycle = synchronized([Aimd(a1, b1), Aimd(a2, b2)], path, steps=20)
    assert cycle.windows[0] == pytest.approx(np.array([b1, b2]) * cycle.windows[-1])
    assert cycle.windows[-1].sum() == pytest.approx(path.pipe)
    assert cycle.rounds[-1] == pytest.approx(models.cycle_rounds(cycle.windows[-1], [a1, a2], [b1, b2])[1])


def test_the_time_of_a_cycle() -> None:
    """With a queue throughout, the RTT is linear in rounds: the time is the rounds times the mean of its ends."""
    cycle = synchronized([RENO, C_RENO], Path(2000, 0.020, 0.014))
    assert cycle.rtt_s[0] > 0.020
    assert cycle.time_s[-1] == pytest.approx(cycle.rounds[-1] * (cycle.rtt_s[0] + cycle.rtt_s[-1]) / 2)
    # The link is busy all the time.
    assert cycle.rates.sum(axis=1) == pytest.approx(2000)


def test_c_reno_slows_down_while_its_window_grows() -> None:
    """Section 3.1.1; Reno speeds up."""
    cycle = synchronized([RENO, C_RENO], Path(2000, 0.020, 0.014))
    assert np.all(np.diff(cycle.windows, axis=0) > 0)
    assert np.all(np.diff(cycle.rates[:, 1]) < 0)
    assert np.all(np.diff(cycle.rates[:, 0]) > 0)


def test_desynchronized_tips_align() -> None:
    """Figure 5: equal RTT before either reduction; by hand, 780/1511 and 627/1511 of the rate are C-Reno's there."""
    path = Path(2000, 0.020, 0.014)
    cycle = desynchronized(RENO, C_RENO, path, steps=100)
    assert cycle.rtt_s[100] == pytest.approx(cycle.rtt_s[-1])
    assert cycle.rtt_s[-1] == pytest.approx(0.034)
    share = cycle.rates[:, 1] / cycle.rates.sum(axis=1)
    assert share[100] == pytest.approx(780 / 1511)
    assert share[-1] == pytest.approx(627 / 1511)
    # The end of the cycle, with Reno's reduction, is its start.
    assert cycle.windows[0] == pytest.approx(cycle.windows[-1] * [0.5, 1.0])
    reno, c_reno = cycle.mean_rates()
    assert c_reno / reno == pytest.approx(1)


def test_a_later_reduction_keeps_the_cycle() -> None:
    """The cycle still closes, and the tips differ by what a round adds."""
    cycle = desynchronized(RENO, C_RENO, Path(2000, 0.020, 0.014), steps=100, shift=1.0)
    assert cycle.windows[0] == pytest.approx(cycle.windows[-1] * [0.5, 1.0])
    assert cycle.windows[101] == pytest.approx(cycle.windows[100] * [1.0, 0.7])
    assert cycle.windows[100].sum() - cycle.windows[-1].sum() == pytest.approx(RENO.a + C_RENO.a)


@pytest.mark.parametrize(("losses", "first", "both", "second"), [(1, 17 / 32, 0, 15 / 32), (2, 0.28, 0.5, 0.22)])
def test_catch_probabilities(losses: int, first: float, both: float, second: float) -> None:
    """Equations 9 and 10, and the text's 28, 50 and 22 %."""
    probabilities = catch_probabilities(1 - models.hit_probability(0.7), losses)
    assert probabilities == pytest.approx((first, both, second), abs=0.005 if losses == 2 else 1e-12)


@given(st.floats(0, 1), st.integers(1, 30))
def test_somebody_is_hit(share: float, losses: int) -> None:
    """Equation 10 for any number of losses."""
    assert sum(catch_probabilities(share, losses)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (RENO, C_RENO, {1: 4 / 13, 2: 9 / 13}),
        (RENO, RENO, {2: 1.0}),
        (Aimd(0.25, 0.5), Aimd(0.25, 0.5), {1: 0.75, 2: 0.25}),
        (Aimd(2.0, 0.5), Aimd(2.0, 0.5), {4: 1.0}),
    ],
)
def test_losses_of_an_event(first: Aimd, second: Aimd, expected: dict[int, float]) -> None:
    """By hand: Reno's increments are a round apart, so that the round after one of them has no other one of Reno's."""
    counts = tail_drop_losses(first, second)
    assert counts.keys() == expected.keys()
    assert list(counts.values()) == pytest.approx(list(expected.values()))


def played(first: Aimd, second: Aimd, losses: dict[int, float], events: int, pipe: float = 1e4) -> float:
    """The second's rate over the first's, from events drawn one by one with real windows."""
    rng = np.random.default_rng(7)
    counts = rng.choice(list(losses), size=events, p=list(losses.values()))
    w1 = w2 = pipe / 2
    sent1 = sent2 = 0.0
    for count in counts:
        hits = rng.random(count) < w1 / pipe
        if hits.any():
            w1 *= first.b
        if not hits.all():
            w2 *= second.b
        rounds = (pipe - w1 - w2) / (first.a + second.a)
        sent1 += rounds * (w1 + first.a * rounds / 2)
        sent2 += rounds * (w2 + second.a * rounds / 2)
        w1 += first.a * rounds
        w2 += second.a * rounds
    return sent2 / sent1


@pytest.mark.parametrize("aqm", [True, False])
@pytest.mark.parametrize("b", [0.7, 0.9])
def test_the_chain_is_what_its_events_give(b: float, aqm: bool) -> None:
    """Against events drawn one by one: within 2 %, four standard errors of 60 000 events at b = 0.9 (fixed seed)."""
    flow = Aimd(float(models.friendly_increase(b)), b)
    losses = dict(AQM_LOSSES) if aqm else tail_drop_losses(RENO, flow)
    assert stationary(RENO, flow, losses).rate_ratio == pytest.approx(played(RENO, flow, losses, 60_000), rel=0.02)


def test_the_chain_says_slightly() -> None:
    """Section 3.1.2: C-Reno's rate is slightly (within 10 %) higher; section 3.2: an AQM hits Reno more often."""
    tail = stationary(RENO, C_RENO, tail_drop_losses(RENO, C_RENO))
    aqm = stationary(RENO, C_RENO, AQM_LOSSES)
    assert tail.rate_ratio == pytest.approx(1.0612, abs=1e-4)
    assert aqm.rate_ratio == pytest.approx(1.0740, abs=1e-4)
    assert aqm.hits[1] == 0
    assert 1 < aqm.hit_ratio < 1.1
    assert stationary(RENO, C_RENO, AQM_LOSSES, cells=500).rate_ratio == pytest.approx(aqm.rate_ratio, abs=1e-4)


def test_the_chain_is_fair_to_equals_and_to_the_synchronized() -> None:
    """Equal flows get equal rates; with enough losses to hit all flows the formula is exact."""
    assert stationary(RENO, RENO, AQM_LOSSES).rate_ratio == pytest.approx(1)
    assert stationary(RENO, C_RENO, {60: 1.0}).rate_ratio == pytest.approx(1, abs=1e-6)
    assert stationary(C_RENO, RENO, AQM_LOSSES).rate_ratio == pytest.approx(
        1 / stationary(RENO, C_RENO, AQM_LOSSES).rate_ratio
    )


def test_probabilities_are_a_distribution() -> None:
    """They are not negative and sum to 1; so do the hits."""
    chain = stationary(RENO, C_RENO, tail_drop_losses(RENO, C_RENO))
    assert chain.probability.min() >= 0
    assert chain.probability.sum() == pytest.approx(1)
    assert math.fsum(chain.hits) == pytest.approx(1)


def test_concave_time() -> None:
    """RFC 9438's K: 4.217 s for 100 packets, from 70."""
    assert models.cubic_concave_time(100) == pytest.approx(4.2172, abs=1e-4)
    assert models.cubic_concave_time(100) == pytest.approx(models.cubic_k(100, 70))
