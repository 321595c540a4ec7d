"""The real Linux stack compared with the simulator, on the same path with the same controller.

Tolerances are those that the measurements' own description gives (``data/linux/README.md``): 1 % for steady goodput on
a clean path, 3 % for mean window and round trip after slow start; with random losses two standard errors of the
difference of the means; where two flows compete, the range of our runs over start offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from windtunnel.result import RunResult
from windtunnel.validation.comparison import Comparison, Line, Run, Values, table

#: Bytes of data in a segment, and of a frame that carries it.
MSS, FRAME = 1448, 1514

#: The bottleneck of all these measurements: the rate counts Ethernet headers.
RATE_MBPS = 40.0

#: Goodput that fills the bottleneck.
CEILING = RATE_MBPS * MSS / FRAME

#: The block of a packet's headers in these runs of Linux 7.3, which was built with tunnels and wireless devices: a full
#: segment has 2408 bytes.
HEADER_BLOCK = 704

#: The memory of a packet in the runs of Linux 6.12, whose blocks for headers are smaller than those of 7.3: a full
#: segment has 2344 bytes by its formulae, a driver's has 2304.
NEAREST_612 = "driver"

#: The largest receive buffer of the recorded kernels, in memory (``tcp_rmem[2]``).
RECEIVE_BUFFER = 64 << 20

#: The send buffers of the recorded kernels: how large they start, and become (``tcp_wmem``).
SEND_BUFFERS = 'tcp.initial_send_buffer = "64 KiB"\ntcp.send_buffer = "64 MiB"'

#: The memory of a full segment in it, by ``tcp.truesize``.
SEGMENT_MEMORY = {"driver": 2304, "sender": MSS + HEADER_BLOCK + 256}

#: The rate of the wire behind the shaper, on which packets take no time that matters.
WIRE = "1 Tbit/s"

#: Controllers of this project that the data also contain, with the slow start that Linux gives them.
CONTROLLERS = ("reno", "cubic", "scalable")

#: The number of our random runs for each of Linux's.
SEEDS = range(1, 17)

#: Student's t, two-sided 95 %, for 1, 2, ... degrees of freedom.
STUDENT_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def largest_window(truesize: str) -> int:
    """The window that the whole receive buffer supports, in bytes.

    Linux takes the scale of windows from the buffer's memory (``tcp_select_initial_window``), and rounds windows up to
    its unit (``__tcp_select_window``): 2 KiB here, but 16 KiB with the largest window that a scenario allows. Where the
    first windows are larger by a few segments, slow start overshoots elsewhere.
    """
    ratio = (MSS << 8) // SEGMENT_MEMORY[truesize]
    return RECEIVE_BUFFER * ratio >> 8


def bucket(queue: str, rate_mbps: float) -> str:
    """The shaper of the recorded kernels, for a link that is much faster: a packet that finds it idle does not wait.

    It exists for half a second or more before the first SYN, and its discipline with it.
    """
    return f'{{ kind = "tbf", rate = "{rate_mbps:g} Mbit/s", burst = "1600 B", age = "1 s", child = {queue} }}'


def path(
    queue: str,
    duration_s: float,
    rtt_ms: float | Sequence[float],
    flows: Sequence[str],
    impair: str = "",
    rate_mbps: float = RATE_MBPS,
    truesize: str = "sender",
    steady_s: float = 10.0,
) -> str:
    """The testbed as it was built: tail drop or an AQM inside the shaper, the delay behind it, Linux's delayed ACKs.

    Its hosts are network namespaces, whose packets arrive in the memory that their senders allocated. Send and receive
    buffers are those of the recorded kernels: they decide which segments carry PSH, and how far windows open. The flows
    may have a round trip each.
    """
    rtts = rtt_ms if isinstance(rtt_ms, Sequence) else [rtt_ms] * len(flows)
    impairment = f"impair = {{ {impair} }}" if impair else ""
    host = f"""tcp.truesize = "{truesize}"
tcp.header_block = "{HEADER_BLOCK} B"
tcp.set_window_clamp = {"false" if truesize == "sender" else "true"} # false in 7.3
tcp.receive_window = "{largest_window(truesize)} B"
{SEND_BUFFERS}"""
    tables = "".join(f'[[flow]]\nrtt = "{rtt:g} ms"\n{host}\n{flow}\n' for rtt, flow in zip(rtts, flows, strict=True))
    return f"""
duration = "{duration_s:g} s"
endpoints = "linux"
[bottleneck]
rate = "{WIRE}"
overhead = "{FRAME - 1500} B"
queue = {bucket(queue, rate_mbps)}
{impairment}
{tables}
[record]
interval = "100 ms"
points = "0 s"
[[window]]
name = "steady"
from = "{steady_s:g} s"
to = "{duration_s:g} s"
"""


#: 500,000 bytes of frames.
TAIL_DROP = f'{{ kind = "fifo", limit = "{500_000 // FRAME} packets" }}'


def reduce(result: RunResult) -> Values:
    """The summaries in the data, per flow: prefix ``1.``, ``2.``."""
    out: dict[str, float | str] = {}
    rows = result.tables["flows"]
    for number, (whole, steady) in enumerate(zip(result.flows, result.windows[0]["flows"], strict=True), start=1):
        own = np.asarray(rows["flow"]) == number - 1
        cwnd = np.asarray(rows["cwnd_bytes"], dtype=np.float64)[own] / MSS
        srtt = np.asarray(rows["srtt_ms"], dtype=np.float64)[own]
        time = np.asarray(rows["time_s"], dtype=np.float64)[own]
        out |= {
            f"{number}.goodput": whole["goodput_mbps"],
            f"{number}.steady": steady["goodput_mbps"],
            f"{number}.retransmits": whole["retransmits"],
            f"{number}.marks": whole["ce_marks"],
            f"{number}.episodes": whole["loss_episodes"],
            f"{number}.rtos": whole["rtos"],
            f"{number}.cwnd": float(np.nanmean(cwnd)),
            f"{number}.cwnd_p95": float(np.nanpercentile(cwnd, 95)),
            f"{number}.srtt": float(np.nanmean(srtt)),
            f"{number}.steady_srtt": float(np.nanmean(srtt[time > 10.0])),
            f"{number}.srtt_p95": float(np.nanpercentile(srtt, 95)),
        }
    return out


def single(cc: str) -> Comparison:
    """One flow over one BDP of tail drop."""
    rows = [row for row in table("linux/summary_single.csv") if row["cc"] == cc]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        ours = {key: float(value) for key, value in values[cc].items()}
        linux = {key: float(value) for key, value in rows[0].items() if _is_number(value)}
        steady, cwnd, srtt = linux["goodput_after10s_mbps"], linux["cwnd_mean_pkts"], linux["srtt_mean_ms"]
        return [
            Line("goodput after 10 s", steady, ours["1.steady"], 0.01 * steady, "Mbit/s"),
            Line("mean cwnd", cwnd, ours["1.cwnd"], 0.03 * cwnd, "segments"),
            Line("95th percentile of cwnd", linux["cwnd_p95_pkts"], ours["1.cwnd_p95"], None, "segments"),
            Line("mean srtt", srtt, ours["1.srtt"], 0.03 * srtt, "ms"),
            Line("95th percentile of srtt", linux["srtt_p95_ms"], ours["1.srtt_p95"], None, "ms"),
            Line("loss episodes", linux["sack_recoveries"], ours["1.episodes"], 1.0, ""),
            Line("retransmissions", linux["retrans_pkts"], ours["1.retransmits"], None, "segments"),
            Line("timeouts", linux["rto_timeouts"], ours["1.rtos"], 0.0, ""),
        ]

    toml = path(TAIL_DROP, 60, 100, [f'cc = "{cc}"'], truesize=NEAREST_612)
    return Comparison(f"{cc} alone", [Run(cc, toml, reduce, 2e5)], lines)


def lossy(cc: str) -> Comparison:
    """One flow with 1 % random loss: the mean of our seeds and the mean of Linux's, four of 6.12 and 16 of 7.3."""
    older = [row for row in table("linux/summary_loss1pct.csv") if row["cc"] == cc]
    newer = [row for row in table("linux/7.3/lossy.csv") if row["run"].startswith(f"loss1_{cc}_")]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for what, column, newer_column, key, unit in (
            ("goodput after 10 s", "goodput_after10s_mbps", "goodput_steady_mbps", "1.steady", "Mbit/s"),
            ("mean cwnd", "cwnd_mean_pkts", "cwnd_mean_pkts", "1.cwnd", "segments"),
            ("loss episodes", "sack_recoveries", "sack_recoveries", "1.episodes", ""),
        ):
            linux = np.array([float(row[column]) for row in older] + [float(row[newer_column]) for row in newer])
            ours = np.array([float(run[key]) for run in values.values()])
            # The difference of two means of independent runs, with 95 % (Welch).
            error = welch_margin(linux, ours)
            note = f"Linux {linux.min():.3g} to {linux.max():.3g}, here {ours.min():.3g} to {ours.max():.3g}"
            out.append(Line(f"{what}, mean of the runs", float(linux.mean()), float(ours.mean()), error, unit, note))
        return out

    runs = [
        Run(
            f"seed {seed}",
            f"seed = {seed}" + path(TAIL_DROP, 60, 100, [f'cc = "{cc}"'], 'kind = "loss", probability = "1 %"'),
            reduce,
            2e4,
        )
        for seed in SEEDS
    ]
    return Comparison(f"{cc} with 1 % loss", runs, lines)


def welch_margin(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """The distance that the means of two samples of one distribution do not exceed, with a probability of 95 %."""
    va, vb = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    if va + vb == 0.0:
        return 0.0
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    quantile = STUDENT_T[min(int(freedom), len(STUDENT_T)) - 1]
    return float(quantile * (va + vb) ** 0.5)


def against_reno(cc: str) -> Comparison:
    """Two flows over tail drop, where every detail influences which packets are lost.

    The run varies what the description of the measurement leaves open: a packet more or less in the queue, and when the
    second flow really started (its first packets waited for address resolution).
    """
    rows = [row for row in table("linux/summary_vsreno.csv") if row["run"] == f"vsreno_{cc}"]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        ours = np.array([float(run["1.steady"]) / CEILING for run in values.values()])
        linux = float(rows[0]["goodput_after10s_mbps"]) / CEILING
        note = f"{ours.min():.3f} to {ours.max():.3f} over queues and start offsets"
        half, middle = float(ours.max() - ours.min()) / 2, float(ours.max() + ours.min()) / 2
        return [Line(f"share of {cc} after 10 s", linux, middle, half, "", note)]

    runs = [
        Run(
            f"{packets} packets, {offset} ms",
            path(
                f'{{ kind = "fifo", limit = "{packets} packets" }}',
                60,
                100,
                [f'cc = "{cc}"', f'cc = "reno"\nstart = "{offset} ms"'],
                truesize=NEAREST_612,
            ),
            reduce,
            2e5,
        )
        for packets in (329, 330, 331)
        for offset in (20, 60, 100, 150)
    ]
    return Comparison(f"{cc} against Reno", runs, lines)


#: CoDel as the kernel has it.
CODEL = '{ kind = "codel", limit = "10000 packets", newton = true }'


def codel(cc: str) -> Comparison:
    """One flow over CoDel with its defaults, 40 ms: nothing is random on either side."""
    rows = [row for row in table("linux/aqm_40mbit_40ms.csv") if row["run"] == f"aqm_codel_{cc}_e0"]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        ours = {key: float(value) for key, value in values[cc].items()}
        steady, srtt, retransmits = (
            float(rows[0][column]) for column in ("goodput_after10s_mbps", "srtt_mean_ms_after10s", "retrans_pkts")
        )
        return [
            Line("goodput after 10 s", steady, ours["1.steady"], 0.01 * steady, "Mbit/s"),
            Line("mean srtt after 10 s", srtt, ours["1.steady_srtt"], 0.03 * srtt, "ms"),
            Line("retransmissions", retransmits, ours["1.retransmits"], None, "segments"),
        ]

    return Comparison(f"{cc} over CoDel", [Run(cc, path(CODEL, 40, 40, [f'cc = "{cc}"']), reduce, 1.3e5)], lines)


def codel_against_reno() -> Comparison:
    """CUBIC and Reno over CoDel: the start time of the second flow determines which of them meets a drop."""
    rows = [row for row in table("linux/aqm_40mbit_40ms.csv") if row["run"] == "aqm_codel_cubic_reno_e0"]

    def lines(values: Mapping[str, Values]) -> list[Line]:
        out = []
        for number, name in (("1", "CUBIC"), ("2", "Reno")):
            linux = next(float(row["goodput_after10s_mbps"]) for row in rows if row["flow"] == number)
            ours = np.array([float(run[f"{number}.steady"]) for run in values.values()])
            half, middle = float(ours.max() - ours.min()) / 2, float(ours.max() + ours.min()) / 2
            note = f"{ours.min():.3g} to {ours.max():.3g} over start offsets"
            out.append(Line(f"goodput of {name} after 10 s", linux, middle, half, "Mbit/s", note))
        return out

    runs = [
        Run(f"{offset} ms", path(CODEL, 40, 40, ['cc = "cubic"', f'cc = "reno"\nstart = "{offset} ms"']), reduce, 1.3e5)
        for offset in range(0, 40, 5)
    ]
    return Comparison("CUBIC against Reno over CoDel", runs, lines)


def comparisons() -> list[Comparison]:
    """Every comparison."""
    return [
        *(single(cc) for cc in CONTROLLERS),
        *(lossy(cc) for cc in CONTROLLERS),
        *(against_reno(cc) for cc in CONTROLLERS),
        *(codel(cc) for cc in ("reno", "cubic")),
        codel_against_reno(),
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
