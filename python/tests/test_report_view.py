"""What a reader changes in a page of windtunnel.report: the cursor, the view and its address, panels saved.

The browser is headless Chromium (headless.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from headless import drive

PANELS = ("throughput", "sojourn", "cwnd", "marks")


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
        # The name of the quantity is next to the chart too, upright for a reader who turns the page.
        words = root.iter("{http://www.w3.org/2000/svg}text")
        assert [element.text for element in words if "rotate" in element.get("transform", "")] == [title]
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 10
    # In the legend a series is known without colour: by its marker and, as a line, by its dashes.
    root = ElementTree.fromstring(seen["texts"][1])
    entries = [element for element in root if element.tag.endswith("path")]
    shapes = [re.sub(r"[\d.]+", "", element.attrib["d"]) for element in entries]
    assert len(entries) == 4
    assert shapes[1] != shapes[3]
    assert bytes(seen["start"]) == b"\x89PNG"
    assert seen["size"] > 5000


def test_what_goes_on_beyond_an_edge_says_so(page: Path) -> None:
    """On a narrow screen each table that is wider than its place is marked on the right, and on the left after it was
    scrolled to its end; one that fits is not.
    """
    seen = drive(
        page,
        """
        (async () => {
          await settle();
          const boxes = [...document.querySelectorAll(".scroll")];
          const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
          const marked = boxes.filter((box) => box.matches(".more-right"));
          const before = wide.map((box) => box.className);
          for (const box of wide) {
            box.scrollLeft = box.scrollWidth;
            // Without a frame to draw, no such event comes by itself.
            box.dispatchEvent(new Event("scroll"));
          }
          const after = wide.map((box) => box.className);
          leave({ boxes: boxes.length, wide: wide.length, marked: marked.length, before, after });
        })();
        """,
        size="500,900",
    )
    assert 0 < seen["wide"] <= seen["boxes"]
    assert seen["marked"] == seen["wide"]
    assert not any("more-left" in name for name in seen["before"])
    assert all("more-left" in name and "more-right" not in name for name in seen["after"])
