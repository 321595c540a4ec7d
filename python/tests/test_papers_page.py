"""What a suite's page puts together: notes next to what they explain, readings on figures, weak agreement."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from paper_suites import made_up

from windtunnel.papers import NAMES, suite_of
from windtunnel.papers.comparison_figure import comparison
from windtunnel.papers.jobs import JobResult
from windtunnel.papers.mds.figures import read_features
from windtunnel.papers.notes import Mentions, filled, placed, to_html
from windtunnel.papers.readings import Reading, readings
from windtunnel.papers.readings_figure import add_readings
from windtunnel.papers.reproduction import _write
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.suite import Group, Results, rows_of


def groups(*ids: str) -> list[Group]:
    return [Group(id, f"Title {id}", "", [], lambda _: []) for id in ids]


MENTIONS = Mentions(
    groups("fig2", "fig3a", "fig3b", "fig4", "fig5", "table2", "P17d", "K49a", "K49b"),
    {"fig3": ["fig3a", "fig3b"], "K49": ["K49a", "K49b"], "fig9": ["fig9a"]},
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Figure 2: the first", ["fig2"]),
        ("figures 3b and 5: 0.1169", ["fig3b", "fig5"]),
        ("of figures 2, 3a, and 5 there", ["fig2", "fig3a", "fig5"]),
        ("Rates of figures 2 to 4, all durations", ["fig2", "fig3a", "fig3b", "fig4"]),
        ("figure 3 and table 2", ["fig3a", "fig3b", "table2"]),
        ("with 1500-byte packets (P17d) or K49", ["P17d", "K49a", "K49b"]),
        ("figure 9 was not run, nor figure 17; 3 of 5 P1 in RFC 3168", []),
    ],
)
def test_texts_name_groups(text: str, named: list[str]):
    """Numbers, letters, lists, ranges, names for several; what was not run is not named."""
    assert MENTIONS.in_text(text) == named


NOTES = """# Notes

## How to read a row

- **Published**, as in figure 2.

## Figures 3b and 5

About both.

- Of *figure 4* alone.

## What differs

- **Chaos** in figure 2.
- Nothing named.
- Table 2, too.

| figure 4 | 1 |
|---|---|
| a | b |
"""


def test_notes_stand_beside_what_they_explain():
    """A paragraph or item goes to the groups it names, or its heading does; a guide and all else stay, in order."""
    notes = placed(NOTES, MENTIONS)
    assert set(notes.by_group) == {"fig2", "fig3b", "fig4", "fig5", "table2"}
    assert notes.by_group["fig3b"] == notes.by_group["fig5"] == "<p>About both.</p>"
    assert "<em>figure 4</em>" in notes.by_group["fig4"]
    assert notes.by_group["fig4"].count("<ul>") == 1
    assert "<table>" in notes.by_group["fig4"]
    assert "<strong>Chaos</strong>" in notes.by_group["fig2"]
    assert "Published" not in notes.by_group["fig2"]
    rest = notes.rest.replace("\n", "")
    assert rest.index("How to read") < rest.index("Published") < rest.index("What differs") < rest.index("Nothing")
    assert "Figures 3b and 5" not in rest
    assert "Chaos" not in rest


def test_a_note_on_many_groups_is_there_once():
    """It is placed with the first; the others point to it."""
    notes = placed("On figures 2 to 5 and table 2.", MENTIONS)
    assert "On figures" in notes.by_group["fig2"]
    assert notes.by_group["table2"] == '<p>See also the notes at <a href="#fig2">Title fig2</a>.</p>'


@pytest.mark.parametrize("name", NAMES)
def test_no_note_is_lost(name: str):
    """Every word of a suite's notes is in its place on the page."""
    suite = suite_of(name, quick=False)
    notes = placed(suite.notes, Mentions(suite.groups, suite.aliases))
    everything = notes.rest + "".join(notes.by_group.values())
    for line in to_html(suite.notes).splitlines():
        if not line.startswith(("<h", "<ul", "</ul", "<ol", "</ol")):
            assert line in everything


def feature(method: str, panel: str = "throughput") -> Reading | None:
    """The reading that a single feature of the data gives, the first of its method in a panel."""
    first = next(f for f in read_features() if (f.method, f.panel) == (method, panel))
    return next(iter(readings([first])), None)


def test_readings_have_their_places():
    """Points, levels, moments and ends of axes are where the figure has them; counts have no place."""
    assert feature("value_at(65)") == Reading("throughput", 65.0, 145.6, 0.0, 5.9)
    assert feature("bin_mean(35, 59.5)") == Reading("throughput", 35.0, 100.0, 0.0, 2.9, 59.5, "mean", 0)
    assert feature("axis_y_max()") == Reading("throughput", None, 100.0, 0.0, 0.18)
    assert feature("fall_t(1, 1, 2, 0.3)", "cwnd") == Reading("cwnd", 1.34, None, x_error=0.05)
    assert feature("fall_count(2, 30, 0.3)", "cwnd") is None
    pair = [f for f in read_features() if f.figure == "2" and f.method in ("peak()", "t_peak()") and f.panel == "cwnd"]
    assert readings(pair) == (Reading("cwnd", 0.375, 795983.0, 0.054, pair[0].error),)


def test_most_readings_of_figures_can_be_drawn():
    """Something is drawn for each figure with runs, and every drawn value is a published one."""
    features = read_features()
    values = {(f.panel, f.value) for f in features}
    for figure in {f.figure for f in features if f.name.startswith("axis_") and f.method}:
        listed = readings([f for f in features if f.figure == figure])
        assert len(listed) >= 4, figure
        assert all((r.panel, r.y) in values or (r.panel, r.x) in values for r in listed)


def test_readings_are_drawn_with_their_error():
    """In the axes of their panel, in its unit, with error bars; a panel without readings is left alone."""
    figure = Figure()
    cwnd, mark = figure.subplots(1, 2)
    cwnd.set_label("cwnd")
    cwnd.set(ylabel="cwnd (kB)", xlim=(0, 30), ylim=(0, 100))
    mark.set_label("mark")
    add_readings(figure, [Reading("cwnd", 3.0, 120_000.0, 0.5, 4_000.0), Reading("cwnd", 5.0, None, 0.1)])
    (bars,) = cwnd.containers
    (x, y), spans = bars.lines[0].get_xydata()[0], [line.get_segments()[0].tolist() for line in bars.lines[2]]
    assert (x, y) == (3.0, 120.0)
    assert spans == [[[2.5, 120.0], [3.5, 120.0]], [[3.0, 116.0], [3.0, 124.0]]]
    assert cwnd.get_ylim()[1] >= 124.0
    assert cwnd.get_xlim() == (0, 30)
    assert not mark.has_data()


@pytest.mark.parametrize(
    ("measured", "interval", "wide"),
    [
        (10.0, (9.0, 11.0), False),
        (10.0, (9.0, 11.1), True),
        (-10.0, (-11.1, -9.0), True),
        (0.0, (0.0, 0.0), False),
        (0.0, (0.0, 0.1), True),
        (10.0, None, False),
        (None, (0.0, 9.0), False),
    ],
)
def test_agreement_within_a_wide_interval_is_weak(
    measured: float | None, interval: tuple[float, float] | None, wide: bool
):
    """Wider than a fifth of the measured value. Only agreement is weak: a wide interval may well differ."""
    row = Row("a", "g", "w", 1.0, measured, 1.0, "", "agrees", interval=interval)
    group = Group("g", "G", "", ["cell"], lambda _: [row, replace(row, id="b", verdict="differs")])
    weighed = rows_of([group], Results([]))["g"]
    assert [each.verdict for each in weighed] == ["weak" if wide else "agrees", "differs"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the quick part of a suite with made-up results, without pictures of runs."""
    out = tmp_path_factory.mktemp("suite")
    suite = suite_of("mds", quick=True)
    results = made_up(suite, {})
    outcomes = [JobResult(name, 0, (), {}, 0.1, 1, "") for name in suite.setups]
    _write(out, suite, suite.groups, rows_of(suite.groups, results), results, outcomes, (), (), part=True)
    return out


def test_weak_agreement_is_counted_in_every_form(folder: Path):
    """CSV, JSON and page count the same rows as weak, and not as agreement; the made-up runs range from 1 to 3."""
    with (folder / "rows.csv").open() as file:
        listed = {row["id"] for row in csv.DictReader(file) if row["verdict"] == "weak"}
    document = json.loads((folder / "rows.json").read_text())
    assert listed == {row["id"] for row in document["rows"] if row["verdict"] == "weak"}
    assert len(listed) == document["verdicts"]["weak"] > 5
    page = (folder / "report.html").read_text()
    assert f'<div class="info"><strong>{len(listed)}</strong> agree weakly</div>' in page


@pytest.mark.parametrize("name", NAMES)
def test_notes_refer_to_rows_that_exist(name: str):
    """Every reference in a suite's notes is to rows of the whole suite, whose ids do not depend on what runs give."""
    suite = suite_of(name, quick=False)
    results = made_up(suite, {}, least=0.01)
    filled(suite.notes, [row for group in suite.groups for row in group.rows(results)], whole=True)


def test_numbers_in_notes_come_from_rows():
    """A number, the range over a pattern, an interval, percent, a verdict; what a part of a suite does not have."""
    rows = [
        Row("a/x-1", "a", "", None, 0.534, None, "", "info", interval=(0.4, 0.6)),
        Row("a/x-2", "a", "", None, 0.546, None, "", "weak"),
        Row("c", "c", "", None, -0.001, None, "", "info"),
    ]
    text = (
        "{{a/x-1}}, {{a/x-1 .1f}}, {{a/x-* .2f}}, {{a/x-* .1f}}, {{a/x-1 interval .2f}}, {{a/x-2 .0%}}, {x}; "
        "{{b .2f}}, {{a/x-1 verdict}}, {{a/x-* verdict}}, {{b verdict}}, {{c .2f}}"
    )
    shown = "0.534, 0.5, 0.53 to 0.55, 0.5, 0.40 to 0.60, 55 %, {x}; \N{HORIZONTAL ELLIPSIS}, "
    shown += "info, info or agrees weakly, \N{HORIZONTAL ELLIPSIS}, 0.00"
    assert filled(text, rows, whole=False) == shown
    with pytest.raises(ValueError, match="the notes refer to the row b, which does not exist"):
        filled(text, rows, whole=True)


def test_the_page_opens_with_the_statements(folder: Path):
    """Each statement has its row and a picture or a link before the first figure."""
    page = (folder / "report.html").read_text()
    start = page[page.index('id="statements"') : page.index('id="fig2"')]
    for group in suite_of("mds", quick=True).groups:
        assert (f'data-row="{group.id}"' in start) is group.statement, group.id
    row = start[start.index('data-row="P06"') :].partition("</tr>")[0]
    assert 'href="#fig3a"' in row
    assert page.index('id="fig2"') < page.index('id="notes"')


def test_tables_have_pictures():
    """Rows with two positive numbers are drawn; fewer than four are read faster."""
    rows = [compare(f"r{k}", "g", f"row {k}", 1.0 + k, 0.1, [1.1 + k, 0.9 + k], "ms") for k in range(4)]
    picture = comparison(rows)
    assert picture is not None
    assert picture.startswith(b"\x89PNG")
    assert comparison(rows[:3]) is None
    assert comparison([compare("z", "g", "w", 0.0, 0.1, [1.0], "ms")] * 9) is None
