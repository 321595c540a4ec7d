"""The site of the documents: no page is too tall, the search finds, old addresses lead on, versions are offered.

The browser is headless Chromium (headless.py), which gets the site from a static server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from headless import drive_site

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
#: Pixels, at a width of 1280.
TALLEST = 20_000

#: Opens pages one by one in a frame; `open` gives the page's document when it has worked.
HEAD = """
const open = async (page, wait = 0) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = "width: 1280px; height: 900px; border: 0";
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  frame.src = page;
  document.body.append(frame);
  await loaded;
  if (wait) await new Promise((done) => setTimeout(done, wait));
  return frame;
};
"""


@pytest.fixture(scope="module")
def parts(monkeypatch_module: pytest.MonkeyPatch) -> Any:
    """The tool that divides documents."""
    monkeypatch_module.syspath_prepend(str(DOCS))
    import parts

    return parts


@pytest.fixture(scope="module")
def monkeypatch_module() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


WHOLE = """# The whole

What it is about, and [a section](#the-second-one).

## A first one

Text with [a link](../other.md) and [another](https://example.org/x.md#y).

### Below

    # not a heading

## The *second* one

```
## not a heading either
```

[Back](#below).

---
"""


def test_a_document_in_parts(parts: Any) -> None:
    """Sections become pages; links inside lead to these; the page of links has the anchors of the whole."""
    done = parts.divide("spec/whole", "generated/whole", WHOLE)
    assert list(done.pages) == ["a-first-one", "the-second-one"]
    assert "[a section](../generated/whole/the-second-one.md#the-second-one)" in done.index
    for anchor in ("a-first-one", "below", "the-second-one"):
        assert f'<span id="{anchor}"></span>' in done.index
    first, second = done.pages.values()
    assert first.startswith("---\norphan: true\n---\n\n# A first one\n\nA part of [The whole](../../spec/whole.md).\n")
    assert first.endswith("\nNext: [The *second* one](the-second-one.md)\n") and "Next:" not in second
    assert "[a link](../../other.md)" in first and "https://example.org/x.md#y" in first
    assert "\n## Below\n" in first and "    # not a heading" in first
    assert "## not a heading either" in second and "[Back](a-first-one.md#below)" in second
    assert not second.rstrip().endswith("---")
    elsewhere = parts.redirected("[x](spec/whole.md#below) and [y](spec/whole.md)", "index", [done])
    assert elsewhere == "[x](generated/whole/a-first-one.md#below) and [y](spec/whole.md)"


def test_a_tall_section_is_divided_again(parts: Any) -> None:
    rows = "| a | b |\n" * 400
    done = parts.divide(
        "whole", "generated/whole", f"# W\n\n## One\n\nIntro.\n\n### Small\n\n{rows}\n### Other\n\nText.\n"
    )
    assert list(done.pages) == ["one", "small", "other"]
    assert "Intro." in done.pages["one"] and "(small.md)" in done.pages["one"] and rows.strip() in done.pages["small"]
    assert '<span id="other"></span>[Other](generated/whole/other.md)' in done.index


def test_every_figure_has_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of campaigns and paper suites, of the gallery and of the course; their names are not to change."""
    monkeypatch.syspath_prepend(str(DOCS))
    from generators import figures

    every = list(figures.figures())
    names = [f"{figure.suite}/{figure.name}" for figure in every]
    assert len(set(names)) == len(names) > 40
    assert {"ledbat/ledbat", "l4s-tests/bursty", "l4s-tests/low-rates", "gallery/mds", "course/03-reno"} <= set(names)
    shown = [picture for folder in ("packs", "gallery", "course") for picture in (DOCS / folder).rglob("*.png")]
    assert {figure.picture for figure in every} == set(shown)
    pages = figures.pages()
    for figure in every:
        assert figure.picture.exists() and figure.commands, figure
        page = pages[f"figures/{figure.suite}/{figure.name}.md"]
        assert figure.caption in page
        if figure.suite in ("gallery", "course"):
            assert [file.suffix for file in figure.scenarios] == [".toml"], figure
        else:
            assert "\n| " in page, figure


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site") / "html"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "-b",
        "html",
        DOCS,
        folder,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_no_page_is_too_tall(site: Path) -> None:
    # The lab is no document.
    pages = [str(page.relative_to(site)) for page in sorted(site.rglob("*.html")) if page.name != "lab.html"]
    assert len(pages) > 400
    driver = f"""
    const seen = {{}};
    for (const page of {json.dumps(pages)}) {{
      const frame = await open(page);
      seen[page] = frame.contentDocument.documentElement.scrollHeight;
      frame.remove();
    }}
    leave(seen);
    """
    heights: dict[str, int] = drive_site(site, HEAD, driver)
    assert heights.keys() == set(pages) and min(heights.values()) >= 900
    assert {page: height for page, height in heights.items() if height > TALLEST} == {}


@pytest.mark.long
def test_search_old_addresses_and_versions(site: Path) -> None:
    """From a static server alone, with a second version that a deployment has added."""
    listed = json.loads((site / "versions.json").read_text(encoding="utf-8"))
    assert [each["url"] for each in listed] == ["./"]
    alone = """
    const index = await open("index.html", 3000);
    leave(index.contentWindow.getComputedStyle(index.contentDocument.querySelector(".site-version label")).display);
    """
    assert drive_site(site, HEAD, alone) == "none"
    (site / "versions.json").write_text(
        json.dumps([*listed, {"name": "0.0.9", "commit": "", "url": "old/"}, {"name": "x", "url": "javascript:0"}]),
        encoding="utf-8",
    )
    driver = """
    const search = await open("search.html?q=sojourn", 3000);
    const found = [...search.contentDocument.querySelectorAll("#search-results li a")].map((link) => link.href);
    const old = await open("validation.html#the-linux-stack", 3000);
    const index = await open("index.html", 3000);
    const box = index.contentDocument.querySelector(".site-version");
    leave({
      found: found.length,
      moved: old.contentWindow.location.pathname + old.contentWindow.location.hash,
      version: box.querySelector("span").textContent,
      offered: index.contentWindow.getComputedStyle(box.querySelector("label")).display !== "none",
      versions: [...box.querySelectorAll("option")].map((option) => [option.textContent, option.selected]),
      tryIt: index.contentDocument.querySelector("#try-it img, #try-it iframe")?.tagName,
    });
    """
    seen = drive_site(site, HEAD, driver)
    assert seen["found"] > 5
    assert seen["moved"] == "/generated/validation/the-linux-stack.html"
    assert seen["version"].startswith(f"Version {listed[0]['name']}")
    assert seen["offered"] and [selected for _, selected in seen["versions"]] == [True, False]
    assert seen["versions"][1][0] == "0.0.9" and seen["tryIt"]
