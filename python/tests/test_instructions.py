"""The cost of a packet in instructions, which do not vary between runs: valgrind counts them for the core alone.

Two runs that differ only in their length are subtracted, so that start-up does not count. The budgets in
instructions.toml were counted with the compiler named there. Another compiler generates different code, so that the
budgets are not compared with it (the growth laws are). `python python/tests/test_instructions.py` prints new budgets.
"""

import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGETS = Path(__file__).with_name("instructions.toml")

WORKS = {
    # The bench's W1: one Reno-MDS flow, DelTiM, 100 Mbit/s.
    "one Reno-MDS flow": ("w1.toml", []),
    # The bench's W2: CUBIC and Reno, brick wall, 1 Gbit/s.
    "CUBIC and Reno": ("w2.toml", ["bottleneck.rate=100 Mbit/s"]),
    # The bench's W3, figure 16a: sixteen flows.
    "sixteen mixed flows": ("w3.toml", ["bottleneck.rate=100 Mbit/s"]),
    # The bench's W6: the full TCP.
    "CUBIC and Reno with loss recovery": ("w6.toml", ["bottleneck.rate=100 Mbit/s"]),
    # The bench's W12: both queues of DualPI2, and AccECN.
    "CUBIC and Scalable over DualPI2": ("w12.toml", ["bottleneck.rate=100 Mbit/s"]),
    # The bench's W13: many flows, each with a small window here.
    "100 flows over CAKE": ("w13.toml", ["bottleneck.rate=100 Mbit/s"]),
}


@cache
def runner() -> Path:
    """The example that runs a scenario without Python around it, in the profile that is shipped."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--profile", "shipped", "-p", "windtunnel-scenario", "--example", "run"],
        cwd=ROOT,
        check=True,
    )
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "shipped" / "examples" / "run"


@cache
def count(file: Path, overrides: tuple[str, ...]) -> tuple[int, int]:
    """Packets delivered and instructions executed in a run."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, runner(), file, *overrides], capture_output=True, text=True, check=True)
    packets = re.match(r"(\d+) packets", done.stdout)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    assert packets, done.stdout
    assert instructions, done.stderr
    return int(packets[1]), int(instructions[1])


def per_packet(file: Path, overrides: list[str], shorter: float, longer: float) -> float:
    """Instructions per packet between ``shorter`` and ``longer`` seconds of a run."""
    p0, i0 = count(file, (*overrides, f"duration={shorter} s"))
    p1, i1 = count(file, (*overrides, f"duration={longer} s"))
    return (i1 - i0) / (p1 - p0)


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def measured() -> dict[str, float]:
    bench = ROOT / "python" / "windtunnel" / "bench"
    return {name: per_packet(bench / file, overrides, 2, 4) for name, (file, overrides) in WORKS.items()}


needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="counting instructions needs valgrind")


@needs_valgrind
def test_budgets() -> None:
    """A packet costs at most 5 % more than when the budget was recorded; a higher budget needs a reason."""
    budgets = tomllib.loads(BUDGETS.read_text())
    if budgets["compiler"] != compiler():
        pytest.skip(f"the budgets were counted with {budgets['compiler']}")
    over = {
        n: (round(got), budgets["instructions"][n])
        for n, got in measured().items()
        if got > 1.05 * budgets["instructions"][n]
    }
    assert not over, f"instructions per packet (measured, budget): {over}"


def fan(tmp_path: Path, flows: int) -> Path:
    """``flows`` equal flows with a window's worth of 10 Mbit/s each, over a plain queue."""
    file = tmp_path / f"{flows}.toml"
    file.write_text(
        'duration = "1 s"\nendpoints = "ideal"\n'
        f'[bottleneck]\nrate = "{10 * flows} Mbit/s"\nqueue = {{ kind = "deltim" }}\n'
        f'[record]\npoints = "100 ms"\ninterval = "100 ms"\n[[flow]]\ncc = "reno-mds"\nrtt = "20 ms"\ncount = {flows}\n'
    )
    return file


@needs_valgrind
def test_cost_does_not_grow_with_the_run() -> None:
    """The second eight seconds of W1 cost no more per packet than the first eight, within 2 %."""
    file = ROOT / "python" / "windtunnel" / "bench" / "w1.toml"
    early, late = per_packet(file, [], 4, 8), per_packet(file, [], 8, 16)
    assert late < 1.02 * early


@needs_valgrind
def test_cost_grows_with_the_logarithm_of_the_flows(tmp_path: Path) -> None:
    """Sixteen times the flows add four levels to the event queue, with at most 100 instructions per doubling.

    A packet causes three to four changes, each of which costs about 15 instructions per level, and touches more memory.
    A cost of two instructions per flow would fail.
    """
    few, many = (per_packet(fan(tmp_path, n), [], 0.5, 1) for n in (16, 256))
    assert many - few < 4 * 100


if __name__ == "__main__":
    lines = [
        f'compiler = "{compiler()}"',
        "",
        "[instructions]",
        *(f'"{n}" = {round(v)}' for n, v in measured().items()),
    ]
    print("\n".join(lines))
