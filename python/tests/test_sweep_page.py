"""``report.html`` of a sweep: its numbers are those of ``cells.csv``, what is binned keeps sums and extremes, a page of
very many runs stays small, and the command that it names gives the run.
"""

from __future__ import annotations

import base64
import csv
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaigns import BASE, FILE, base, campaign
from conftest import Cli
from headless import drive

from windtunnel import Campaign, InputError, grid, zipped
from windtunnel.campaign.columns import CELL_COLUMNS, CellRows
from windtunnel.campaign.page.cells import MOST_ROWS, VALUES, grid_of, rows_of
from windtunnel.campaign.page.distributions import panel
from windtunnel.campaign.page.grid import Grid
from windtunnel.campaign.page.runs import Address, chosen
from windtunnel.campaign.page.write import write_page
from windtunnel.campaign.plan import Plan
from windtunnel.contract import read_columns

_TYPES = {"f32": "<f4", "f64": "<f8", "u8": "u1", "u16": "<u2", "u32": "<u4"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with everything that cells can have: phases, intervals of medians, a baseline."""
    folder = tmp_path_factory.mktemp("swept") / "out"
    campaign(offsets=6, seeds=2).run(folder, jobs=2, use_cache=False)
    return folder


def payload(page: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the page was given: its description, and its columns as arrays."""
    html = page.read_text(encoding="utf-8")
    meta = json.loads(re.search(r'id="report-meta">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    block = base64.b64decode(re.search(r'id="report-data">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    columns = {
        name: np.frombuffer(block, _TYPES[ref["type"]], ref["n"], ref["at"]) for name, ref in meta["columns"].items()
    }
    return meta, columns


def test_numbers_equal_cells_csv(swept: Path) -> None:
    """Each number of cells.csv is on the page, to the last digit; a value that is missing there is missing here."""
    meta, columns = payload(swept / "report.html")
    with (swept / "cells.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == meta["rows"] == 18
    seen = set()
    for i, row in enumerate(rows):
        assert meta["metrics"][columns["metric"][i]]["name"] == row["metric"]
        for index, axis in enumerate(meta["axes"]):
            assert axis["labels"][columns[f"axis{index}"][i]] == row[axis["name"]]
        for name in ("cell", "runs", "failed", "distinct", "count"):
            assert columns[name][i] == int(row[name])
        for name in VALUES:
            text = {"true": "1", "false": "0"}.get(row[name], row[name])
            value = float(columns[name][i]) if name in columns else math.nan
            assert value == float(text) if text else math.isnan(value), (i, name)
            seen |= {name} if text else set()
    assert seen == set(VALUES)


def test_page_in_a_browser(swept: Path) -> None:
    """Maps, lines and table show the cells; a click opens one with the call for its run's page; sorting sorts."""
    seen = drive(
        swept / "report.html",
        """
        addEventListener("load", async () => {
          await settle(); await settle();
          const maps = [...document.querySelectorAll(".heat-cell")].map((g) => g.dataset.value);
          const drawn = [...document.querySelectorAll("#lines .chart, .distributions .panel:not([hidden]) .chart")];
          const lines = drawn.map((c) => c.dataset.drawn);
          document.querySelectorAll(".heat-cell")[4].dispatchEvent(new MouseEvent("click"));
          const opened = $("#cell").textContent;
          const link = $("#cell a").getAttribute("href");
          const order = () => [...document.querySelectorAll("#cells tbody tr")].map((r) => Number(r.dataset.cell));
          const before = order();
          const head = [...document.querySelectorAll("#cells th")].findIndex((h) => h.textContent === "mean");
          document.querySelectorAll("#cells th button")[head].click();
          const means = [...document.querySelectorAll("#cells tbody tr")].map((r) => Number(r.cells[head].title));
          $("#quantity").value = "difference"; $("#quantity").dispatchEvent(new Event("change"));
          const differences = [...document.querySelectorAll(".heat-cell")].map((g) => g.dataset.value);
          const marks = document.querySelectorAll(".heat .locked").length;
          leave({ maps, lines, opened, link, before, means, differences, marks, hash: location.hash,
                  wide: document.documentElement.scrollWidth <= innerWidth });
        });
        """,
        size="390,900",
    )
    cells = [row for row in pq.read_table(swept / "cells.parquet").to_pylist() if row["metric"] == "share"]
    assert [float(v) for v in seen["maps"]] == [row["mean"] for row in cells]
    assert seen["lines"] == ["true", "true"] and seen["before"] == [0, 1, 2, 3, 4, 5]
    assert seen["opened"].startswith("Cell 4") and 'campaign.page("4.0", ".")' in seen["opened"]
    assert seen["link"] == "pages/4.0.html"
    assert seen["means"] == sorted(row["mean"] for row in cells)
    assert [v and float(v) for v in seen["differences"]] == ["", "", "", *(row["difference"] for row in cells[3:])]
    assert seen["marks"] == sum(row["phase_locked"] for row in cells) > 0
    assert "quantity=difference" in seen["hash"] and seen["wide"]


def test_the_command_gives_the_run(cli: Cli, tmp_path: Path) -> None:
    """What the page names writes the page of the very run, with its digest, where the link leads."""
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(FILE)
    done = cli("sweep", "campaign.toml", "--set", "bottleneck.queue.limit='30 packets'", "--pages", "2")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "results" / "campaign"
    meta, _ = payload(out / "report.html")
    assert (
        sorted(meta["written"]) == sorted(path.stem for path in (out / "pages").iterdir()) and len(meta["written"]) == 2
    )
    shown = drive(out / "report.html", """
        addEventListener("load", async () => {
          await settle(); await settle();
          document.querySelectorAll(".heat-cell")[5].dispatchEvent(new MouseEvent("click"));
          $("#cell select").value = "5.2"; $("#cell select").dispatchEvent(new Event("change"));
          leave($("#cell pre").textContent);
        });
    """)  # fmt: skip
    words = shlex.split(shown)
    assert words[:3] == ["windtunnel", "sweep", "campaign.toml"] and words[-1] == "5.2" and "--set" in words
    done = cli(*words[1:])
    assert (done.returncode, done.stdout) == (0, f"{out}/pages/5.2.html\n"), done.stderr
    assert "warning" not in done.stderr
    row = pq.read_table(out / "runs.parquet", filters=[("cell", "=", 5)]).to_pylist()[2]
    assert row["digest"] in (out / "pages" / "5.2.html").read_text(encoding="utf-8")
    # Another campaign is another run.
    done = cli("sweep", "campaign.toml", "--page", "5.2")
    assert done.returncode == 0 and "this is not the run 5.2" in done.stderr


def test_reports_of_one_campaign_are_equal(cli: Cli, tmp_path: Path) -> None:
    """Two sweeps of one file into two folders write the same files, byte for byte, also their reports and pages."""
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(FILE)
    for out, jobs in (("one", "1"), ("elsewhere/two", "2")):
        done = cli("sweep", "campaign.toml", "--out", out, "--pages", "2", "--jobs", jobs, "--no-cache")
        assert done.returncode == 0, done.stderr
    one, two = tmp_path / "one", tmp_path / "elsewhere" / "two"
    files = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    assert files == sorted(file.relative_to(two) for file in two.rglob("*") if file.is_file()) and len(files) == 8
    for file in files:
        assert (one / file).read_bytes() == (two / file).read_bytes(), file


@pytest.mark.parametrize(
    ("page", "problem"),
    [("x", "CELL.RUN"), ("6", "the cells 0 to 5"), ("0.3", "the runs 0 to 2"), ("0", "no data set")],
)
def test_refusals(cli: Cli, tmp_path: Path, page: str, problem: str) -> None:
    """A run that is not there, and a data set that is not."""
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "campaign.toml").write_text(FILE)
    if page != "0":
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "campaign.json").write_text('{"kind": "campaign"}')
    done = cli("sweep", "campaign.toml", "--out", "out", "--page", page)
    assert done.returncode == 2 and problem in done.stderr
    assert not (tmp_path / "out" / "pages").exists()


def test_a_run_from_python(tmp_path: Path) -> None:
    """`Campaign.page` writes the page of a run of a campaign that has no file; offsets are crossed with seeds."""
    made = campaign(offsets=2, seeds=2)
    dataset = made.run(tmp_path / "out", jobs=2, pages=1)
    row = [row for row in dataset.runs.to_pylist() if row["cell"] == 1][3]
    page = made.page("1.3", tmp_path / "out")
    assert row["digest"] in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="the runs 0 to 3"):
        made.page("1.4", tmp_path / "out")


def test_failed_runs(cli: Cli, tmp_path: Path) -> None:
    """A start offset of a round trip of minutes is beyond the run's end: the page says which runs failed, and why. A
    cell without values has none on the map; asking for the page of such a run gives its message, and no page.
    """
    (tmp_path / "base.toml").write_text(BASE)
    text = FILE.replace('"bottleneck.rate" = { from', '"flow.b.rtt" = ["40 ms", "10 min"]\n#')
    (tmp_path / "campaign.toml").write_text(text)
    done = cli("sweep", "campaign.toml", "--pages", "9")
    assert done.returncode == 1
    out = tmp_path / "results" / "campaign"
    meta, columns = payload(out / "report.html")
    assert [address for address, *_ in meta["errors"]] == [f"{cell}.{i}" for cell in (1, 3) for i in range(3)]
    assert all("before the end of the run" in message and failed for _, message, failed in meta["errors"])
    assert sorted(meta["written"]) == ["0.0", "2.0"]
    assert columns["failed"].tolist() == [0, 0, 0, 3, 3, 3] * 2
    assert np.isnan(columns["mean"]).tolist() == [False, False, False, True, True, True] * 2
    seen = drive(out / "report.html", """
        addEventListener("load", async () => {
          await settle(); await settle();
          document.querySelectorAll(".heat-cell")[1].dispatchEvent(new MouseEvent("click"));
          const texts = [...document.querySelectorAll(".heat-cell")].map((g) => g.querySelector("text").textContent);
          const [cell, list, alert] = ["#cell", "#failures", "[role=alert]"].map((part) => $(part).textContent);
          leave({ texts, cell, list, alert });
        });
    """)  # fmt: skip
    assert seen["texts"].count("failed") == 2 and "6 runs failed" in seen["alert"]
    assert "before the end of the run" in seen["cell"] and "--page" not in seen["cell"] and "10 min" in seen["list"]
    done = cli("sweep", "campaign.toml", "--page", "1.0")
    assert done.returncode != 0 and "before the end of the run" in done.stderr and "Traceback" not in done.stderr
    assert not (out / "pages" / "1.0.html").exists()


def test_hostile_names(tmp_path: Path) -> None:
    """Names are text."""
    nasty = "</script><b>&\"'"
    axes = [grid({nasty: {"key": "flow.a.rtt", "values": ["20 ms", "40 ms"]}})]
    Campaign(base(), axes=axes, metrics={"x": "sum(flows.goodput)"}, title=nasty).run(tmp_path / "ok", jobs=1)
    meta, _ = payload(tmp_path / "ok" / "report.html")
    assert meta["axes"][0]["name"] == nasty
    html = (tmp_path / "ok" / "report.html").read_text(encoding="utf-8")
    assert "</script><b>" not in html and html.count("</script>") == 3


def test_axes_of_a_zip_have_one_dimension(tmp_path: Path) -> None:
    """Axes of a zip vary together: a cell has one place on both, and no picture has one across and the other down."""
    axes = [zipped({"flow.a.rtt": ["20 ms", "40 ms"], "flow.b.rtt": ["30 ms", "60 ms"]}), grid({"seed_": {
        "key": "flow.a.cc", "values": ["reno", "cubic"]}})]  # fmt: skip
    Campaign(base(), axes=axes, metrics={"x": "sum(flows.goodput)"}).run(tmp_path / "out", jobs=1)
    meta, columns = payload(tmp_path / "out" / "report.html")
    assert [axis["dimension"] for axis in meta["axes"]] == [0, 0, 1]
    assert columns["axis0"].tolist() == columns["axis1"].tolist() == [0, 0, 1, 1]
    assert columns["axis2"].tolist() == [0, 1, 0, 1]


def test_every_choice_can_be_shown(tmp_path: Path) -> None:
    """Whatever goes across and down, with two baselines and a zip: nothing fails, each cell is on a map once."""
    axes = [
        zipped({"flow.a.rtt": ["10 ms", "20 ms"], "flow.b.rtt": ["20 ms", "30 ms"]}),
        grid({"flow.a.cc": ["reno", "cubic"], "bottleneck.rate": ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]}),
    ]
    baselines = [{"flow.a.cc": "reno"}, {"bottleneck.rate": "5 Mbit/s"}]
    wanted = Campaign(base(), axes=axes, metrics={"x": "sum(flows.goodput)"}, baseline=baselines)
    wanted.run(tmp_path / "out", jobs=2)
    seen = drive(tmp_path / "out" / "report.html", """
        const errors = []; const maps = new Set();
        addEventListener("error", (e) => errors.push(e.message));
        addEventListener("load", async () => {
          await settle();
          for (const id of ["across", "down", "each", "baseline", "metric", "quantity"]) {
            for (const { value } of [...$(`#${id}`).options]) {
              $(`#${id}`).value = value; $(`#${id}`).dispatchEvent(new Event("change"));
              await settle();
              const chosen = ["across", "down", "each"].map((role) => $(`#${role}`).value);
              if (!chosen.includes("-1")) maps.add(document.querySelectorAll(".heat-cell").length);
            }
          }
          leave({ errors, maps: [...maps], rows: document.querySelectorAll("#cells tbody tr").length });
        });
    """)  # fmt: skip
    assert seen == {"errors": [], "maps": [12], "rows": 12}


def document(sizes: dict[str, int], metrics: int = 1) -> dict[str, Any]:
    """What `campaign.json` says about a campaign of numbers, with a baseline."""
    axes = [
        {"name": name, "keys": [name], "block": 0, "kind": "grid",
         "values": [{"label": str(i), "settings": [], "number": float(i)} for i in range(size)]}
        for name, size in sizes.items()
    ]  # fmt: skip
    return {
        "title": "Many", "version": "0", "scenarios": {"scenario": {}}, "axes": axes, "baselines": [{"b": "0"}],
        "metrics": {f"m{i}": "1" for i in range(metrics)}, "statistics": {"confidence": 0.95, "interval": "t",
        "correction": "holm"}, "until": None, "offsets": False, "runs": 0, "failed": 0, "notes": [],
    }  # fmt: skip


def cells_table(cells: int, metrics: int) -> pa.Table:
    """Cells with made-up statistics, different in each."""
    random = np.random.default_rng(1)
    rows = cells * metrics
    types = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}
    columns: dict[str, Any] = {name: pa.nulls(rows, types[kind]) for name, kind in CELL_COLUMNS.items()}
    mean = random.normal(10, 3, rows)
    columns |= {
        "cell": np.repeat(np.arange(cells), metrics),
        "metric": [f"m{i % metrics}" for i in range(rows)],
        "baseline": ["b = 0"] * rows,
        "count": random.integers(1, 20, rows), "runs": np.full(rows, 20), "failed": random.integers(0, 2, rows),
        "mean": mean, "min": mean - random.random(rows), "max": mean + random.random(rows),
        "difference": np.where(np.arange(rows) % 3, mean - 10, np.nan), "pairs": random.integers(1, 20, rows),
    }  # fmt: skip
    return pa.table(columns)


def test_bins_keep_sums_and_extremes(tmp_path: Path) -> None:
    """40,000 cells become at most as many rows as a page has: all values count once, least and greatest stay."""
    about = document({"a": 400, "b": 100}, metrics=2)
    table = cells_table(40_000, 2)
    pq.write_table(table, tmp_path / "cells.parquet")
    places = grid_of(about, 40_000)
    rows = rows_of(read_columns(tmp_path / "cells.parquet", {}), places, about)
    assert places.is_binned and 0.9 * MOST_ROWS < len(rows.cell) <= MOST_ROWS
    frame = table.to_pandas()
    for metric in (0, 1):
        all_rows, mine = frame[frame.metric == f"m{metric}"], rows.metric == metric
        count = rows.counts["count"][mine]
        assert rows.cells[mine].sum() == 40_000 and count.sum() == all_rows["count"].sum()
        assert rows.counts["runs"][mine].sum() == 800_000 and rows.counts["failed"][mine].sum() == all_rows.failed.sum()
        total = float((all_rows["mean"] * all_rows["count"]).sum())
        assert float((rows.values["mean"][mine] * count).sum()) == pytest.approx(total, rel=1e-12)
        assert rows.values["min"][mine].min() == all_rows["min"].min()
        assert rows.values["max"][mine].max() == all_rows["max"].max()
        assert np.nanmin(rows.values["difference_min"][mine]) == all_rows.difference.min()
    # One bin by hand: the first, which has neighbours on the axes.
    width_a, width_b = (each.width for each in places.dimensions)
    inside = [a * 100 + b for a in range(width_a) for b in range(width_b)]
    of_bin = frame[(frame.metric == "m0") & frame.cell.isin(inside)]
    assert rows.cells[0] == len(inside) > 1 and rows.values["min"][0] == of_bin["min"].min()
    assert rows.values["mean"][0] == pytest.approx(np.average(of_bin["mean"], weights=of_bin["count"]), rel=1e-12)


def test_a_million_rows(tmp_path: Path) -> None:
    """10^6 runs of 50,000 cells and three metrics: the page stays below 3 MB, and opens."""
    cells, each = 50_000, 20
    about = document({"a": 500, "b": 100}, metrics=3) | {"runs": cells * each}
    pq.write_table(cells_table(cells, 3), tmp_path / "cells.parquet")
    random = np.random.default_rng(2)
    runs = {"run": np.arange(cells * each), "cell": np.repeat(np.arange(cells), each)}
    metrics = {f"m{i}": random.lognormal(2, 1, cells * each) for i in range(3)}
    error = pa.array(["no such route"], pa.string()).take(pa.array([0, *[None] * (cells * each - 1)], pa.int64()))
    digest = pa.nulls(cells * each, pa.string())
    pq.write_table(pa.table({**runs, **metrics, "digest": digest, "error": error}), tmp_path / "runs.parquet")
    write_page(tmp_path, about, "windtunnel sweep x.toml --page")
    page = tmp_path / "report.html"
    assert page.stat().st_size < 3_000_000
    meta, columns = payload(page)
    assert columns["runs"][columns["metric"] == 0].sum() == cells * each
    # Curves are thinned, and keep their ends.
    curve = next(c for c in meta["distributions"][0]["choices"] if c["name"] == "all runs")["series"][0]
    ends = curve["columns"]["t"]
    greatest = ends["from"] + ends["step"] * (2**32 - 1)
    assert (ends["from"], greatest) == pytest.approx((metrics["m0"].min(), metrics["m0"].max()), rel=1e-6)
    seen = drive(page, """
        addEventListener("load", async () => {
          await settle(); await settle();
          leave({ cells: document.querySelectorAll(".heat-cell").length, rows: $("#cells").tBodies[0].rows.length,
                  failed: $("#failures").textContent, notes: $(".notes").textContent });
        });
    """)  # fmt: skip
    assert seen["cells"] > 1000 and seen["rows"] == 300
    assert "0.0" in seen["failed"] and "no such route" in seen["failed"] and "too many for a page" in seen["notes"]


def test_cells_that_fit_are_not_binned() -> None:
    """As many rows as a page has are shown as they are, one more is not."""
    assert not grid_of(document({"a": 80, "b": 100}), 8000).is_binned
    assert grid_of(document({"a": 81, "b": 100}), 8100).is_binned
    # Of a large campaign some cells may have been kept.
    assert not grid_of(document({"a": 1000, "b": 1000}), 5000).is_binned


def test_axes_by_their_numbers() -> None:
    """An axis is logarithmic where its numbers are spaced by factors."""

    def axis(*numbers: float) -> Any:
        about = document({"a": len(numbers)})
        for value, number in zip(about["axes"][0]["values"], numbers, strict=True):
            value["number"] = number
        return Grid.of(about).axes[0]

    assert axis(1, 10, 100).log and axis(5, 10, 20, 40, 80).log
    assert not axis(1, 2, 3, 4, 5, 6, 7, 8, 9, 10).log and not axis(1, 100).log and not axis(0, 10, 100).log


def test_distributions() -> None:
    """A curve for each value tells the share that has at most a value, of all values that there are."""
    places = Grid.of(document({"a": 2}))
    cell, values = np.array([0, 0, 0, 1, 1]), np.array([3.0, 1.0, np.nan, 5.0, 7.0])
    distribution = panel("x", "m", places, (cell, values), (cell[:0], values[:0]), 400)
    assert [choice.name for choice in distribution.choices] == ["runs, by a", "all runs"]
    first = distribution.series[0]
    assert first.x.tolist() == [1, 1, 3] and first.y.tolist() == [0, 50, 100]
    assert panel("x", "m", places, (cell[:0], values[:0]), (cell[:0], values[:0]), 400).empty


def test_runs_worth_a_page() -> None:
    """Cells with the greatest and least means come first; cells that failed have no page. Cells that are left out have
    numbers all the same.
    """
    rows = CellRows()
    for cell, (mean, failed) in enumerate([(1.0, 0), (3.0, 0), (9.0, 1), (0.5, 0), (None, 0)]):
        rows.add(cell, {"metric": "m", "mean": mean, "failed": failed})
    wanted = campaign(axes=[grid({"flow.a.cc": ["reno", "cubic", "vegas"], "flow.b.rtt": ["1 ms", "2 ms", "3 ms"]})],
                      baseline=())  # fmt: skip
    assert chosen(rows, Plan(wanted), 3) == [Address(1), Address(3), Address(0)]
    assert chosen(rows, Plan(wanted, {"flow.a.cc": ["vegas", "cubic"]}), 3) == [Address(4), Address(6), Address(3)]


def test_every_run_has_an_address() -> None:
    """The address of a run is its index in its cell, whatever is crossed."""
    from windtunnel.campaign.page.runs import find

    plan = Plan(campaign(offsets=3, seeds=2))
    replicas = list(plan.replicas(0, 3))
    assert [find(plan, Address(1, index))[1] for index in range(6)] == replicas
