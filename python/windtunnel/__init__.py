"""windtunnel: a laboratory for congestion control.

Congestion controllers, queue disciplines and ECN signalling, simulated packet by packet and bit-reproducibly::

    import windtunnel as wt

    scenario = wt.Scenario(
        duration="60 s",
        bottleneck=wt.Bottleneck(rate="100 Mbps", queue={"kind": "deltim", "burst": "5 ms", "tau": 64}),
        flows=[
            wt.Flow(name="reno", cc="reno", rtt="20 ms"),
            wt.Flow(name="mds", cc={"kind": "reno", "response": "mds", "tau": 64}, rtt="80 ms"),
        ],
    )
    result = scenario.run()
    result.summary["flows"][0]["throughput_mbps"]
    result.table("queues")  # a pyarrow.Table; result.tables["queues"] are its columns as NumPy arrays
    result.save("results/reno-and-mds")  # the same folder that ``windtunnel run`` writes

A controller can be a class of Python; see :func:`register_controller`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windtunnel._core import (
        AckSample,
        CongestionEvent,
        Control,
        ControllerError,
        Departure,
        FlowInit,
        LostSegment,
        MemoryLimitError,
        Needs,
        PathView,
        RateSample,
        ScenarioError,
        SentSegment,
        __version__,
    )
    from windtunnel.campaign.model import Campaign
    from windtunnel.errors import InputError
    from windtunnel.experiment.axes import grid, zipped
    from windtunnel.folder import load
    from windtunnel.plugins import Controller, load_plugin, quantity, register_controller
    from windtunnel.result import RunResult
    from windtunnel.scenario import Bottleneck, Flow, Record, Scenario, Window
    from windtunnel.table import Table

__all__ = [
    "AckSample",
    "Bottleneck",
    "Campaign",
    "CongestionEvent",
    "Control",
    "Controller",
    "ControllerError",
    "Departure",
    "Flow",
    "FlowInit",
    "InputError",
    "LostSegment",
    "MemoryLimitError",
    "Needs",
    "PathView",
    "RateSample",
    "Record",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "SentSegment",
    "Table",
    "Window",
    "__version__",
    "grid",
    "load",
    "load_plugin",
    "quantity",
    "register_controller",
    "zipped",
]

# Names come from their modules when they are first used: `windtunnel --help` need not wait for NumPy.
_HOME = {
    "AckSample": "windtunnel._core",
    "Bottleneck": "windtunnel.scenario",
    "Campaign": "windtunnel.campaign.model",
    "CongestionEvent": "windtunnel._core",
    "Control": "windtunnel._core",
    "Controller": "windtunnel.plugins",
    "Departure": "windtunnel._core",
    "Flow": "windtunnel.scenario",
    "FlowInit": "windtunnel._core",
    "InputError": "windtunnel.errors",
    "LostSegment": "windtunnel._core",
    "Needs": "windtunnel._core",
    "PathView": "windtunnel._core",
    "RateSample": "windtunnel._core",
    "Record": "windtunnel.scenario",
    "RunResult": "windtunnel.result",
    "Scenario": "windtunnel.scenario",
    "ControllerError": "windtunnel._core",
    "MemoryLimitError": "windtunnel._core",
    "ScenarioError": "windtunnel._core",
    "SentSegment": "windtunnel._core",
    "Table": "windtunnel.table",
    "Window": "windtunnel.scenario",
    "__version__": "windtunnel._core",
    "grid": "windtunnel.experiment.axes",
    "load": "windtunnel.folder",
    "load_plugin": "windtunnel.plugins",
    "quantity": "windtunnel.plugins",
    "register_controller": "windtunnel.plugins",
    "zipped": "windtunnel.experiment.axes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
