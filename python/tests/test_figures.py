"""The four-panel figure: what is drawn, labelled and left out."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from windtunnel import InputError, RunResult, Scenario
from windtunnel.cli.plot import plot
from windtunnel.figures import four_panel, write_figure
from windtunnel.figures.draw import POINTS
from windtunnel.figures.style import RED, flow_look, queue_look
from windtunnel.panels import Run, cwnd, marks, panels_of, sojourn, throughput
from windtunnel.panels.catalogue import DRAWN, FOUR
from windtunnel.panels.groups import by_stem, groups_of
from windtunnel.panels.thinning import cell_means
from windtunnel.panels.units import FACTORS
from windtunnel.report.columns import Columns
from windtunnel.report.panels import encoded


@dataclass(frozen=True)
class Result:
    """The parts of a result that a figure needs."""

    summary: dict[str, Any]
    tables: dict[str, dict[str, np.ndarray]]
    title: str = "A title"


def synthetic(flows: int = 2, points: int = 50_000) -> Result:
    """A run of 10 s in which each flow has 1/n of 100 Mbit/s, limited between 2 and 4 s, and marks of all kinds."""
    t = np.linspace(0.001, 10, points)
    each = np.linspace(0.02, 10, 500)
    one = np.repeat(np.arange(flows), 500)
    kind = np.repeat([0, 1, 2], [300, 30, 3])
    time_of_mark = np.sort(np.random.default_rng(1).uniform(0.1, 10, 333))
    tables = {
        "throughput_points": {
            "time_s": np.concatenate([each, np.tile(each, flows)]),
            "flow": np.concatenate([np.full(500, -1), one]).astype(np.int32),
            "mbps": np.concatenate([np.full(500, 100.0), np.full(500 * flows, 100.0 / flows)]),
        },
        "cwnd_points": {
            "time_s": np.tile(each, flows),
            "flow": one.astype(np.uint32),
            "bytes": 50_000 + 10_000.0 * one + 1000 * np.tile(each, flows),
            "limited": np.tile((each > 2) & (each < 4), flows),
        },
        "sojourn_points": {
            "time_s": t,
            "queue": np.zeros(points, np.uint32),
            "ms": 0.12 + 4 * (t % 1),
            "empty": t % 1 < 0.1,
        },
        "mark_points": {
            "time_s": time_of_mark,
            "queue": np.zeros(333, np.uint32),
            "flow": np.zeros(333, np.uint32),
            "kind": np.random.default_rng(2).permutation(kind).astype(np.uint8),
            "hz": np.linspace(1, 2000, 333),
        },
    }
    names = [f"flow-{i + 1}" for i in range(flows)]
    summary = {"duration_s": 10.0, "flows": [{"name": n} for n in names], "queues": [{"name": "bottleneck"}]}
    return Result(summary, tables)


def axes_of(figure: Figure) -> dict[str, Axes]:
    return {str(a.get_label()): a for a in figure.axes}


def lines(axes: Axes, label: str) -> list[Any]:
    return [line for line in axes.lines if line.get_label() == label]


@pytest.fixture(scope="module")
def figure() -> Figure:
    return four_panel(synthetic())


def test_panels_titles_and_units(figure: Figure) -> None:
    """The four panels are the document's, with its titles (errata included) and units; all show the whole run."""
    axes = axes_of(figure)
    assert tuple(axes) == FOUR == ("throughput", "sojourn", "cwnd", "mark")
    titles = {name: a.get_title(loc="left") for name, a in axes.items()}
    assert titles == {
        "throughput": "IP Throughput (x: all flows)",
        "sojourn": "Queue Sojourn Time (red: queue empty after dequeue)",
        "cwnd": "cwnd (x: cwnd-limited)",
        "mark": "Mark and Drop Frequency",
    }
    assert [a.get_ylabel() for a in axes.values()] == [
        "Throughput (Mbit/s, means of 200 ms)",
        "Sojourn time (ms)",
        "cwnd (kB)",
        "Frequency (Hz, log scale)",
    ]
    for a in axes.values():
        assert a.get_xlabel() == "Time (s)"
        assert a.get_xlim() == (0, 10)
    assert figure.get_suptitle() == "A title"


def test_series_of_each_panel(figure: Figure) -> None:
    """There are a line per flow, crosses for the sum and for limited windows, red for emptied queues, and three kinds
    of marks.
    """
    axes = axes_of(figure)
    for panel in ("throughput", "cwnd"):
        for i in (0, 1):
            (line,) = lines(axes[panel], f"flow-{i + 1}")
            assert line.get_color() == flow_look(i).colour
            assert line.get_linestyle() != "None"
    (total,) = lines(axes["throughput"], "all flows")
    assert total.get_marker() == "x"
    assert np.allclose(total.get_ydata(), 100.0)
    limited = lines(axes["cwnd"], "cwnd-limited")
    assert [line.get_color() for line in limited] == [flow_look(i).colour for i in (0, 1)]
    for line in limited:
        assert line.get_marker() == "x"
        assert min(line.get_xdata()) > 2
        assert max(line.get_xdata()) < 4
    (empty,) = lines(axes["sojourn"], "queue empty after dequeue")
    (other,) = lines(axes["sojourn"], "queue not empty after dequeue")
    assert empty.get_color() == RED != other.get_color()
    assert max(np.asarray(empty.get_ydata())) < 0.12 + 0.4 + 1e-6 < max(np.asarray(other.get_ydata()))
    kinds = [lines(axes["mark"], label)[0] for label in ("SCE", "CE", "drop")]
    assert len({line.get_marker() for line in kinds}) == 3
    assert len({line.get_color() for line in kinds}) == 3
    # Dots on top of each other are drawn once.
    counts = [len(line.get_xdata()) for line in kinds]
    assert counts[1:] == [30, 3]
    assert 280 <= counts[0] <= 300


def test_legends_name_everything_and_cover_nothing(figure: Figure) -> None:
    """The legend of the flows is below all panels, that of the marks above its panel."""
    figure.canvas.draw()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["flow-1", "flow-2"]
    box = figure.legends[0].get_window_extent()
    assert all(not box.overlaps(a.get_window_extent()) for a in figure.axes)
    mark = axes_of(figure)["mark"]
    legend = mark.get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == ["SCE", "CE", "drop"]
    assert legend.get_window_extent().y0 >= mark.get_window_extent().y1 - 1


def test_scale_of_the_mark_frequency() -> None:
    """The axis is logarithmic where frequencies range widely, and otherwise linear."""
    run = synthetic()
    assert axes_of(four_panel(run))["mark"].get_yscale() == "log"
    run.tables["mark_points"]["hz"] = np.linspace(10, 40, 333)
    assert axes_of(four_panel(run))["mark"].get_yscale() == "linear"


def test_million_points_are_thinned() -> None:
    """A panel has at most about 20 000 points, among them the greatest sojourn time."""
    run = synthetic(points=1_000_000)
    run.tables["sojourn_points"]["ms"][654_321] = 77.0
    axes = axes_of(four_panel(run))
    for a in axes.values():
        assert sum(len(line.get_xdata()) for line in a.lines) <= 1.2 * POINTS
    top = max(max(np.asarray(line.get_ydata())) for line in axes["sojourn"].lines)
    assert top == 77.0


def test_zoom_and_choice_of_panels() -> None:
    """A span applies to all panels; a single panel can be zoomed, in the units of its table, or drawn alone."""
    axes = axes_of(four_panel(synthetic(), span=(2, None), zoom={"cwnd": (3, 4, 40_000, 80_000)}))
    assert axes["sojourn"].get_xlim() == (2, 10)
    assert axes["cwnd"].get_xlim() == (3, 4)
    assert axes["cwnd"].get_ylim() == (40, 80)
    assert list(axes_of(four_panel(synthetic(), panels=["mark"]))) == ["mark"]
    with pytest.raises(InputError, match=r"no panel 'marks'.*throughput, sojourn, cwnd, mark"):
        four_panel(synthetic(), panels=["marks"])
    with pytest.raises(InputError, match="from 5 s to 5 s"):
        four_panel(synthetic(), span=(5, 5))


def overlapping(flows: int) -> Result:
    """A run whose flows' windows go up and down in the same range, each in its own time."""
    run = synthetic(flows)
    points = run.tables["cwnd_points"]
    points["bytes"] = 50_000 + 20_000 * np.sin(40 * points["time_s"] + 2.0 * points["flow"])
    return run


def test_flows_that_hide_each_other_have_a_strip_each() -> None:
    """The strips have the same ordinates, and one line each; the panels whose lines can be told apart stay whole."""
    figure = four_panel(overlapping(4))
    figure.canvas.draw()
    axes = axes_of(figure)
    strips = axes["cwnd strips"].child_axes
    assert len(strips) == 4
    assert axes["cwnd strips"].get_title(loc="left") == "cwnd (a strip per flow; x: cwnd-limited)"
    assert "cwnd" in axes["cwnd strips"].get_ylabel()
    for number, strip in enumerate(strips, start=1):
        assert [str(line.get_label()) for line in strip.lines] == [f"flow-{number}", "cwnd-limited"]
        assert strip.get_ylim() == strips[0].get_ylim()
        assert strip.get_ylim()[1] >= 70.0
        assert strip.get_xlim() == (0.0, 10.0)
    assert not axes["throughput"].child_axes
    assert len(axes["throughput"].lines) > 4


@pytest.mark.parametrize("flows", [2, 9])
def test_two_flows_and_many_stay_in_one_panel(flows: int) -> None:
    """Two lines can be told apart, and strips of many would be too low."""
    assert not axes_of(four_panel(overlapping(flows)))["cwnd"].child_axes


def test_lines_beside_each_other_stay_in_one_panel() -> None:
    assert not axes_of(four_panel(synthetic(4)))["cwnd"].child_axes


def test_the_command_line_offers_every_panel() -> None:
    """`plot` writes the names out, because its help is shown without Matplotlib; they are those of the catalogue."""
    offered = next(option.type for option in plot.params if option.name == "panels")
    assert isinstance(offered, click.Choice)
    assert tuple(offered.choices) == DRAWN


def test_many_flows_are_grouped() -> None:
    """Up to 24 flows each have their own look; more are grouped by their names without the number, and shown by their
    median and the range of most of them.
    """
    names = [f"reno-{i}" for i in range(1, 7)] + [f"cubic.{i}" for i in range(1, 7)] + ["scalable"]
    assert [(group.label, list(group.members)) for group in by_stem(names)] == [
        ("reno \N{MULTIPLICATION SIGN} 6", [0, 1, 2, 3, 4, 5]),
        ("cubic \N{MULTIPLICATION SIGN} 6", [6, 7, 8, 9, 10, 11]),
        ("scalable", [12]),
    ]
    assert [group.members for group in groups_of(["a-1", "a-2"])] == [(0,), (1,)]
    figure = four_panel(synthetic(flows=16))
    assert len(figure.legends[0].get_texts()) == 16
    assert len([line for line in axes_of(figure)["cwnd"].lines if line.get_label().startswith("flow-")]) == 16


def test_looks_differ_in_grey_too() -> None:
    """192 flows have 192 looks, and the 24 of a legend have pairs of marker and dash: they need no colour."""
    looks = [flow_look(i) for i in range(192)]
    assert len({(look.marker, look.dash, look.colour) for look in looks}) == 192
    assert len({(look.marker, look.dash) for look in looks[:24]}) == 24
    assert RED not in {look.colour for look in looks}


def test_throughput_goes_in_steps() -> None:
    """A value is the mean since the one before it, so that silence is not drawn as a decline."""
    run = synthetic()
    t = run.tables["throughput_points"]["time_s"]
    few = {name: column[t < 3] for name, column in run.tables["throughput_points"].items()}
    silent = Result(run.summary, {**run.tables, "throughput_points": few})
    (line,) = lines(axes_of(four_panel(silent))["throughput"], "flow-1")
    assert line.get_drawstyle() == "steps-pre"
    # Where there are many steps, the line is their average, with a band for their range behind it.
    dense = {name: np.repeat(column, 2) for name, column in run.tables["throughput_points"].items()}
    dense["time_s"] = dense["time_s"] - 0.01 * (np.arange(len(dense["time_s"])) % 2 == 0)
    run = Result(run.summary, {**run.tables, "throughput_points": dense})
    axes = axes_of(four_panel(run, average_s=0.0))["throughput"]
    (line,) = lines(axes, "flow-1")
    assert line.get_drawstyle() == "default"
    assert len(axes.collections) == 2
    assert list(line.get_ydata()) == pytest.approx([50.0] * len(line.get_ydata()))


def test_means_of_parts_of_a_time() -> None:
    """By hand: 8 until 1 s, 2 until 1.5 s, 6 until 4 s, in parts of 1 s."""
    middles, mean, low, high = cell_means(np.array([0, 1, 1.5, 4]), np.array([0, 8.0, 2.0, 6.0]), 4)
    assert list(middles) == [0.5, 1.5, 2.5, 3.5]
    assert list(mean) == pytest.approx([8, 4, 6, 6])
    assert list(low) == pytest.approx([8, 2, 6, 6])
    assert list(high) == pytest.approx([8, 6, 6, 6])


def test_windows_are_unknown_in_silence() -> None:
    """No line is drawn across a time without ACKs."""
    run = synthetic()
    t = run.tables["cwnd_points"]["time_s"]
    kept = {name: column[(t < 4) | (t > 7)] for name, column in run.tables["cwnd_points"].items()}
    (line,) = lines(axes_of(four_panel(Result(run.summary, {**run.tables, "cwnd_points": kept})))["cwnd"], "flow-1")
    assert np.isnan(np.asarray(line.get_ydata())).sum() == 1


def test_limited_windows_do_not_hide_the_lines() -> None:
    """A window that is cwnd-limited nearly always has no marks, which would tell nothing; the panel's note says so."""
    run = synthetic()
    run.tables["cwnd_points"]["limited"][run.tables["cwnd_points"]["flow"] == 0] = True
    axes = axes_of(four_panel(run))["cwnd"]
    (limited,) = lines(axes, "cwnd-limited")
    assert limited.get_color() == flow_look(1).colour
    assert cwnd.panel(Run(run)).note == "cwnd-limited nearly always, and therefore not marked: flow-1."


def test_short_runs_are_told_in_milliseconds() -> None:
    """0.25 ms is written as 0.25 ms, not as 0.00025 s."""
    figure = four_panel(synthetic(), span=(0, 0.002))
    axes = axes_of(figure)["sojourn"]
    figure.canvas.draw()
    assert axes.get_xlabel() == "Time (ms)"
    assert axes.get_xticklabels()[-1].get_text() == "2"


def test_several_queues_have_colours_of_their_own() -> None:
    """No queue looks like a flow; marks have the colour of their queue and the marker of their kind."""
    queues = [queue_look(i).colour for i in range(4)]
    assert len(set(queues)) == 4
    assert not {RED, *(flow_look(i).colour for i in range(30))} & set(queues)
    run = synthetic()
    run.summary["queues"].append({"name": "second"})
    run.tables["mark_points"]["queue"][::2] = 1
    axes = axes_of(four_panel(run))["mark"]
    assert {str(line.get_color()) for line in axes.lines} == set(queues[:2])
    assert len({line.get_marker() for line in axes.lines}) == 3


def test_interval_series_where_points_are_missing() -> None:
    """Without single events the intervals are drawn; the sum of all flows is formed from them."""
    t = np.repeat([1.0, 2.0, 3.0], 2)
    nan = np.full(6, np.nan)
    flows = {
        "time_s": t,
        "flow": np.tile([0, 1], 3),
        "throughput_mbps": np.tile([10.0, 30.0], 3),
        "cwnd_bytes": t * 1e4,
    }
    queues = {
        "time_s": np.array([1.0, 2.0, 3.0]),
        "queue": np.zeros(3, int),
        "sojourn_mean_ms": np.array([1.0, 2.0, np.nan]),
        "emptied": np.array([0, 5, 0]),
        "sce": np.array([0, 10, 40]),
        "ce": np.zeros(3, int),
        "drops": np.zeros(3, int),
    }
    summary = {"duration_s": 3.0, "flows": [{"name": "a"}, {"name": "b"}], "queues": [{"name": "q"}]}
    run = Result(summary, {"flows": {**flows, "cwnd_limited": nan}, "queues": queues})
    total = throughput.samples(run.tables)[0]
    assert (total.index, list(total.y)) == (-1, [40, 40, 40])
    flag = sojourn.samples(run.tables)[0].flag
    assert flag is not None
    assert list(flag) == [False, True, False]
    ((sce,), *others) = (marks.samples(run.tables, kind) for kind in range(3))
    assert others == [[], []]
    assert (list(sce.t), list(sce.y)) == ([1, 2, 3], [0, 10, 40])
    # Single drops were kept, but no single SCE.
    one = {"time_s": [2.5], "queue": [0], "kind": [2], "hz": [0.4]}
    points = {name: np.array(column) for name, column in one.items()}
    both = {"queues": queues, "mark_points": points}
    assert [[list(s.y) for s in marks.samples(both, kind)] for kind in range(3)] == [[[0, 10, 40]], [], [[0.4]]]
    assert set(axes_of(four_panel(run))) == set(FOUR)


@pytest.fixture(scope="module")
def lossy() -> RunResult:
    """CUBIC with losses, short connections and probes, without single events."""
    flows = [
        {"name": "cubic", "cc": "cubic", "rtt": "40 ms"},
        {"name": "web", "cc": "reno", "rtt": "20 ms", "app": {"kind": "poisson", "load": "1 Mbit/s"}},
        {"name": "ping", "rtt": "20 ms", "app": "probe"},
    ]
    bottleneck = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "30 packets"}}
    return Scenario(duration="3 s", flows=flows, bottleneck=bottleneck, record={"points": "0 s"}).run()


def test_losses_are_seen(lossy: RunResult) -> None:
    """There are ticks where a flow retransmitted, in its colour; if nothing was marked, the panel of marks shows
    drops.
    """
    axes = axes_of(four_panel(lossy))
    assert axes["mark"].get_title(loc="left") == "Drop Frequency"
    assert axes["cwnd"].get_title(loc="left") == "cwnd (dashed: ssthresh; ticks: retransmits)"
    table = lossy.tables["flows"]
    ticks, _ = (lines(axes["cwnd"], f"_retransmissions of flow{i}") for i in (0, 1))
    assert list(ticks[0].get_xdata()) == list(table["time_s"][(table["flow"] == 0) & (table["retransmits"] > 0)])
    assert ticks[0].get_color() == flow_look(0).colour


def test_ssthresh_is_a_dashed_line(lossy: RunResult) -> None:
    """A finite ssthresh is drawn in the flow's colour and the windows' unit, unless there are too many flows."""
    axes = axes_of(four_panel(lossy))["cwnd"]
    (line,) = lines(axes, "_ssthresh of flow0")
    table = lossy.tables["flows"]
    values = table["ssthresh_bytes"][table["flow"] == 0]
    assert np.isnan(values[0]), "it starts infinite"
    np.testing.assert_allclose(np.asarray(line.get_ydata()), values / 1e3)
    assert (line.get_color(), line.is_dashed()) == (flow_look(0).colour, True)
    assert line.get_linewidth() < lines(axes, "cubic")[0].get_linewidth()
    flows = [{"name": "cubic", "cc": "cubic", "rtt": "20 ms", "count": 5}]
    bottleneck = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "10 packets"}}
    many = axes_of(four_panel(Scenario(duration="1 s", flows=flows, bottleneck=bottleneck).run()))["cwnd"]
    assert not [line for line in many.lines if str(line.get_label()).startswith("_ssthresh")]


def test_only_single_connections_have_a_window(lossy: RunResult) -> None:
    """Flows without a window have no line at 0."""
    assert [s.index for s in cwnd.samples(lossy.tables)] == [0]
    assert len(lines(axes_of(four_panel(lossy))["cwnd"], "web")) == 0


def test_a_run_without_packets_says_so() -> None:
    """Empty panels say why they are empty."""
    run = Result({"duration_s": 1.0, "flows": [{"name": "a"}], "queues": [{"name": "q"}]}, {})
    texts = {name: [t.get_text() for t in a.texts] for name, a in axes_of(four_panel(run)).items()}
    assert texts == {
        "throughput": ["No packet reached a receiver."],
        "sojourn": ["No packet was dequeued."],
        "cwnd": ["No ACK was received."],
        "mark": ["No queue marked or dropped a packet."],
    }
    assert all(len(a.get_yticks()) == 0 for a in axes_of(four_panel(run)).values())


def test_panels_say_why_they_are_empty() -> None:
    """A probe over a lossy wire has no window, no queue dropped what was lost, and silence is not drawn as a throughput
    of 0.
    """
    bottleneck = {"rate": "10 Mbit/s", "impair": {"kind": "outage", "times": [{"from": "0 s", "to": "1 s"}]}}
    flows = [{"name": "ping", "rtt": "20 ms", "app": "probe"}]
    axes = axes_of(four_panel(Scenario(duration="1 s", flows=flows, bottleneck=bottleneck).run()))
    assert [t.get_text() for t in axes["throughput"].texts] == ["No packet reached a receiver."]
    assert axes["cwnd"].texts[0].get_text().startswith("No flow has a single congestion window")
    assert axes["mark"].texts[0].get_text().replace("\n", " ").endswith("On the wire 100 packets were lost.")


def test_files_are_small_and_reproducible(tmp_path: Path) -> None:
    """Equal runs give equal files; an SVG's clouds are pictures, its text is text."""
    for name in ("a", "b"):
        figure = four_panel(synthetic(points=200_000))
        write_figure(figure, tmp_path / f"{name}.png")
        write_figure(figure, tmp_path / f"{name}.svg")
    for extension in ("png", "svg"):
        assert (tmp_path / f"a.{extension}").read_bytes() == (tmp_path / f"b.{extension}").read_bytes()
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert len(svg) < 1_500_000
    assert "IP Throughput" in svg
    assert "data:image/png" in svg


def test_a_real_run_is_drawn(result: Any) -> None:
    """Every panel of a simulated run has data, within its axes."""
    for axes in four_panel(result).axes:
        assert axes.lines
        assert not axes.texts
        top = max(float(np.nanmax(np.asarray(line.get_ydata(), dtype=float))) for line in axes.lines)
        assert 0 < top <= axes.get_ylim()[1]


@pytest.mark.parametrize("spacing", ["100 us", "5 ms", "700 ms"])
def test_pictures_have_the_extremes_of_all_events(spacing: str) -> None:
    """However coarse the points are, figure and page show what the run counted: the least and the greatest sojourn time
    of all packets, the largest window of all ACKs, and the true number of drops.
    """
    flows = [{"cc": "cubic", "rtt": "30 ms", "count": 2}]
    bottleneck = {"rate": "20 Mbit/s", "queue": {"kind": "fifo", "limit": "40 packets"}}
    run = Scenario(duration="4 s", flows=flows, bottleneck=bottleneck, record={"points": spacing}).run()
    columns = Columns()
    panels = {panel.id: encoded(panel, columns) for panel in panels_of(Run(run))}
    raw = base64.b64decode(columns.base64())

    def on_page(panel: str) -> list[np.ndarray]:
        values = [s["columns"]["v"] for s in panels[panel]["series"]]
        return [np.frombuffer(raw, "<f4", v["n"], v["at"]) for v in values]

    counted = run.queues[0]["sojourn_ms"]
    (drawn,), (shown,) = sojourn.samples(run.tables), on_page("sojourn")
    for y in (drawn.y, shown):
        assert (y.min(), y.max()) == pytest.approx((counted["min"], counted["max"]), rel=1e-6)
    factor = FACTORS[panels["cwnd"]["unit"]]
    for flow, drawn, shown in zip(run.flows, cwnd.samples(run.tables), on_page("cwnd"), strict=True):
        assert drawn.y.max() == flow["cwnd_bytes"]["max"]
        assert shown.max() * factor == pytest.approx(flow["cwnd_bytes"]["max"], rel=1e-6)
    drops = run.tables["mark_points"]["count"][run.tables["mark_points"]["kind"] == 2].sum()
    assert drops == run.queues[0]["drops"]["full"] > 10


def test_long_titles_stay_in_the_figure() -> None:
    """A title that is longer than its panel is wide, such as that of a phase graph, is broken."""
    flows = [{"cc": "reno", "rtt": "20 ms", "name": "a first name"}, {"cc": "reno", "rtt": "20 ms", "name": "a second"}]
    result = Scenario(duration="1 s", bottleneck={"rate": "10 Mbit/s"}, flows=flows).run()
    figure = result.plot(["phase", "cwnd"])
    figure.canvas.draw()
    for axes in figure.axes:
        for title in (t for t in axes.findobj(Text) if t.get_text() == axes.get_title(loc="left") and t.get_text()):
            assert title.get_window_extent().x1 <= figure.bbox.x1, title.get_text()
