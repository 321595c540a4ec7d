"""Time series as ss, flowgrind and Flent would have written them; Flent's own code reads our file."""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from windtunnel import InputError, RunResult, Scenario
from windtunnel.export import export_file

MSS = 1448


def lines(result: RunResult, kind: str, path: Path) -> list[str]:
    export_file(result, kind, path)
    return path.read_text(encoding="utf-8").splitlines()


def flow_rows(result: RunResult, flow: int) -> dict[str, Any]:
    table = result.tables["flows"]
    return {name: values[table["flow"] == flow] for name, values in table.items()}


def test_ss(result: RunResult, tmp_path: Path) -> None:
    """The text has a time, a header, then two lines per established socket: at the end both flows with the table's last
    values.
    """
    text = lines(result, "ss", tmp_path / "ss.txt")
    last = text[max(n for n, line in enumerate(text) if line.startswith("# ")) :]
    assert last[0] == "# 5.000 s"
    assert last[1].split() == ["State", "Recv-Q", "Send-Q", "Local", "Address:Port", "Peer", "Address:Port"]
    for flow, (socket, info) in enumerate(zip(last[2::2], last[3::2], strict=True)):
        rows = flow_rows(result, flow)
        in_flight = int(rows["in_flight_bytes"][-1])
        assert socket.split() == [
            "ESTAB",
            "0",
            str(in_flight),
            f"192.0.2.{flow + 1}:40000",
            f"198.51.100.{flow + 1}:5201",
        ]
        assert info.startswith("\t ts sack ecn " + ("reno", "reno-mds")[flow])
        values = dict(word.split(":", 1) for word in info.split() if ":" in word)
        assert values["cwnd"] == str(int(rows["cwnd_bytes"][-1]) // MSS)
        # Loss-free endpoints have no variance; what ss prints as %g has six digits.
        assert values["rtt"] == f"{round(rows['srtt_ms'][-1], 3):g}/0"
        assert values["minrtt"] == f"{round(np.nanmin(rows['rtt_min_ms']), 3):g}"
        assert (values["mss"], values["pmtu"]) == ("1448", "1500")
    # Nothing is established before the first round-trip sample at 20 ms.
    assert text[:5:2] == ["# 0.010 s", "# 0.020 s", "# 0.030 s"]


def in_recovery(result: RunResult, **other: float) -> RunResult:
    """The same run with senders that are in recovery all the time and retransmit one segment per interval."""
    table = dict(result.tables["flows"])
    n = len(table["time_s"])
    state = {
        "srtt_ms": 20.1234,
        "rttvar_ms": 2.5,
        "rto_ms": 203.2,
        "ssthresh_bytes": 7.5 * MSS,
        "cwnd_bytes": 9.0 * MSS,
        "retransmits": 1.0,
        "pacing_rate_mbps": 4.2,
        "delivery_rate_mbps": 3.9,
        "state": 3.0,
        "unacked_bytes": 12.0 * MSS - 48,
        "sacked_bytes": 4.0 * MSS,
        "lost_bytes": 2.0 * MSS,
        "retrans_out_bytes": 1.0 * MSS,
        "reordering": 5.0,
        "backoff": 0.0,
        "consecutive_rtos": 0.0,
    }
    table |= {name: np.full(n, value) for name, value in {**state, **other}.items()}
    return RunResult(result.summary, {"flows": table}, result.meta)


def test_ss_in_recovery(result: RunResult, tmp_path: Path) -> None:
    """Order, names and units of ``tcp_stats_print`` in iproute2's misc/ss.c, by hand; counts are of whole segments.

    The RTO is rounded up to ticks of the kernel's clock, so that it is never below the true value.
    """
    rows = len(result.tables["flows"]["time_s"]) // 2
    least = np.nanmin(flow_rows(result, 1)["rtt_min_ms"])
    info = lines(in_recovery(result), "ss", tmp_path / "ss.txt")[-1]
    assert info == (
        "\t ts sack ecn reno-mds wscale:14,14 rto:204 rtt:20.123/2.5 mss:1448 pmtu:1500 cwnd:9 ssthresh:7 "
        f"send {9 * 1448 * 8e3 / 20.123:.0f}bps pacing_rate 4200000bps delivery_rate 3900000bps unacked:12 "
        f"retrans:1/{rows} lost:2 sacked:4 reordering:5 minrtt:{round(least, 3):g}"
    )
    # Infinite, zero and usual values are left out, as in ss.
    usual = {"ssthresh_bytes": math.nan, "reordering": 3.0, "lost_bytes": 0.0, "sacked_bytes": 0.0, "retransmits": 0.0}
    info = lines(in_recovery(result, retrans_out_bytes=0.0, **usual, backoff=2.0), "ss", tmp_path / "b.txt")[-1]
    assert not re.search("ssthresh|reordering|lost|sacked|retrans", info)
    assert " rto:204 backoff:2 rtt:" in info


def test_flowgrind_in_recovery(result: RunResult, tmp_path: Path) -> None:
    """Its columns from ``cwnd`` on, as its manual explains them; ``recover`` is how it prints that state."""
    report = lines(in_recovery(result), "flowgrind", tmp_path / "a.txt")[-2].split()
    assert " ".join(report[9:]) == "9 7 12 4 2 1 0 0 5 0 20.1 2.5 203.2 recover 1448 1500"
    infinite = in_recovery(result, ssthresh_bytes=math.nan, state=4.0, backoff=1.0, consecutive_rtos=1.0)
    report = lines(infinite, "flowgrind", tmp_path / "b.txt")[-2].split()
    assert (report[10], report[15], report[18], report[22]) == ("INT_MAX", "1", "1", "loss")


def test_flent_in_recovery(result: RunResult, tmp_path: Path) -> None:
    """The names that Flent 2.1 gives to what it reads from ss (flent/runners.py, ``SsRunner``), in ms and Mbit/s."""
    export_file(in_recovery(result), "flent", tmp_path / "x.flent.gz")
    data = json.loads(gzip.decompress((tmp_path / "x.flent.gz").read_bytes()))
    sample = next(sample for sample in data["raw_values"]["TCP upload::1"] if "tcp_rtt" in sample)
    expected = {"tcp_cwnd": 9, "tcp_rtt": 20.1234, "tcp_rtt_var": 2.5, "tcp_pacing_rate": 4.2, "tcp_delivery_rate": 3.9}
    assert {key: value for key, value in sample.items() if key != "t"} == pytest.approx(expected)
    assert {f"TCP upload::1::{key}" for key in expected} <= set(data["results"])


def test_flent_reads_our_ss(mixed: RunResult, tmp_path: Path) -> None:
    """Flent's own expressions find the window, the round trip with its variance, and the rate in the text."""
    pytest.importorskip("flent")
    from flent.runners import SsRunner

    infos = [line for line in lines(mixed, "ss", tmp_path / "ss.txt") if "rtt:" in line]
    matches = [" ".join(pattern.pattern for pattern in SsRunner.data_res if pattern.search(line)) for line in infos]
    for name in ("cwnd", "rtt_var", "delivery_rate"):
        assert sum(f"P<{name}>" in names for names in matches) > 0.9 * len(infos)


def test_flowgrind(result: RunResult, tmp_path: Path) -> None:
    """The recipe of flowgrind: the lines of `grep ^S`, split at blanks; the mean of `through` is the flow's goodput."""
    text = lines(result, "flowgrind", tmp_path / "flowgrind.txt")
    assert text[0].startswith("# Date: 2020-01-01-00:00:00, controlling host = windtunnel, number of flows = 2, ")
    names = re.split(r"\s{2,}|(?<=[a-z]) (?=[a-z])", text[1].strip("# ").replace("ca state", "ca-state"))
    assert [n for n in names if n][:4] == ["ID", "begin", "end", "through"]
    reports = [line.split() for line in text if line.startswith("S")]
    assert all(len(report) == 25 for report in reports)
    assert len(reports) == len([line for line in text if line.startswith("D")]) == len(result.tables["flows"]["time_s"])
    for flow, about in enumerate(result.flows):
        mine = [report for report in reports if report[1] == str(flow)]
        assert [float(r[2]) for r in mine[1:]] == [float(r[3]) for r in mine[:-1]]
        mean = sum(float(r[4]) for r in mine) / len(mine)
        assert mean == pytest.approx(about["goodput_mbps"], rel=1e-6)
        assert int(mine[-1][9]) == round(flow_rows(result, flow)["cwnd_bytes"][-1] / MSS)
        assert mine[-1][-2:] == ["1448", "1500"]
        # Values that this version does not record are missing, not invented.
        assert mine[-1][12] == mine[-1][22] == "nan"


@pytest.fixture(scope="module")
def flent_file(result: RunResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flent") / "run.flent.gz"
    export_file(result, "flent", path)
    return path


def test_flent_document(result: RunResult, flent_file: Path) -> None:
    """Spec 18.4: series of one length at steps of 0.2 s; means of a step; sum, mean, Jain's index of known values."""
    data = json.loads(gzip.decompress(flent_file.read_bytes()))
    x, results, meta = data["x_values"], data["results"], data["metadata"]
    assert (data["version"], meta["NAME"], meta["TEST_PARAMETERS"]) == (4, "tcp_nup", {"upload_streams": "2"})
    assert x == pytest.approx(np.arange(76) * 0.2)
    assert all(len(series) == len(x) for series in results.values())
    assert set(meta["SERIES_META"]) == set(results)
    # Second 2 to 2.2 of the run is the step that ends at 7.2 of the test.
    rows = flow_rows(result, 0)
    step = (rows["time_s"] > 2.0 + 1e-9) & (rows["time_s"] < 2.2 + 1e-9)
    at = round(7.2 / 0.2)
    assert results["TCP upload::1"][at] == pytest.approx(rows["goodput_mbps"][step].mean())
    assert results["TCP upload::1::tcp_cwnd"][at] == pytest.approx(rows["cwnd_bytes"][step][-1] / MSS)
    one, two = results["TCP upload::1"][at], results["TCP upload::2"][at]
    assert results["TCP upload sum"][at] == pytest.approx(one + two)
    assert results["TCP upload avg"][at] == pytest.approx((one + two) / 2)
    assert results["TCP upload fairness"][at] == pytest.approx((one + two) ** 2 / 2 / (one**2 + two**2))
    # There is nothing before the run starts, and nothing after its end.
    for series in results.values():
        assert series[: round(5 / 0.2) + 1] == [None] * 26
        assert series[-round(5 / 0.2) :] == [None] * 25
    raw = data["raw_values"]["TCP upload::1"]
    rates = [item for item in raw if "val" in item]
    assert len(rates) == 25
    assert rates[0] == {"t": 1577836805.2, "val": pytest.approx(rows["goodput_mbps"][2:20].mean()), "dur": 0.2}
    means = {name: meta["SERIES_META"][f"TCP upload::{n}"]["MEAN_VALUE"] for n, name in ((1, "reno"), (2, "mds"))}
    for about in result.flows:
        life = about["last_packet_s"] - about["first_packet_s"]
        assert means[about["name"]] == pytest.approx(about["goodput_mbps"] * 5 / life)
    assert meta["SIMULATION"]["flows"] == {"TCP upload::1": "reno", "TCP upload::2": "mds"}


HOME = """
duration = "4 s"
[[node]]
name = "net"
[[node]]
name = "home"
[[link]]
name = "down"
from = "net"
to = "home"
rate = "20 Mbit/s"
queue = { kind = "fifo", limit = "50 packets" }
[[link]]
name = "up"
from = "home"
to = "net"
rate = "5 Mbit/s"
queue = { kind = "fifo", limit = "20 packets" }
[[flow]]
name = "ping"
from = "net"
to = "home"
app = "probe"
rtt = "20 ms"
[[flow]]
name = "down"
from = "net"
to = "home"
cc = "cubic"
rtt = "20 ms"
count = 2
[[flow]]
name = "up"
from = "home"
to = "net"
cc = "cubic"
rtt = "20 ms"
"""


def test_flent_knows_downloads(tmp_path: Path) -> None:
    """The faster direction is down, as at home: at most 20 Mbit/s of downloads, 5 of uploads."""
    path = tmp_path / "home.flent.gz"
    export_file(Scenario.from_toml(HOME).run(), "flent", path)
    data = json.loads(gzip.decompress(path.read_bytes()))
    meta, results = data["metadata"], data["results"]
    assert (meta["NAME"], meta["TEST_PARAMETERS"]) == ("rrul_var", {"bidir_streams": "2"})
    assert meta["SIMULATION"]["flows"] == {
        "TCP download::1": "down-1",
        "TCP download::2": "down-2",
        "TCP upload::1": "up",
    }
    last = round((5 + 3) / 0.2)
    assert 6 < results["TCP download sum"][last] <= 20
    assert 1 < results["TCP upload sum"][last] <= 5
    assert results["Ping (ms)::ICMP"] == results["Ping (ms) avg"]
    summary = flent(path, "-f", "summary")
    assert "TCP download::2" in summary and "TCP upload::1" in summary
    flent(path, "-f", "plot", "-p", "all_scaled", "-o", str(tmp_path / "all.png"))
    assert (tmp_path / "all.png").read_bytes()[:4] == b"\x89PNG"


def test_flent_files_are_equal_for_equal_runs(result: RunResult, flent_file: Path, tmp_path: Path) -> None:
    export_file(result, "flent", tmp_path / "another-name.flent.gz")
    assert (tmp_path / "another-name.flent.gz").read_bytes() == flent_file.read_bytes()


def flent(path: Path, *arguments: str) -> str:
    """What Flent itself prints for a file."""
    pytest.importorskip("flent")
    command = [sys.executable, "-m", "flent", "-i", str(path), *arguments]
    environment = {"PATH": "/usr/bin:/bin", "MPLBACKEND": "Agg", "HOME": str(path.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_flent_reads_it(flent_file: Path, tmp_path: Path) -> None:
    """Flent's summary prints our true means with their units; its CSV holds our series; its statistics count them."""
    summary = flent(flent_file, "-f", "summary")
    document = json.loads(gzip.decompress(flent_file.read_bytes()))
    for series in ("TCP upload::1", "TCP upload::2"):
        mean = document["metadata"]["SERIES_META"][series]["MEAN_VALUE"]
        (line,) = re.findall(rf"^ {series} .*$", summary, re.MULTILINE)
        assert f" {mean:.2f} " in line
        assert "Mbits/s" in line
    flent(flent_file, "-f", "csv", "-o", str(tmp_path / "x.csv"))
    head, *rows = csv.reader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines())
    column = head.index("TCP upload::1")
    values = [float(row[column]) if row[column] else math.nan for row in rows]
    ours = [math.nan if v is None else v for v in document["results"]["TCP upload::1"]]
    np.testing.assert_allclose(values, ours)
    assert "Data points:" in flent(flent_file, "-f", "stats")


@pytest.mark.parametrize("plot", ["totals", "box_totals", "tcp_delivery_with_rtt", "tcp_cwnd"])
def test_flent_plots_it(flent_file: Path, tmp_path: Path, plot: str) -> None:
    """The plots of spec 18.4's check open without an error."""
    picture = tmp_path / f"{plot}.png"
    flent(flent_file, "-f", "plot", "-p", plot, "-o", str(picture))
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def mixed() -> RunResult:
    """CUBIC with losses, short connections and datagrams."""
    flows = [
        {"name": "cubic", "cc": "cubic", "rtt": "40 ms"},
        {"name": "web", "cc": "reno", "rtt": "20 ms", "app": {"kind": "poisson", "load": "1 Mbit/s"}},
        {"name": "voice", "rtt": "20 ms", "app": {"kind": "cbr", "rate": "100 kbit/s"}},
        {"name": "ping", "rtt": "20 ms", "app": "probe"},
    ]
    bottleneck = {"rate": "10 Mbit/s", "queue": {"kind": "fifo", "limit": "30 packets"}}
    return Scenario(duration="3 s", flows=flows, bottleneck=bottleneck).run()


def test_sockets_of_a_real_run(mixed: RunResult, tmp_path: Path) -> None:
    """Both formats show the one TCP connection: its retransmissions since the start, its states, and the rate that it
    samples.
    """
    text = lines(mixed, "ss", tmp_path / "ss.txt")
    assert {line.split()[3] for line in text if line.startswith("ESTAB")} == {"192.0.2.1:40000"}
    again = mixed.flows[0]["retransmits"]
    assert again > 0
    assert re.search(rf" retrans:\d+/{again} ", text[-1])
    rates = [int(n) for n in re.findall(r"delivery_rate (\d+)bps", "".join(text))]
    rows = flow_rows(mixed, 0)
    sampled = rows["delivery_rate_mbps"][rows["delivery_rate_mbps"] > 0]
    assert rates == [round(rate * 1e6) for rate in sampled.tolist()]
    # Each sample is the mean over about one round trip; together they are close to the mean of the run.
    assert np.mean(rates) == pytest.approx(mixed.flows[0]["delivered_bytes"] * 8 / 3, rel=0.05)
    lost = sum(" lost:" in line for line in text)
    assert lost == np.count_nonzero(rows["lost_bytes"] > 0) > 5
    reports = [line.split() for line in lines(mixed, "flowgrind", tmp_path / "fg.txt") if line.startswith("S")]
    assert {row[1] for row in reports} == {"0"}
    assert {row[22] for row in reports} >= {"open", "recover"}
    assert sum(row[22] == "recover" for row in reports) == np.count_nonzero(rows["state"] == 3)
    assert len(reports) == 300


def test_flent_shows_probes_as_pings(mixed: RunResult, tmp_path: Path) -> None:
    """Uploads are TCP's; the ping is the probe's; a socket's window is that of one connection. Flent reads it."""
    path = tmp_path / "x.flent.gz"
    export_file(mixed, "flent", path)
    data = json.loads(gzip.decompress(path.read_bytes()))
    assert data["metadata"]["SIMULATION"]["flows"] == {"TCP upload::1": "cubic", "TCP upload::2": "web"}
    assert "TCP upload::1::tcp_cwnd" in data["results"]
    assert "TCP upload::2::tcp_cwnd" not in data["results"]
    pings = [sample["val"] for sample in data["raw_values"]["Ping (ms) ICMP"]]
    assert np.mean(pings) == pytest.approx(mixed.flows[3]["rtt_ms"]["mean"], rel=0.02)
    assert "TCP upload::2 " in flent(path, "-f", "summary")


def test_datagrams_are_no_connections(mixed: RunResult, tmp_path: Path) -> None:
    flows, table = list(mixed.flows[2:]), mixed.tables["flows"]
    keep = table["flow"] > 1
    datagrams = {name: values[keep] for name, values in table.items()} | {"flow": table["flow"][keep] - 2}
    result = RunResult({**mixed.summary, "flows": flows}, {"flows": datagrams}, mixed.meta)
    for kind, name in (("ss", "a"), ("flowgrind", "b"), ("flent", "c.flent.gz")):
        with pytest.raises(InputError, match="no TCP connection"):
            export_file(result, kind, tmp_path / name)


def test_flow_without_packets(result: RunResult, tmp_path: Path) -> None:
    """A flow that never sent has no values and no mean, and does not count in those of all flows."""
    about = [
        {**flow, "first_packet_s": None, "last_packet_s": None} if n else flow for n, flow in enumerate(result.flows)
    ]
    silent = RunResult({**result.summary, "flows": about}, result.tables, result.meta)
    export_file(silent, "flent", tmp_path / "x.flent.gz")
    data = json.loads(gzip.decompress((tmp_path / "x.flent.gz").read_bytes()))
    assert set(data["results"]["TCP upload::2"]) == {None}
    assert data["metadata"]["SERIES_META"]["TCP upload::2"]["MEAN_VALUE"] is None
    assert data["results"]["TCP upload avg"] == data["results"]["TCP upload::1"]


def test_what_is_refused(result: RunResult, tmp_path: Path) -> None:
    """A name that Flent would not read, a run without time series, and an existing file are refused."""
    with pytest.raises(InputError, match=r"\.flent\.gz"):
        export_file(result, "flent", tmp_path / "x.json")
    bare = RunResult(result.summary, {}, result.meta)
    for kind, name in (("ss", "a"), ("flowgrind", "b"), ("flent", "c.flent.gz")):
        with pytest.raises(InputError, match="no time series"):
            export_file(bare, kind, tmp_path / name)
    (tmp_path / "a").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="exists already"):
        export_file(result, "ss", tmp_path / "a")
    assert [f.name for f in tmp_path.iterdir()] == ["a"]
