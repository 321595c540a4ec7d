"""Linux 7.3, emulated, next to windtunnel: the kept data, the page and pictures made of them, and runs that agree."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from windtunnel.scenario import Scenario
from windtunnel.validation.comparison import table
from windtunnel.validation.recorder.emulated import GROUPS, archive, reduce_answers, reduce_flow

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("l4s_kernel")


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_the_data_have_every_run_of_the_table(group: str) -> None:
    """Each run has a row per flow, with the parameters that the table of runs gives now."""
    rows = {(row["run"], int(row["flow"])): row for row in table(f"linux/7.3/{group}.csv")}
    runs = {(run.name, number): run for run in GROUPS[group]() for number in (1, 2)}
    assert sorted(rows) == sorted(runs)
    for (_, number), run in runs.items():
        row = rows[run.name, number]
        assert (row["qdisc"], row["cc"]) == (run.qdisc, run.ccs[number - 1])
        assert float(row["rtt_ms"]) == run.rtts_ms[number - 1]
        assert float(row["start_s"]) == pytest.approx(run.starts_s[number - 1])
        assert 0.0 < float(row["goodput_steady_mbps"]) <= run.rate_mbps


def test_settings_are_shell_assignments() -> None:
    """The guest's shell sources them: a discipline's parameters stay one word."""
    (run,) = (run for run in GROUPS["hold_off"]() if run.rtts_ms == (13.0, 26.0))
    values = dict(word.split("=", 1) for word in shlex.split(run.settings()))
    assert values["QDISC"] == "netem limit 100000 loss 14.2857% ecn"
    assert (values["RTT_1"], values["RTT_2"], values["TRACE"]) == ("13000", "26000", "1")
    assert values["FLOW_2"] == "prague 0.037000 14.963000"


def test_the_initial_file_system_is_a_cpio_archive(tmp_path: Path) -> None:
    """Fields have eight hexadecimal digits, names end with a zero byte, and all is aligned to four bytes (cpio(5))."""
    data = archive({"bin/a": b"content", "bin/b": "a"})
    assert data.startswith(b"070701") and len(data) % 4 == 0
    names, position = {}, 0
    while not names or "TRAILER!!!" not in names:
        fields = [int(data[position + 6 + 8 * i : position + 14 + 8 * i], 16) for i in range(13)]
        name = data[position + 110 : position + 110 + fields[11] - 1].decode()
        start = position + (110 + fields[11] + 3) // 4 * 4
        names[name] = (fields[1], data[start : start + fields[6]])
        position = start + (fields[6] + 3) // 4 * 4
    assert names["bin/a"] == (0o100755, b"content")
    assert names["bin/b"] == (0o120777, b"a")
    assert names["bin"][0] == 0o040755
    assert position == len(data)


def test_answers_are_counted_per_flow() -> None:
    """Answers at 1.00, 1.04 and 1.10 s; one entry between them was too early. Another flow's lines do not count."""
    trace = "5001 answer 100000 9\n5001 answer 1000000 9\n5001 skip 1020000 9\n5002 answer 1030000 9\n"
    trace += "5001 answer 1040000 9\n5001 answer 1100000 9\n"
    row = reduce_answers(trace, 5001, 0.5)
    expected = {"answers": 3, "answer_period_ms": 50.0, "answer_period_sd_ms": 200**0.5, "unanswered_per_answer": 1 / 3}
    assert row == pytest.approx(expected)


def test_steady_state_starts_after_five_seconds() -> None:
    """1 Mbit/s for 5 s, then 2 Mbit/s with a quarter of the packets marked."""
    t = [float(i + 1) for i in range(20)]
    late = [max(0.0, x - 5.0) for x in t]
    samples = {
        "t_s": t,
        "bytes_acked": [125_000 * min(x, 5.0) + 250_000 * y for x, y in zip(t, late, strict=True)],
        "srtt_us": [20_000.0] * 20,
        "delivered": [100.0 * x for x in t],
        "delivered_ce": [25.0 * y for y in late],
        "retransmitted": [0.0] * 20,
    }
    row = reduce_flow(samples)
    assert row["goodput_steady_mbps"] == pytest.approx(2.0)
    assert row["marked_share"] == pytest.approx(0.25)


def test_scripts_of_the_guest_are_shell() -> None:
    """Bash reads both without an error."""
    for name in ("init_emulated", "run_emulated"):
        subprocess.run(
            ["bash", "-n", str(import_module("windtunnel.validation.recorder.emulated").GUEST / name)], check=True
        )


def test_the_page_is_made_of_the_numbers() -> None:
    """``l4s_kernel.py --page`` would write the page as it stands."""
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(TOOL.numbers())


@pytest.mark.parametrize("file", sorted(TOOL.PICTURES), ids=lambda file: file.stem)
def test_pictures_are_drawn_from_the_numbers(file: Path) -> None:
    """Each committed picture has the hash of what the kept numbers draw."""
    assert TOOL.drawn.digest(TOOL.PICTURES[file](TOOL.numbers())) == TOOL.drawn.kept(file)


@pytest.mark.parametrize(
    ("cc", "step", "agrees"),
    [("prague", "default", False), ("prague", "min2", True), ("dctcp", "default", True), ("dctcp", "min2", True)],
)
def test_low_rates_are_shared_as_the_page_says(cc: str, step: str, agrees: bool) -> None:
    """At 10 Mbit/s the flow's part here is the kernel's within two standard errors; Prague's is less with the default.

    The standard error is that of the difference: the kernel's from thirds of its run, ours from five runs.
    """
    theirs = TOOL.kernel_parts(cc, step, 10, 20)
    toml = [TOOL.low_rate(cc, step, 10, 20, draw) for draw in range(len(TOOL.OFFSETS_MS))]
    ours = [TOOL.share(Scenario.from_toml(text, file="low.toml").run()) for text in toml]
    margin = 2.0 * float(np.var(theirs, ddof=1) / len(theirs) + np.var(ours, ddof=1) / len(ours)) ** 0.5
    more = float(np.mean(theirs) - np.mean(ours))
    assert abs(more) <= margin if agrees else margin < more < 2.0 * margin


def test_answers_come_as_often_as_the_page_says() -> None:
    """The kept mean time between answers is the kernel's within twice its standard error, but at 5 ms, where the
    kernel's flow is faster.
    """
    own = TOOL.numbers()
    away = {}
    for row in table("linux/7.3/hold_off.csv"):
        if row["answers"]:
            error = float(row["answer_period_sd_ms"]) / float(row["answers"]) ** 0.5
            mean, *_ = own["linux", f"{float(row['rtt_ms']):g} ms, period"]
            away[float(row["rtt_ms"])] = (mean - float(row["answer_period_ms"])) / error
    assert sorted(away) == [5.0, 13.0, 20.0, 26.0]
    assert 2.0 < away.pop(5.0) < 3.0
    assert max(map(abs, away.values())) <= 2.0
