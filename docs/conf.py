"""The documentation's site: ``make docs``. Pages made of the program are written into ``docs/generated`` first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generators import commands, keys, kinds, metrics, results  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

os.environ["MPLBACKEND"] = "agg"

project = "windtunnel"
author = "the windtunnel authors"
project_copyright = "windtunnel, MIT or Apache-2.0"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
html_title = "windtunnel"
html_static_path = ["static"]
html_css_files = ["site.css"]
# What tools leave behind.
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Notebooks show the outputs that they were saved with; a test runs them.
nb_execution_mode = "off"
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False
# The sources of pages are in the repository.
html_show_sourcelink = False
html_copy_source = False
# Code in the explanations is text, TOML or a shell's; not all of it is Python.
highlight_language = "text"
# Comments and docstrings of the program put code between single backquotes, too.
default_role = "code"

GENERATED = HERE / "generated"
for generator in (kinds, keys, results, metrics, commands):
    for name, text in generator.pages().items():
        page = GENERATED / name
        page.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged page is not built again.
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


#: Pages that list the files next to them; in the repository, a folder lists itself.
CHILDREN = {
    "course/README": "*/README",
    "gallery/README": "*/README",
    "decisions/README": "0*",
    "spec/README": "[a-z]*",
}

#: Documents above this folder, and the pages that include them.
ABOVE = {"../SECURITY.md": "/explanation/security.md", "../CONTRIBUTING.md": "/explanation/contributing.md"}


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts the files of a folder below its page, and leads links out of this folder to the pages here."""
    for document, included in ABOVE.items():
        source[0] = source[0].replace(f"]({document})", f"]({included})")
    if page in CHILDREN:
        folder = page.rpartition("/")[0]
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n/{folder}/{CHILDREN[page]}\n```\n"


def setup(app: Sphinx) -> None:
    """Registers what this site adds to Sphinx."""
    app.connect("source-read", prepare)
