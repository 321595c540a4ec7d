"""What a shell completes, asked as bash asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("re", {"reproduce"}),
        ("reproduce mds", {"mds", "mds-deployment"}),
        ("reproduce mds --only table1", {"table1"}),
        ("reproduce nothing --only x", set()),
        ("evaluate l4", {"l4s-aqm"}),
        ("evaluate rfc9743 --only 5.3", {"5.3.1", "5.3.2"}),
        ("evaluate rfc9743 --cc cub", {"cubic"}),
        ("list contr", {"controllers"}),
        ("list controllers cub", {"cubic"}),
        ("bench --only w1", {"W1", "W10", "W11", "W12", "W13", "W14", "W15", "W16", "W17"}),
        ("run --fig", {"--figures"}),
    ],
)
def test_names_are_completed(tmp_path: Path, typed: str, expected: set[str]) -> None:
    """Commands, options, suites and their IDs, kinds and algorithms, works."""
    words = f"windtunnel {typed}"
    env = {
        **environment(),
        "_WINDTUNNEL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    program = "from windtunnel.cli import app; app(prog_name='windtunnel')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert {line.partition(",")[2] for line in done.stdout.split()} == expected
