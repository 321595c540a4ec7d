"""The figure on two axes, as Flent draws time series: scales, notes, lower panels and the legend."""

import numpy as np
import pytest

from windtunnel.errors import InputError
from windtunnel.figures import flent_style, png
from windtunnel.figures.two_axes import Curve, Labels, Panel, two_axes
from windtunnel.scenario import Scenario

TIME = np.arange(0.2, 10.01, 0.2)


def panel(rtt: float = 85.0, *, lower: bool = False) -> Panel:
    """Two rates of 20 and 30 Mbit/s, a round trip with a spike to 300 ms at 1 s, perhaps a probability of 2 %."""
    trip = np.full(len(TIME), rtt)
    trip[0] = np.nan
    trip[4] = 300.0
    below = (Curve("C", TIME, np.full(len(TIME), 2.0), "red"),) if lower else ()
    left = [Curve(f"flow {i}", TIME, np.full(len(TIME), r), "blue") for i, r in enumerate((20.0, 30.0))]
    return Panel("title", left, [Curve("RTT", TIME, trip, "green", (0, (2, 1)))], below)


def test_panels_share_their_scales() -> None:
    """Rates of all panels fit on the left axis, 97 % of the round trips on the lower part of the right one."""
    figure = two_axes([panel(), panel(90.0), panel()], columns=2, rate_mbps=50.0, right_low=79.0)
    drawn = [axes for axes in figure.axes if axes.get_visible() and axes.axison]
    rates = [axes for axes in drawn if axes.get_title(loc="left") == "title"]
    trips = [axes for axes in drawn if axes not in rates]
    assert len(rates) == len(trips) == 3
    assert [axes.get_ylim()[1] for axes in rates] == pytest.approx([57.0] * 3)
    tops = {axes.get_ylim() for axes in trips}
    assert len(tops) == 1
    ((low, high),) = tops
    assert low == 79.0
    assert 90 < high < 300
    notes = [text.get_text() for axes in rates for text in axes.texts]
    assert notes == ["RTT up to 300 ms at 1 s"] * 3
    assert [axes.get_ylabel() for axes in rates] == ["Throughput (Mbit/s)", "", "Throughput (Mbit/s)"]
    assert len(png(figure, 50)) > 10_000


def test_a_legend_names_each_label_once() -> None:
    """In the order in which the panels show them."""
    figure = two_axes([panel(lower=True), panel(lower=True)], columns=2)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["flow 0", "flow 1", "RTT", "C"]


def test_lower_panels_have_the_same_time_axis() -> None:
    """Probabilities below the rates, on an axis from 0 to a little above the greatest."""
    labels = Labels(left="Delivery rate", right="TCP RTT", lower="Prob")
    figure = two_axes([panel(lower=True)], labels=labels, title="Run")
    by_label = {axes.get_ylabel(): axes for axes in figure.axes}
    assert set(by_label) == {"Delivery rate", "TCP RTT", "Prob"}
    assert by_label["Prob"].get_xlim() == by_label["Delivery rate"].get_xlim() == (0.0, 10.0)
    low, high = by_label["Prob"].get_ylim()
    assert low == 0.0
    assert 2.0 < high < 3.0
    assert figure.get_suptitle() == "Run"


def test_a_run_as_flent_draws_it() -> None:
    """Means over 200 ms of flows that are there, their sum, TCP's and the probe's round trips; a part of the run."""
    run = Scenario(
        title="Run",
        duration="6 s",
        bottleneck={"rate": "10 Mbps", "queue": "codel"},
        flows=[
            {"name": "a", "cc": "reno", "rtt": "20 ms"},
            {"name": "b", "cc": "reno", "rtt": "20 ms", "start": "1 s", "stop": "3 s"},
            {"name": "p", "rtt": "20 ms", "app": "probe"},
        ],
        record={"interval": "50 ms"},
    ).run()
    figure = flent_style(run)
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["sum", "a", "b", "a: TCP RTT", "b: TCP RTT", "p: RTT"]
    rates, trips = figure.axes
    assert rates.get_title(loc="left") == "Run"
    total, first, second = (line.get_ydata() for line in rates.lines)
    assert len(total) == 30
    assert total == pytest.approx(np.add(first, second))
    mean = np.asarray(run.tables["flows"]["throughput_mbps"]).reshape(-1, 3)[40:44, 0].mean()
    assert first[10] == pytest.approx(mean)
    alive = rates.lines[2].get_xdata()[np.isfinite(trips.lines[1].get_ydata())]
    assert (alive[0], alive[-1]) == (pytest.approx(1.2, abs=0.01), pytest.approx(3.0, abs=0.21))
    # A round trip of 20 ms is not on the line of no rate.
    assert rates.get_ylim()[0] == trips.get_ylim()[0] == 0.0
    part = flent_style(run, span=(4.0, 5.0), title="").axes[0]
    assert part.get_xlim() == (4.0, 5.0)
    assert len(part.lines[0].get_xdata()) <= 7
    with pytest.raises(InputError, match="from 7 s to 6 s"):
        flent_style(run, span=(7.0, None))


def test_equal_flows_share_an_entry_of_the_legend() -> None:
    """RRUL's eight flows are two entries for rates and two for round trips, with the sum and the probe; each flow has
    its line, in the colour of its equals.
    """
    path = {"rtt": "20 ms", "count": 4}
    run = Scenario(
        duration="2 s",
        bottleneck={"rate": "10 Mbps", "queue": "codel"},
        flows=[
            {"name": "ping", "rtt": "20 ms", "app": "probe"},
            {"name": "down", "cc": "cubic", **path},
            {"name": "up", "cc": "reno", **path},
        ],
        record={"interval": "50 ms"},
    ).run()
    figure = flent_style(run)
    down, up = (f"{name} \N{MULTIPLICATION SIGN} 4" for name in ("down", "up"))
    wanted = {"sum", down, up, "ping: RTT", f"{down}: TCP RTT", f"{up}: TCP RTT"}
    assert {t.get_text() for t in figure.legends[0].get_texts()} == wanted
    rates, _ = figure.axes
    assert len(rates.lines) == 1 + 8
    assert len({line.get_color() for line in rates.lines}) == 3
