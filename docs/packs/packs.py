"""The evidence packs of the documentation: runs them, and writes a short page for each algorithm.

``findings.toml`` names the algorithms and their packs, and holds what was found. ``python docs/packs/packs.py``
runs all packs into ``results/packs`` and writes the pages here; ``--pages`` only writes the pages, from the packs that
are there. Names limit it to these algorithms. ``as`` in the file gives an
algorithm other parameters in one of its packs.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

from rich.console import Console

from windtunnel.evaluate import evaluate
from windtunnel.evaluate.document import page, read_packs

HERE = Path(__file__).parent


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    parser.add_argument("--quick", action="store_true", help="the quick parts of the packs")
    parser.add_argument("--jobs", type=int, help="processes; one for each core by default")
    parser.add_argument("--results", type=Path, default=Path("results/packs"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    findings = tomllib.loads((HERE / "findings.toml").read_text(encoding="utf-8"))
    console = Console()
    for name in options.names or findings:
        about = findings[name]
        folders = [options.results / f"{pack}-{name}" for pack in about["packs"]]
        if not options.pages:
            for pack, folder in zip(about["packs"], folders, strict=True):
                evaluate(
                    pack,
                    about.get("as", {}).get(pack, name),
                    out=folder,
                    console=console,
                    quick=options.quick,
                    jobs=options.jobs,
                    force=True,
                )
        text = page(name, about["finding"], read_packs(folders))
        (HERE / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
