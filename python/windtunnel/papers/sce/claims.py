"""The mail's statements as checks with a number, with each CE response that its sender may have had.

What each measures and expects is in ``claims.toml``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from windtunnel.papers import claims
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.sce.plan import SENDERS, Sender, add_setup, cake, ramp_key, twins
from windtunnel.papers.setups import Setup
from windtunnel.papers.suite import Group


def claims_groups(setups: dict[str, Setup], *, quick: bool) -> list[Group]:
    """One group for each claim and sender; ``setups`` must contain the graphs' setups."""
    data = SCE.toml("claims.toml")

    def make(name: str) -> Setup:
        run = data["run"][name]
        queue = cake(run["queue"], ramp_key(run["ramp"]) if "ramp" in run else None)
        return add_setup(setups, name, queue, run["flows"], twins=twins(quick=quick))

    for name in data["run"]:
        make(name)
    listed = [_with_sender(claim, sender) for sender in SENDERS for claim in data["claim"]]
    return claims.claims_groups(listed, setups, make, quick=quick)


def _with_sender(claim: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
    """The claim about the runs of a sender."""
    names = json.dumps(claim["quantities"]).replace("{sender}", sender.suffix)
    first = sender is SENDERS[0]
    return {
        **claim,
        "id": f"{claim['id']}{sender.suffix}",
        "text": claim["text"] if first else f"{claim['text']} (Reno-SCE halves at CE)",
        "quantities": json.loads(names),
    }
