"""Figures 1, 2 and 5: one sawtooth cycle in the fluid model, its picture and its numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windtunnel.experiment.verdict import Verdict
from windtunnel.models.sawteeth import C_RENO, RENO, Aimd, Cycle, Path, desynchronized, synchronized
from windtunnel.papers.aimd.sawtooth_figure import draw
from windtunnel.papers.data_folder import AIMD
from windtunnel.papers.rows import Row, compare
from windtunnel.papers.suite import Group

#: Packets of 1500 bytes.
PACKET_BITS = 12_000

#: The rounded increase of the text and of Linux. Figure 5's second ratio is 41.52 % with it, and 41.496 % with 9/17.
ROUNDED = Aimd(0.53, C_RENO.b)


def path(figure: str) -> Path:
    """The path of a figure; ``geometry.toml`` says which of its values the report gives, and which are chosen."""
    data = AIMD.toml("geometry.toml")
    chosen = data["path"]
    return Path(chosen["rate_mbps"] * 1e6 / PACKET_BITS, chosen["base_rtt_s"], data["figure"][figure]["queue_s"])


def cycle(figure: str) -> Cycle:
    """The cycle that a figure shows: flow 0 is Reno, flow 1 C-Reno."""
    if figure == "5":
        return desynchronized(RENO, ROUNDED, path(figure))
    return synchronized([RENO, C_RENO], path(figure))


def split(drawn: Cycle) -> int:
    """The last sample before the reduction in the middle of a desynchronized cycle."""
    return int(np.flatnonzero(np.diff(drawn.rounds) == 0)[0])


def _share(drawn: Cycle, sample: int) -> float:
    """C-Reno's share of the packet rate in percent."""
    return float(100.0 * drawn.rates[sample, 1] / drawn.rates[sample].sum())


def _ratio(drawn: Cycle) -> float:
    reno, c_reno = drawn.mean_rates()
    return float(c_reno / reno)


def _tips_ms(drawn: Cycle) -> float:
    """Difference between the RTTs of the two tips."""
    return float(1e3 * abs(drawn.rtt_s[split(drawn)] - drawn.rtt_s[-1]))


def _later() -> Cycle:
    """Figure 5 with C-Reno's reduction one round trip after the tips align."""
    return desynchronized(RENO, ROUNDED, path("5"), shift=1.0)


#: The measurements that rows of ``geometry.toml`` name.
QUANTITIES: dict[str, Callable[[str], float]] = {
    "rate_ratio": lambda f: _ratio(cycle(f)),
    "empty_percent": lambda f: 100.0 * cycle(f).empty_share(path(f)),
    "utilization_percent": lambda f: float(100.0 * cycle(f).mean_rates().sum() / path(f).rate_pps),
    "c_reno_first_pps": lambda f: float(cycle(f).rates[0, 1]),
    "c_reno_last_pps": lambda f: float(cycle(f).rates[-1, 1]),
    "rounds": lambda f: float(cycle(f).rounds[-1]),
    "first_rtt_ms": lambda f: float(1e3 * cycle(f).rtt_s[0]),
    "last_rtt_ms": lambda f: float(1e3 * cycle(f).rtt_s[-1]),
    "middle_share": lambda f: _share(cycle(f), split(cycle(f))),
    "later_share": lambda _: _share(_later(), split(_later())),
    "end_share": lambda f: _share(cycle(f), -1),
    "middle_ms": lambda f: float(1e3 * cycle(f).time_s[split(cycle(f))]),
    "end_ms": lambda f: float(1e3 * cycle(f).time_s[-1]),
    "tips_ms": lambda f: _tips_ms(cycle(f)),
}


def _draw(figure: str, caption: str) -> bytes:
    return draw(cycle(figure), path(figure), f"Figure {figure}: {caption}")


def geometry_groups() -> list[Group]:
    """A group for each of the three figures."""
    data = AIMD.toml("geometry.toml")
    captions = AIMD.toml("captions.toml")["figure"]
    return [_group(figure, captions[figure], entry["row"]) for figure, entry in data["figure"].items()]


def _group(figure: str, caption: str, lines: list[dict[str, object]]) -> Group:
    id = f"fig{figure}"

    def rows(_: object) -> list[Row]:
        out = []
        for line in lines:
            value = QUANTITIES[str(line["quantity"])](figure)
            row, what, unit = f"{id}/{line['quantity']}", str(line["what"]), str(line["unit"])
            note = str(line.get("note", ""))
            if "published" in line:
                published, tolerance = float(str(line["published"])), float(str(line["tolerance"]))
                out.append(compare(row, id, what, published, tolerance, [value], unit, note))
            elif "above" in line:
                bound = float(str(line["above"]))
                verdict: Verdict = "agrees" if value > bound else "differs"
                out.append(Row(row, id, what, f"> {bound:g}", value, None, unit, verdict, note))
            elif "below" in line:
                bound = QUANTITIES[str(line["below"])](figure)
                verdict = "agrees" if value < bound else "differs"
                out.append(Row(row, id, what, f"< {bound:.4g}", value, None, unit, verdict, note))
            else:
                out.append(Row(row, id, what, None, value, None, unit, "info", note))
        return out

    return Group(id, f"Figure {figure}", caption, [], rows, lambda _: _draw(figure, caption))
