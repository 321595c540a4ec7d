"""Linux 7.3 and windtunnel in the same runs: DualPI2 at low rates, and Prague's answers to marks.

The kernel's numbers are in ``windtunnel/validation/data/linux/7.3`` (``low_rates.csv``, ``hold_off.csv``), whose
``README.md`` says how they were made. ``python docs/packs/l4s_kernel.py`` runs the same scenarios here, keeps the
numbers in ``l4s-kernel.csv``, and writes ``prague-hold-off.md`` and two pictures; ``--page`` writes them from the
numbers that are kept. The table of low rates is a part of ``l4s-tests.md`` (``l4s_tests.py``).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from windtunnel.experiment.statistics import summary_of_all
from windtunnel.papers.experiment_figure import PanelSpec, Point, figure
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.validation.comparison import table
from windtunnel.validation.linux import path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import drawn  # noqa: E402

NUMBERS = HERE / "l4s-kernel.csv"
LOW_PICTURE = HERE / "l4s-tests-low-rates.png"
TEMPLATE, PAGE, PICTURE = (HERE / f"prague-hold-off.{kind}" for kind in ("txt", "md", "png"))
COLUMNS = ("case", "what", "mean", "low", "high")

#: The scalable flows, and how the page calls them.
SCALABLE = {
    "prague": ("Prague", 'cc = "prague"'),
    "dctcp": ("DCTCP", 'cc = "dctcp"\necn = "accecn"\nect = "ect1"'),
}
#: DualPI2's step: mainline's default, and sparing packets that find fewer than two others.
STEPS = {"default": "", "min2": ", min_qlen_step = 2"}
TITLES = {"default": "default", "min2": "min_qlen_step = 2"}
RATES_MBPS = (4, 6, 8, 10, 12, 15, 20, 50)
RTTS_MS = (20, 40)
#: CUBIC's start after the scalable flow, in ms; each draw has a seed of its own, too.
OFFSETS_MS = (31, 34, 37, 40, 43)
#: A run and the time after which it is measured, in s, as in the kernel.
DURATION_S, STEADY_S = 20.0, 5.0

#: Prague's round trips, in ms, and its variants.
ROUND_TRIPS_MS = (5, 10, 12, 13, 20, 24, 26, 50)
#: Those that the axis of the picture names, where all would not be legible.
TICKS_MS = (5, 10, 13, 20, 26, 50)
VARIANTS = {"linux": "Linux's module", "draft": "the draft's text"}
#: Every seventh packet is marked.
NTH = 7
#: Small datagrams of other flows, in kbit/s each, which let chance decide whose packet is the seventh.
OTHERS_KBPS = (311, 353, 397, 433, 479, 521)
LONG_S = 60.0
SEEDS = range(1, 6)

Numbers = Mapping[tuple[str, str], tuple[float, float, float]]


def low_rate(cc: str, step: str, rate_mbps: float, rtt_ms: float, draw: int) -> str:
    """A scalable flow next to CUBIC with ECN over DualPI2."""
    queue = f'{{ kind = "dualpi2", mtu = "1514 B"{STEPS[step]} }}'
    cubic = f'cc = "cubic"\necn = "accecn"\nstart = "{OFFSETS_MS[draw]} ms"'
    flows = [SCALABLE[cc][1], cubic]
    return f"seed = {draw + 1}" + path(queue, DURATION_S, rtt_ms, flows, rate_mbps=rate_mbps, steady_s=STEADY_S)


def share(result: RunResult) -> float:
    """The first flow's part of the goodput of both, in percent."""
    return _percent(*(float(flow["goodput_mbps"]) for flow in result.windows[0]["flows"]))


def marked(variant: str, seed: int) -> str:
    """A Prague flow of each round trip where each seventh packet is marked, whatever the queue is."""
    queue = f'{{ kind = "nth", n = "{NTH} packets", limit = "100000 packets", ecn_mode = "rfc3168" }}'
    flows = [
        f'cc = {{ kind = "prague", variant = "{variant}" }}\nstart = "{seed * 7 + 37 * n} ms"'
        for n in range(len(ROUND_TRIPS_MS))
    ]
    text = path(queue, LONG_S, ROUND_TRIPS_MS, flows, rate_mbps=1000.0, steady_s=STEADY_S)
    others = "".join(
        f'[[flow]]\nrtt = "{3 + n} ms"\napp = {{ kind = "cbr", rate = "{rate} kbit/s", packet_size = "100 B" }}\n'
        f'start = "{seed * 11 + n} ms"\n'
        for n, rate in enumerate(OTHERS_KBPS)
    )
    return f"seed = {seed}" + text.replace("[record]", others + "[record]", 1)


def over_law(goodput_mbps: float, p: float, rtt_ms: float) -> float:
    """A rate over that of 2 (1 - p) / p packets of 1500 bytes in a round trip, or in 25 ms if it is shorter."""
    law = 2.0 * (1.0 - p) / p * 1448 * 8e-3 / max(rtt_ms, 25.0)
    return goodput_mbps / law


def answers(result: RunResult) -> Iterator[tuple[str, float]]:
    """The rate over the law and the time from answer to answer, in ms, for each round trip."""
    seconds = LONG_S - STEADY_S
    for rtt, flow in zip(ROUND_TRIPS_MS, result.windows[0]["flows"], strict=False):
        goodput = float(flow["goodput_mbps"])
        p = float(flow["ce_marks"]) / (goodput * 1e6 * seconds / 8 / 1448)
        yield f"{rtt} ms, law", over_law(goodput, p, rtt)
        yield f"{rtt} ms, period", 1000.0 * seconds / float(flow["ecn_reductions"])


def measure() -> None:
    """Run everything, and keep the means with their intervals."""
    kept: dict[tuple[str, str], list[float]] = {}
    for cc in SCALABLE:
        for step in STEPS:
            for rtt in RTTS_MS:
                for rate in RATES_MBPS:
                    kept[f"{cc}, {step}", f"{rate} Mbit/s, {rtt} ms"] = [
                        share(Scenario.from_toml(low_rate(cc, step, rate, rtt, draw), file="low.toml").run())
                        for draw in range(len(OFFSETS_MS))
                    ]
    for variant in VARIANTS:
        for seed in SEEDS:
            result = Scenario.from_toml(marked(variant, seed), file="marked.toml").run()
            for what, value in answers(result):
                kept.setdefault((variant, what), []).append(value)
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (case, what), values in kept.items():
            summary = summary_of_all(values)
            assert summary.mean is not None and summary.interval is not None
            writer.writerow([case, what, *(f"{value:.4g}" for value in (summary.mean, *summary.interval))])


def numbers() -> Numbers:
    """The numbers that are kept: mean and interval."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return {
            (row["case"], row["what"]): (float(row["mean"]), float(row["low"]), float(row["high"]))
            for row in csv.DictReader(file)
        }


def _kernel_flows(cc: str, step: str, rate_mbps: float, rtt_ms: float) -> list[dict[str, dict[str, str]]]:
    """The rows of both flows of each of the kernel's runs."""
    runs: dict[str, dict[str, dict[str, str]]] = {}
    for row in table("linux/7.3/low_rates.csv"):
        if row["run"].startswith(f"{cc}_{step}_{rate_mbps:g}mbit_{rtt_ms:g}ms_"):
            runs.setdefault(row["run"], {})[row["flow"]] = row
    return list(runs.values())


def _percent(first: float, second: float) -> float:
    return 100.0 * first / (first + second)


def kernel_share(cc: str, step: str, rate_mbps: float, rtt_ms: float) -> list[float]:
    """The scalable flow's part of the goodput in each of the kernel's runs, in percent."""
    return [
        _percent(*(float(flows[number]["goodput_steady_mbps"]) for number in ("1", "2")))
        for flows in _kernel_flows(cc, step, rate_mbps, rtt_ms)
    ]


def kernel_parts(cc: str, step: str, rate_mbps: float, rtt_ms: float) -> list[float]:
    """The same of each third of the kernel's runs."""
    return [
        _percent(float(first), float(second))
        for flows in _kernel_flows(cc, step, rate_mbps, rtt_ms)
        for first, second in zip(*(flows[number]["goodput_parts_mbps"].split() for number in ("1", "2")), strict=True)
    ]


def kernel_answers() -> dict[int, tuple[float, float | None]]:
    """The kernel's rate over the law and its time from answer to answer, in ms, where it was traced, by round trip."""
    out = {}
    for row in table("linux/7.3/hold_off.csv"):
        rtt = float(row["rtt_ms"])
        law = over_law(float(row["goodput_steady_mbps"]), float(row["marked_share"]), rtt)
        period = float(row["answer_period_ms"]) if row["answer_period_ms"] else None
        out[round(rtt)] = (law, period)
    return dict(sorted(out.items()))


def interval(value: tuple[float, float, float], digits: int = 0) -> str:
    """A mean with its interval."""
    mean, low, high = (f"{number:.{digits}f}" for number in value)
    return f"{mean} ({low} to {high})"


def draws(values: Sequence[float], digits: int = 0) -> str:
    """What the kernel's runs gave: one value, or the smallest and largest; nothing without a run."""
    low, high = (f"{bound(values):.{digits}f}" for bound in (min, max)) if values else ("", "")
    return low if low == high else f"{low} to {high}"


def low_rate_table(own: Numbers) -> str:
    """The scalable flow's part of the goodput by rate: both flows, both steps, here and in the kernel; 20 ms."""
    columns = [(cc, step) for cc in SCALABLE for step in STEPS]
    head = "".join(f" {SCALABLE[cc][0]}, {TITLES[step]} | Linux |" for cc, step in columns)
    lines = ["| Mbit/s |" + head, "|---|" + "---|---|" * len(columns)]
    for rate in RATES_MBPS:
        cells = (
            f" {interval(own[f'{cc}, {step}', f'{rate} Mbit/s, 20 ms'])} | {draws(kernel_share(cc, step, rate, 20))} |"
            for cc, step in columns
        )
        lines.append(f"| {rate} |" + "".join(cells))
    return "\n".join(lines)


def low_rate_picture(own: Numbers) -> Figure:
    """The scalable flow's part against the rate, for each step: here with intervals, in the kernel with its range."""
    panels = []
    for step, title in TITLES.items():
        spec = PanelSpec(
            f"{title}, 20 ms",
            RATES_MBPS,
            "Mbit/s",
            "Part of the goodput (%)",
            {name: "" for cc, _ in SCALABLE.values() for name in (cc, f"{cc}, Linux 7.3")},
            limits=(50.0,),
            log=True,
            ylim=(0.0, 80.0),
        )
        lines: dict[str, list[Point]] = {}
        for cc, (name, _) in SCALABLE.items():
            own_points = ((rate, own[f"{cc}, {step}", f"{rate} Mbit/s, 20 ms"]) for rate in RATES_MBPS)
            lines[name] = [Point(float(rate), *value) for rate, value in own_points]
            theirs = ((rate, kernel_share(cc, step, rate, 20)) for rate in RATES_MBPS)
            lines[f"{name}, Linux 7.3"] = [
                Point(float(rate), sum(values) / len(values), min(values), max(values))
                for rate, values in theirs
                if values
            ]
        panels.append((spec, lines))
    return _drawn("A scalable flow next to CUBIC over DualPI2", panels)


def _drawn(title: str, panels: Sequence[tuple[PanelSpec, Mapping[str, Sequence[Point]]]]) -> Figure:
    shown = figure(title, panels)
    # Limits of axes are known once they are drawn.
    shown.draw_without_rendering()
    return shown


def hold_off_table(own: Numbers) -> str:
    """Rate over the law and time between answers by round trip."""
    lines = [
        "| round trip | rate over the law: module, here | Linux 7.3 | draft, here"
        " | ms between answers: module, here | Linux 7.3 |",
        "|---|---|---|---|---|---|",
    ]
    theirs = kernel_answers()
    for rtt in ROUND_TRIPS_MS:
        law, period = f"{rtt} ms, law", f"{rtt} ms, period"
        kernel = theirs.get(rtt)
        lines.append(
            f"| {rtt} ms | {interval(own['linux', law], 2)} | {'' if kernel is None else f'{kernel[0]:.2f}'} |"
            f" {interval(own['draft', law], 2)} | {interval(own['linux', period], 1)} |"
            f" {'' if kernel is None or kernel[1] is None else f'{kernel[1]:.1f}'} |"
        )
    return "\n".join(lines)


def hold_off_picture(own: Numbers) -> Figure:
    """The rate over the law against the round trip."""
    spec = PanelSpec(
        "Each seventh packet marked",
        TICKS_MS,
        "Round trip (ms)",
        "Rate over the law",
        dict.fromkeys((*(f"{name}, here" for name in VARIANTS.values()), "module, Linux 7.3"), ""),
        log=True,
    )
    lines = {
        f"{name}, here": [Point(float(rtt), *own[variant, f"{rtt} ms, law"]) for rtt in ROUND_TRIPS_MS]
        for variant, name in VARIANTS.items()
    }
    lines["module, Linux 7.3"] = [Point(float(rtt), law, law, law) for rtt, (law, _) in kernel_answers().items()]
    return _drawn("Prague's rate below and above 25 ms", [(spec, lines)])


def page(own: Numbers) -> str:
    """The page on Prague's answers."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(table=hold_off_table(own))


#: The pictures, by file.
PICTURES: Mapping[Path, Callable[[Numbers], Figure]] = {LOW_PICTURE: low_rate_picture, PICTURE: hold_off_picture}


def main() -> None:
    """Run, keep the numbers, write the page and the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="from the numbers that are kept")
    if not parser.parse_args().page:
        measure()
    own = numbers()
    PAGE.write_text(page(own), encoding="utf-8")
    for file, picture in PICTURES.items():
        drawn.write(picture(own), file)


if __name__ == "__main__":
    main()
