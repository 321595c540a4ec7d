"""Headless Chromium, driven by its command line alone.

A driver is a script that is added to the page, because the product has no test code. It acts as a reader would and
leaves what it sees in a data attribute of the body.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote

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
    driven = _with(page, DRIVER_HEAD + driver)
    return _seen(driven.as_uri() + at, size=size, virtual_time=20000 if virtual_time else 0)


def drive_site(root: Path, head: str, driver: str) -> Any:
    """Serve a folder as a static server does, and run a driver, the body of an async function, in an empty page of it;
    returns the result that it left. Skips the test if there is no Chromium.
    """
    page = f"<!doctype html><body><script>{DRIVER_HEAD}{head}(async () => {{{driver}}})();</script></body>".encode()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/driver":
                super().do_GET()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A frame that is removed leaves its pictures behind."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    with Server(("127.0.0.1", 0), partial(Handler, directory=str(root))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/driver"
            return _seen(address, size="1280,900", virtual_time=5_000_000)
        finally:
            server.shutdown()
            thread.join()


def _seen(address: str, *, size: str, virtual_time: int) -> Any:
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        budget = [f"--virtual-time-budget={virtual_time}"] if virtual_time else []
        command = [*_chromium(profile, size), *budget, "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, timeout=600, check=True)
    reader = BodyReader()
    reader.feed(done.stdout.decode("utf-8"))
    assert reader.seen is not None, "the driver did not finish"
    return json.loads(reader.seen)


def watch(page: Path, driver: str, *, seconds: float = 60, at: str = "") -> Any:
    """The same where the page works by the clock, as one with a worker does. ``leave`` takes the result by opening an
    address of this process: the page's policy does not let it load anything.
    """
    left: list[str] = []
    done = Event()

    class Taker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Take the result."""
            if self.path.startswith("/left?"):
                left.append(unquote(self.path.removeprefix("/left?")))
                done.set()
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Taker) as server, TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        Thread(target=server.serve_forever, daemon=True).start()
        address = json.dumps(f"http://127.0.0.1:{server.server_address[1]}/left?")
        leave = (
            f"const leave = (seen) => {{ location.href = {address} + encodeURIComponent(JSON.stringify(seen)); }};\n"
        )
        driven = _with(page, _LIVE_HEAD + leave + driver)
        command = [*_chromium(profile, "1400,1000"), "--remote-debugging-port=0", driven.as_uri() + at]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert done.wait(seconds), "the driver did not finish"
        finally:
            browser.kill()
            browser.wait()
            server.shutdown()
    return json.loads(left[0])


_LIVE_HEAD = """
const $ = (selector) => document.querySelector(selector);
const until = async (holds, of = "") => {
  for (let i = 0; i < 2000; i++) {
    if (holds()) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  leave({ waited: of || String(holds) });
};
"""


def _with(page: Path, script: str) -> Path:
    """A copy of a page with a script added. The page's own policy stays in force, with the script let in."""
    html = page.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "script-src " in html
    html = html.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    html = html.replace("</body>", f"<script>{script}</script></body>")
    driven = page.with_name(f"driven-{page.name}")
    driven.write_text(html, encoding="utf-8", newline="\n")
    return driven


def _chromium(profile: str, size: str) -> list[str]:
    """The command of a headless Chromium; skips the test if there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs headless Chromium (Debian: apt-get install chromium)")
    return [
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
    ]
