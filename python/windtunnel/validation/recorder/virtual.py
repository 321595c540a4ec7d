"""Runs of an unmodified Linux kernel in virtual time: what its senders do behind its own queue disciplines.

    python -m windtunnel.validation.recorder.virtual --kernel ./linux --out data/linux --group aqm --jobs 2

The kernel is User-Mode Linux with time travel, an ordinary process: the guest's clock advances only when nothing in it
can run. Timers are exact, the processor is infinitely fast, and the machine's other work has no effect. The same run
with the same kernel always gives the same numbers. ``data/linux/README.md`` says how such a kernel is built; the runs
are in ``virtual_runs``; ``guest/init`` sets up the network inside.

A finished group is two files: ``GROUP.csv``, a row per flow, and ``GROUP.parquet``, TCP_INFO of each flow every 100 ms.
Finished runs stay in the folder ``--work``, so that an interrupted recording continues.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from windtunnel.extras import need
from windtunnel.kernel.programs import SOURCES

GUEST = Path(__file__).parent / "guest"

#: The guest's clock at boot, in ns.
EPOCH = 1_700_000_000_000_000_000

#: Steady state starts here.
STEADY_S = 10.0

#: How long the disciplines exist before the first packet: PIE updates its probability for the first time after 0.5 s.
SETTLE_S = 1.0

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class VirtualFlow:
    """A bulk transfer. ``ecn`` is the sender's ``tcp_ecn``; a receiver of DCTCP needs DCTCP's feedback as well."""

    cc: str
    start_s: float = 0.0
    ecn: int = 0
    receiver_cc: str = "cubic"


@dataclass(frozen=True)
class VirtualRun:
    """A run. ``qdisc`` and ``loss`` are in tc's words; every flow ends after ``duration_s``."""

    name: str
    qdisc: str
    flows: tuple[VirtualFlow, ...]
    duration_s: float = 40.0
    rate_mbps: float = 40.0
    rtt_ms: float = 40.0
    loss: str = ""
    seed: int = 0
    receiver_ecn: int = 2
    sample_ms: int = 100
    qdisc_every_s: float | None = None
    ect1_flows: tuple[int, ...] = ()
    """Flows whose ECT(0) leaves the sender's host as ECT(1), by number."""

    def settings(self, tools: Path) -> str:
        """What the guest's init reads."""
        values = {
            "RATE": f"{self.rate_mbps:g}",
            "RTT": str(round(self.rtt_ms * 1000)),
            "QDISC": self.qdisc,
            "LOSS": self.loss,
            "RECEIVER_ECN": str(self.receiver_ecn),
            "SAMPLE": str(self.sample_ms),
            "QDISC_EVERY": "" if self.qdisc_every_s is None else f"{self.qdisc_every_s:g}",
            "TOOLS": str(tools),
            "SEED": str(self.seed),
            "SETTLE": f"{SETTLE_S:g}",
            "ECT1_PORTS": " ".join(str(5000 + number) for number in self.ect1_flows),
        }
        for number, flow in enumerate(self.flows, start=1):
            seconds = self.duration_s - flow.start_s
            values[f"FLOW_{number}"] = f"{flow.cc} {flow.start_s:.6f} {seconds:.6f} {flow.ecn} {flow.receiver_cc}"
        return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


@dataclass(frozen=True)
class Laboratory:
    """A kernel, and where its runs are stored."""

    kernel: Path
    work: Path

    def prepare(self) -> None:
        """Builds the guest's programs, unless they are newer than their sources."""
        self.work.mkdir(parents=True, exist_ok=True)
        for source, target, options in (
            (GUEST / "flow.c", "flow", ()),
            (GUEST / "off.c", "off", ()),
            (SOURCES / "guest-random.c", "random.so", ("-shared", "-fPIC")),
        ):
            built = self.work / target
            if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
                subprocess.run(["cc", "-O2", *options, "-o", str(built), str(source)], check=True)

    def run(self, run: VirtualRun) -> Path:
        """Boots the kernel for a run, unless that has been done; returns the folder with what it stored."""
        return self.boot(run.name, "init", run.settings(self.work), run.seed)

    def boot(self, name: str, init: str, settings: str, seed: int, limit_s: float = 3600.0) -> Path:
        """Boots the kernel with one of the guest's programs as its first process, unless that has been done.

        The run's folder is the kernel's working directory and not on its command line, which is mixed into random
        numbers.
        """
        folder = self.work / name
        if (folder / "kernel").exists() and (folder / "settings").read_text() == settings:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "settings").write_text(settings)
        command = [
            str(self.kernel.resolve()),
            *("mem=768M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"),
            *("time-travel=inf-cpu", f"time-travel-start={EPOCH}", "seccomp=on"),
            *("con=null", "con0=null,fd:1", "ssl=null", f"init={GUEST / init}"),
        ]
        environment = {**os.environ, "LD_PRELOAD": str(self.work / "random.so"), "SEED": str(seed)}
        with (folder / "log").open("wb") as log:
            subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                timeout=limit_s,
            )
        if not (folder / "kernel").exists():
            what = (folder / "failed").read_text() if (folder / "failed").exists() else (folder / "log").read_text()
            msg = f"{name}: {what.strip()}"
            raise RuntimeError(msg)
        return folder


def counters(path: Path) -> dict[str, int]:
    """The counters of a namespace, as /proc/net/netstat and /proc/net/snmp have them."""
    lines = path.read_text().splitlines()
    out: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        out.update(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
    return out


#: tc's names for marked packets; CAKE has a number for each tin.
MARKS = ("ecn_mark", "ce_mark", "marked", "marks", "prob_mark", "prob_mark_head", "forced_mark", "forced_mark_head")


def discipline(text: str) -> tuple[str, Row]:
    """The last discipline of tc's text: its statistics in tc's words, and packets, drops and marks."""
    own = text[text.rindex("qdisc ") :]
    words = own.replace(",", " ").replace("(", " ").replace(")", " ").split()

    def numbers(name: str) -> Iterator[int]:
        for index in (i + 1 for i, word in enumerate(words) if word == name):
            while index < len(words) and words[index].isdigit():
                yield int(words[index])
                index += 1

    statistics = " | ".join(line.strip() for line in own.splitlines()[1:] if line.strip())
    packets = int(words[words.index("Sent") + 3])
    return statistics, {
        "bottleneck_pkts": packets,
        "bottleneck_drops": next(numbers("dropped")),
        "bottleneck_marks": sum(sum(numbers(name)) for name in MARKS),
    }


def read_flow(path: Path) -> dict[str, list[float]]:
    """The samples of a flow, by column."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values is, to the nearest."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def reduce_flow(samples: Mapping[str, Sequence[float]]) -> Row:
    """A flow's numbers. Goodput is of acknowledged bytes; "steady" is after 10 s of the flow."""
    t, acked = samples["t_s"], samples["bytes_acked"]
    steady = [i for i, time in enumerate(t) if time >= STEADY_S - 1e-3]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    row: Row = {
        "goodput_mbps": acked[-1] * 8e-6 / t[-1],
        "retrans_pkts": int(samples["retransmitted"][-1]),
        "delivered_ce_pkts": int(samples["delivered_ce"][-1]),
        "cwnd_mean_pkts": mean(samples["cwnd"]),
        "cwnd_p95_pkts": quantile(samples["cwnd"], 0.95),
        "srtt_mean_ms": mean(samples["srtt_us"]) / 1000.0,
        "min_rtt_ms": samples["min_rtt_us"][-1] / 1000.0,
    }
    if len(steady) < 2:
        return row
    first, step = steady[0], round(1.0 / (t[1] - t[0]))
    rates = [(acked[i] - acked[i - step]) * 8e-6 / (t[i] - t[i - step]) for i in steady[step::step]]
    srtt = [samples["srtt_us"][i] / 1000.0 for i in steady]
    return row | {
        "goodput_steady_mbps": (acked[-1] - acked[first]) * 8e-6 / (t[-1] - t[first]),
        "rate1s_p1_mbps": quantile(rates, 0.01),
        "rate1s_p99_mbps": quantile(rates, 0.99),
        "cwnd_steady_pkts": mean([samples["cwnd"][i] for i in steady]),
        "srtt_steady_ms": mean(srtt),
        "srtt_steady_p50_ms": quantile(srtt, 0.5),
        "srtt_steady_p95_ms": quantile(srtt, 0.95),
        "srtt_steady_p99_ms": quantile(srtt, 0.99),
    }


#: Columns of a run that come from the sender's namespace and count all of its flows together.
COUNTERS = {
    "sack_recoveries": "TCPSackRecovery",
    "rto_timeouts": "TCPTimeouts",
    "tlp_probes": "TCPLossProbes",
    "spurious_undos": "TCPFullUndo",
    "hystart_train": "TCPHystartTrainDetect",
    "hystart_train_cwnd": "TCPHystartTrainCwnd",
    "hystart_delay": "TCPHystartDelayDetect",
    "hystart_delay_cwnd": "TCPHystartDelayCwnd",
}


def rows_of(run: VirtualRun, folder: Path) -> Iterator[Row]:
    """A row for each flow of a finished run; the columns of the bottleneck and of counters are of the whole run."""
    sender = counters(folder / "s.counters")
    statistics, bottleneck = discipline((folder / "bottleneck").read_text())
    _, path = discipline((folder / "path").read_text())
    for number, flow in enumerate(run.flows, start=1):
        yield {
            "run": run.name,
            "qdisc": run.qdisc,
            "rate_mbps": run.rate_mbps,
            "rtt_ms": run.rtt_ms,
            "loss": run.loss,
            "seed": run.seed,
            "duration_s": run.duration_s,
            "flow": number,
            "cc": flow.cc,
            "start_s": flow.start_s,
            "ecn": flow.ecn,
            **reduce_flow(read_flow(folder / f"{number}.csv")),
            **{column: sender.get(name, 0) for column, name in COUNTERS.items()},
            **bottleneck,
            "path_losses": path["bottleneck_drops"],
            "bottleneck_text": statistics,
        }


def written(value: Any) -> str:
    """A value of the table, with four significant digits: two runs agree in fewer."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """The table of a group."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows({name: written(value) for name, value in row.items()} for row in rows)


#: The columns that are kept of a flow's samples, with the type that holds each.
SERIES = {
    "cwnd": "int32",
    "ssthresh": "int32",
    "srtt_us": "int32",
    "bytes_acked": "int64",
    "retransmitted": "int32",
    "ca_state": "int8",
    "delivered_ce": "int32",
}


def write_series(path: Path, runs: Sequence[VirtualRun], folders: Sequence[Path], thin_s: float) -> None:
    """The samples of a group: run and flow as dictionaries, times as multiples of the interval."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for run, folder in zip(runs, folders, strict=True):
        for number in range(1, len(run.flows) + 1):
            samples = read_flow(folder / f"{number}.csv")
            step = max(round(thin_s * 1000 / run.sample_ms), 1)
            kept = range(step - 1, len(samples["t_s"]), step)
            columns: dict[str, Any] = {
                "run": pa.array([run.name] * len(kept)).dictionary_encode(),
                "flow": pa.array([number] * len(kept), pa.int8()),
                "t_ms": pa.array([round(samples["t_s"][i] * 1000) for i in kept], pa.int32()),
            }
            for name, kind in SERIES.items():
                columns[name] = pa.array([int(samples[name][i]) for i in kept], kind)
            tables.append(pa.table(columns))
    table = pa.concat_tables(tables).unify_dictionaries()
    encoding = dict.fromkeys(("t_ms", "cwnd", "srtt_us", "bytes_acked", "retransmitted"), "DELTA_BINARY_PACKED")
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=["run", "flow", "ssthresh", "ca_state", "delivered_ce"],
        column_encoding=encoding,
        write_statistics=False,
        row_group_size=1 << 20,
    )


def record(laboratory: Laboratory, runs: Sequence[VirtualRun], jobs: int) -> list[Path]:
    """Boots the kernel for each run; returns their folders."""
    laboratory.prepare()
    with ThreadPoolExecutor(jobs) as pool:
        folders = []
        for run, folder in zip(runs, pool.map(laboratory.run, runs), strict=True):
            print(run.name, flush=True)
            folders.append(folder)
    return folders


def main() -> None:
    """Record groups, and write their files."""
    from windtunnel.validation.recorder.virtual_runs import GROUPS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, required=True, help="the User-Mode Linux binary")
    parser.add_argument("--work", type=Path, required=True, help="folder for what each run stores")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    parser.add_argument("--group", action="append", choices=sorted(GROUPS), help="only this group; repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    parser.add_argument("--every", type=float, default=0.1, metavar="SECONDS", help="interval of the stored series")
    parser.add_argument("--list", action="store_true", help="print the runs, and do nothing")
    chosen = parser.parse_args()
    if chosen.out:
        need("pyarrow", "--out")
    os.nice(5)
    for group in chosen.group or sorted(GROUPS):
        runs = GROUPS[group]()
        if chosen.list:
            print(*(json.dumps({"group": group, "run": run.name, "qdisc": run.qdisc}) for run in runs), sep="\n")
            continue
        folders = record(Laboratory(chosen.kernel, chosen.work.resolve()), runs, chosen.jobs)
        if chosen.out:
            rows = [row for run, folder in zip(runs, folders, strict=True) for row in rows_of(run, folder)]
            write_rows(chosen.out / f"{group}.csv", rows)
            write_series(chosen.out / f"{group}.parquet", runs, folders, chosen.every)


if __name__ == "__main__":
    main()
