"""Controllers that answer SCE in this machine's kernel (``examples/bpf``), over our queue, and their page."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "packs"))
TOOL: Any = import_module("sce_kernel")
NEEDS = [
    name for name in ("clang", "bpftool", "iperf3", "make") if shutil.which(name, path="/usr/sbin:/usr/bin") is None
]
CONTROLLERS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
MISSING = [
    *NEEDS,
    *([] if Path("/usr/include/bpf/libbpf.h").exists() else ["libbpf-dev"]),
    *([] if Path("/sys/kernel/btf/vmlinux").exists() else ["BTF of its kernel"]),
    *([] if os.geteuid() == 0 else ["root"]),
    *([] if Path("/dev/net/tun").exists() else ["/dev/net/tun"]),
    *([] if TOOL.control_group() else ["control groups of version 2"]),
]
PATH = """
duration = "10 s"
[bottleneck]
rate = "20 Mbit/s"
queue = "deltim"
[[flow]]
cc = "reno-mds"
rtt = "20 ms"
"""


def test_the_page_has_the_table() -> None:
    """``sce_kernel.py --page`` prints the table that the page has."""
    assert TOOL.table() in (DOCS / "packs/sce-kernel.md").read_text(encoding="utf-8")


@pytest.mark.skipif(bool(MISSING), reason=f"this test needs {', '.join(MISSING)}")
def test_marks_of_our_queue_reduce_the_kernels_window(cli: Cli, tmp_path: Path) -> None:
    """Reno-MDS of the kernel fills the link and answers SCE, so that CE is rare; one that did not answer would get much
    of it. Once the program has ended, its controllers are gone.
    """
    if "reno_mds" in CONTROLLERS.read_text(encoding="utf-8"):
        pytest.skip("another program has these controllers in the kernel")
    folder = tmp_path / "bpf"
    shutil.copytree(TOOL.BPF, folder, ignore=shutil.ignore_patterns("*.o", "sce", "vmlinux.h"))
    (tmp_path / "path.toml").write_text(PATH, encoding="utf-8")
    send = "sysctl -qw net.ipv4.tcp_ecn=1; sleep 0.5; iperf3 -c 10.0.0.2 -C reno_mds -S 172 -t 5 > /dev/null"
    serve = f"sh -c '{folder}/sce feedback windtunnel0 > /dev/null & iperf3 -s > /dev/null'"
    with TOOL.controllers(folder):
        words = ["--json", "--bound", "1 min", "--serve", serve, "--", "sh", "-c", send]
        done = cli("emulate", tmp_path / "path.toml", *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [queue] = document["queues"]
    flow = max(document["flows"], key=lambda each: each["received_bytes"])
    assert queue["sce"] > 100 and queue["ce"] < queue["sce"] / 100
    assert flow["received_bytes"] * 8 > 0.6 * 20e6 * 5
    assert "reno_mds" not in CONTROLLERS.read_text(encoding="utf-8")
