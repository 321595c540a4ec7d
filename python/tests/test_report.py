"""The pages of windtunnel.report: what is in the files, and what a browser makes of them.

The browser is headless Chromium (headless.py).
"""

import hashlib
import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from headless import drive

from windtunnel import RunResult, Scenario
from windtunnel.report import write_report

REPOSITORY = Path(__file__).parents[2]
ASSETS = REPOSITORY / "python" / "windtunnel" / "report" / "assets"
PANELS = ("throughput", "sojourn", "cwnd", "marks")
NASTY = "</script><!--<script>alert(1)</script> \"quoted\" 'single' & Ümläut \N{RIGHTWARDS ARROW} \u2028"


@dataclass(frozen=True)
class Result:
    """The parts of a run's result that a report needs."""

    summary: dict[str, Any]
    tables: dict[str, dict[str, np.ndarray]]
    meta: dict[str, Any] = field(default_factory=dict)


def sawtooth(t: np.ndarray, period: float, low: float, high: float) -> np.ndarray:
    return low + (high - low) * (t / period % 1)


def synthetic(points: int = 4000, *, duration: float = 60.0, names: tuple[str, ...] = ("reno", "reno-mds")) -> Result:
    """A run of two flows with ``points`` single events in all, most of them dequeues."""
    rng = np.random.default_rng(1)
    each = points // 10
    t = np.linspace(0.01, duration, each)
    cwnd = [sawtooth(t, 7, 250e3, 500e3), 260e3 + 20e3 * np.sin(t)]
    rate = [60 + 5 * np.sin(t), 35 - 5 * np.sin(t)]
    n = points - 5 * each - 2 * (each // 2)
    ts = np.sort(rng.uniform(0, duration, n))
    ms = np.abs(sawtooth(ts, 7, 0.0, 5) + rng.normal(0, 0.3, n))
    tm = np.sort(rng.uniform(0.5, duration, each // 2 * 2))
    kind = np.where(rng.random(len(tm)) < 1 / 64, 1, 0)
    kind[len(tm) // 2] = 2
    two = np.repeat([0, 1], each)
    tables = {
        "throughput_points": {
            "time_s": np.tile(t, 3),
            "flow": np.repeat([-1, 0, 1], each),
            "mbps": np.concatenate([rate[0] + rate[1], *rate]),
        },
        "cwnd_points": {
            "time_s": np.tile(t, 2),
            "flow": two,
            "bytes": np.concatenate(cwnd),
            "limited": np.concatenate([t < 0, t % 9 < 4]),
        },
        "sojourn_points": {"time_s": ts, "queue": np.zeros(n, int), "ms": ms, "empty": ms < 0.2},
        "mark_points": {
            "time_s": tm,
            "queue": np.zeros(len(tm), int),
            "flow": rng.integers(0, 2, len(tm)),
            "kind": kind,
            "hz": np.exp(rng.normal(np.where(kind == 0, 7, 2.5), 0.8)),
        },
    }
    flows = [
        {
            "name": name,
            "cc": "reno",
            "path_rtt_ms": 20.0,
            "throughput_mbps": float(rate[i].mean()),
            "goodput_mbps": 0.965 * float(rate[i].mean()),
            "cwnd_bytes": {"mean": float(cwnd[i].mean()), "min": 14480, "max": int(cwnd[i].max())},
            "rtt_ms": {
                "min": 20.1,
                "mean": 22.31,
                "p50": 22.0,
                "p95": 24.9,
                "p99": 25.3,
                "max": 26.12,
            },
            "retransmits": 0,
            "loss_episodes": 0,
            "rtos": 0,
            "ce_marks": 9,
            "sce_marks": 12345,
            "slow_start_exit": {"t_s": 0.412, "cwnd_bytes": 501000, "reason": "mark"} if i == 0 else None,
        }
        for i, name in enumerate(names)
    ]
    queue = {
        "name": "bottleneck",
        "rate_mbps": 100.0,
        "utilization": 0.9987,
        "sojourn_ms": {"mean": 2.5, "p50": 2.4, "p95": 4.9, "p99": 5.1, "max": 6.2},
        "sce": 12345,
        "ce": 9,
        "drops": {"full": 0, "aqm": 1, "wire": 0},
        "dequeued": 499_123,
        "emptied": 1234,
    }
    summary = {
        "duration_s": duration,
        "seed": 1,
        "digest": "ab" * 32,
        "packets": 499_123,
        "events": 1_500_000,
        "flows": flows,
        "queues": [queue],
        "windows": [{"name": "steady", "from_s": 10.0, "to_s": duration, "flows": flows, "queues": [queue]}],
    }
    meta = {
        "version": "0.1.0",
        "title": "Reno against Reno-MDS",
        "packets_per_second": 9_300_000.0,
        "scenario_toml": 'title = "x"\nduration = "60 s"\n',
    }
    return Result(summary, tables, meta)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    write_report(synthetic(), path)
    return path


def test_all_charts_draw_offline(page: Path) -> None:
    """Every chart reports its first draw, has drawn its series (more than its axes), and nothing was loaded."""
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          const before = each(pixels), drawn = each((id) => chart(id).dataset.drawn);
          for (const id of ids) legend(id).forEach((button) => button.click());
          await settle();
          const loaded = performance.getEntriesByType("resource").map((e) => e.name);
          leave({ before, drawn, axes: each(pixels), loaded });
        })();
        """,
    )
    assert seen["drawn"] == dict.fromkeys(PANELS, "true")
    for panel in PANELS:
        # A line across the chart is about 600 pixels long, and each panel has at least that much ink.
        assert seen["before"][panel] > seen["axes"][panel] + 500, panel
        assert seen["axes"][panel] > 500, panel
    assert seen["loaded"] == []


def test_interaction(page: Path) -> None:
    """Zoom by drag, keys, buttons and inputs moves all panels; legends switch series; hover shows values."""
    seen = drive(
        page,
        """
        const range = () => [Number($("#range-from").value), Number($("#range-to").value)];
        const mouse = (target, type, x, y, more = {}) =>
          target.dispatchEvent(
            new MouseEvent(type, { clientX: x, clientY: y, movementX: 1, bubbles: true, view: window, ...more }));
        const key = (id, name, more = {}) =>
          chart(id).dispatchEvent(
            new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
        (async () => {
          await settle();
          key("cwnd", "ArrowRight"); key("cwnd", "ArrowRight"); await settle();
          const seen = { start: range(), live: $("#live").textContent };
          seen.shared = each((id) => $(`[data-panel=${id}] .time`).textContent);
          const over = chart("cwnd").querySelector(".u-over"), box = over.getBoundingClientRect();
          const drag = async (from, to, more) => {
            const [a, b] = [from, to].map((share) => box.left + share * box.width), y = box.top + 50;
            mouse(over, "mouseenter", a, y); mouse(over, "mousemove", a, y);
            mouse(over, "mousedown", a, y, more);
            mouse(over, "mousemove", (a + b) / 2, y, more); mouse(over, "mousemove", b, y, more);
            await settle(); mouse(over, "mouseup", b, y, more); await settle();
          };
          const whole = each(pixels);
          const heights = () => JSON.stringify(ids.map((id) => chart(id).getBoundingClientRect()));
          const still = heights();
          await drag(0.25, 0.5); seen.drag = range(); seen.changed = each((id) => pixels(id) !== whole[id]);
          await drag(0.5, 0.25, { shiftKey: true }); seen.pan = range();
          mouse(over, "dblclick", box.left + 50, box.top + 50); await settle(); seen.reset = range();
          key("marks", "+"); await settle(); seen.plus = range();
          key("marks", "0"); await settle(); seen.zero = range();
          $("#range-from").value = "10"; $("#range-to").value = "10.000001";
          $("#range-to").dispatchEvent(new Event("change")); await settle(); seen.microsecond = range();
          $("[data-range=reset]").click(); await settle();
          mouse(over, "mousemove", box.left + box.width / 2, box.top + 50); await settle();
          const value = 260 + 20 * Math.sin(30), y0 = box.top + box.height * (1 - value / 530);
          const x0 = box.left + box.width / 2;
          mouse(over, "mouseover", x0, y0); mouse(over, "mousemove", x0, y0); await settle();
          seen.tooltip = [...over.querySelectorAll(".hit-box div")].map((line) => line.textContent);
          seen.values = each((id) => legend(id).map((b) => b.querySelector(".value")?.textContent ?? ""));
          seen.still = heights() === still;
          const flow = document.querySelector("#flows .toggle");
          flow.click(); await settle();
          seen.flowOff = each((id) => legend(id).map((b) => b.getAttribute("aria-pressed")));
          flow.click();
          legend("throughput")[1].dispatchEvent(new MouseEvent("click", { shiftKey: true })); await settle();
          seen.solo = legend("throughput").map((b) => b.getAttribute("aria-pressed"));
          const log = pixels("marks");
          $("input[data-log]").click(); await settle(); seen.linear = pixels("marks") !== log;
          leave(seen);
        })();
        """,
    )
    assert seen["start"] == [0, 60]
    assert seen["drag"] == pytest.approx([15, 30], abs=0.2)
    assert all(seen["changed"].values())
    assert seen["pan"] == pytest.approx([18.75, 33.75], abs=0.3)
    assert seen["reset"] == [0, 60]
    assert seen["plus"][1] - seen["plus"][0] == pytest.approx(30, abs=0.1)
    assert seen["zero"] == [0, 60]
    assert seen["microsecond"] == [10, 10.000001]
    # Nothing moves when values appear under the pointer.
    assert seen["still"]
    # The cursor is at 30 s in all panels; the dotted line of all flows has 95 Mbit/s there.
    assert seen["values"]["throughput"][0] == "95.00"
    assert all(any(v not in ("", "\N{EN DASH}") for v in seen["values"][p]) for p in PANELS)
    assert re.match(r"\d+\.\d+ s: reno [\d.]+ kB, reno-mds [\d.]+ kB$", seen["live"])
    assert len(set(seen["shared"].values())) == 1
    assert seen["shared"]["marks"].startswith("at 3")
    # The sample of reno-mds next to 30 s: 260 + 20 sin t kB (see `synthetic`), cwnd-limited while t mod 9 s < 4 s.
    assert seen["tooltip"][0] == "reno-mds"
    assert seen["tooltip"][1].endswith(" kB")
    assert float(seen["tooltip"][1].split()[0]) == pytest.approx(260 + 20 * np.sin(30), abs=2.5)
    assert seen["tooltip"][3] == "cwnd-limited"
    assert seen["flowOff"]["throughput"] == ["true", "false", "true"]
    assert seen["flowOff"]["cwnd"] == ["false", "true", "true"]
    assert seen["flowOff"]["sojourn"] == ["true", "true"]
    assert seen["solo"] == ["false", "true", "false"]
    assert seen["linear"]


def test_the_view_is_in_the_address(page: Path) -> None:
    """What a reader has set is in the page's address, and a page that is opened there shows it."""
    state = """
          const state = () => ({
            range: [Number($("#range-from").value), Number($("#range-to").value)],
            panels: [...document.querySelectorAll("[data-panel]")].filter((p) => !p.hidden).map((p) => p.dataset.panel),
            cwnd: legend("cwnd").map((b) => b.getAttribute("aria-pressed")),
            average: $("[data-panel=throughput] [data-average]").value,
            log: $("[data-log]").checked, unit: $("[data-panel=marks] .unit").textContent,
            zero: $("#zero-based").checked, drawn: each((id) => chart(id).dataset.drawn), hash: location.hash,
          });
    """
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          STATE
          const plain = state();
          $("#range-from").value = "10"; $("#range-to").value = "20.5";
          $("#range-to").dispatchEvent(new Event("change"));
          legend("cwnd")[0].click();
          const average = $("[data-panel=throughput] [data-average]");
          average.value = "0.2"; average.dispatchEvent(new Event("change"));
          $("[data-log]").click(); $("#zero-based").click(); $("[data-show=sojourn]").click();
          await settle();
          leave({ plain, set: state() });
        })();
        """.replace("STATE", state),
    )
    assert seen["plain"]["hash"] == ""
    wanted = seen["set"]
    assert wanted["hash"] == (
        "#from=10&to=20.5&zero=0&panels=throughput,cwnd,marks&throughput.mean=0.2&cwnd.off=flow0&marks.log=0"
    )
    assert wanted["unit"] == "(Hz)"
    again = drive(
        page,
        """
        (async () => { await settle(); await settle(); STATE leave(state()); })();
        """.replace("STATE", state),
        at=wanted["hash"],
    )
    assert again == wanted | {"drawn": {name: "true" for name in PANELS if name != "sojourn"}}
    nonsense = drive(
        page,
        """
        (async () => { await settle(); await settle(); STATE leave(state()); })();
        """.replace("STATE", state),
        at="#from=x&to=&panels=throughput,nothing&cwnd.off=&marks.mean=-3&cc.choice=99&__proto__.log=1",
    )
    assert nonsense["range"] == [0, 60]
    assert nonsense["panels"] == ["throughput"]


def test_panels_are_saved(page: Path) -> None:
    """A panel becomes a picture with its title, unit and legend, or the samples that it shows."""
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          const made = [];
          // What a blob holds can only be read in the browser's own time.
          window.Blob = function ([content], { type }) { made.push({ content, type }); };
          URL.createObjectURL = () => "blob:saved";
          const names = [];
          HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
          $("#range-from").value = "10"; $("#range-to").value = "11";
          $("#range-to").dispatchEvent(new Event("change"));
          await settle();
          for (const [id, format] of [["cwnd", "csv"], ["cwnd", "svg"], ["sojourn", "svg"], ["marks", "png"]]) {
            const list = $(`[data-panel=${id}] [data-save]`);
            list.value = format; list.dispatchEvent(new Event("change"));
            await settle();
          }
          leave({
            names, types: made.map((b) => b.type), texts: made.slice(0, 3).map((b) => b.content),
            start: [...new Uint8Array(made[3].content)].slice(0, 4), size: made[3].content.byteLength,
          });
        })();
        """,
    )
    assert seen["names"] == ["cwnd.csv", "cwnd.svg", "sojourn.svg", "marks.png"]
    assert seen["types"] == ["text/csv", "image/svg+xml", "image/svg+xml", "image/png"]
    head, *rows = seen["texts"][0].splitlines()
    assert head == "series,Time (s),Congestion Window (kB)"
    points = [row.split(",") for row in rows]
    t = np.linspace(0.01, 60, 400)
    inside = t[(t >= 10) & (t <= 11)]
    assert [p[0] for p in points] == ["reno"] * len(inside) + ["reno-mds"] * len(inside)
    np.testing.assert_allclose([float(p[1]) for p in points], np.tile(inside, 2), atol=1e-6)
    np.testing.assert_allclose([float(p[2]) for p in points[len(inside) :]], 260 + 20 * np.sin(inside), rtol=1e-5)
    for svg, title in zip(seen["texts"][1:], ("Congestion Window (kB)", "Queue Sojourn Time (ms)"), strict=True):
        root = ElementTree.fromstring(svg)
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert title in texts
        assert "Time (s)" in texts
        assert "10.2" in texts
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 10
    assert bytes(seen["start"]) == b"\x89PNG"
    assert seen["size"] > 5000


def test_million_points(tmp_path: Path) -> None:
    """10^6 points and 10^5 retransmissions: the page stays below 3 MB, and a zoom of all four panels takes a part of
    the time of the first draw, which decodes everything. Where every point is drawn by itself a zoom takes as long.
    Both are measured in the same second, so that a slow or busy machine changes neither's part.
    """
    path = tmp_path / "million.html"
    run = synthetic(1_000_000)
    n = 100_000
    run.tables["flows"] = {
        "time_s": np.linspace(0.001, 60, n),
        "flow": np.arange(n) % 2,
        "throughput_mbps": np.full(n, 50.0),
        "retransmits": np.ones(n, int),
        "rtos": np.arange(n) % 3,
    }
    write_report(run, path)
    assert path.stat().st_size < 3e6
    seen = drive(
        path,
        """
        // Before the load event and without a timer: only microtasks, in real time, with all drawing flushed.
        const canvas = (id) => chart(id).querySelector("canvas");
        const flush = () => ids.forEach((id) => canvas(id).getContext("2d").getImageData(0, 0, 1, 1));
        (async () => {
          for (let i = 0; i < 20; i++) await null;
          flush();
          const first = performance.now() - performance.getEntriesByName("report:start")[0].startTime;
          const zooms = [];
          for (const key of ["+", "-", "+", "+", "-", "-", "+", "0"]) {
            const start = performance.now();
            chart("sojourn").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            for (let i = 0; i < 20; i++) await null;
            flush();
            zooms.push(performance.now() - start);
          }
          leave({ first, zooms, load: performance.now(), drawn: each((id) => chart(id).dataset.drawn) });
        })();
        """,
        virtual_time=False,
    )
    assert seen["drawn"] == dict.fromkeys(PANELS, "true")
    assert sorted(seen["zooms"])[len(seen["zooms"]) // 2] < 0.6 * seen["first"]


@pytest.mark.parametrize("size", ["420,900", "1400,900"])
def test_layout_fits(page: Path, size: str) -> None:
    """The page itself never scrolls sideways and the charts fill their column."""
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          const root = document.documentElement;
          leave({ over: root.scrollWidth - root.clientWidth, page: root.clientWidth,
            gaps: ids.map((id) => chart(id).clientWidth - chart(id).querySelector(".uplot").offsetWidth),
            widths: ids.map((id) => chart(id).clientWidth) });
        })();
        """,
        size=size,
    )
    assert seen["over"] <= 0
    assert all(0 <= gap <= 1 for gap in seen["gaps"])
    columns = 1 if seen["page"] < 900 else 2
    assert all(width > 0.85 * seen["page"] / columns for width in seen["widths"])


def test_escaping(tmp_path: Path) -> None:
    """Titles, names and scenarios with any content arrive as text."""
    result = synthetic(names=(NASTY, "b"))
    result.summary["windows"][0]["name"] = NASTY
    result.meta["scenario_toml"] = f"title = '''{NASTY}'''"
    path = tmp_path / "nasty.html"
    write_report(result, path, title=NASTY)
    seen = drive(
        path,
        """
        (async () => {
          await settle();
          leave({ title: document.title, h1: $("h1").textContent, scenario: $("#scenario").textContent,
            scripts: document.scripts.length, cell: $("tbody td").textContent,
            drawn: each((id) => chart(id).dataset.drawn),
            legend: legend("cwnd")[0].querySelector(".name").textContent });
        })();
        """,
    )
    assert seen["title"] == " ".join(NASTY.split(" "))
    assert seen["h1"] == seen["cell"] == seen["legend"] == NASTY
    assert NASTY in seen["scenario"]
    assert seen["scripts"] == 4  # description, data, script, driver
    assert seen["drawn"] == dict.fromkeys(PANELS, "true")


def test_runs_without_points_or_anything(tmp_path: Path) -> None:
    """Interval series replace missing single events; a run without any event says so in every panel."""
    t = np.arange(1, 101) * 0.1
    one = np.ones(100)
    tables = {
        "flows": {
            "time_s": t,
            "flow": 0 * t,
            "throughput_mbps": 50 * one,
            "cwnd_bytes": 1e5 * one,
            "cwnd_min_bytes": 9e4 * one,
            "cwnd_max_bytes": np.where(t < 5, np.nan, 1.1e5),
            "cwnd_limited": np.where(t < 5, np.nan, 0.9),
        },
        "queues": {
            "time_s": t,
            "queue": 0 * t,
            "sojourn_mean_ms": np.where(t < 2, np.nan, 3.0),
            "sojourn_min_ms": one,
            "sojourn_max_ms": 4 * one,
            "emptied": 0 * t,
            "sce": 5 * one,
            "ce": 0 * t,
            "drops": 0 * t,
        },
    }
    summary = {"duration_s": 10.0, "flows": [{"name": "a"}], "queues": [{"name": "q"}]}
    write_report(Result(summary, tables), tmp_path / "intervals.html")
    write_report(Result({"duration_s": 10.0, "flows": [], "queues": []}, {}), tmp_path / "nothing.html")
    driver = """
        (async () => {
          await settle();
          leave({
            drawn: each((id) => chart(id).dataset.drawn),
            empty: each((id) => chart(id).querySelector(".empty") !== null),
          });
        })();
        """
    intervals = drive(tmp_path / "intervals.html", driver)
    assert intervals == {
        "drawn": dict.fromkeys(PANELS, "true"),
        "empty": dict.fromkeys(PANELS, False),
    }
    nothing = drive(tmp_path / "nothing.html", driver)
    assert nothing == {"drawn": dict.fromkeys(PANELS, "true"), "empty": dict.fromkeys(PANELS, True)}


def test_a_run_with_losses(lossy: RunResult, tmp_path: Path) -> None:
    """Drops are not called marks, flows without a window have no line, and each chart is drawn."""
    write_report(lossy, tmp_path / "x.html")
    seen = drive(
        tmp_path / "x.html",
        """
        (async () => {
          await settle();
          leave({
            drawn: each((id) => chart(id).dataset.drawn),
            windows: legend("cwnd").map((button) => button.textContent.trim()),
            page: document.body.textContent.includes("Drop Frequency"),
          });
        })();
        """,
    )
    assert seen["drawn"] == dict.fromkeys(PANELS, "true")
    assert [name for name in seen["windows"] if name in ("cubic", "file", "web", "ping")] == ["cubic", "file"]
    assert seen["page"]


def test_retransmissions_are_seen(lossy: RunResult, tmp_path: Path) -> None:
    """Each flow has ticks, which its switch and their own switch hide; pointing at one shows its count and its flow."""
    write_report(lossy, tmp_path / "x.html")
    flows = lossy.tables["flows"]
    again = (flows["flow"] == 0) & (flows["retransmits"] > 0)
    seen = drive(
        tmp_path / "x.html",
        """
        (async () => {
          await settle();
          const button = (name) => legend("cwnd").find((b) => b.textContent.includes(name));
          const over = chart("cwnd").querySelector(".u-over"), box = over.getBoundingClientRect();
          const hover = async (time, row) => {
            const clientX = box.left + (time / 3) * box.width, clientY = box.top + 2 + 9 * (row + 0.5);
            for (const type of ["mouseenter", "mouseover", "mousemove"])
              over.dispatchEvent(new MouseEvent(type, { clientX, clientY, movementX: 1, bubbles: true, view: window }));
            await settle();
            return [...over.querySelectorAll(".hit-box div")].map((line) => line.textContent);
          };
          const tip = await hover(TIME, 0);
          const all = pixels("cwnd");
          button("retransmissions").click(); button("timeouts")?.click(); await settle();
          const without = pixels("cwnd");
          button("retransmissions").click(); button("timeouts")?.click(); await settle();
          const back = pixels("cwnd");
          // A Poisson flow has ticks, but no line.
          [...document.querySelectorAll("#flows .toggle")][2].click(); await settle();
          leave({ tip, all, without, back, fewer: pixels("cwnd") });
        })();
        """.replace("TIME", str(flows["time_s"][again][0])),
    )
    n = int(flows["retransmits"][again][0])
    assert seen["tip"][:2] == ["cubic", f"{n} retransmission{'' if n == 1 else 's'}"]
    assert seen["back"] == seen["all"] != seen["without"]
    assert (lossy.flows[2]["retransmits"] > 0) == (seen["fewer"] < seen["all"])


def test_charts_follow_the_window(page: Path) -> None:
    """Charts follow their column when its width changes."""
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          const widths = () => ids.map((id) => [chart(id).clientWidth, chart(id).querySelector(".uplot").offsetWidth]);
          const before = widths();
          document.body.style.maxWidth = "950px"; await settle(); await settle();
          leave({ before, after: widths() });
        })();
        """,
    )
    for before, after in zip(seen["before"], seen["after"], strict=True):
        assert before[0] - 1 <= before[1] <= before[0]
        assert after[0] - 1 <= after[1] <= after[0] < before[0] - 100


def test_empty_panels_have_no_axes(tmp_path: Path) -> None:
    """A panel without data says why, and shows neither axis nor switch."""
    bottleneck = {"rate": "10 Mbit/s", "impair": {"kind": "outage", "times": [{"from": "0 s", "to": "1 s"}]}}
    flows = [{"name": "ping", "rtt": "20 ms", "app": "probe"}]
    write_report(Scenario(duration="1 s", flows=flows, bottleneck=bottleneck).run(), tmp_path / "x.html")
    seen = drive(
        tmp_path / "x.html",
        """
        (async () => {
          await settle();
          leave({ ink: each(pixels), switches: each((id) => legend(id).length), log: $("[data-log]") !== null,
            why: each((id) => chart(id).querySelector(".empty")?.textContent ?? "") });
        })();
        """,
    )
    assert {k: v for k, v in seen["ink"].items() if k != "sojourn"} == {"throughput": 0, "cwnd": 0, "marks": 0}
    assert {k: v for k, v in seen["switches"].items() if k != "sojourn"} == {"throughput": 0, "cwnd": 0, "marks": 0}
    assert not seen["log"]
    assert seen["why"]["throughput"] == "No packet reached a receiver."
    assert seen["why"]["cwnd"].startswith("No flow has a single congestion window")
    assert seen["why"]["marks"] == "No queue marked or dropped a packet. On the wire 100 packets were lost."


# --- without a browser --------------------------------------------------------------------------------------------


class References(HTMLParser):
    """Collects what a page would load or run by attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "href", "srcset", "action", "data", "poster"} or name.startswith("on"):
                self.found.append((name, value or ""))


def test_nothing_external(page: Path) -> None:
    """No attribute, style or script of a page refers to anything outside it, and the policy forbids it."""
    html = page.read_text(encoding="utf-8")
    references = References()
    references.feed(html)
    assert references.found == []
    assert "default-src 'none'" in unescape(html)
    style = (ASSETS / "report.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    script = (ASSETS / "report.js").read_text(encoding="utf-8")
    assert "</script" not in script.lower()
    assert set(re.findall(r"https?://[^\s\"'`)]+", script)) <= {"http://www.w3.org/2000/svg"}


def test_assets_are_built_from_the_sources() -> None:
    """The committed script and style sheet name the hash of the sources that are here (web/vite.config.ts)."""
    web = REPOSITORY / "web"
    if not web.is_dir():
        pytest.skip("needs the repository, not only the package")
    sources = [p.relative_to(web).as_posix() for p in (web / "src").rglob("*") if p.is_file()]
    digest = hashlib.sha256()
    for name in sorted([*sources, "package-lock.json", "vite.config.ts"]):
        digest.update(f"{name}\n".encode())
        digest.update((web / name).read_bytes().replace(b"\r\n", b"\n"))
    for asset in ("report.js", "report.css"):
        text = (ASSETS / asset).read_text(encoding="utf-8")
        assert f"sources sha256: {digest.hexdigest()}" in text, f"{asset} is stale: npm ci && npm run build in web/"
        assert "Copyright (c) 2022 Leon Sorokin" in text
