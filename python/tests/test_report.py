"""The pages of windtunnel.report: what is in the files, and what a browser makes of them.

What a reader changes in a page is in test_report_view.py. The browser is headless Chromium (headless.py).
"""

import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from headless import drive
from made_up import Result, synthetic

from windtunnel import RunResult, Scenario
from windtunnel.report import write_report

REPOSITORY = Path(__file__).parents[2]
ASSETS = REPOSITORY / "python" / "windtunnel" / "report" / "assets"
PANELS = ("throughput", "sojourn", "cwnd", "marks")
NASTY = "</script><!--<script>alert(1)</script> \"quoted\" 'single' & Ümläut \N{RIGHTWARDS ARROW} \u2028"


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


@pytest.fixture(scope="module")
def grouped_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run with two groups of many flows."""
    flows = [{"name": cc, "cc": cc, "rtt": "20 ms", "count": 15} for cc in ("cubic", "reno")]
    run = Scenario(duration="1 s", flows=flows, bottleneck={"rate": "100 Mbit/s"}).run()
    path = tmp_path_factory.mktemp("grouped") / "report.html"
    write_report(run, path)
    return path


@pytest.mark.parametrize("size", ["420,900", "1000,900", "1400,900"])
def test_choices_are_read_to_their_ends(grouped_page: Path, size: str) -> None:
    """A panel's list is as wide as its longest entry (`each flow: median, P10 to P90`), and inside its panel."""
    seen = drive(
        grouped_page,
        """
        (async () => {
          for (const button of document.querySelectorAll("button[aria-pressed=false]")) button.click();
          await settle();
          const lists = [...document.querySelectorAll(".panel select")].filter((list) => list.offsetWidth > 0);
          leave(lists.map((list) => {
            const { width, right } = list.getBoundingClientRect();
            const inside = right <= list.closest(".panel").getBoundingClientRect().right + 1;
            list.style.maxWidth = "none";
            const longest = Math.max(...[...list.options].map((option) => option.text.length));
            return { longest, cut: list.getBoundingClientRect().width - width, inside };
          }));
        })();
        """,
        size=size,
    )
    assert max(one["longest"] for one in seen) > 30
    assert {one["cut"] for one in seen} == {0}
    assert all(one["inside"] for one in seen)


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
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "href", "srcset", "action", "data", "poster"} or name.startswith("on"):
                self.attributes.append((name, value or ""))


def test_nothing_external(page: Path) -> None:
    """No attribute, style or script of a page refers to anything outside it, and the policy forbids it."""
    html = page.read_text(encoding="utf-8")
    references = References()
    references.feed(html)
    assert references.attributes == []
    assert "default-src 'none'" in unescape(html)
    style = (ASSETS / "report.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    script = (ASSETS / "report.js").read_text(encoding="utf-8")
    assert "</script" not in script.lower()
    assert set(re.findall(r"https?://[^\s\"'`)]+", script)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("folders", "assets"),
    [
        (("src",), ("report/assets/report.js", "report/assets/report.css")),
        (("lab", "src"), ("lab/assets/lab.js", "lab/assets/lab.css", "lab/assets/worker.js")),
    ],
    ids=["report", "lab"],
)
def test_assets_are_built_from_the_sources(folders: tuple[str, ...], assets: tuple[str, ...]) -> None:
    """The committed scripts and style sheets name the hash of the sources that are here (web/vite.config.ts)."""
    web = REPOSITORY / "web"
    if not web.is_dir():
        pytest.skip("needs the repository, not only the package")
    paths = [path for folder in folders for path in (web / folder).rglob("*") if path.is_file()]
    sources = [path.relative_to(web).as_posix() for path in paths]
    digest = hashlib.sha256()
    for name in sorted([*sources, "package-lock.json", "vite.config.ts"]):
        digest.update(f"{name}\n".encode())
        digest.update((web / name).read_bytes().replace(b"\r\n", b"\n"))
    for asset in assets:
        text = (ASSETS.parents[1] / asset).read_text(encoding="utf-8")
        assert f"sources sha256: {digest.hexdigest()}" in text, f"{asset} is stale: npm ci && npm run build in web/"
        assert "Copyright (c) 2022 Leon Sorokin" in text
