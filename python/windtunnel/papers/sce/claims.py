"""The mail's statements as checks with a number, with each CE response that its sender may have had.

What each measures and expects is in ``claims.toml``.
"""

from __future__ import annotations

from windtunnel.papers import claims
from windtunnel.papers.data_folder import SCE
from windtunnel.papers.sce.plan import SENDERS, add_setup, cake, ramp_key, twins
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
    remarks = ("", "Reno-SCE halves at CE")
    listed = [
        claims.about(claim, "sender", sender.suffix, sender.suffix, remark)
        for sender, remark in zip(SENDERS, remarks, strict=True)
        for claim in data["claim"]
    ]
    return claims.claims_groups(listed, setups, make, quick=quick)
