"""Every scenario file that the repository ships runs, in a short form, and gives the same result twice."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from windtunnel import Scenario, _core
from windtunnel.bench import LARGE
from windtunnel.bench.worker import load

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [*ROOT.glob("scenarios/*.toml"), *ROOT.glob("scenarios/scim/*.toml"), *ROOT.glob("python/windtunnel/bench/*.toml")]
)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_runs_and_repeats(file: Path) -> None:
    """Some packets arrive, and the digests are equal. The benchmark's works run for 0.1 s, without windows, and with
    the controllers of the Python file next to them; the large ones have a thousand flows of each kind.
    """
    load(file.with_suffix(".py"))
    shortened = ["duration=0.1 s"] if file.parent.name == "bench" else []
    if file in {work.file for work in LARGE}:
        shortened += [f"flow.{i}.count=1000" for i in range(len(tomllib.loads(file.read_text())["flow"]))]
    text = file.read_text().split("[[window]]")[0] if shortened else file.read_text()
    first, second = (_core.run(text, str(file), shortened) for _ in range(2))
    assert first.digest == second.digest
    assert len(first.tables["queues"]["time_s"]) > 0


def test_names_are_unique() -> None:
    """Runs of two files that the documents show never claim one folder of ``results``, which has the file's name."""
    others = ("Cargo", "findings")  # not scenarios
    shown = [file for folder in ("docs", "examples", "scenarios") for file in (ROOT / folder).rglob("*.toml")]
    shown = [file for file in shown if file.stem not in others and not {"target", "_build"} & set(file.parts)]
    names = Counter(file.stem for file in shown)
    assert len(names) > 50
    assert [name for name, count in names.items() if count > 1] == []


def test_scim_s_figure() -> None:
    """Peaks read off figure 1 of scim's README (441e49a), where axes end at the largest value: 34.4 ms, 1.18 MB; the
    window of Reno-SCE peaks near 390 kB and is between 150 and 230 kB from 10 s on.
    """
    result = Scenario.from_file(ROOT / "scenarios/scim/scim-figure-1.toml").run()
    reno, sce = result.flows
    assert result.queues[0]["sojourn_ms"]["max"] == pytest.approx(34.4, rel=0.02)
    assert reno["cwnd_bytes"]["max"] == pytest.approx(1.18e6, rel=0.02)
    assert sce["cwnd_bytes"]["max"] == pytest.approx(390e3, rel=0.02)
    points = result.tables["cwnd_points"]
    late = points["bytes"][(np.asarray(points["flow"]) == 1) & (np.asarray(points["time_s"]) > 10)]
    assert late.min() > 150e3
    assert late.max() < 250e3


def test_scim_s_settings_are_in_its_files() -> None:
    """Every kind of queue that the how-to page lists is in a file, but for what differs in its numbers only."""
    page = (ROOT / "docs/how-to/scim.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r'`(?:queue = )?\{ kind = "([a-z0-9-]+)"', page))
    used = {
        tomllib.loads(file.read_text())["bottleneck"]["queue"]["kind"] for file in ROOT.glob("scenarios/scim/*.toml")
    }
    assert kinds == used and len(used) == 6
