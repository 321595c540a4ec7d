"""Controllers that answer SCE in the real kernel (``examples/bpf``), and the simulator's, over the same queues.

``python docs/packs/sce_kernel.py``, as root, builds and loads the BPF programs, runs `iperf3` with them over each path
with ``windtunnel emulate``, runs the same scenarios in the simulator, and writes ``sce-kernel.csv``; ``--page`` prints
the table from the numbers that are kept. It takes six minutes and wants a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.scenario import Scenario

HERE = Path(__file__).parent
NUMBERS = HERE / "sce-kernel.csv"
BPF = HERE.parents[1] / "examples/bpf"
COLUMNS = ("path", "side", "flow", "goodput_mbps", "sojourn_mean_ms", "sce", "ce", "drops", "late_p99_us")
#: The type of service that gives packets the DSCP of MDS.
_MDS_TOS = 43 << 2


@dataclass(frozen=True)
class Bottleneck:
    """A path, its flows by the simulator's names and by the kernel's, and how long they send."""

    name: str
    rate: str
    rtt: str
    queue: str
    flows: tuple[tuple[str, str], ...]
    seconds: int

    def scenario(self) -> str:
        """As the simulator has it, with Linux's TCP."""
        flows = "".join(
            f'[[flow]]\nname = "{ours}"\ncc = {CONTROLLERS[ours]}\necn = {_ecn(ours)}\n'
            f'pacing = true\nrtt = "{self.rtt}"\n'
            for ours, _ in self.flows
        )
        return (
            f'title = "{self.name}"\nduration = "{self.seconds} s"\n[bottleneck]\nrate = "{self.rate}"\n'
            f"queue = {self.queue}\n{flows}"
        )


#: The simulator's controllers, with the document's parameters where they have any.
CONTROLLERS = {
    "reno": '"reno"',
    "reno-mds": '"reno-mds"',
    "reno-sce": '"reno-sce"',
    "scalable-mds": '{ kind = "scalable", variant = "document", inv_a = 200, b = 0.5, lwnd = "250 kB", '
    'response = "mds" }',
}
#: FQ-CoDel whose queues mark SCE on a ramp, as in the gallery.
_RAMP = (
    '{ kind = "fq_codel", ecn_mode = "sce", aqm = { kind = "codel", ecn = true, sce = { lo = "1 ms", hi = "10 ms" } } }'
)
_DELTIM = '{ kind = "deltim", burst = "5 ms", tau = 64 }'
PATHS = (
    Bottleneck("figure 3a", "100 Mbit/s", "40 ms", _DELTIM, (("reno-mds", "reno_mds"),), 30),
    Bottleneck("table 2", "10 Mbit/s", "20 ms", _DELTIM, (("reno", "reno"), ("scalable-mds", "scalable_mds")), 60),
    Bottleneck("table 2", "100 Mbit/s", "20 ms", _DELTIM, (("reno", "reno"), ("scalable-mds", "scalable_mds")), 60),
    Bottleneck("SCE ramp", "50 Mbit/s", "40 ms", _RAMP, (("reno-sce", "reno_sce"),), 30),
    Bottleneck("SCE ramp", "50 Mbit/s", "40 ms", _RAMP, (("reno-sce", "reno_sce"), ("reno", "reno")), 60),
)


def _ecn(controller: str) -> str:
    return {"mds": '"mds"', "sce": '"esce"'}.get(controller.rpartition("-")[2], "true")


def control_group() -> str | None:
    """Where control groups of version 2 are mounted; None if they are not."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    return next((words[1] for words in mounts if words[2] == "cgroup2"), None)


@contextmanager
def controllers(folder: Path = BPF) -> Iterator[None]:
    """The controllers are in the kernel; ``folder`` has their sources."""
    subprocess.run(["make", "--quiet", "-C", folder], check=True)
    if (group := control_group()) is None:
        raise SystemExit("no control groups of version 2 are mounted")
    with subprocess.Popen([folder / "sce", "controllers", group], stdout=subprocess.PIPE, text=True) as loader:
        try:
            assert loader.stdout is not None
            if loader.stdout.readline() != "ready\n":
                raise SystemExit("the controllers were not loaded")
            yield
        finally:
            loader.terminate()


def emulated(path: Bottleneck) -> list[dict[str, Any]]:
    """The kernel's flows over the path, side by side."""
    ports = range(5201, 5201 + len(path.flows))
    serve = "; ".join([f"{BPF}/sce feedback windtunnel0 > /dev/null &", *(f"iperf3 -s -p {port} &" for port in ports)])
    serve = serve.replace("&;", "&") + " wait"
    clients = [
        f"iperf3 -c 10.0.0.2 -p {port} -C {kernel} -t {path.seconds}{f' -S {_MDS_TOS}' if 'mds' in kernel else ''} &"
        for port, (_, kernel) in zip(ports, path.flows, strict=True)
    ]
    # The kernel hands bursts of segments to a device that takes them, which the queue would see.
    settings = "sysctl -qw net.ipv4.tcp_ecn=1; ip link set windtunnel0 gso_max_segs 1; sleep 1;"
    send = " ".join([settings, *clients, "wait"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.toml"
        file.write_text(path.scenario(), encoding="utf-8")
        words = [sys.executable, "-m", "windtunnel", "emulate", str(file), "--json", "--bound", "1 min"]
        done = subprocess.run(
            [*words, "--serve", f"sh -c '{serve}'", "--", "sh", "-c", send],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )  # fmt: skip
    document = json.loads(done.stdout)
    late = document["meta"]["emulation"]["lateness"]["p99_us"]
    # Each client has a connection for what it says to its server, which carries nearly nothing.
    real = [flow for flow in document["flows"] if flow["received_bytes"] > 100_000]
    return _rows(
        path,
        "kernel",
        [(k, f) for (_, k), f in zip(path.flows, real, strict=True)],
        document,
        document["meta"]["duration_s"],
        late,
    )


def simulated(path: Bottleneck) -> list[dict[str, Any]]:
    """The simulator's flows over it."""
    summary = Scenario.from_toml(path.scenario()).run().summary
    return _rows(
        path,
        "simulator",
        [(o, f) for (o, _), f in zip(path.flows, summary["flows"], strict=True)],
        summary,
        path.seconds,
    )


def _rows(
    path: Bottleneck,
    side: str,
    flows: Sequence[tuple[str, Any]],
    summary: Mapping[str, Any],
    duration: float,
    late: float | str = "",
) -> list[dict[str, Any]]:
    [queue] = summary["queues"]
    share = path.seconds / duration
    of_queue = {
        "sojourn_mean_ms": queue["sojourn_ms"]["mean"],
        "sce": queue["sce"],
        "ce": queue["ce"],
        "drops": sum(queue["drops"].values()),
        "late_p99_us": late,
    }
    return [
        {"path": f"{path.name}, {path.rate}, {path.rtt}", "side": side, "flow": name}
        | {"goodput_mbps": flow["goodput_mbps"] / share}
        | of_queue
        for name, flow in flows
    ]


def measure(only: str) -> None:
    """Run the paths whose name starts so, and keep their numbers with those of others."""
    paths = [path for path in PATHS if path.name.startswith(only)]
    kept = [row for row in numbers() if not row["path"].startswith(only)] if only else []
    with NUMBERS.open("w", encoding="utf-8", newline="") as file, controllers():
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        for path in paths:
            for row in (*emulated(path), *simulated(path)):
                writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
            file.flush()
            time.sleep(1)


def numbers() -> list[dict[str, str]]:
    """All rows that are kept."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """The numbers that are kept, as a table."""
    rows = numbers()
    heads = ("path", "side", "flow", "goodput, Mbit/s", "mean sojourn, ms", "SCE", "CE", "drops", "late by, p99, us")
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(row[column] for column in COLUMNS)} |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    parser.add_argument("--only", default="", metavar="NAME", help="only the paths whose name starts so")
    arguments = parser.parse_args()
    if not arguments.page:
        measure(arguments.only)
    print(table())


if __name__ == "__main__":
    main()
