"""Runs of a distribution's own kernel in virtual time: two flows, and modules that its package does not have.

    python -m windtunnel.validation.recorder.emulated --qemu qemu-system-x86_64 --kernel vmlinuz --modules *.ko
        --work runs --out data/linux/7.3 --group low_rates

QEMU emulates the processor and counts its instructions (``-icount``): each takes a nanosecond of the guest's time, and
where the guest waits, its clock jumps ahead, so that the machine's other work has no effect. Other than in ``virtual``
no kernel is built, and the guest's processor is not infinitely fast: a segment costs some tens of microseconds. A run
of 20 s at 10 Mbit/s takes a minute of one core.

The modules are given uncompressed, in the order in which they are loaded. tc must know the discipline's parameters, or
find them in a file of its own (``--tool q_dualpi2.so``). ``data/linux/7.3/README.md`` says how the modules were built.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

from windtunnel.validation.recorder.virtual import GUEST, Row, discipline, read_flow, write_rows

#: The host's programs that the guest needs; ``busybox`` has the small ones.
PROGRAMS = ("bash", "ip", "tc", "sysctl")
APPLETS = ("cat", "cp", "dmesg", "insmod", "mkdir", "mount", "rm", "sed", "sh", "sleep", "stty", "uname")

#: The kernel's command line: no delay for mitigations, one clock that needs no checks.
COMMAND_LINE = (
    "console=ttyS0 loglevel=4 panic=-1 tsc=reliable nokaslr mitigations=off random.trust_cpu=off log_buf_len=16M"
    " nowatchdog audit=0 apparmor=0"
)

#: Steady state starts here: the flows have left slow start.
STEADY_S = 5.0

#: Into how many parts steady state is divided: their spread is that of a run.
PARTS = 3


@dataclass(frozen=True)
class EmulatedRun:
    """Two bulk transfers. ``qdisc`` is in tc's words; ``ect1`` are the flows that send ECT(1)."""

    name: str
    qdisc: str
    rate_mbps: float
    rtts_ms: tuple[float, float]
    ccs: tuple[str, str]
    ect1: str
    offset_ms: float = 37.0
    duration_s: float = 20.0
    trace: bool = False

    def settings(self) -> str:
        """What the guest's shell reads."""
        values = {
            "RATE": f"{self.rate_mbps:g}",
            "QDISC": self.qdisc,
            "ECT1": self.ect1,
            "TRACE": str(int(self.trace)),
        }
        for number, (cc, rtt, start) in enumerate(zip(self.ccs, self.rtts_ms, self.starts_s, strict=True), start=1):
            values[f"RTT_{number}"] = str(round(rtt * 1000))
            values[f"FLOW_{number}"] = f"{cc} {start:.6f} {self.duration_s - start:.6f}"
        return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())

    @property
    def starts_s(self) -> tuple[float, float]:
        """When the flows start."""
        return 0.0, self.offset_ms / 1000.0


def record(name: str, mode: int, data: bytes) -> bytes:
    """A file of an archive of the kind that a kernel unpacks (cpio, "newc")."""
    path = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(files: dict[str, Path | bytes | str]) -> bytes:
    """An initial file system: a path is copied, bytes are written, and a text is a link's target."""
    folders = sorted({str(parent) for name in files for parent in Path(name).parents if str(parent) != "."})
    out = [record(folder, 0o040755, b"") for folder in (*folders, "proc", "sys", "dev", "run", "tmp")]
    for name, content in files.items():
        if isinstance(content, str):
            out.append(record(name, 0o120777, content.encode()))
        else:
            out.append(record(name, 0o100755, content if isinstance(content, bytes) else content.read_bytes()))
    return b"".join(out) + record("TRAILER!!!", 0, b"")


def libraries(program: Path) -> Iterator[Path]:
    """The shared libraries of a program, and the loader."""
    shown = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        path = line.split("=>")[-1].split()[0]
        if path.startswith("/"):
            yield Path(path)


def reduce_flow(samples: Mapping[str, Sequence[float]]) -> Row:
    """A flow's numbers after 5 s, and the goodput of each third of that time."""
    t, acked, delivered, marked = (samples[name] for name in ("t_s", "bytes_acked", "delivered", "delivered_ce"))
    steady = [i for i, time in enumerate(t) if time >= STEADY_S - 1e-3]
    first = steady[0]
    bounds = [steady[(len(steady) - 1) * part // PARTS] for part in range(PARTS + 1)]
    parts = [(acked[b] - acked[a]) * 8e-6 / (t[b] - t[a]) for a, b in pairwise(bounds)]
    return {
        "goodput_steady_mbps": (acked[-1] - acked[first]) * 8e-6 / (t[-1] - t[first]),
        "goodput_parts_mbps": " ".join(f"{part:.4g}" for part in parts),
        "srtt_steady_ms": sum(samples["srtt_us"][i] for i in steady) / len(steady) / 1000.0,
        "marked_share": (marked[-1] - marked[first]) / (delivered[-1] - delivered[first]),
        "retrans_pkts": int(samples["retransmitted"][-1]),
    }


def reduce_answers(trace: str, port: int, seconds: float) -> Row:
    """How often a flow answered marks in its last seconds, and how often it entered CWR without an answer."""
    lines = [line.split() for line in trace.splitlines()]
    own = [(what, int(at)) for number, what, at, _ in lines if int(number) == port]
    late = [(what, at) for what, at in own if at >= own[-1][1] - seconds * 1e6]
    times = [at for what, at in late if what == "answer"]
    gaps = [(after - before) / 1000.0 for before, after in pairwise(times)]
    return {
        "answers": len(times),
        "answer_period_ms": mean(gaps),
        "answer_period_sd_ms": stdev(gaps),
        "unanswered_per_answer": (len(late) - len(times)) / len(times),
    }


def rows_of(run: EmulatedRun, folder: Path) -> Iterator[Row]:
    """A row for each flow of a finished run; the columns of the bottleneck are of the whole run."""
    statistics, bottleneck = discipline((folder / "bottleneck").read_text())
    trace = (folder / "trace").read_text() if run.trace else ""
    for number, (cc, rtt, start) in enumerate(zip(run.ccs, run.rtts_ms, run.starts_s, strict=True), start=1):
        row = {
            "run": run.name,
            "qdisc": run.qdisc,
            "rate_mbps": run.rate_mbps,
            "duration_s": run.duration_s,
            "flow": number,
            "cc": cc,
            "rtt_ms": rtt,
            "start_s": start,
            **reduce_flow(read_flow(folder / f"{number}.csv")),
        }
        if run.trace:
            row |= reduce_answers(trace, 5000 + number, run.duration_s - STEADY_S)
        yield row | bottleneck | {"bottleneck_text": statistics}


@dataclass(frozen=True)
class Machine:
    """An emulated machine: the emulator with its options, a kernel, and the modules that are loaded."""

    qemu: Sequence[str]
    kernel: Path
    modules: Sequence[Path]
    tools: Sequence[Path]
    work: Path

    def files(self, runs: Iterable[EmulatedRun]) -> dict[str, Path | bytes | str]:
        """What the guest starts with."""
        out: dict[str, Path | bytes | str] = {
            "init": GUEST / "init_emulated",
            "run_emulated": GUEST / "run_emulated",
        }
        for name in (*PROGRAMS, "busybox"):
            path = shutil.which(name)
            if path is None:
                msg = f"{name} is not installed"
                raise FileNotFoundError(msg)
            out[f"bin/{name}"] = Path(path).resolve()
            if name != "busybox":
                out |= {str(library).lstrip("/"): library.resolve() for library in libraries(Path(path))}
        out |= {f"bin/{applet}": "busybox" for applet in APPLETS}
        for source in ("flow", "off"):
            built = self.work / source
            subprocess.run(["cc", "-O2", "-static", "-o", str(built), str(GUEST / f"{source}.c")], check=True)
            out[f"tools/{source}"] = built
        out |= {f"tools/{tool.name}": tool for tool in self.tools}
        out |= {f"modules/{number:02}-{module.name}": module for number, module in enumerate(self.modules)}
        return out | {f"runs/{number:03}-{run.name}": run.settings().encode() for number, run in enumerate(runs)}

    def boot(self, runs: Sequence[EmulatedRun]) -> None:
        """Executes the runs that have not been, in one guest. Each leaves a folder, as those of ``virtual`` do."""
        self.work.mkdir(parents=True, exist_ok=True)
        due = [run for run in runs if not (self.work / run.name / "kernel").exists()]
        if not due:
            return
        image, lines = self.work / "guest.cpio", self.work / "lines"
        image.write_bytes(archive(self.files(due)))
        command = [
            *self.qemu,
            *("-M", "pc,hpet=off", "-accel", "tcg,thread=single", "-cpu", "qemu64", "-icount", "shift=0,sleep=off"),
            *("-m", "768", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-rtc", "base=2026-11-01,clock=vm", "-kernel", str(self.kernel), "-initrd", str(image)),
            *("-append", COMMAND_LINE, "-serial", f"file:{self.work / 'log'}", "-serial", f"file:{lines}"),
        ]
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
        self.unpack(lines)

    def unpack(self, lines: Path) -> None:
        """Writes the files that came over the serial line."""
        for part in lines.read_text(encoding="utf-8").split("=== ")[1:]:
            name, _, content = part.partition("\n")
            if name != "END":
                path = self.work / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(content, encoding="utf-8")


#: The kernel's default, and the parameter that spares packets which find fewer than two others in their queue.
STEPS = {"default": "dualpi2", "min2": "dualpi2 min_qlen_step 2"}


def low_rate(cc: str, step: str, rate_mbps: float, offset_ms: float, rtt_ms: float = 20.0) -> EmulatedRun:
    """A scalable flow, and CUBIC with ECN a little later."""
    name = f"{cc}_{step}_{rate_mbps:g}mbit_{rtt_ms:g}ms_{offset_ms:g}ms"
    return EmulatedRun(name, STEPS[step], rate_mbps, (rtt_ms, rtt_ms), (cc, "cubic"), "1", offset_ms)


def low_rates() -> list[EmulatedRun]:
    """Prague or DCTCP next to CUBIC over DualPI2 where a packet lasts longer than the step of 1 ms."""
    runs = [low_rate(cc, step, 10.0, 31.0) for cc in ("prague", "dctcp") for step in STEPS]
    return [*runs, low_rate("prague", "default", 4.0, 31.0)]


def marked(first_ms: float, second_ms: float, *, trace: bool) -> EmulatedRun:
    """Two Prague flows where each seventh packet is marked, by chance, whatever the queue is."""
    return EmulatedRun(
        f"prague_{first_ms:g}ms_{second_ms:g}ms",
        "netem limit 100000 loss 14.2857% ecn",
        200.0,
        (first_ms, second_ms),
        ("prague", "prague"),
        "1 2",
        duration_s=15.0,
        trace=trace,
    )


def hold_off() -> list[EmulatedRun]:
    """Prague's answers to marks below and above 25 ms."""
    return [marked(5.0, 20.0, trace=True), marked(13.0, 26.0, trace=True), marked(12.0, 24.0, trace=False)]


GROUPS: Mapping[str, Callable[[], list[EmulatedRun]]] = {"low_rates": low_rates, "hold_off": hold_off}


def main() -> None:
    """Record groups, and write their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qemu", type=shlex.split, required=True, help="the emulator, with options such as -L FOLDER")
    parser.add_argument("--kernel", type=Path, required=True, help="the kernel's image")
    parser.add_argument("--modules", type=Path, nargs="+", default=[], help="modules, in the order of loading")
    parser.add_argument("--tool", type=Path, action="append", default=[], help="a further file for /tools of the guest")
    parser.add_argument("--work", type=Path, required=True, help="folder for what each run stores")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    parser.add_argument("--group", action="append", choices=sorted(GROUPS), help="only this group; repeatable")
    options = parser.parse_args()
    machine = Machine(options.qemu, options.kernel, options.modules, options.tool, options.work)
    for name in options.group or GROUPS:
        runs = GROUPS[name]()
        machine.boot(runs)
        if options.out:
            rows = [row for run in runs for row in rows_of(run, options.work / run.name)]
            write_rows(options.out / f"{name}.csv", rows)


if __name__ == "__main__":
    main()
