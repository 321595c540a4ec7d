"""The runs in virtual time that are stored as reference data, by group.

Start offsets of a few milliseconds stand for what a testbed leaves to chance: where several packets meet at a full
queue, they decide which packet is lost. Several of them give a range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from windtunnel.validation.recorder.virtual import VirtualFlow, VirtualRun

#: When the later flows start, in ms after the first.
OFFSETS_MS = (0, 7, 13, 23, 37)

#: Draws around 37 ms, the only offset of the groups that were recorded once.
NEAR_MS = (31, 34, 40, 43)

#: The kernel's controllers except for DCTCP, which needs marks.
CONTROLLERS = (
    *("reno", "cubic", "bbr", "bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas"),
    *("veno", "westwood", "yeah"),
)

#: Disciplines other than fq_codel and fq, each with its parameters without and with ECN. Only the parameters that tc
#: requires are given; the others have their defaults. RED is the manual page's example for 40 Mbit/s, CHOKe the same
#: thresholds in packets.
QUEUES: Mapping[str, tuple[str, str]] = {
    "pie": ("pie limit 20000", "pie limit 20000 ecn"),
    "codel": ("codel limit 10000", "codel limit 10000 ecn"),
    "red": (
        "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.1 bandwidth 40mbit",
        "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.1 bandwidth 40mbit ecn",
    ),
    "red_adaptive": (
        "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 40mbit adaptive",
        "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 40mbit adaptive ecn",
    ),
    "fq_pie": ("fq_pie limit 10240", "fq_pie limit 10240 ecn"),
    "cake": ("cake unlimited besteffort", "cake unlimited besteffort"),
    "cake_diffserv4": ("cake unlimited diffserv4", "cake unlimited diffserv4"),
    "sfq": ("sfq", "sfq headdrop redflowlimit 100000 min 8000 max 60000 probability 0.1 ecn"),
    "sfb": ("sfb", "sfb"),
    "choke": (
        "choke limit 1000 min 20 max 60 bandwidth 40mbit",
        "choke limit 1000 min 20 max 60 bandwidth 40mbit ecn",
    ),
    "dualpi2": ("dualpi2", "dualpi2"),
}


def together(ccs: Sequence[str], offset_ms: float, ecn: int = 0) -> tuple[VirtualFlow, ...]:
    """Flows, each of them starting the offset after the one before."""
    return tuple(VirtualFlow(cc, i * offset_ms / 1000.0, ecn) for i, cc in enumerate(ccs))


def flow_queues() -> list[VirtualRun]:
    """FQ-CoDel and fq: flows alone, and together at several start offsets. 40 Mbit/s, 40 ms, 40 s."""
    out = []
    for ecn in (0, 1):
        for cc in ("reno", "cubic", "bbr"):
            out.append(VirtualRun(f"fq_codel_{cc}_e{ecn}", "fq_codel limit 10240", together([cc], 0, ecn)))
        for ccs in (("cubic", "reno"), ("cubic", "reno", "bbr")):
            for offset in OFFSETS_MS:
                name = f"fq_codel_{'_'.join(ccs)}_e{ecn}_{offset}ms"
                out.append(VirtualRun(name, "fq_codel limit 10240", together(ccs, offset, ecn)))
    out += [VirtualRun(f"fq_{cc}_e0", "fq", together([cc], 0)) for cc in ("reno", "cubic", "bbr")]
    out += [
        VirtualRun(f"fq_cubic_reno_e0_{offset}ms", "fq", together(("cubic", "reno"), offset)) for offset in OFFSETS_MS
    ]
    return out


def pie_single() -> list[VirtualRun]:
    """Reno and CUBIC alone over PIE, 40 Mbit/s, 40 ms, 40 s: how far PIE's random decisions alone move a run.

    Reno has more seeds: in one run of seven it halves its window twice in a row, which costs 1 Mbit/s.
    """
    return [
        VirtualRun(f"pie_{cc}_{seed}", "pie limit 20000", together([cc], 0), seed=seed)
        for cc, seeds in (("reno", 40), ("cubic", 16))
        for seed in range(seeds)
    ]


def pie_slow_start() -> list[VirtualRun]:
    """CUBIC and then Reno over PIE at 200 Mbit/s: 30 s, with the true start offset of the older measurement.

    The first flow starts at several phases of PIE's timer (15 ms).
    """
    return [
        VirtualRun(
            f"pie200_{rtt}ms_{draw}",
            "pie",
            (VirtualFlow("cubic", draw * 0.003), VirtualFlow("reno", draw * 0.003 + max(0, 37 - rtt) / 1000.0)),
            duration_s=30.0,
            rate_mbps=200.0,
            rtt_ms=rtt,
            seed=draw,
        )
        for rtt in (5, 10, 20, 50)
        for draw in range(5)
    ]


def queues() -> list[VirtualRun]:
    """The other disciplines: Reno, CUBIC, and both. 40 Mbit/s, 40 ms, 40 s."""
    out = []
    for name, parameters in QUEUES.items():
        for ecn in (0, 1):
            for ccs in (("reno",), ("cubic",), ("cubic", "reno")):
                if ecn == 0 and len(ccs) == 1 and name in ("pie", "codel"):
                    continue
                out.append(VirtualRun(f"{name}_{'_'.join(ccs)}_e{ecn}", parameters[ecn], together(ccs, 37, ecn)))
    return out


#: Disciplines that decide by chance, or by a hash of the flows.
RANDOM_QUEUES = ("red", "red_adaptive", "fq_pie", "sfb", "choke", "dualpi2")


def queue_draws() -> list[VirtualRun]:
    """More draws of :func:`queues`: seeds where a discipline leaves something to chance, and offsets of two flows.

    A single run says nothing about its neighbours: 40 seconds over RED differ by several percent.
    """
    out = []
    for name, parameters in QUEUES.items():
        for ecn in (0, 1):
            if name in RANDOM_QUEUES:
                out += [
                    VirtualRun(f"{name}_{cc}_e{ecn}_{seed}", parameters[ecn], together([cc], 0, ecn), seed=seed)
                    for cc in ("reno", "cubic")
                    for seed in range(1, 7)
                ]
            out += [
                VirtualRun(
                    f"{name}_cubic_reno_e{ecn}_{offset}ms",
                    parameters[ecn],
                    together(("cubic", "reno"), offset, ecn),
                    seed=offset,
                )
                for offset in OFFSETS_MS
            ]
    return out


def scalable_marks() -> list[VirtualRun]:
    """DCTCP over DualPI2 (as ECT(1), so in its L queue) and over a step of 5 ms, alone and with CUBIC."""
    return _scalable_marks({"": 37}, ((), ("cubic",), ("cubic", "reno")))


def scalable_marks_draws() -> list[VirtualRun]:
    """More draws of :func:`scalable_marks`, where flows compete: the others start a little earlier or later."""
    return _scalable_marks({f"_{offset}ms": offset for offset in NEAR_MS}, (("cubic",), ("cubic", "reno")))


def _scalable_marks(offsets: Mapping[str, float], mixes: Sequence[Sequence[str]]) -> list[VirtualRun]:
    """One run for each queue, feedback, set of other flows, and start offset (by its part of the run's name)."""
    out = []
    for name, qdisc, ect1 in (("dualpi2", "dualpi2", (1,)), ("step", "codel limit 10000 ce_threshold 5ms", ())):
        for feedback, sender_ecn in (("dctcp", 1), ("accecn", 3)):
            dctcp = VirtualFlow("dctcp", 0.0, sender_ecn, "dctcp" if feedback == "dctcp" else "cubic")
            for rivals in mixes:
                for part, offset in offsets.items():
                    others = tuple(VirtualFlow(cc, offset / 1000.0 * (i + 1)) for i, cc in enumerate(rivals))
                    out.append(
                        VirtualRun(
                            "_".join((name, feedback, *rivals)) + part,
                            qdisc,
                            (dctcp, *others),
                            rtt_ms=20.0,
                            receiver_ecn=3 if feedback == "accecn" else 2,
                            ect1_flows=ect1,
                        )
                    )
    return out


#: Tail drop of one BDP at 40 Mbit/s and 100 ms.
TAIL_DROP = "bfifo limit 500000"


def alone() -> list[VirtualRun]:
    """Each controller alone, 60 s: 1 BDP at 40 Mbit/s and 100 ms, 2 BDP at 10 and 40, half at 100 and 20."""
    paths = ((40.0, 100.0, 500_000), (10.0, 40.0, 100_000), (100.0, 20.0, 125_000))
    return [
        VirtualRun(
            f"alone_{cc}_{rate:g}mbit_{rtt:g}ms",
            f"bfifo limit {limit}",
            together([cc], 0),
            duration_s=60.0,
            rate_mbps=rate,
            rtt_ms=rtt,
        )
        for rate, rtt, limit in paths
        for cc in CONTROLLERS
    ]


def lossy() -> list[VirtualRun]:
    """Each controller with 1 % random loss; BBR with 5, 10 and 20 % as well. 40 Mbit/s, 100 ms, 60 s.

    Three seeds; 16 for the controllers whose mean is compared.
    """
    cases = [(cc, 1, 16 if cc in ("reno", "cubic", "scalable") else 3) for cc in CONTROLLERS]
    cases += [("bbr", percent, 3) for percent in (5, 10, 20)]
    return [
        VirtualRun(
            f"loss{percent}_{cc}_{seed}",
            TAIL_DROP,
            together([cc], 0),
            duration_s=60.0,
            rtt_ms=100.0,
            loss=f"loss {percent}%",
            seed=seed,
        )
        for cc, percent, seeds in cases
        for seed in range(1, seeds + 1)
    ]


def against_reno() -> list[VirtualRun]:
    """Each controller, and Reno 37 ms later. 40 Mbit/s, 100 ms, 1 BDP, 90 s."""
    return [
        VirtualRun(f"vsreno_{cc}", TAIL_DROP, together([cc, "reno"], 37), duration_s=90.0, rtt_ms=100.0)
        for cc in CONTROLLERS
    ]


def five() -> list[VirtualRun]:
    """Five flows of a controller, started together (1 ms apart) and 5 s apart. 40 Mbit/s, 100 ms, 1 BDP, 90 s."""
    return [
        VirtualRun(f"five_{cc}_{name}", TAIL_DROP, together([cc] * 5, gap_ms), duration_s=90.0, rtt_ms=100.0)
        for name, gap_ms in (("common", 1.0), ("displaced", 5000.0))
        for cc in CONTROLLERS
    ]


#: The controllers whose runs with others are compared with ours (``linux_controllers``).
DRAWN = ("highspeed", "htcp", "bic", "hybla", "westwood", "vegas", "illinois", "yeah", "veno", "cdg", "nv")


def against_reno_draws() -> list[VirtualRun]:
    """More draws of :func:`against_reno`: Reno starts a few milliseconds earlier or later."""
    return [
        VirtualRun(f"vsreno_{cc}_{offset}ms", TAIL_DROP, together([cc, "reno"], offset), duration_s=90.0, rtt_ms=100.0)
        for cc in DRAWN
        for offset in NEAR_MS
    ]


def five_draws() -> list[VirtualRun]:
    """More draws of :func:`five`: the flows start a little closer or farther apart."""
    return [
        VirtualRun(f"five_{cc}_{gap:g}ms", TAIL_DROP, together([cc] * 5, gap), duration_s=90.0, rtt_ms=100.0)
        for cc in DRAWN
        for gap in (0.7, 1.3, 4997.0, 5003.0)
    ]


GROUPS: Mapping[str, Callable[[], list[VirtualRun]]] = {
    "flow_queues": flow_queues,
    "pie_single": pie_single,
    "pie_slow_start": pie_slow_start,
    "queues": queues,
    "queue_draws": queue_draws,
    "scalable_marks": scalable_marks,
    "alone": alone,
    "lossy": lossy,
    "against_reno": against_reno,
    "five": five,
    "scalable_marks_draws": scalable_marks_draws,
    "against_reno_draws": against_reno_draws,
    "five_draws": five_draws,
}
