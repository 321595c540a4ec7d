"""Controllers that answer SCE in this machine's kernel (``examples/bpf``), over our queue in real time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cli

FOLDER = Path(__file__).parents[2] / "examples/bpf"
NEEDS = [
    name for name in ("clang", "bpftool", "iperf3", "make") if shutil.which(name, path="/usr/sbin:/usr/bin") is None
]
CONTROLLERS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
pytestmark = [
    pytest.mark.skipif(bool(NEEDS), reason=f"the system has no {', '.join(NEEDS)}"),
    pytest.mark.skipif(not Path("/usr/include/bpf/libbpf.h").exists(), reason="libbpf-dev is not installed"),
    pytest.mark.skipif(not Path("/sys/kernel/btf/vmlinux").exists(), reason="this kernel has no BTF"),
    pytest.mark.skipif(os.geteuid() != 0, reason="programs are loaded by root"),
    pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="there is no /dev/net/tun"),
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


def _group() -> str | None:
    mounts = (line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    return next((words[1] for words in mounts if words[2] == "cgroup2"), None)


def test_marks_of_our_queue_reduce_the_kernels_window(cli: Cli, tmp_path: Path) -> None:
    """Reno-MDS of the kernel fills the link and answers SCE, so that CE is rare; one that did not answer would get much
    of it. Once the program has ended, its controllers are gone.
    """
    if (group := _group()) is None:
        pytest.skip("no control groups of version 2 are mounted")
    if "reno_mds" in CONTROLLERS.read_text(encoding="utf-8"):
        pytest.skip("another program has these controllers in the kernel")
    folder = tmp_path / "bpf"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.o", "sce", "vmlinux.h"))
    subprocess.run(["make", "--quiet", "-C", folder], check=True, capture_output=True)
    (tmp_path / "path.toml").write_text(PATH, encoding="utf-8")
    send = "sysctl -qw net.ipv4.tcp_ecn=1; sleep 0.5; iperf3 -c 10.0.0.2 -C reno_mds -S 172 -t 5 > /dev/null"
    serve = f"sh -c '{folder}/sce feedback windtunnel0 > /dev/null & iperf3 -s > /dev/null'"
    with subprocess.Popen([folder / "sce", "controllers", group], stdout=subprocess.PIPE, text=True) as loader:
        try:
            assert loader.stdout is not None and loader.stdout.readline() == "ready\n"
            words = ["--json", "--bound", "1 min", "--serve", serve, "--", "sh", "-c", send]
            done = cli("emulate", tmp_path / "path.toml", *words)
        finally:
            loader.terminate()
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [queue] = document["queues"]
    flow = max(document["flows"], key=lambda each: each["received_bytes"])
    assert queue["sce"] > 100 and queue["ce"] < queue["sce"] / 100
    assert flow["received_bytes"] * 8 > 0.6 * 20e6 * 5
    assert "reno_mds" not in CONTROLLERS.read_text(encoding="utf-8")
