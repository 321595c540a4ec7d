"""Experiment K09: "any combination of Reno and Reno-MDS flows will converge to equal cwnd, independent of RTT".

The document shows six flows of three RTTs (figure 6c). Here many mixes are drawn: the rate, and which flows are
Reno-MDS, their path RTTs and when they start. The statement is judged by the mean over the mixes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from windtunnel.experiment.expectation import Expected, Limits
from windtunnel.experiment.scales import RATIO
from windtunnel.experiment.words import word
from windtunnel.papers.data_folder import MDS
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Measurement, Setup
from windtunnel.papers.suite import Group, Results

#: Mixes, and flows in each.
MIXES, FLOWS = 24, 6
#: What is drawn: link rates; path RTTs between these, their logarithms evenly; starts up to the last one. With 200
#: Mbit/s and six flows of 80 ms a window has 190 packets, and a sawtooth takes 8 s.
RATES_MBPS, RTTS_MS, LAST_START_S = (50.0, 100.0, 200.0), (5.0, 80.0), 15.0

#: The controller of the Reno-MDS flows, as in the document's figures; the scenario file's flows are conventional.
RENO_MDS = '{ kind="reno", response="mds", tau=64, limiter="emptied-after-srtt", slow_start="essp" }'


@dataclass(frozen=True)
class Mix:
    """One draw: the rate, and for each flow whether it is Reno-MDS, its RTT and its start."""

    number: int
    rate_mbps: float
    mds: tuple[bool, ...]
    rtts_ms: tuple[float, ...]
    starts_s: tuple[float, ...]

    @property
    def name(self) -> str:
        """``K09/mix-3``."""
        return f"K09/mix-{self.number}"

    def text(self) -> str:
        """The mix in words."""
        flows = (f"{'MDS' if mds else 'Reno'} {rtt:g}" for mds, rtt in zip(self.mds, self.rtts_ms, strict=True))
        return f"{self.rate_mbps:g} Mbit/s, RTTs in ms: {', '.join(flows)}"

    def setup(self) -> Setup:
        """Its run."""
        responses = (f"flow.{i}.cc={RENO_MDS}" for i, mds in enumerate(self.mds) if mds)
        starts = (f'flow.{i}.start="{1e3 * s:.0f} ms"' for i, s in enumerate(self.starts_s))
        return Setup(self.name, MDS.template("mix"), (*responses, *starts), self.rate_mbps, self.rtts_ms)


def draw_mix(number: int) -> Mix:
    """The mix of this number, the same every time: one to five flows are Reno-MDS, and the first starts at once."""
    random = Random(number)
    count = 1 + int((FLOWS - 1) * random.random())
    chosen = sorted(range(FLOWS), key=lambda _: random.random())[:count]
    low, high = RTTS_MS
    return Mix(
        number,
        RATES_MBPS[int(len(RATES_MBPS) * random.random())],
        tuple(i in chosen for i in range(FLOWS)),
        tuple(round(low * (high / low) ** random.random(), 1) for _ in range(FLOWS)),
        (0.0, *(round(LAST_START_S * random.random(), 2) for _ in range(FLOWS - 1))),
    )


def windows(mix: Mix, setup: Setup, name: str) -> Callable[[Results], list[float]]:
    """Mean cwnd of each flow in a window of the scenario; empty if the run failed."""
    method = f'window_value("{name}", "cwnd_bytes.mean")'
    indices = [setup.index(Measurement("summary", str(flow), method)) for flow in range(FLOWS)]

    def read(results: Results) -> list[float]:
        return [results.values(mix.name, i)[0] for i in indices if results.values(mix.name, i)]

    return read


def ratio(mix: Mix, cwnds: Sequence[float]) -> float:
    """Mean window of the Reno-MDS flows over that of the Reno flows."""
    kinds = [[c for c, mds in zip(cwnds, mix.mds, strict=True) if mds is kind] for kind in (True, False)]
    of_mds, of_reno = (sum(kind) / len(kind) for kind in kinds)
    return of_mds / of_reno


def unequal(cwnds: Sequence[float]) -> float:
    """Standard deviation of the logarithms of the windows: 0 if all are equal."""
    logs = [math.log(c) for c in cwnds]
    mean = sum(logs) / len(logs)
    return math.sqrt(sum((x - mean) ** 2 for x in logs) / len(logs))


def mixes_group(setups: dict[str, Setup]) -> Group:
    """All mixes: what holds in the mean over them, and each for information."""
    mixes = [draw_mix(number) for number in range(MIXES)]
    setups.update({mix.name: mix.setup() for mix in mixes})
    steady = [windows(mix, setups[mix.name], "steady") for mix in mixes]
    early = [windows(mix, setups[mix.name], "early") for mix in mixes]

    def rows(results: Results) -> list[Row]:
        seen = [(mix, s(results), e(results)) for mix, s, e in zip(mixes, steady, early, strict=True)]
        seen = [each for each in seen if len(each[1]) == len(each[2]) == FLOWS]
        return [*_judged(seen), *(_each(mix, s) for mix, s, _ in seen)]

    caption = f"{MIXES} random mixes of {FLOWS} Reno and Reno-MDS flows: cwnd converges to equal values for any RTTs"
    return Group("K09", "Random mixes", caption, [mix.name for mix in mixes], rows)


def _judged(seen: Sequence[tuple[Mix, list[float], list[float]]]) -> list[Row]:
    equal = Expected.of({"word": "equal"})
    apart_limits = Limits(high=word("equal").around_one)
    ratios = [ratio(mix, s) for mix, s, _ in seen]
    closer = [unequal(e) - unequal(s) for _, s, e in seen]
    apart = [unequal(s) for _, s, _ in seen]
    what = "mean cwnd of the Reno-MDS flows over that of the Reno flows, 50 to 200 s"
    nearer = "spread of ln(cwnd) from 20 to 25 s, when all have started, minus that from 50 to 200 s"
    return [
        trial_row("K09/ratio", "K09", f"{what}, mean over the mixes", equal.text, equal.limits, ratios, "1", equal.why,
                  scale=RATIO),
        trial_row("K09/closer", "K09", f"{nearer}: they converge", "> 0", Limits(low=0.0, strict=True), closer, "1"),
        trial_row("K09/spread", "K09", "spread of ln(cwnd) of the six flows, 50 to 200 s", f"≤ {apart_limits.high:g}",
                  apart_limits, apart, "1", "standard deviation; " + equal.why),
    ]  # fmt: skip


def _each(mix: Mix, cwnds: Sequence[float]) -> Row:
    listed = ", ".join(f"{c / 1e3:.1f}" for c in cwnds)
    note = f"mean cwnd in kB: {listed}"
    what = f"mix {mix.number}: {mix.text()}"
    return Row(f"{mix.name}/ratio", "K09", what, None, ratio(mix, cwnds), None, "1", "info", note)
