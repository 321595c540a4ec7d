"""Scripts for any of the kernel's controllers, recorded in virtual time: without noise, whatever the host does.

    python -m windtunnel.validation.recorder.virtual_scripts --kernel ./linux --work runs --out scripts.json.gz

The recorder works in the guest as it does on a host: the path and the receiver are this package's, at the other end of
a TUN device, and an infinitely fast processor runs both. CUBIC's scripts are replayed with each controller.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.validation.recorder.virtual import Laboratory
from windtunnel.validation.recorder.virtual_runs import CONTROLLERS

#: The folder that holds this package.
PACKAGES = Path(__file__).parents[3]


def settings(laboratory: Laboratory, arguments: Sequence[str]) -> str:
    """What the guest's first process reads."""
    return (
        f"PYTHON={shlex.quote(sys.executable)}\nPYTHONPATH={shlex.quote(str(PACKAGES))}\n"
        f"TOOLS={shlex.quote(str(laboratory.work))}\nARGUMENTS=({shlex.join(arguments)})\n"
    )


def record(laboratory: Laboratory, cc: str) -> dict[str, Any]:
    """CUBIC's scripts with another controller, as the recorder writes them."""
    arguments = ["--times", "1", "--cc", cc]
    folder = laboratory.boot(f"scripts_{cc}", "record", settings(laboratory, arguments), seed=0)
    recorded: dict[str, Any] = json.loads((folder / "scripts.json").read_text(encoding="utf-8"))
    return recorded


def main() -> None:
    """Record the scripts of each controller, and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, required=True, help="the User-Mode Linux binary")
    parser.add_argument("--work", type=Path, required=True, help="folder for what each run stores")
    parser.add_argument("--out", type=Path, help="write the recordings here, compressed")
    parser.add_argument("--cc", action="append", help="only this controller; repeatable")
    chosen = parser.parse_args()
    laboratory = Laboratory(chosen.kernel, chosen.work.resolve())
    laboratory.prepare()
    recordings: dict[str, Any] = {"scripts": {}}
    for cc in chosen.cc or (*CONTROLLERS, "dctcp"):
        recorded = record(laboratory, cc)
        # The guest's calendar starts at a fixed date; the README gives the day of the recordings.
        about = {key: value for key, value in recorded["origin"].items() if key != "recorded"}
        recordings["origin"] = {**about, "path": f"{about['path'].replace('real time', 'virtual time')}"}
        recordings["scripts"].update(recorded["scripts"])
        print(cc, len(recorded["scripts"]), flush=True)
    if chosen.out:
        text = json.dumps(recordings, separators=(",", ":"))
        chosen.out.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
