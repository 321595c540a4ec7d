"""What both kinds of page share: templates, the built assets, and the safe embedding of text in a page."""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from windtunnel.report.text import averaging, number, signed, with_code

_HERE = Path(__file__).parent


def script_json(value: Any) -> Markup:
    """JSON for a ``<script type="application/json">``: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page from a template, with the style sheet, the script, and a policy that permits nothing else."""
    script = (_HERE / "assets" / "report.js").read_text(encoding="utf-8")
    style = (_HERE / "assets" / "report.css").read_text(encoding="utf-8")
    # The policy names the script by its hash as it will be between the tags.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "signed": signed, "averaging": averaging, "with_code": with_code}
    page = environment.get_template(template)
    return page.render(values, policy=policy, script=Markup(script), style=Markup(style))


def write_page(path: Path, html: str) -> None:
    """Write UTF-8 with the same line ends everywhere (the hash of the script depends on them)."""
    path.write_text(html, encoding="utf-8", newline="\n")
