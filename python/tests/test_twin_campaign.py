"""Campaigns over a twin: each cell on the real Linux and in the simulator (``windtunnel/campaign/twin.py``)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import Cli, refused
from test_twin import KERNELS, TEXT, needs_kernel

from windtunnel import Campaign, Scenario
from windtunnel.campaign.model import CampaignError
from windtunnel.errors import InputError
from windtunnel.kernel.kept import NONE

FILE = """\
seeds = 2
offsets = true
twin = {twin}
[axes.grid]
"flow.0.cc" = ["reno", "cubic"]
[metrics]
goodput = "flows.one.goodput_mbps"
srtt = "mean(tables.flows.one.srtt_ms)"
[scenario]
duration = "2 s"
[scenario.bottleneck]
rate = "20 Mbit/s"
queue = {queue}
[[scenario.flow]]
name = "one"
cc = "reno"
rtt = "20 ms"
"""
FIFO = "{ kind = 'fifo', limit = '30 packets' }"


def test_the_axis_of_sides() -> None:
    """The sides are the last axis, and the kernel's is what the simulator's is compared to, unless another is named."""
    scenario = Scenario.from_toml(TEXT)
    campaign = Campaign(scenario, axes={"flow.0.cc": ["reno", "cubic"]}, twin=True)
    assert [(axis.name, [value.label for value in axis.values]) for axis in campaign.axes][1] == (
        "side",
        ["linux", "windtunnel"],
    )
    assert campaign.cell_count == 4 and campaign.baselines == ((("side", "linux"),),)
    named = Campaign(scenario, axes={"flow.0.cc": ["reno", "cubic"]}, baseline={"flow.0.cc": "reno"}, twin="6.12")
    assert named.baselines == ((("flow.0.cc", "reno"),),) and named.twin == "6.12"
    assert Campaign(scenario, twin=False) == Campaign(scenario)


@pytest.mark.parametrize("twin", [3, "", ["6.12"]])
def test_what_twin_may_be(twin: object) -> None:
    """True, or the name of a kernel."""
    with pytest.raises(CampaignError, match=r"twin: .* is not allowed: true, or a kernel as `windtunnel kernel"):
        Campaign(Scenario.from_toml(TEXT), twin=twin)  # type: ignore[arg-type]


def test_without_a_kernel(cli: Cli, tmp_path: Path) -> None:
    """One line says how to get one, and nothing is written. The tests' cache has none."""
    file = tmp_path / "both.toml"
    file.write_text(FILE.format(twin="true", queue=FIFO), encoding="utf-8")
    refused(cli("sweep", file, "--out", tmp_path / "out"), NONE)
    assert not (tmp_path / "out").exists()


@needs_kernel
def test_what_linux_lacks(cli: Cli, tmp_path: Path) -> None:
    """It is refused by name before the first run, with the file and the cell."""
    file = tmp_path / "both.toml"
    file.write_text(FILE.format(twin=json.dumps(str(KERNELS[0].folder)), queue=FIFO).replace('"cubic"]', '"reno-mds"]'))
    refused(
        cli("sweep", file, "--out", tmp_path / "out"),
        "both.toml:3: twin: the cell flow.0.cc = reno-mds, side = linux: flow.0.mds_dscp = 43: Linux has no word",
    )


@needs_kernel
def test_both_sides(cli: Cli, tmp_path: Path) -> None:
    """Each cell has runs of both sides with the same seeds, the differences are the simulator's to the kernel, and the
    same campaign gives the same bytes. One flow behind 30 packets is within 2 % of the kernel (docs/validation.md).
    """
    file, out = tmp_path / "both.toml", tmp_path / "out"
    file.write_text(FILE.format(twin=json.dumps(str(KERNELS[0].folder)), queue=FIFO), encoding="utf-8")
    done = cli("sweep", file, "--out", out)
    assert done.returncode == 0, done.stderr
    with (out / "cells.csv").open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert [(row["flow.0.cc"], row["side"]) for row in rows[::2]] == [
        ("reno", "linux"), ("reno", "windtunnel"), ("cubic", "linux"), ("cubic", "windtunnel"),
    ]  # fmt: skip
    for row in rows:
        assert row["runs"] == "2" and row["failed"] == "0"
        if row["side"] == "windtunnel" and row["metric"] == "goodput":
            assert abs(float(row["difference"])) < 0.02 * float(row["mean"])
    manifest = json.loads((out / "campaign.json").read_text())
    assert manifest["twin"] == KERNELS[0].name
    again = tmp_path / "again"
    assert cli("sweep", file, "--out", again, "--no-cache").returncode == 0
    assert (again / "runs.parquet").read_bytes() == (out / "runs.parquet").read_bytes()
    assert cli("sweep", file, "--out", out, "--page", "0.1").returncode == 0
    assert (out / "pages" / "0.1.html").is_file()


def test_no_axis_may_be_called_side() -> None:
    """The name is taken where there is a twin, and free where there is none."""
    axes = {"side": {"key": "flow.0.cc", "values": ["reno", "cubic"]}}
    assert Campaign(Scenario.from_toml(TEXT), axes=axes).cell_count == 2
    with pytest.raises(InputError, match="is an axis already"):
        Campaign(Scenario.from_toml(TEXT), axes=axes, twin=True)
