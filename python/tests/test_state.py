"""The recorded state of controllers and queues: tables, files, figures; and what a summary must not lose."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from headless import drive

import windtunnel as wt
from windtunnel.errors import InputError
from windtunnel.figures import four_panel
from windtunnel.panels import Run, state
from windtunnel.report import write_report
from windtunnel.report.columns import Columns
from windtunnel.report.panels import encoded
from windtunnel.state_tables import find_state, state_numbers, state_unit


def run(record: dict[str, Any] | None = None, **more: Any) -> wt.RunResult:
    """CUBIC and Reno over PIE."""
    arguments: dict[str, Any] = {
        "duration": "10 s",
        "bottleneck": {"rate": "20 Mbit/s", "queue": "pie"},
        "flows": [{"cc": "cubic", "rtt": "40 ms"}, {"cc": "reno", "rtt": "40 ms"}],
        "record": record or {},
    }
    return wt.Scenario(**{**arguments, **more}).run()


@pytest.fixture(scope="module")
def both() -> wt.RunResult:
    """The run with what is recorded by default."""
    return run()


def test_rows_of_state_join_those_of_flows_and_queues(both: wt.RunResult) -> None:
    """There is one row per interval and flow or queue; numbers that only one algorithm has are NaN for the other."""
    tables = both.tables
    for mine, other, key in (("cc", "flows", "flow"), ("aqm", "queues", "queue")):
        np.testing.assert_array_equal(tables[mine]["time_s"], tables[other]["time_s"])
        np.testing.assert_array_equal(tables[mine][key], tables[other][key])
    cubic = tables["cc"]["flow"] == 0
    assert np.isfinite(tables["cc"]["w_max_segments"][cubic]).all()
    assert np.isnan(tables["cc"]["w_max_segments"][~cubic]).all()
    assert set(np.unique(tables["cc"]["stage"])) <= {0, 1, 2, 3}
    p = tables["aqm"]["p"]
    assert ((p >= 0) & (p <= 1)).all()
    assert p.max() > 0


def test_cubic_tells_the_curve_that_its_window_follows(both: wt.RunResult) -> None:
    """RFC 9438 section 4.2 in Linux's units: K = cbrt((origin - W_start) / C); the target is on that cubic."""
    cc, flows = both.tables["cc"], both.tables["flows"]
    mine = (cc["flow"] == 0) & np.isfinite(cc["epoch_start_s"])
    start, k, origin = (cc[name][mine] for name in ("epoch_start_s", "k_s", "origin_segments"))
    # A row has the target of the last computation, at most a 32nd of a second earlier; the window follows the function
    # one least round trip ahead.
    ahead = cc["time_s"][mine] - start + cc["delay_min_s"][mine]
    curve = origin + 410 / 1024 * (ahead - k) ** 3
    before = origin + 410 / 1024 * (ahead - 1 / 32 - 0.002 - k) ** 3
    target = cc["target_segments"][mine]
    assert mine.sum() > 500
    assert ((target <= curve + 2) & (target >= before - 2)).mean() > 0.95
    # The window never falls below what is left of W_max in an epoch, and ends there.
    assert np.nanmax(flows["cwnd_bytes"][flows["flow"] == 0]) > 0


def test_state_can_be_left_out_and_does_not_change_a_run(both: wt.RunResult) -> None:
    """``off`` records no state; with ``changes`` each row differs from the one before; the digest is always the
    same.
    """
    off, changes = run({"state": "off"}), run({"state": "changes"})
    assert "cc" not in off.tables
    assert "aqm" not in off.tables
    assert off.digest == changes.digest == both.digest
    rows = [np.column_stack(list(changes.tables["cc"].values()))[changes.tables["cc"]["flow"] == 0][:, 2:]][0]
    same = (rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1]))
    assert len(rows) > 100
    assert not same.all(axis=1).any()


def test_parquet_has_null_for_what_there_is_not(both: wt.RunResult, tmp_path: Path) -> None:
    """DuckDB, pandas and Arrow skip null in sums, not NaN; reading the folder gives NaN again."""
    both.save(tmp_path / "run")
    stored = pq.read_table(tmp_path / "run" / "cc.parquet")
    assert stored["w_max_segments"].null_count == stored.num_rows // 2
    again = wt.load(tmp_path / "run").tables["cc"]
    np.testing.assert_array_equal(again["w_max_segments"], both.tables["cc"]["w_max_segments"])


def test_figures_of_state(both: wt.RunResult) -> None:
    """Each number gets a panel, with a line for each flow or queue that has it."""
    figure = four_panel(both, panels=(), states=["w_max_segments", "aqm.p", "stage"])
    assert [axes.get_label() for axes in figure.axes] == ["cc.w_max_segments", "aqm.p", "cc.stage"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [1, 1, 2]
    assert figure.axes[0].get_ylabel() == "w_max_segments (segments)"
    with pytest.raises(InputError, match=r"no state 'w_min'; there are cc\.w_max_segments"):
        four_panel(both, states=["w_min"])


def test_names_of_state(both: wt.RunResult) -> None:
    """A name ends in its unit; the first number is one that changes; a name can include its table."""
    assert [state_unit(name) for name in ("k_s", "w_max_bytes", "p", "max_p", "recover_seq")] == [
        "s", "bytes", "", "", "sequence number",
    ]  # fmt: skip
    assert find_state(both.tables, "p") == find_state(both.tables, "aqm.p") == ("aqm", "p")
    with pytest.raises(InputError, match=r"no state 'cc\.p'"):
        find_state(both.tables, "cc.p")
    first = both.tables["cc"][state_numbers(both.tables, "cc")[0]]
    assert np.ptp(first[np.isfinite(first)]) > 0
    assert state_numbers(run({"state": "off"}).tables, "cc") == []


def test_panels_of_state_share_their_times(both: wt.RunResult) -> None:
    """The page has a choice for each number; of one flow all have one column of times, so that a page stays small."""
    columns = Columns()
    panels = [encoded(panel, columns) for panel in state.panels(Run(both))]
    assert [panel["id"] for panel in panels] == ["cc", "aqm"]
    choices = panels[0]["choices"]
    assert {"w_max_segments", "k_s", "stage"} <= {choice["name"] for choice in choices}
    times = {series["columns"]["t"]["at"] for choice in choices for series in choice["series"] if series["flow"] == 0}
    assert len(times) == 1
    assert all(series["step"] == "hold" for choice in choices for series in choice["series"])


def test_only_modulators_have_accumulators() -> None:
    """PIE's dequeues have no ``acc``; in a run with a modulator theirs is NaN, not 0."""
    short = {"duration": "1 s", "record": {"events": True, "points": "0 s"}}
    assert not {"acc", "mds_osc", "conv_osc"} & set(run(**short).tables["dequeue_events"])
    nodes = [{"name": name} for name in "abc"]
    links = [
        {"name": "pie", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "queue": "pie"},
        {"name": "deltim", "from": "b", "to": "c", "rate": "8 Mbit/s", "delay": "5 ms", "queue": "deltim"},
    ]
    flows = [{"cc": "reno", "from": "a", "to": "c"}]
    events = run(**short, bottleneck=None, nodes=nodes, links=links, flows=flows).tables["dequeue_events"]
    at_pie = events["queue"] == 0
    assert np.isnan(events["acc"][at_pie]).all()
    assert np.isfinite(events["acc"][~at_pie]).all()


def test_the_panel_of_drops_agrees_with_its_table() -> None:
    """Many flows lose bursts: frequencies times the time they stand for give the drops that the queue counted.

    When the first drop of each span was kept with the gap before it, the panel showed the gaps between bursts.
    """
    flows = [{"cc": "reno", "rtt": "20 ms", "count": 200}]
    busy = run(
        {"points": "50 ms"}, bottleneck={"rate": "50 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}}, flows=flows
    )
    drops = sum(busy.queues[0]["drops"].values())
    points = busy.tables["mark_points"]
    lost = points["kind"] == 2
    assert points["count"][lost].sum() == drops > 1000
    span = np.diff(points["time_s"][lost], prepend=0.0)
    assert np.sum(points["hz"][lost] * span) == pytest.approx(drops)
    assert (np.diff(points["time_s"][lost] // 0.05) > 0).all()
    assert points["gap_min_ms"][lost].min() < 1e-3 * 1500 * 8 / 50 * 2


def test_impairments_reach_the_summary_file(tmp_path: Path) -> None:
    """The effects of media are in ``summary.json``, are read back, and add up."""
    impair = [{"kind": "loss", "probability": "1 %"}, {"kind": "duplication", "probability": "1 %"}]
    result = run(bottleneck={"rate": "20 Mbit/s", "impair": impair})
    result.save(tmp_path / "run")
    document = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert document["schema_version"] == 2
    assert document["stalled"] is None
    loss, double = document["impairments"]
    assert (loss["kind"], double["kind"]) == ("loss", "duplication")
    assert loss["arrived"] == loss["passed"] + loss["lost"] + loss["held"]
    assert loss["lost"] > 0
    assert double["duplicated"] > 0
    assert sum(flow["drops"]["wire"] for flow in document["flows"]) == loss["lost"]
    assert document["queues"][0]["drops"]["wire"] == 0
    assert wt.load(tmp_path / "run").impairments == document["impairments"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Impairment" in page
    assert "Duplicated" in page


def test_a_stall_reaches_the_summary_file(tmp_path: Path) -> None:
    """A result that stalled says so in ``summary.json``, in the page, and when it is read back."""
    result = run(duration="1 s")
    why = {"t_s": 0.5, "why": "nothing is under way and no timer is set"}
    stalled = wt.RunResult({**result.summary, "stalled": why}, result.tables, result.meta)
    stalled.save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["stalled"] == why
    assert wt.load(tmp_path / "run").stalled == why
    assert f"Stalled at 0.5 s: {why['why']}." in (tmp_path / "run" / "report.html").read_text()


def test_folders_of_version_1_can_be_read(tmp_path: Path) -> None:
    """Results of older versions have neither impairments nor stalls."""
    run(duration="1 s").save(tmp_path / "run")
    file = tmp_path / "run" / "summary.json"
    document = json.loads(file.read_text())
    del document["impairments"], document["stalled"]
    file.write_text(json.dumps({**document, "schema_version": 1}))
    old = wt.load(tmp_path / "run")
    assert (old.impairments, old.stalled) == ([], None)


@pytest.mark.parametrize("burst", [55, "55 packets", "55packets"])
def test_counts_may_have_their_unit(burst: int | str) -> None:
    """``windtunnel list`` shows RED's burst in packets, and a file may say so."""
    queue = {"kind": "red", "min": "30 kB", "max": "90 kB", "burst": burst}
    bottleneck = {"rate": "10 Mbit/s", "queue": queue}
    resolved = wt.Scenario(duration="1 s", bottleneck=bottleneck, flows=[{"cc": "reno", "rtt": "20 ms"}]).resolve()
    assert resolved["bottleneck"]["queue"]["burst"] == 55


@pytest.mark.parametrize("burst", ["55 segments", "packets", "5.5 packets", "-3 packets"])
def test_other_units_are_refused(burst: str) -> None:
    """A wrong unit is named, with what is allowed."""
    queue = {"kind": "red", "min": "30 kB", "max": "90 kB", "burst": burst}
    scenario = wt.Scenario(
        duration="1 s", bottleneck={"rate": "10 Mbit/s", "queue": queue}, flows=[{"cc": "reno", "rtt": "20 ms"}]
    )
    with pytest.raises(wt.ScenarioError, match='"10 packets"'):
        scenario.check()


def test_a_reader_chooses_a_number(both: wt.RunResult, tmp_path: Path) -> None:
    """The list of the panel changes what is drawn, its unit and its legend; a flow that is off stays off."""
    page = tmp_path / "state.html"
    write_report(both, page)
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          for (const id of ["cc", "aqm"]) $(`[data-show=${id}]`).click();
          await settle();
          const list = $("[data-panel=cc] select");
          const choose = async (name) => {
            list.value = [...list.options].find((option) => option.text === name).value;
            list.dispatchEvent(new Event("change"));
            await settle();
            return {
              unit: $("[data-panel=cc] .unit").textContent,
              flows: legend("cc").map((b) => [b.querySelector(".name").textContent, b.getAttribute("aria-pressed")]),
              ink: pixels("cc"),
            };
          };
          const seen = { names: [...list.options].map((option) => option.text), queue: pixels("aqm") };
          seen.w_max = await choose("w_max_segments");
          seen.stage = await choose("stage");
          legend("cc")[0].click();
          await settle();
          seen.k = await choose("k_s");
          seen.again = await choose("stage");
          leave(seen);
        })();
        """,
    )
    assert seen["names"] == state_numbers(both.tables, "cc")
    assert seen["w_max"]["unit"] == "(segments)"
    assert seen["w_max"]["flows"] == [["cubic", "true"]]
    assert seen["stage"]["unit"] == ""
    assert seen["stage"]["flows"] == [["cubic", "true"], ["reno", "true"]]
    assert seen["k"]["unit"] == "(s)"
    assert seen["k"]["flows"] == [["cubic", "false"]]
    assert seen["again"]["flows"] == [["cubic", "false"], ["reno", "true"]]
    # A line across the chart is about 600 pixels long; without any there are only the axes.
    assert min(seen["queue"], seen["w_max"]["ink"], seen["again"]["ink"]) > seen["k"]["ink"] + 500
