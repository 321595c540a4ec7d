"""What all pages share: the frame around a page's body, the built assets, and the safe embedding of text in a page."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

_HERE = Path(__file__).parent

_FRAME = Markup("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body data-page="{kind}">
{body}
<script>{script}</script>
</body>
</html>
""")


def script_json(value: Any) -> Markup:
    """JSON for a ``<script type="application/json">``: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def framed(kind: str, title: str, body: Markup) -> str:
    """A page: a body with the style sheet, the script, and a policy that permits nothing else."""
    script = (_HERE / "assets" / "report.js").read_text(encoding="utf-8")
    style = (_HERE / "assets" / "report.css").read_text(encoding="utf-8")
    # The policy names the script by its hash as it will be between the tags.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _FRAME.format(kind=kind, title=title, body=body, policy=policy, script=Markup(script), style=Markup(style))


def write_page(path: Path, html: str) -> None:
    """Write UTF-8 with the same line ends everywhere (the hash of the script depends on them)."""
    path.write_text(html, encoding="utf-8", newline="\n")
