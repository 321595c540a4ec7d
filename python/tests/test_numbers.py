"""Numbers that would mislead: rates of flows that have finished, losses of ACKs, rows without a run, fairness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import Cli

import windtunnel as wt
from windtunnel.contract import TABLES
from windtunnel.metrics import jain_index

RENO = {"cc": "reno", "rtt": "40 ms"}
PATH: dict[str, Any] = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "1 bdp"}}


def run(*flows: dict[str, Any], **more: Any) -> wt.RunResult:
    """Ten seconds on a tail drop of one bandwidth-delay product."""
    return wt.Scenario(**{"duration": "10 s", "bottleneck": PATH, "flows": list(flows), **more}).run()


def test_a_finished_download_has_its_own_rate() -> None:
    """A transfer of 500 kB alone: its goodput is size over completion time, but for the half round trip of the last
    ACK, and it was not limited by its application after it had ended or before it had started.
    """
    transfer = {**RENO, "app": {"kind": "transfer", "size": "500 kB"}, "start": "4 s"}
    (flow,) = run(transfer).flows
    took = flow["transfers"]["time_ms"]["mean"] / 1e3
    active = flow["active"]
    assert active["from_s"] == 4
    assert active["to_s"] == pytest.approx(4 + took - 0.02, abs=1e-3)
    assert active["goodput_mbps"] == pytest.approx(4 / (took - 0.02), rel=2e-3)
    assert flow["goodput_mbps"] == pytest.approx(0.4, rel=1e-3), "over the whole run"
    assert flow["limited"]["application"] < 0.1
    assert sum(flow["limited"].values()) == pytest.approx(1)


def test_windows_cut_the_active_time() -> None:
    """In a window a flow is active from the window's start or its own to its last data; not in one after its end."""
    windows = [{"name": "first", "from": "0 s", "to": "5 s"}, {"name": "last", "from": "8 s", "to": "10 s"}]
    result = run({**RENO, "start": "1 s", "app": {"kind": "transfer", "size": "1 MB"}}, RENO, windows=windows)
    first, last = result.windows
    assert first["flows"][0]["active"]["from_s"] == 1
    assert first["flows"][1]["active"] == {
        **first["flows"][1]["active"],
        "from_s": 0,
        "throughput_mbps": pytest.approx(first["flows"][1]["throughput_mbps"], rel=1e-2),
    }
    assert last["flows"][0]["active"] is None
    assert last["flows"][0]["limited"] is None
    assert last["flows"][1]["active"]["from_s"] == 8


def test_lost_acks_are_no_losses_of_the_flow() -> None:
    """One in ten packets on the way back is lost. These are ACKs, not data; only the queue loses data."""
    reverse = {"rate": "10 Mbit/s", "impair": {"kind": "loss", "probability": "10 %"}}
    result = run(RENO, reverse=reverse)
    (flow,) = result.flows
    lost = result.impairments[0]["lost"]
    assert lost > 100
    # Everything but the SYN-ACK and the FIN only acknowledges.
    assert lost - 2 <= flow["ack_drops"]["wire"] <= lost
    assert flow["drops"]["wire"] == lost - flow["ack_drops"]["wire"]
    assert flow["drops"]["full"] == result.queues[0]["drops"]["full"]
    assert int(result.tables["flows"]["acks_lost"].sum()) == sum(flow["ack_drops"].values())
    assert int(result.tables["flows"]["lost"].sum()) == sum(flow["drops"].values())


def test_fairness_is_that_of_the_tables() -> None:
    """Jain's index of the rates while both flows ran, and when it stayed at 0.95: a second flow joins after two
    seconds.
    """
    result = run(RENO, {**RENO, "start": "2 s"}, duration="60 s", bottleneck={**PATH, "queue": "fq_codel"})
    (fairness,) = result.fairness
    assert (fairness["name"], fairness["flows"]) == ("bottleneck", 2)
    assert fairness["shared_s"] == pytest.approx(58, abs=0.1)
    table = result.tables["flows"]
    late = table["time_s"] > 2
    rates = [table["throughput_mbps"][late & (table["flow"] == flow)].mean() for flow in (0, 1)]
    assert fairness["jain"] == pytest.approx(float(jain_index(rates)), abs=1e-3)
    # A fair queue is fair as soon as the new flow has left slow start.
    assert 0 < fairness["convergence_s"] < 3
    assert run(RENO).fairness == [], "one flow has no other to share with"
    assert run(RENO, {"app": "probe", "rtt": "40 ms"}).fairness == []


def test_fairness_of_a_part_of_the_run() -> None:
    """The same numbers of a part alone: the time before the second flow joins does not count, nor the time outside."""
    result = run(RENO, {**RENO, "start": "2 s"}, duration="60 s", bottleneck={**PATH, "queue": "fq_codel"})
    (part,) = result.fairness_between(10, 40)
    assert part["shared_s"] == pytest.approx(30, abs=0.01)
    table = result.tables["flows"]
    inside = (table["time_s"] > 10) & (table["time_s"] <= 40)
    rates = [table["throughput_mbps"][inside & (table["flow"] == flow)].mean() for flow in (0, 1)]
    assert part["jain"] == pytest.approx(float(jain_index(rates)), abs=1e-3)
    assert result.fairness_between(0, 60) == result.fairness
    assert result.fairness_between(0, 2.5) == [], "half a second is too short to tell"
    with pytest.raises(wt.InputError, match="no time"):
        result.fairness_between(5, 5)


def test_terminal_and_page_show_them(cli: Cli, tmp_path: Path) -> None:
    """Columns for the rate while active and for lost ACKs, where there are such; fairness where flows share."""
    reverse = {"rate": "10 Mbit/s", "impair": {"kind": "loss", "probability": "10 %"}}
    scenario = wt.Scenario(
        duration="10 s",
        bottleneck=PATH,
        reverse=reverse,
        flows=[RENO, {**RENO, "name": "other"}, {**RENO, "name": "file", "app": {"kind": "transfer", "size": "1 MB"}}],
    )
    (tmp_path / "s.toml").write_text(scenario.to_toml(), encoding="utf-8")
    done = cli("run", "s.toml", "--out", "out")
    lines = done.stdout.splitlines()
    assert "active" in next(line for line in lines if line.startswith("flow "))
    assert "ACKs lost" in next(line for line in lines if line.startswith("recovery "))
    assert any(line.startswith("fairness ") and "Jain" in line for line in lines)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert all(head in page for head in ("while active", "ACKs lost", "Jain&#39;s index"))
    assert wt.load(tmp_path / "out").fairness == scenario.run().fairness


def test_parquet_names_the_run_and_has_nulls(tmp_path: Path) -> None:
    """Tables of two runs can be put together and told apart; flows have names; what is missing is null and not NaN,
    so that a greatest value is one.
    """
    flows = ({**RENO, "name": "upload"}, {"app": "probe", "name": "ping", "rtt": "40 ms"})
    folders = []
    for seed in (1, 2):
        result = run(*flows, seed=seed, duration="2 s", bottleneck={**PATH, "queue": "pie"})
        folders.append(result.save(tmp_path / f"run{seed}", figures=False))
    for name in TABLES:
        both = pa.concat_tables([pq.read_table(folder / f"{name}.parquet") for folder in folders])
        assert both.column_names[:3] == ["scenario", "seed", "digest"]
        assert set(both["scenario"].to_pylist()) == {"run1", "run2"}
        assert set(both["seed"].to_pylist()) == {1, 2}
        for column in both.column_names:
            if pa.types.is_floating(both[column].type):
                assert not pc.any(pc.is_nan(both[column])).as_py(), f"{name}.{column}"
    table = pq.read_table(folders[0] / "flows.parquet")
    assert set(zip(table["flow"].to_pylist(), table["flow_name"].to_pylist(), strict=True)) == {
        (0, "upload"),
        (1, "ping"),
    }
    assert pc.max(table["cwnd_bytes"]).as_py() > 0
    assert table["cwnd_bytes"].null_count == table.num_rows / 2, "a probe has no window"
    points = pq.read_table(folders[0] / "points/throughput_points.parquet")
    assert points["flow_name"].null_count == np.sum(points["flow"].to_numpy() == -1)
    assert "queue_name" in pq.read_table(folders[0] / "queues.parquet").column_names
    loaded = wt.load(folders[0])
    assert set(loaded.tables["flows"]) == set(run(*flows, duration="2 s").tables["flows"])
