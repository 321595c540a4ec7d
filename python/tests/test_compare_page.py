"""``windtunnel compare --page`` of campaigns: their cells laid over each other, in a real browser; every number is
that of the campaigns' own ``cells.parquet`` or of the printed comparison.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaigns import base, campaign
from conftest import Cli, refused
from headless import drive
from test_sweep_page import cells_table, document, payload

from windtunnel import Campaign, grid, zipped
from windtunnel.campaign.page.cells import MOST_ROWS
from windtunnel.campaign.results import load
from windtunnel.compare import cells_page, differences
from windtunnel.compare.joined import Joined
from windtunnel.compare.sides import CampaignSide, open_sides

SHARE = {"share": "ratio(flows.a.goodput, flows.b.goodput)"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two controllers at three rates, and one with a shorter queue: of two controllers, one of them
    another, at the two lower rates and a higher one; the axes are in another order.
    """
    folder = tmp_path_factory.mktemp("two")
    campaign().run(folder / "before", jobs=2, use_cache=False)
    axes = [grid({"bottleneck.rate": ["5 Mbit/s", "0.01 Gbit/s", "40 Mbit/s"], "flow.a.cc": ["reno", "vegas"]})]
    short = base().override("bottleneck.queue.limit=20 packets")
    metrics = {**SHARE, "delay": "p99(queue.sojourn)", "more": "packets"}
    Campaign(short, axes=axes, seeds=3, offsets=True, metrics=metrics).run(folder / "after", jobs=2, use_cache=False)
    return folder


def write(folder: Path, *names: str) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """The page of these campaigns: what it was given, and where it is."""
    sides = [side for side in open_sides([folder / name for name in names]) if isinstance(side, CampaignSide)]
    page = folder / f"{'-'.join(names)}.html"
    cells_page.write(page, sides, [differences.of_campaigns(sides[0], side) for side in sides[1:]], force=True)
    return *payload(page), page


def test_numbers_are_those_of_the_campaigns(two: Path) -> None:
    """Means and intervals are those of each campaign's own cells, differences those that are printed; a cell that one
    lacks has no runs there. Rates that are written differently are one value, and are in the order of their numbers.
    """
    meta, columns, _ = write(two, "before", "after")
    axes = {axis["name"]: axis["labels"] for axis in meta["axes"]}
    assert axes == {
        "campaign": ["before", "after"],
        "flow.a.cc": ["reno", "cubic", "vegas"],
        "bottleneck.rate": ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s", "40 Mbit/s"],
    }
    assert [metric["name"] for metric in meta["metrics"]] == ["share", "delay"] and meta["overlaid"] == 0
    own = {
        (name, row["flow.a.cc"], row["bottleneck.rate.number"], row["metric"]): row
        for name in ("before", "after")
        for row in load(two / name).cells.to_pylist()
    }
    sides = open_sides([two / "before", two / "after"])
    assert isinstance(sides[0], CampaignSide) and isinstance(sides[1], CampaignSide)
    printed = {(row.what, row.candidate): row for row in differences.of_campaigns(sides[0], sides[1])}
    seen, compared, numbers = 0, 0, [5e6, 1e7, 2e7, 4e7]
    for i in range(meta["rows"]):
        name, cc = (meta["axes"][index]["labels"][columns[f"axis{index}"][i]] for index in (0, 1))
        metric = meta["metrics"][columns["metric"][i]]["name"]
        row = own.get((name, cc, numbers[columns["axis2"][i]], metric))
        if row is None:
            assert columns["runs"][i] == columns["count"][i] == 0 and math.isnan(columns["mean"][i])
            continue
        seen += 1
        for column in ("runs", "count", "mean", "mean_low", "mean_high", "median", "min", "max"):
            assert columns[column][i] == row[column], (name, cc, column)
        if not math.isnan(columns["difference"][i]):
            difference = printed[metric, row["mean"]]
            compared += 1
            assert (columns["difference"][i], columns["pairs"][i]) == (difference.difference, difference.pairs)
            assert (columns["difference_low"][i], columns["difference_high"][i]) == difference.interval
    # Six cells of either, of two metrics each; Reno at two rates is what both have.
    assert (seen, compared, len(printed)) == (24, 4, 4)
    # Distributions are over the runs of the two common cells, three of each campaign in each.
    joined = Joined([each for each in sides if isinstance(each, CampaignSide)], SHARE)
    assert joined.runs().rows == 2 * 2 * 3 and len(joined.common) == 2
    assert meta["distributions"][0]["choices"][0]["name"] == "runs, by campaign"
    # Every cell of one is a row of both, and no more: (2 * 3 + 2 * 3 - 2) cells, of 2 metrics and 2 campaigns.
    assert meta["rows"] == 10 * 2 * 2


def test_page_in_a_browser(two: Path) -> None:
    """A reader sees both campaigns as lines of one picture, one for each controller; a map of the differences and one
    of each campaign; cells that only one has are called so; the table sorts, and a row opens its cell.
    """
    _, columns, page = write(two, "before", "after")
    seen = drive(
        page,
        """
        const errors = [];
        addEventListener("error", (e) => errors.push(e.message));
        addEventListener("load", async () => {
          await settle(); await settle();
          const texts = (part) => [...document.querySelectorAll(part)].map((x) => x.textContent.trim());
          const first = {
            title: document.title, notes: texts(".notes li"), facts: texts(".facts span"),
            captions: texts("#maps figcaption"), titles: texts("#lines h3"),
            legends: [...document.querySelectorAll("#lines .panel")].map((p) =>
              [...p.querySelectorAll(".legend button")].map((b) => b.textContent.trim())),
            drawn: [...document.querySelectorAll("#lines .chart")].map((c) => c.dataset.drawn),
            map: [...document.querySelectorAll("#maps figure")].map((f) =>
              [...f.querySelectorAll(".heat-cell")].map((g) => g.dataset.value || g.querySelector("text").textContent)),
            wide: document.documentElement.scrollWidth <= innerWidth,
            roles: [...$("#down").options].map((o) => o.text),
          };
          const head = texts("#cells th").indexOf("difference");
          document.querySelectorAll("#cells th button")[head].click();
          const sorted = [...document.querySelectorAll("#cells tbody tr")].map((r) => r.cells[head].textContent);
          document.querySelector("#cells tbody tr").click();
          const opened = texts("#cell tbody tr");
          for (const id of ["across", "down", "metric", "quantity"]) {
            for (const { value } of [...$(`#${id}`).options]) {
              $(`#${id}`).value = value; $(`#${id}`).dispatchEvent(new Event("change"));
              await settle();
            }
          }
          leave({ ...first, heads: texts("#cells th"), sorted, opened, errors });
        });
        """,
    )
    assert seen["errors"] == [] and seen["wide"]
    assert seen["title"] == "after compared with before"
    assert seen["notes"] == [
        "4 of 6 cells are only in before", "4 of 6 cells are only in after",
        "not in all campaigns, and not shown: more, tail",
    ]  # fmt: skip
    assert seen["facts"][2:4] == ["2 cells in common", "6 pairs of runs"]
    assert seen["roles"] == ["nothing", "flow.a.cc", "bottleneck.rate"]
    assert seen["titles"] == ["flow.a.cc = reno", "flow.a.cc = cubic", "flow.a.cc = vegas"]
    assert [["".join(filter(str.isalpha, one)) for one in each] for each in seen["legends"]] == [
        ["before", "after"], ["before"], ["after"],
    ]  # fmt: skip
    assert seen["drawn"] == ["true"] * 3
    assert seen["captions"] == ["after against before", "before", "after"]
    share, side = columns["metric"] == 0, columns["axis0"]
    both = columns["difference"][share & (side == 1) & np.isfinite(columns["difference"])]
    difference, before, after = seen["map"]
    # What one lacks is called so: CUBIC and one rate of Reno are only before, Vegas and another rate only after.
    assert [float(v) for v in difference[:2]] == both.tolist()
    assert difference[2:] == ["only in before", "only in after", *["only in before"] * 3, *["only in after"] * 3]
    assert [v.startswith("not in") for v in before] == [v == "only in after" for v in difference]
    assert [v.startswith("not in") for v in after] == [v == "only in before" for v in difference]
    assert seen["heads"][3:9] == [
        "mean of before", "interval of before", "mean of after", "interval of after", "pairs", "difference",
    ]  # fmt: skip
    order = [float(v.replace("\N{MINUS SIGN}", "-")) for v in seen["sorted"][:2]]
    assert order == sorted(order) and set(seen["sorted"][2:]) == {"only in before", "only in after"}
    assert len(seen["opened"]) == 4 and seen["opened"][0].startswith("sharebefore3")


def test_page_on_a_telephone(two: Path) -> None:
    """Nothing but the table is wider than a narrow screen."""
    _, _, page = write(two, "before", "after")
    seen = drive(page, """
        addEventListener("load", async () => {
          await settle(); await settle();
          leave({ wide: document.documentElement.scrollWidth, cells: document.querySelectorAll(".heat-cell").length });
        });
    """, size="390,900")  # fmt: skip
    assert seen["wide"] <= 500 and seen["cells"] == 30


def test_three_campaigns(two: Path) -> None:
    """Each but the first is compared with it; the reader chooses which one map and table show."""
    meta, _, page = write(two, "before", "after", "before")
    assert meta["axes"][0]["labels"] == [f"{two / 'before'} (1)", "after", f"{two / 'before'} (3)"]
    seen = drive(page, """
        addEventListener("load", async () => {
          await settle(); await settle();
          const list = $("#fixed select");
          const first = $("#maps figcaption").textContent;
          list.value = "2"; list.dispatchEvent(new Event("change"));
          await settle();
          const head = [...document.querySelectorAll("#cells th")].findIndex((h) => h.textContent === "difference");
          const zeros = [...document.querySelectorAll("#cells tbody tr")].map((r) => r.cells[head].textContent);
          leave({ first, options: list.options.length, zeros, second: $("#maps figcaption").textContent });
        });
    """)  # fmt: skip
    assert seen["options"] == 2 and seen["first"].startswith("after against ") and "(3) against" in seen["second"]
    # A campaign differs from itself by nothing.
    assert seen["zeros"].count("0") == 6


def test_axes_of_a_zip_and_none(tmp_path: Path) -> None:
    """Axes that vary together stay so, if they do in all campaigns; else each is separate. A campaign without axes has
    one cell.
    """
    values = {"flow.a.rtt": ["20 ms", "40 ms"], "flow.b.rtt": ["30 ms", "60 ms"]}
    for name, axes in (("zip", [zipped(values)]), ("grid", [grid(values)]), ("none", [])):
        Campaign(base(), axes=axes, seeds=2, offsets=True, metrics=SHARE).run(tmp_path / name, jobs=2)
    meta, columns, _ = write(tmp_path, "zip", "zip")
    assert [axis["dimension"] for axis in meta["axes"]] == [0, 1, 1] and columns["axis1"].tolist() == [0, 1, 0, 1]
    meta, columns, _ = write(tmp_path, "zip", "grid")
    assert [axis["dimension"] for axis in meta["axes"]] == [0, 1, 2]
    assert columns["runs"].tolist() == [2, 0, 0, 2, 2, 2, 2, 2]
    meta, columns, page = write(tmp_path, "none", "none")
    assert (meta["rows"], columns["difference"].tolist()[1]) == (2, 0.0)
    seen = drive(page, """
        addEventListener("load", async () => {
          await settle();
          leave([...document.querySelectorAll(".heat-cell")].map((g) => g.dataset.value));
        });
    """)  # fmt: skip
    assert len(seen) == 3 and seen[0] == "0"


def test_as_typed(cli: Cli, two: Path) -> None:
    """The page is written where it is asked for, and replaced only with --force; without a common run there is none."""
    before, after = str(two / "before"), str(two / "after")
    done = cli("compare", before, after, "--page", "both.html")
    assert done.returncode == 0 and done.stdout.endswith("both.html\n"), done.stderr
    refused(cli("compare", before, after, "--page", "both.html"), "both.html", "--force")
    assert cli("compare", before, after, "--page", "both.html", "--force").returncode == 0
    seeds = Campaign(base(), seeds=[7], metrics=SHARE)
    seeds.run(two / "seven", jobs=1, use_cache=False)
    refused(cli("compare", before, str(two / "seven"), "--page", "none.html"), "has no run with the same axes")


def test_of_many_cells_neighbours_are_one(tmp_path: Path) -> None:
    """10,000 cells of two campaigns are binned: every run of either is counted once, the page says how many cells there
    are, and which pictures of many it shows.
    """
    about = document({"a": 200, "b": 50}) | {"runs": 20_000, "baselines": [], "kind": "campaign"}
    cells, seeds = np.repeat(np.arange(10_000), 2), np.tile(np.array([1, 2], dtype=np.uint64), 10_000)
    for number, name in enumerate(("one", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "campaign.json").write_text(json.dumps(about))
        places = np.arange(10_000)
        axes = {"a": places // 50 * 1.0, "b": places % 50 * 1.0}
        table = cells_table(10_000, 1)
        for axis, values in axes.items():
            table = table.append_column(axis, pa.array(values))
        pq.write_table(table, tmp_path / name / "cells.parquet")
        values = np.random.default_rng(number).normal(10 + number, 1, 20_000)
        runs = {
            "cell": cells,
            "a": cells // 50 * 1.0,
            "b": cells % 50 * 1.0,
            "seed": seeds,
            "offset": np.zeros(20_000, dtype=np.int32),
            "run": np.tile([0, 1], 10_000),
            "digest": np.full(20_000, "0"),
            "error": np.full(20_000, ""),
            "m0": values,
        }
        pq.write_table(pa.table(runs), tmp_path / name / "runs.parquet")
    meta, columns, page = write(tmp_path, "one", "two")
    assert meta["binned"] and meta["rows"] <= MOST_ROWS and columns["runs"].sum() == 2 * 10_000 * 20
    assert columns["pairs"].sum() == 20_000
    mean = np.average(columns["difference"][columns["axis0"] == 1], weights=columns["pairs"][columns["axis0"] == 1])
    assert mean == pytest.approx(1, abs=0.05)
    seen = drive(page, """
        addEventListener("load", async () => {
          await settle(); await settle();
          leave({ note: $(".notes").textContent, lines: $("#lines-note").textContent,
                  pictures: document.querySelectorAll("#lines .panel").length });
        });
    """)  # fmt: skip
    assert "10\N{NARROW NO-BREAK SPACE}000 cells are too many for a page" in seen["note"]
    assert seen["pictures"] == 24 and "The first 24 of 50 pictures are shown." in seen["lines"]
