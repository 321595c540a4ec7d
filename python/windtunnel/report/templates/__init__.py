"""Pages whose bodies are templates: those of work that takes minutes.

The page of a run has functions instead (``run_body.py``), because to load Jinja and to compile its template took longer
than a short run does.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from windtunnel.report.page import framed
from windtunnel.report.place import place
from windtunnel.report.text import averaging, number, signed, with_code


def render(kind: str, template: str, values: Mapping[str, Any]) -> str:
    """A page of a kind from a template; its ``title`` is one of the values."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "signed": signed, "averaging": averaging, "with_code": with_code}
    body = environment.get_template(template).render(values, place=place)
    return framed(kind, values["title"], Markup(body))
