"""Runs in virtual time: what is computed from what the guest stores. The guest itself needs a kernel of its own."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from windtunnel.validation.comparison import DATA, table
from windtunnel.validation.linux_cubic import SCRIPTS
from windtunnel.validation.recorder.__main__ import selected
from windtunnel.validation.recorder.virtual import (
    Laboratory,
    VirtualFlow,
    VirtualRun,
    counters,
    discipline,
    quantile,
    reduce_flow,
    write_rows,
)
from windtunnel.validation.recorder.virtual_runs import CONTROLLERS, GROUPS
from windtunnel.validation.recorder.virtual_scripts import settings

#: tc(8)'s text for a bottleneck: tbf, and fq_codel as its leaf.
TC = """qdisc tbf 1: root refcnt 2 rate 40Mbit burst 1599b lat 20s
 Sent 300 bytes 3 pkt (dropped 9, overlimits 5 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 2: parent 1: limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn
 Sent 190000000 bytes 125481 pkt (dropped 12, overlimits 0 requeues 0)
 backlog 3028b 2p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 22 ecn_mark 7
  new_flows_len 0 old_flows_len 1
"""


def test_the_leaf_is_read_not_the_shaper() -> None:
    text, values = discipline(TC)
    assert values == {"bottleneck_pkts": 125481, "bottleneck_drops": 12, "bottleneck_marks": 7}
    assert "new_flow_count 22" in text
    assert "tbf" not in text


def test_marks_of_each_tin_count() -> None:
    """CAKE's table has a column for each tin."""
    sent = "qdisc cake 2: parent 1: diffserv4\n Sent 9 bytes 1 pkt (dropped 4, overlimits 0 requeues 0)\n"
    _, values = discipline(sent + "  marks  0  12  3  0\n  ack_drop  0  0  0  0\n")
    assert values == {"bottleneck_pkts": 1, "bottleneck_drops": 4, "bottleneck_marks": 15}


def test_a_short_flow_has_no_steady_state() -> None:
    t = [(i + 1) / 10 for i in range(20)]
    names = ("bytes_acked", "cwnd", "srtt_us", "retransmitted", "delivered_ce", "min_rtt_us")
    row = reduce_flow({"t_s": t, **{name: [1.0] * 20 for name in names}})
    assert "goodput_mbps" in row
    assert not [name for name in row if "steady" in name]


def test_counters_pair_names_with_values(tmp_path: Path) -> None:
    path = tmp_path / "s.counters"
    path.write_text("TcpExt: TCPTimeouts TCPSackRecovery\nTcpExt: 3 4\nTcp: RetransSegs\nTcp: 12\n")
    assert counters(path) == {"TCPTimeouts": 3, "TCPSackRecovery": 4, "RetransSegs": 12}


def test_a_flow_at_a_constant_rate() -> None:
    """1 Mbit/s until 10 s, then 2 Mbit/s until 20 s: 1.5 Mbit/s overall, and 2 Mbit/s in each second of steady
    state.
    """
    t = [(i + 1) / 10 for i in range(200)]
    acked = [125_000 * x if x <= 10 else 1_250_000 + 250_000 * (x - 10) for x in t]
    constant = {name: [1.0] * 200 for name in ("retransmitted", "delivered_ce", "min_rtt_us")}
    cwnd = [10.0 if x < 10 else 20.0 for x in t]
    row = reduce_flow({"t_s": t, "bytes_acked": acked, "cwnd": cwnd, "srtt_us": [40_000.0] * 200, **constant})
    assert row["goodput_mbps"] == pytest.approx(1.5)
    assert row["goodput_steady_mbps"] == pytest.approx(2.0)
    assert (row["rate1s_p1_mbps"], row["rate1s_p99_mbps"]) == pytest.approx((2.0, 2.0))
    assert (row["cwnd_mean_pkts"], row["cwnd_steady_pkts"]) == pytest.approx((15.05, 20.0))
    assert row["srtt_steady_p99_ms"] == 40.0


def test_quantiles_are_values_that_occurred() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [quantile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 3.0, 5.0, 5.0]


def test_settings_are_shell_assignments() -> None:
    """The guest's shell sources these variables: a discipline's parameters stay one word, and a flow ends with the
    run.
    """
    flows = (VirtualFlow("cubic"), VirtualFlow("dctcp", 0.5, 3, "dctcp"))
    text = VirtualRun("x", "pie limit 20000", flows, duration_s=30, rtt_ms=2.5).settings(Path("/tools"))
    values = dict(word.split("=", 1) for word in shlex.split(text))
    assert values["QDISC"] == "pie limit 20000"
    assert values["RTT"] == "2500"
    assert values["FLOW_1"] == "cubic 0.000000 30.000000 0 cubic"
    assert values["FLOW_2"] == "dctcp 0.500000 29.500000 3 dctcp"


def test_rows_may_have_different_columns(tmp_path: Path) -> None:
    """A flow of less than 10 s has no steady state."""
    write_rows(tmp_path / "a.csv", [{"a": 1.234567, "b": 2}, {"a": 3.0, "c": "x, y"}])
    assert (tmp_path / "a.csv").read_text() == 'a,b,c\n1.2346,2,\n3,,"x, y"\n'


def test_every_run_has_its_own_name() -> None:
    names = [run.name for group in GROUPS.values() for run in group()]
    assert len(names) == len(set(names))


def test_arguments_of_the_recorder_stay_whole(tmp_path: Path) -> None:
    """The guest's shell reads them as an array; a script's name has spaces and a comma."""
    text = settings(Laboratory(Path("linux"), tmp_path), ["--only", "Slow start, CUBIC"])
    shown = subprocess.run(
        ["bash", "-c", text + 'printf "%s\\n" "${ARGUMENTS[@]}"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == ["--only", "Slow start, CUBIC"]


def test_scripts_with_another_controller_differ_in_nothing_else() -> None:
    for mine, original in zip(selected("htcp"), SCRIPTS, strict=True):
        assert mine.cc == "htcp"
        assert mine.name.endswith(", htcp") or ", htcp," in mine.name
        assert (mine.segments, mine.forward, mine.reverse) == (original.segments, original.forward, original.reverse)


def test_every_controller_has_every_script() -> None:
    """Each transmission has the six columns that the file names; the first of all is segment 1."""
    recorded = json.loads(gzip.decompress((DATA / "linux/7.3/scripts.json.gz").read_bytes()))
    names = [script.name for cc in (*CONTROLLERS, "dctcp") for script in selected(cc)]
    assert sorted(recorded["scripts"]) == sorted(names)
    for script in recorded["scripts"].values():
        assert {len(row) for row in script["transmissions"]} == {len(recorded["origin"]["columns"])}
        assert script["transmissions"][0][1:3] == [1, 0]


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_the_data_have_every_run_of_the_table(group: str) -> None:
    """Each run has a row per flow, with the parameters that the table of runs gives now, and a series per flow."""
    rows = {(row["run"], int(row["flow"])): row for row in table(f"linux/7.3/{group}.csv")}
    flows = {(run.name, i + 1): (run, flow) for run in GROUPS[group]() for i, flow in enumerate(run.flows)}
    assert sorted(rows) == sorted(flows)
    for key, (run, flow) in flows.items():
        row = rows[key]
        assert (row["qdisc"], row["cc"], int(row["ecn"])) == (run.qdisc, flow.cc, flow.ecn)
        assert (float(row["rate_mbps"]), float(row["rtt_ms"])) == (run.rate_mbps, run.rtt_ms)
        assert float(row["start_s"]) == pytest.approx(flow.start_s, abs=1e-6)
        assert 0.0 < float(row["goodput_mbps"]) <= run.rate_mbps
    series = pq.read_table(DATA / f"linux/7.3/{group}.parquet")
    stored = set(zip(series["run"].to_pylist(), series["flow"].to_pylist(), strict=True))
    assert stored == set(flows)
