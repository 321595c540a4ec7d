"""All evidence about a connection, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windtunnel.explain.evidence.acks import acknowledgements
from windtunnel.explain.evidence.answers import CongestionAnswer
from windtunnel.explain.evidence.delay import delay
from windtunnel.explain.evidence.ecn import ecn
from windtunnel.explain.evidence.pacing import pacing
from windtunnel.explain.evidence.probes import rate_probes
from windtunnel.explain.evidence.quiet import quiet_rounds
from windtunnel.explain.evidence.reductions import reductions
from windtunnel.explain.evidence.start import ended, slow_start
from windtunnel.explain.evidence.targets import dips, target
from windtunnel.explain.limits import Codes
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import Flow


def evidence(
    flow: Flow, rounds: Rounds, codes: Codes | None, answers: Sequence[CongestionAnswer], controller: str | None
) -> dict[str, Any]:
    """By kind. ``controller``: the one whose published law is put next to the numbers; None for none."""
    end = ended(rounds)
    started = len(rounds) - 1 if end is None else end
    quiet = quiet_rounds(rounds, codes, answers, started)
    packets = flow.sends is not None and flow.acks is not None
    probes = rate_probes(rounds, quiet, answers, controller)
    paces = pacing(flow, rounds, codes, started)
    return {
        "law_of": controller,
        "start": slow_start(flow, rounds, codes, answers, (paces or {}).get("at_once_in_slow_start")),
        "reductions": reductions(rounds, answers, controller) if packets else None,
        "delay": delay(rounds, codes, quiet, probes["found"], controller),
        "pacing": paces,
        "probes": probes,
        "target": target(rounds, codes, started),
        "dips": dips(rounds, codes, answers, started, controller),
        "ecn": ecn(flow, rounds, answers),
        "acks": acknowledgements(flow),
    }
