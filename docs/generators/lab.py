"""The lab on the site: its page, its place on the start page, links that open the scenarios of lessons and gallery."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from windtunnel.lab.address import hash_of
from windtunnel.lab.examples import examples
from windtunnel.lab.page import CODE, lab_page

DOCS = Path(__file__).parents[1]
PAGE = "lab.html"

#: What the lab takes the place of, on the start page.
_PLACE = re.compile(r"<!-- The place of the lab:.*?<!-- The end of the place of the lab. -->", re.DOTALL)
_FRAME = f"""\
<iframe src="{PAGE}" title="The lab" loading="lazy" style="width: 100%; height: 46rem; border: 1px solid #8888;
border-radius: 6px"></iframe>

Press *run*, and move a slider: the run goes on with the new value. <a href="{PAGE}">The lab on a page of its own</a>;
[what it can do](how-to/lab.md); [your first run](tutorial/first-run.md) on your own machine takes five minutes.
"""
_OPEN = '<p><a href="../../{page}#{hash}">Open {name} in the lab</a>: run it, and change it while it goes on.</p>'


def written(folder: Path) -> None:
    """The lab's page in a folder, if the core was built for it (``make lab``)."""
    page = folder / PAGE
    if not CODE.is_file():
        page.unlink(missing_ok=True)
        return
    page.write_text(lab_page(examples()), encoding="utf-8", newline="\n")


def placed(page: str, text: str) -> str:
    """A page with the lab: in its place on the start page, and as links where a folder has scenarios."""
    if not CODE.is_file():
        return text
    if page == "index":
        return _PLACE.sub(lambda _: _FRAME, text)
    if page.split("/")[0] in ("gallery", "course"):
        links = [
            _OPEN.format(page=PAGE, hash=hash_of(file.read_text(encoding="utf-8")), name=file.name)
            for file in sorted((DOCS / page).parent.glob("*.toml"))
            if _opens(file)
        ]
        return "\n\n".join([text.rstrip(), *links]) + "\n"
    return text


def _opens(file: Path) -> bool:
    """Whether it is a scenario that needs no other file: a link has its text alone."""
    text = file.read_text(encoding="utf-8")
    return "flow" in tomllib.loads(text) and "trace" not in text
