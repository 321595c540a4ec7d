"""Headless Chromium, driven by its command line alone.

A driver is a script that is added to the page, because the product has no test code. It acts as a reader would and
leaves what it sees in a data attribute of the body.
"""

import base64
import hashlib
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

# The tools of every driver: let the page work, count what is drawn, leave a result.
DRIVER_HEAD = """
const settle = () => new Promise((done) => setTimeout(done, 60));
const $ = (selector) => document.querySelector(selector);
const ids = ["throughput", "sojourn", "cwnd", "marks"];
const chart = (id) => $(`[data-panel=${id}] .chart`);
const legend = (id) => [...document.querySelectorAll(`[data-panel=${id}] .legend button`)];
// Pixels that are not background; the canvas is transparent where nothing was drawn.
const pixels = (id) => {
  const canvas = chart(id).querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) n++;
  return n;
};
const each = (what) => Object.fromEntries(ids.map((id) => [id, what(id)]));
const leave = (seen) => { document.body.dataset.seen = JSON.stringify(seen); };
"""


class BodyReader(HTMLParser):
    """Finds the result that a driver left."""

    seen: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the result from the start of an element."""
        if tag == "body":
            self.seen = dict(attrs).get("data-seen")


def drive(page: Path, driver: str, *, size: str = "1400,1000", virtual_time: bool = True, at: str = "") -> Any:
    """Open a page, run a driver in it and return the result that it left; skips the test if there is no Chromium.

    ``at`` is what follows the page's address. With ``virtual_time`` timers fire at once, so that a driver may
    wait; without it, the page's clock is real, and the driver has to finish before the load event.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs headless Chromium (Debian: apt-get install chromium)")
    html = page.read_text(encoding="utf-8")
    script = DRIVER_HEAD + driver
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page's own policy stays in force, with the driver let in.
    assert "script-src " in html
    html = html.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    html = html.replace("</body>", f"<script>{script}</script></body>")
    driven = page.with_name(f"driven-{page.name}")
    driven.write_text(html, encoding="utf-8", newline="\n")
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-sync",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={profile}",
            f"--window-size={size}",
            *(["--virtual-time-budget=20000"] if virtual_time else []),
            "--dump-dom",
            driven.as_uri() + at,
        ]
        done = subprocess.run(command, capture_output=True, timeout=180, check=True)
    reader = BodyReader()
    reader.feed(done.stdout.decode("utf-8"))
    assert reader.seen is not None, "the driver did not finish"
    return json.loads(reader.seen)
