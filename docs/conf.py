"""The documentation's site: ``make docs``. Pages made of the program are written into ``docs/generated`` first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generators import commands, figures, keys, kinds, lab, metrics, results, versions  # noqa: E402
from parts import Divided, divide, redirected  # noqa: E402
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
html_js_files = ["site.js"]
templates_path = ["templates"]
# The version and commit of the documents, and the list of versions for readers of another one.
release = versions.release()
html_context = {"site_commit": versions.commit()}
html_extra_path = [versions.written(HERE / "_build" / "extra")]
lab.written(HERE / "_build" / "extra")
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/version.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
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

#: Documents that are several pages of the site, with the file that has the text.
LONG = {
    "validation": HERE / "validation.md",
    "validation-kernel": HERE / "validation-kernel.md",
    "spec/congestion-control": HERE / "spec" / "congestion-control.md",
    "spec/queues-and-signalling": HERE / "spec" / "queues-and-signalling.md",
    "spec/ccwg-2026": HERE / "spec" / "ccwg-2026.md",
    "explanation/changelog": HERE.parent / "CHANGELOG.md",
}
#: The same for pages that are made of the program.
LONG_LISTS = ("controllers.md", "queues.md")

made = {
    name: text
    for generator in (kinds, keys, results, metrics, commands, figures)
    for name, text in generator.pages().items()
}
divided: dict[str, Divided] = {
    page: divide(page, f"generated/{page.rpartition('/')[2]}", file.read_text(encoding="utf-8"))
    for page, file in LONG.items()
}
for name in LONG_LISTS:
    page = name.removesuffix(".md")
    divided[f"generated/{page}"] = divide(f"generated/{page}", f"generated/{page}", made[name])
    made[name] = divided[f"generated/{page}"].index
for each in divided.values():
    made |= {f"{each.folder.removeprefix('generated/')}/{name}.md": text for name, text in each.pages.items()}
for name, text in made.items():
    # Pages of figures have addresses of their own.
    page = (HERE if name.startswith("figures/") else GENERATED) / name
    page.parent.mkdir(parents=True, exist_ok=True)
    # An unchanged page is not built again.
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
# What an earlier version of a document had is no page any more.
for above, folder in ((GENERATED, GENERATED), (HERE, HERE / "figures")):
    for page in folder.rglob("*.md"):
        if str(page.relative_to(above)) not in made:
            page.unlink()


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
    if page in LONG:
        source[0] = divided[page].index
    source[0] = lab.placed(page, source[0])
    source[0] = redirected(source[0], page, list(divided.values()))
    for document, included in ABOVE.items():
        source[0] = source[0].replace(f"]({document})", f"]({included})")
    if page in CHILDREN:
        folder = page.rpartition("/")[0]
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n/{folder}/{CHILDREN[page]}\n```\n"


def changed(*_: object) -> list[str]:
    """Pages of links, which may have changed where their own file has not."""
    return [*LONG]


def setup(app: Sphinx) -> None:
    """Registers what this site adds to Sphinx."""
    app.connect("source-read", prepare)
    app.connect("env-get-outdated", changed)
