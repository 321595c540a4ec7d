"""The lab's page: one file with the core, the scripts, the style sheet and the examples in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from windtunnel.errors import RunFailedError
from windtunnel.lab import live
from windtunnel.lab.examples import Example
from windtunnel.report.page import script_json
from windtunnel.report.place import place

_ASSETS = Path(__file__).parent / "assets"
#: The core as WebAssembly, packed. It is built (`make lab`) and not kept in the repository.
CODE = _ASSETS / "lab.wasm.gz"

_PAGE = Markup("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>windtunnel: the lab</title>
<style>{style}</style>
</head>
<body data-page="lab">
<h1 id="title">The lab</h1>
<p class="facts">Move a slider, and the run goes on with the new value from that moment on. What you see is what
<code>windtunnel run</code> computes for the text below, packet by packet.</p>
<noscript><p>The lab needs JavaScript and WebAssembly, which are inside this file.</p></noscript>
<div class="lab-bar" role="toolbar" aria-label="The run">
  <button type="button" id="play">&#9654; run</button>
  <button type="button" id="step" title="Up to the next acknowledgement">one ACK</button>
  <button type="button" id="rewind" title="Back to the start">back to start</button>
  <label>speed <select id="speed">
    <option value="0.001">1/1000</option><option value="0.01">1/100</option><option value="0.1">1/10</option>
    <option value="1" selected>real time</option><option value="3">3 &times;</option>
    <option value="10">10 &times;</option><option value="fast">as fast as it goes</option>
  </select></label>
  <input type="range" id="time" min="0" max="1" step="1" value="0" aria-label="Time of the run: go to a moment">
  <span id="clock"></span> <span id="state" class="soft"></span>
  <label><input type="checkbox" id="animate"> packets</label>
  <label>example <select id="examples"></select></label>
</div>
<p id="message" role="status" aria-live="polite"></p>
<div class="lab">
<div id="controls" role="group" aria-label="Settings of the running scenario"></div>
<main>
<dl class="metrics" aria-label="Over the last 5 seconds">
  <div><dt>Efficiency: capacity used</dt><dd id="efficiency">&ndash;</dd></div>
  <div><dt>Fairness: Jain's index</dt><dd id="fairness">&ndash;</dd></div>
  <div><dt>Convergence: to equal shares in</dt><dd id="convergence">&ndash;</dd></div>
  <div><dt>Collateral damage: wait of all others</dt><dd id="collateral">&ndash;</dd></div>
</dl>
<div id="animation-box" hidden><canvas id="animation" role="img"
 aria-label="Packets on their way through the bottleneck, and acknowledgements back"></canvas></div>
<div class="toolbar" role="toolbar" aria-label="Visible time">
  <span class="group">
    <button type="button" data-range="in" title="Zoom in" aria-label="Zoom in">+</button>
    <button type="button" data-range="out" title="Zoom out" aria-label="Zoom out">&minus;</button>
    <button type="button" data-range="left" title="Earlier" aria-label="Earlier">&#9664;&#xFE0E;</button>
    <button type="button" data-range="right" title="Later" aria-label="Later">&#9654;&#xFE0E;</button>
    <button type="button" data-range="reset">Whole run</button>
  </span>
</div>
<div class="panels">
{panels}</div>
<p class="help" id="help">Drag in a chart: zoom. Double click: whole run. Legend: click switches a series.
In a chart: <kbd>&larr;</kbd> <kbd>&rarr;</kbd> read values, <kbd>+</kbd> <kbd>&minus;</kbd> zoom.
The four numbers are about the last 5 s. Shares count as equal from an index of 0.95 on.</p>
<p id="live" class="visually-hidden" aria-live="polite"></p>
</main>
</div>
<div class="with-button"><h2>Scenario</h2> <button type="button" id="run-text">run this text</button>
<button type="button" id="copy-toml">copy as TOML</button>
<button type="button" id="copy-defaults" title="With every default written out">copy with defaults</button>
<button type="button" id="copy-link">copy as link</button></div>
<textarea id="scenario" spellcheck="false" autocomplete="off" aria-label="The scenario as TOML"></textarea>
<p id="digest" class="soft"></p>
<p class="help">A slider writes its change into the text, with its time. A controller is exchanged as users get another
one: the flow stops, and one like it starts. All built-in controllers and queues run here; controllers in Python and
QUIC stacks run with the command line alone.</p>
<script type="application/json" id="lab-data">{data}</script>
<script type="text/plain" id="lab-worker">{worker}</script>
<script type="application/octet-stream" id="lab-code">{code}</script>
<script>{script}</script>
</body>
</html>
""")


def lab_page(examples: Sequence[Example]) -> str:
    """The page, which opens with the first of the examples. Raises RunFailedError if the core was not built for it."""
    if not CODE.is_file():
        raise RunFailedError("the core is not built for browsers here; `make lab` builds it (it needs rustup's target "
                             "wasm32-unknown-unknown)")  # fmt: skip
    script, worker, style = (
        (_ASSETS / name).read_text(encoding="utf-8") for name in ("lab.js", "worker.js", "lab.css")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # The page's script, the worker that it makes of its own text, WebAssembly, and nothing else; no network.
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    panels = live.described()
    data = {
        "panels": panels,
        "looks": live.looks(),
        "examples": [example.described() for example in examples],
    }
    return _PAGE.format(
        policy=policy,
        style=Markup(style),
        panels=Markup("").join(place(panel["meta"]) for panel in panels),
        data=script_json(data),
        worker=Markup(worker),
        code=base64.b64encode(CODE.read_bytes()).decode("ascii"),
        script=Markup(script),
    )
