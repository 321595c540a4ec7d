"""The files from which the attacks start: a valid scenario, a trace, and the folder of a run."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from fuzz.attacks.program import run

SCENARIO = """\
title = "An attack"
duration = "300 ms"

[bottleneck]
rate = "10 Mbit/s"
queue = { kind = "codel", limit = "100 packets", ecn = true }
impair = { kind = "loss", probability = "1 %" }

[reverse]
rate = { trace = "up.trace" }

[[flow]]
name = "one"
cc = { kind = "cubic", slow_start = "hystart" }
rtt = "20 ms"
ecn = true

[[flow]]
name = "two"
cc = "reno"
rtt = "40 ms"
app = { kind = "transfer", size = "100 kB" }

[record]
interval = "10 ms"
events = true
packets = true
"""
TRACE = "".join(f"{ms}\n" for ms in range(1, 40, 2))


def write_scenario(folder: Path) -> Path:
    """The scenario and its trace."""
    (folder / "up.trace").write_text(TRACE, encoding="utf-8")
    file = folder / "attack.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@cache
def _results() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-attack-"))
    write_scenario(folder)
    done = run(folder, "run", "attack.toml", "--out", "run")
    assert done.code == 0, done.err
    return folder / "run"


def write_results(folder: Path) -> Path:
    """The folder of a run, made once in each process."""
    return Path(shutil.copytree(_results(), folder / "run"))
