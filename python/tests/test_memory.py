"""A run says what it will need, is refused if that is too much, and never ends because an allocation failed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, SCENARIO, environment

from windtunnel import InputError, MemoryLimitError, Scenario
from windtunnel.memory import _cgroups, limit

ENDLESS = """\
duration = "{duration}"
endpoints = "{endpoints}"
[bottleneck]
rate = "1 Gbit/s"
queue = "deltim"
[record]
{record}
[[flow]]
cc = "reno"
rtt = "20 ms"
{flow}
"""


def text(duration: str = "5 s", endpoints: str = "ideal", record: str = "", flow: str = "") -> str:
    return ENDLESS.format(duration=duration, endpoints=endpoints, record=record, flow=flow)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def run(folder: Path, scenario: str, *arguments: str, address_space: int = 4 << 30) -> subprocess.CompletedProcess[str]:
    """``windtunnel run`` in a process whose address space is limited."""
    (folder / "big.toml").write_text(scenario, encoding="utf-8")
    command = [sys.executable, *PROGRAM, "run", "big.toml", *arguments]
    # NumPy's and Arrow's threads each reserve address space.
    env = {**environment(), "OPENBLAS_NUM_THREADS": "1"}

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    return subprocess.run(
        command, cwd=folder, env=env, preexec_fn=confine, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("scenario", "fragments"),
    [
        (text(flow="iw = 1000000\ncount = 100"), ["big.toml:11: flow[0].iw: ", "initial windows", "lower it"]),
        (text(record="events = true", duration="1000 s"), ["big.toml:7: record.events: ", "_events`"]),
    ],
)
def test_a_run_that_needs_too_much_is_refused(tmp_path: Path, scenario: str, fragments: list[str]) -> None:
    """There is one message with the key that needs most, exit code 2, and nothing is written. All of these used
    to abort.
    """
    done = run(tmp_path, scenario)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    for fragment in [*fragments, "may have", "allow more memory"]:
        assert fragment in done.stderr
    assert names(tmp_path) == ["big.toml"]


def test_packets_need_no_more_for_a_longer_run() -> None:
    """Their rows leave memory, so that a day is not refused."""
    record = 'packets = true\npoints = "0 s"\ninterval = "1 s"'
    minute, day = (Scenario.from_toml(text(record=record, duration=t)).estimate() for t in ("1 min", "24 h"))
    assert day["memory_bytes"] < 1.5 * minute["memory_bytes"] < 5e8


#: Six media that double each packet: 64 times the packets that an estimate expects behind the link.
COPIES = """\
duration = "100 s"
[bottleneck]
rate = "10 Mbit/s"
impair = [
    { kind = "duplication", probability = "100 %" }, { kind = "duplication", probability = "100 %" },
    { kind = "duplication", probability = "100 %" }, { kind = "duplication", probability = "100 %" },
    { kind = "duplication", probability = "100 %" }, { kind = "duplication", probability = "100 %" },
]
[record]
packets = true
[[flow]]
rtt = "20 ms"
app = { kind = "cbr", rate = "1 Mbit/s" }
"""


def test_a_run_that_needs_more_than_expected_is_stopped(tmp_path: Path) -> None:
    """An estimate may be too low: the run then stops when it holds too much, with exit code 2. It says what needed the
    memory, when, and what would help; nothing is written.
    """
    scenario = Scenario.from_toml(COPIES)
    assert 10e6 < scenario.estimate()["memory_bytes"] < 30e6
    with pytest.raises(MemoryLimitError, match=r"the rows of `packets` need more than .* after .* s of 100 s"):
        scenario.run(memory="20 MB")
    # Rows leave memory only where they take more than 32 MiB.
    done = run(tmp_path, COPIES, "--memory", "20 MB")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "\nerror: the run was stopped: the rows of `packets` need more than 20 MB after " in done.stderr
    assert "(`record.packets`)" in done.stderr
    assert "nothing was written" in done.stderr
    assert names(tmp_path) == ["big.toml"]


def test_limits_are_read() -> None:
    """The limit is a number, a size with its unit, or a default below the machine's memory; anything else is
    refused.
    """
    assert limit(5_000_000) == limit("5 MB") == 5_000_000
    default = limit(None)
    assert default is not None
    assert 0 < default < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for wrong in ("5", "much", "0 B", -1):
        with pytest.raises(InputError, match="memory"):
            limit(wrong)


@pytest.mark.parametrize(
    ("process", "groups", "left"),
    [
        # Version 2: the group's own limit, and that of the group around it; "max" means no limit.
        ("0::/a/b\n", {"a/b/memory.max": "1000", "a/b/memory.current": "400", "a/memory.max": "max"}, [600]),
        ("0::/a/b\n", {"a/memory.max": "500", "a/memory.current": "450"}, [50]),
        # The memory of files that were read counts as free.
        (
            "0::/a\n",
            {"a/memory.max": "1000", "a/memory.current": "990", "a/memory.stat": "anon 90\ninactive_file 900"},
            [910],
        ),
        # In a container the group is mounted as the root.
        ("0::/outside/b\n", {"memory.max": "1000", "memory.current": "1200"}, [0]),
        # Version 1, where each controller has a tree of its own.
        (
            "5:cpu,memory:/a\n3:devices:/\n",
            {"memory/a/memory.limit_in_bytes": "900", "memory/a/memory.usage_in_bytes": "100"},
            [800],
        ),
        ("garbled:cpu:/\n", {}, []),
    ],
)
def test_control_groups_are_read(tmp_path: Path, process: str, groups: dict[str, str], left: list[int]) -> None:
    """The files have the form that Linux gives them (Documentation/admin-guide/cgroup-v2.rst; cgroup-v1/memory.rst)."""
    (tmp_path / "process").write_text(process, encoding="utf-8")
    for name, content in groups.items():
        file = tmp_path / "mounted" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n", encoding="ascii")
    assert list(_cgroups(tmp_path / "process", tmp_path / "mounted")) == left


def test_more_than_the_system_gives_is_refused(tmp_path: Path) -> None:
    """``--memory`` beyond the limit of the address space could only end in an abort."""
    done = run(tmp_path, SCENARIO, "--memory", "100 GB")
    assert done.returncode == 2
    assert "this process may take" in done.stderr


def test_an_estimate_is_told(tmp_path: Path) -> None:
    """``check`` prints the estimate on stderr; the rows at intervals equal those of the run."""
    (tmp_path / "two.toml").write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, *PROGRAM, "check", "two.toml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert "memory: about" in done.stderr
    assert "flows 1.0 thousand" in done.stderr
    scenario = Scenario.from_toml(SCENARIO)
    rows = {table["table"]: table["rows"] for table in scenario.estimate()["tables"]}
    result = scenario.run()
    assert rows["flows"] == len(result.tables["flows"]["flow"])
    assert rows["queues"] == len(result.tables["queues"]["queue"])


def test_a_large_run_is_announced(tmp_path: Path) -> None:
    """Before a run that takes most of the memory that it may take, stderr says so; with more to spare it does not."""
    for memory, announced in (("30 MB", True), ("3 GB", False)):
        done = run(tmp_path, SCENARIO.replace("5 s", "60 s", 1), "--json", "--memory", memory)
        assert done.returncode == 0, done.stderr
        assert ("memory: about" in done.stderr) is announced


def test_progress_from_the_first_second_on() -> None:
    """A run of eleven days reports its progress several times in its first second, so the remaining time is known."""
    scenario = Scenario.from_toml(SCENARIO.replace('"5 s"\nseed', '"1000000 s"\nseed').replace("20 Mbps", "1 Gbps"))
    start, shares = time.monotonic(), []

    def note(share: float) -> bool:
        shares.append(share)
        return time.monotonic() - start < 1

    with pytest.raises(KeyboardInterrupt):
        scenario.override("record.interval=100 s", "record.points=0 s").run(note)
    assert len(shares) > 5
    assert shares == sorted(set(shares))
    assert 0 < shares[-1] < 0.01
