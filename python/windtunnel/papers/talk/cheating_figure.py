"""The figure of cheating: the cheat's share by misbehaviour and by the sender that it deceives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import RC
from windtunnel.papers.talk.cheating import ATTACKS, Attack, Sender

DPI = 110
_MAP_RC = {**RC, "axes.grid": False, "axes.spines.top": True, "axes.spines.right": True}
#: Shares further than this from a half are on dark ground.
_DARK = 34


def draw_cheats(senders: Sequence[Sender], means: Mapping[tuple[Attack, Sender], float]) -> bytes:
    """Misbehaviours down, senders across; red is what the cheat gains."""
    from matplotlib.figure import Figure

    values = np.array([[means.get((attack, sender), np.nan) for sender in senders] for attack in ATTACKS])
    with mpl.rc_context(_MAP_RC):
        figure = Figure(figsize=(9, 4), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, cmap="RdBu_r", vmin=0, vmax=100, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if abs(value - 50) > _DARK else "black"
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(senders)), [sender.name for sender in senders], rotation=20, ha="right")
        axes.set_yticks(range(len(ATTACKS)), [attack.name for attack in ATTACKS])
        figure.colorbar(image, ax=axes, label="share of the cheat (%)")
        figure.suptitle("What a lie gains next to an honest flow: 50 is fair", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)
