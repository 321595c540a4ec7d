"""The body of a run's page: text goes through ``Markup.format``, which escapes it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from windtunnel.report.bounded import ELSEWHERE, MOST_FLOWS
from windtunnel.report.place import place
from windtunnel.report.summary import SummaryTable, TableCell
from windtunnel.report.text import number

_HEAD = Markup("""\
<h1>{title}</h1>
<p class="facts">{facts}</p>
{stalled}<noscript><p>The figures need JavaScript, which is inside this file; the tables below do not.</p></noscript>

<main>
<div class="toolbar" role="toolbar" aria-label="Visible time">
  <span class="group">
    <button type="button" data-range="in" title="Zoom in" aria-label="Zoom in">+</button>
    <button type="button" data-range="out" title="Zoom out" aria-label="Zoom out">&minus;</button>
    <button type="button" data-range="left" title="Earlier" aria-label="Earlier">&#9664;&#xFE0E;</button>
    <button type="button" data-range="right" title="Later" aria-label="Later">&#9654;&#xFE0E;</button>
    <button type="button" data-range="reset">Whole run</button>
  </span>
  <span class="group">
    <label>from <input id="range-from" type="number" step="any" min="0" max="{end}"> s</label>
    <label>to <input id="range-to" type="number" step="any" min="0" max="{end}"> s</label>
  </span>
  <label><input id="zero-based" type="checkbox" checked> axes from zero</label>
  <span class="flows" id="flows" role="group" aria-label="Flows, in all panels" hidden>\
<span class="soft">Flows</span></span>
</div>
<div class="more" role="group" aria-label="Panels"><span class="soft">Panels</span>
{buttons}</div>
<div class="panels">
{panels}</div>
<p class="help" id="help">Drag: zoom. Double click: whole run. <kbd>Shift</kbd> and drag: move.
Legend: click switches a series, <kbd>Shift</kbd> and click leaves only that one.
In a chart: <kbd>&larr;</kbd> <kbd>&rarr;</kbd> read values, <kbd>Shift</kbd> <kbd>&larr;</kbd> <kbd>&rarr;</kbd> move,
<kbd>+</kbd> <kbd>&minus;</kbd> zoom, <kbd>0</kbd> whole run. Throughput is the mean since the sample before; where
samples are too many to show, a line is their mean over a few pixels, and the pale band reaches from the least to the
greatest.</p>
<p id="live" class="visually-hidden" aria-live="polite"></p>
""")
_BUTTON = Markup('<button type="button" data-show="{}" aria-pressed="{}">{}</button>\n')
_STALLED = Markup('<p class="stalled" role="alert">{}</p>\n')

_CLAIMS = Markup("""
<h2>Claims</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Claims">
<table class="plain findings">
<thead><tr><th scope="col">Claim</th><th scope="col">Condition</th><th scope="col" class="n">Measured</th>\
<th scope="col">In this run</th></tr></thead>
<tbody>
{}</tbody>
</table>
</div>
""")
_CLAIM = Markup("""\
<tr><th scope="row" style="white-space: normal">{text}</th><td><code>{check}</code></td><td class="n">{value}</td>\
<td>{verdict}</td></tr>
""")

_ANSWERS = Markup("""\
<h3>{heading}</h3>
<div class="scroll" tabindex="0" role="region" aria-label="Findings, {heading}">
<table class="plain findings">
<tbody>
{answers}</tbody>
</table>
</div>
""")
_ANSWER = Markup('<tr><th scope="row">{}</th><td style="white-space: normal; max-width: 75em">{}</td></tr>\n')

_TABLE = Markup("""\
<div class="scroll tall" tabindex="0" role="region" aria-label="{title}: {first}">
<table class="sortable plain">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}</tbody>
</table>
</div>
{note}""")
_NUMERIC = Markup(' class="n"')

_MEMBERS = Markup("""
<div id="members"><button type="button" id="show-members">{show}</button></div>
<script type="application/json" id="members-data">{members}</script>
""")
_SCENARIO = Markup("""
<div class="with-button"><h2>Scenario</h2> <button type="button" id="copy-scenario">Copy</button></div>
<pre id="scenario" tabindex="0">{}</pre>
<p class="help"><code>windtunnel lab FOLDER</code>, with the folder of this page, opens this run in the lab: there it
goes on while you change it.</p>
""")
_TAIL = Markup("""\
</main>
<footer>{footer}</footer>

<script type="application/json" id="report-meta">{meta_json}</script>
<script type="application/octet-stream" id="report-data">{data}</script>
""")


def head(title: str, facts: Iterable[str], stalled: str, end: float, panels: Sequence[Mapping[str, Any]]) -> Markup:
    """What comes before the tables: the title, and the places of panels."""
    return _HEAD.format(
        title=title,
        facts=_all("<span>{}</span>", ((fact,) for fact in facts)),
        stalled=_STALLED.format(stalled) if stalled else "",
        end=end,
        buttons=_joined(
            _BUTTON.format(panel["id"], "true" if panel["shown"] else "false", panel["title"]) for panel in panels
        ),
        panels=_joined(place(panel, not panel["shown"]) for panel in panels),
    )


def notes(every: Sequence[Mapping[str, Any]]) -> Markup:
    """What explains the run."""
    if not every:
        return Markup("")
    warning, note = Markup("<li><strong>{}</strong></li>\n"), Markup("<li>{}</li>\n")
    lines = ((warning if each["level"] == "warning" else note).format(each["text"]) for each in every)
    return Markup('\n<h2>Notes</h2>\n<ul class="notes">\n{}</ul>\n').format(_joined(lines))


def claims(every: Sequence[Mapping[str, Any]]) -> Markup:
    """The claims and what became of them."""
    if not every:
        return Markup("")
    rows = (_CLAIM.format_map({**each, "value": each["why"] or number(each["value"])}) for each in every)
    return _CLAIMS.format(_joined(rows))


def findings(every: Sequence[tuple[str, Sequence[tuple[str, str]]]], missing: Sequence[str]) -> Markup:
    """Questions and answers under headings, and notes on what is ``missing``."""
    if not (every or missing):
        return Markup("")
    tables = (_ANSWERS.format(heading=heading, answers=_joined(_ANSWER.format(*a) for a in answers))
              for heading, answers in every)  # fmt: skip
    remarks = _all('<p class="notes">{}</p>\n', ((note,) for note in missing))
    return Markup("\n<h2>Findings</h2>\n{}{}").format(remarks, _joined(tables))


def summary(sections: Iterable[tuple[str, Sequence[SummaryTable]]]) -> Markup:
    """The tables under their headings."""
    return Markup("\n<h2>Summary</h2>\n{}").format(
        _joined(
            Markup("<h3>{}</h3>\n{}").format(title, _joined(_table(title, table) for table in tables))
            for title, tables in sections
        )
    )


def _table(title: str, table: SummaryTable) -> Markup:
    heads = (
        Markup('<th scope="col"{}>{}{}</th>').format(
            _NUMERIC if column.numeric else "",
            column.head,
            Markup("<small>{}</small>").format(column.unit) if column.unit else "",
        )
        for column in table.columns
    )
    rows = (Markup("<tr>{}</tr>\n").format(_joined(map(_cell, row))) for row in table.rows)
    note = Markup("<p>{}</p>\n").format(table.note) if table.note else ""
    return _TABLE.format(title=title, first=table.columns[0].head, heads=_joined(heads), rows=_joined(rows), note=note)


def _cell(cell: TableCell) -> Markup:
    # There may be thousands: this takes a tenth of the time of `format`.
    numeric = _NUMERIC if cell.numeric else ""
    return Markup(f'<td{numeric} data-sort="{escape(cell.sort)}">{escape(cell.text)}</td>')


def tail(
    members: Markup | None,
    count: int,
    scenario: str,
    footer: Iterable[tuple[str, str]],
    meta_json: Markup,
    data: Markup,
) -> Markup:
    """What comes after the tables: each of ``count`` flows, the scenario's text, where the run comes from, its data."""
    show = f"Show each of the {count} flows"
    if count > MOST_FLOWS:
        show = f"Show some of the {count} flows, from the least to the greatest throughput of a group; {ELSEWHERE}"
    each = _MEMBERS.format(show=show, members=members) if members else Markup("")
    text = _SCENARIO.format(scenario) if scenario else Markup("")
    origin = Markup(" &middot; ").join(f"{name} {value}" for name, value in footer)
    return each + text + _TAIL.format(footer=origin, meta_json=meta_json, data=data)


def _all(form: str, every: Iterable[Sequence[str]]) -> Markup:
    """Each in this form, one after the other."""
    return _joined(Markup(form).format(*each) for each in every)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)
