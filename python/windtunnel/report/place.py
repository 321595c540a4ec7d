"""A panel's place in a page, which the script fills."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from windtunnel.report.text import averaging

_PLACE = Markup("""\
<section class="panel{without}" data-panel="{id}" aria-label="{title}"{hidden}>
  <header>
    <h3>{title}{unit}</h3>
    <span class="controls">
    {controls}
    </span>
  </header>
  <div class="legend" role="group" aria-label="Series of {title}"></div>
  <div class="chart" tabindex="0" role="group" aria-label="{title}{in_unit} over {over}; \
arrow keys read values, plus and minus zoom" aria-describedby="help">
    {empty}
  </div>
  <div class="below"><span class="x-label">{x}</span><span class="time" aria-hidden="true"></span></div>
  <p class="note">{note}</p>
</section>
""")
_CHOICES = Markup('<select data-choice aria-label="What to show of it">{}</select>')
_CHOICE = Markup('<option value="{}">{}</option>')
_AVERAGES = Markup("<label>means of <select data-average>{}</select></label>")
_AVERAGE = Markup('<option value="{}"{}>{}</option>')
_LOG = Markup('<label><input type="checkbox" data-log{}> log scale</label>')
_SAVE = Markup("""\
<select data-save aria-label="Save {}">
      <option value="">save</option><option value="png">PNG</option><option value="svg">SVG</option>\
<option value="csv">CSV</option>
    </select>""")


def place(panel: Mapping[str, Any], hidden: bool = False) -> Markup:
    """The place of a panel, which is described as :func:`windtunnel.report.panels.encoded` does."""
    x, unit = panel["x"], panel["unit"]
    return _PLACE.format(
        without=" without" if panel["empty"] else "",
        id=panel["id"],
        title=panel["title"],
        hidden=" hidden" if hidden else "",
        unit="" if panel["empty"] else _unit(panel),
        controls=Markup("\n    ").join(_controls(panel)),
        in_unit=f" in {unit}" if unit else "",
        over=x["label"].lower(),
        empty=Markup('<div class="empty">{}</div>').format(panel["empty"]) if panel["empty"] else "",
        x=f"{x['label']} ({x['unit']})" if x["unit"] else x["label"],
        note=panel["note"],
    )


def _unit(panel: Mapping[str, Any]) -> Markup:
    text = panel["unit"]
    if text:
        log = ", log scale" if panel["log"] else ""
        average = f", means of {averaging(panel['average'])}" if panel["average"] else ""
        text = f"({text}{log}{average})"
    return Markup(' <span class="unit">{}</span>').format(text)


def _controls(panel: Mapping[str, Any]) -> list[Markup]:
    controls = []
    if panel["choices"]:
        names = (choice["name"] for choice in panel["choices"])
        controls.append(_CHOICES.format(Markup("").join(_CHOICE.format(*choice) for choice in enumerate(names))))
    if panel["empty"]:
        return controls
    if panel["averages"]:
        steps = (
            _AVERAGE.format(step, " selected" if step == panel["average"] else "", averaging(step))
            for step in panel["averages"]
        )
        controls.append(_AVERAGES.format(Markup("").join(steps)))
    if panel["log"] or panel["id"] == "marks" or (panel["id"] == "sojourn" and panel["kind"] == "line"):
        controls.append(_LOG.format(" checked" if panel["log"] else ""))
    return [*controls, _SAVE.format(panel["title"])]
