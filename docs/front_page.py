"""The picture of a run's page, at the top of the README: ``python docs/front_page.py`` takes it again, with Chromium.

It carries the hash of the page that it shows, without what differs between machines and versions; the tests compare.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, PngImagePlugin

import windtunnel
from windtunnel.report import write_report

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import drawn  # noqa: E402

PICTURE = DOCS / "static/page.png"
SCENARIO = DOCS.parent / "scenarios/tail-drop.toml"

#: Width and height: the head of the page and its first four panels.
SIZE = (1300, 1075)

#: How fast this machine was; the version, and what else the page says about the program.
_FACTS = re.compile(r'<p class="facts">.*?</p>', re.DOTALL)
_KEPT = ("title", "scenario", "scenario_toml", "seed", "digest")


def page(file: Path) -> str:
    """Write the page; returns the hash of what it shows."""
    result = windtunnel.Scenario.from_file(SCENARIO).run()
    for key, about in result.meta.items():
        if key not in _KEPT and isinstance(about, str):
            result.meta[key] = ""
    write_report(result, file)
    return hashlib.sha256(_FACTS.sub("", file.read_text(encoding="utf-8")).encode()).hexdigest()[:16]


def stale() -> bool:
    """Whether the page of today is another one."""
    with tempfile.TemporaryDirectory() as folder:
        return page(Path(folder) / "report.html") != drawn.kept(PICTURE)


def main() -> int:
    """Takes the picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("needs Chromium (Debian: apt-get install chromium)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        html, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        about = PngImagePlugin.PngInfo()
        about.add_text(drawn.KEY, page(html))
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        command = [chromium, *options, f"--user-data-dir={folder}/profile", size, "--virtual-time-budget=20000"]
        subprocess.run([*command, f"--screenshot={shot}", html.as_uri()], check=True, capture_output=True)
        with Image.open(shot) as image:
            few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            few.save(PICTURE, optimize=True, pnginfo=about)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
