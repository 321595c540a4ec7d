"""Figures for RFCs keep to the profile of RFC 7996: its elements, their attributes and the values of these.

The lists are those of RFC 7996, appendix A (elements and attributes) and section 2 (black and white, generic fonts), as
far as a figure can need them; what is not listed is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import Cli
from matplotlib.figure import Figure

from windtunnel import Scenario
from windtunnel.figures import flent_style, four_panel, write_figure

SVG = "{http://www.w3.org/2000/svg}"
#: What drawing elements have in common.
_PAINT = {
    *("id", "transform", "fill", "fill-rule", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin"),
    *("stroke-miterlimit", "stroke-dasharray", "stroke-dashoffset"),
}
_FONT = {"font-family", "font-size", "font-weight", "font-style", "text-anchor"}
ELEMENTS = {
    "svg": {"version", "baseProfile", "width", "height", "viewBox", "preserveAspectRatio", "id", *_FONT},
    "title": {"id"},
    "desc": {"id"},
    "g": {*_PAINT, *_FONT},
    "path": {"d", "pathLength", *_PAINT},
    "rect": {"x", "y", "width", "height", "rx", "ry", *_PAINT},
    "circle": {"cx", "cy", "r", *_PAINT},
    "line": {"x1", "y1", "x2", "y2", *_PAINT},
    "ellipse": {"cx", "cy", "rx", "ry", *_PAINT},
    "polyline": {"points", *_PAINT},
    "polygon": {"points", *_PAINT},
    "text": {"x", "y", "rotate", *_PAINT, *_FONT},
    "tspan": {"x", "y", *_PAINT, *_FONT},
}
COLOURS = {"black", "white", "#000000", "#ffffff", "#FFFFFF", "none", "inherit", "currentColor"}
VALUES = {
    "version": {"1.2"},
    "baseProfile": {"tiny"},
    "fill": COLOURS,
    "stroke": COLOURS,
    "font-family": {"serif", "sans-serif", "monospace", "inherit"},
    "font-weight": {"normal", "bold", "bolder", "lighter", "inherit", *(str(n) for n in range(100, 1000, 100))},
    "text-anchor": {"start", "middle", "end", "inherit"},
    "stroke-linecap": {"butt", "round", "square", "inherit"},
    "stroke-linejoin": {"miter", "round", "bevel", "inherit"},
}
NUMBERS = {"x", "y", "width", "height", "stroke-width", "stroke-dashoffset", "font-size"}


def faults(file: Path) -> list[str]:
    """What in a file is not of the profile."""
    foreign = []
    for element in ElementTree.parse(file).iter():
        name = element.tag.removeprefix(SVG)
        if name not in ELEMENTS:
            foreign.append(f"<{element.tag}>")
            continue
        for key, value in element.attrib.items():
            if key not in ELEMENTS[name]:
                foreign.append(f"<{name} {key}>")
            elif value not in VALUES.get(key, {value}):
                foreign.append(f"<{name} {key}={value!r}>")
            elif key in NUMBERS and not re.fullmatch(r"-?\d+(\.\d+)?", value):
                foreign.append(f"<{name} {key}={value!r}> is no number")
    return foreign


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    """Lines with ticks and thresholds, clouds of dots, log axes, ranges, strips of state, and two axes."""
    title = 'A <title> & "quotes", $formula$, 100 %'
    flow = {"rtt": "20 ms", "count": 4}
    flows = [{"name": "a & b", "cc": "cubic", **flow}, {"name": "c", "cc": "reno", **flow}]
    link = {"rate": "20 Mbit/s", "queue": "fq_codel"}
    run = Scenario(title=title, duration="3 s", bottleneck=link, flows=flows).run()
    every = ("throughput", "sojourn", "cwnd", "mark", "rtt", "cdf", "phase", "in_flight")
    return {
        "usual": four_panel(run),
        "every": four_panel(run, panels=every, states=["stage"]),
        "flent": flent_style(run),
        "empty": four_panel(run, span=(2.9, 2.9001)),
    }


@pytest.fixture(scope="module")
def files(figures: dict[str, Figure], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The figures, written for RFCs."""
    folder = tmp_path_factory.mktemp("files")
    for name, figure in figures.items():
        write_figure(figure, folder / f"{name}.svg", "rfc-svg")
    return {name: folder / f"{name}.svg" for name in figures}


@pytest.mark.parametrize("name", ["usual", "every", "flent", "empty"])
def test_figures_for_rfcs_keep_to_the_profile(files: dict[str, Path], name: str) -> None:
    """No element, attribute, colour or font that RFC 7996 does not have; titles are text, whatever is in them."""
    file = files[name]
    assert faults(file) == []
    texts = [element.text for element in ElementTree.parse(file).iter(f"{SVG}text")]
    if name in ("usual", "every"):
        assert 'A <title> & "quotes", $formula$, 100 %' in texts
        assert "a & b-1" in texts
    assert len(list(ElementTree.parse(file).iter(f"{SVG}path"))) > (10 if name == "empty" else 40)
    assert file.stat().st_size < 1_500_000


def test_the_check_refuses_other_svg(figures: dict[str, Figure], tmp_path: Path) -> None:
    """Matplotlib's own SVG has style sheets, clip paths and colours: each is found."""
    file = tmp_path / "figure.svg"
    write_figure(figures["usual"], file, "svg")
    foreign = set(faults(file))
    assert {f"<{SVG}clipPath>", f"<{SVG}style>", "<path style>"} <= foreign


def test_lines_keep_their_dashes_and_stay_in_their_panels(files: dict[str, Path]) -> None:
    """Eight flows are told apart by markers, and the last two by dashes as well; no coordinate is off the page."""
    root = ElementTree.parse(files["every"]).getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for path in root.iter(f"{SVG}path"):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.attrib["d"]):
            assert -8 <= float(x) <= width + 8, path.attrib["d"][:200]
            assert -8 <= float(y) <= height + 8, path.attrib["d"][:200]
    assert any("stroke-dasharray" in path.attrib for path in root.iter(f"{SVG}path"))


def test_plot_offers_pdf_and_rfc_svg(cli: Cli, tmp_path: Path) -> None:
    """``plot --format`` writes both: a PDF that is the same twice, and an SVG of the profile in a file named .svg."""
    scenario = tmp_path / "short.toml"
    scenario.write_text(
        'duration = "1 s"\n[bottleneck]\nrate = "10 Mbit/s"\n[[flow]]\ncc = "reno"\nrtt = "10 ms"\n', encoding="utf-8"
    )
    assert cli("run", str(scenario), "--out", str(tmp_path / "short")).returncode == 0
    made = [tmp_path / "a.pdf", tmp_path / "b.pdf"]
    for file in made:
        assert cli("plot", str(tmp_path / "short"), "--out", str(file)).returncode == 0
    assert made[0].read_bytes().startswith(b"%PDF")
    assert made[0].read_bytes() == made[1].read_bytes()
    assert cli("plot", str(tmp_path / "short"), "--format", "rfc-svg", "--out", str(tmp_path / "c.svg")).returncode == 0
    assert faults(tmp_path / "c.svg") == []
