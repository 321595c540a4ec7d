"""The list of cells (``cells.toml``): which scenarios run on the kernel and in the simulator."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from windtunnel.kernel.kept import Kernel
from windtunnel.scenario import Scenario

Document = Mapping[str, Any]

#: The controller that CUBIC meets where all others meet CUBIC.
_OTHER = "reno"


@dataclass(frozen=True)
class Cell:
    """A scenario of the list. ``lacks`` is what the kernel has not of it, in words; else empty."""

    controller: str
    queue: str
    path: str
    flows: str
    scenario: Scenario
    lacks: str

    @property
    def name(self) -> str:
        """Controller, queue, path and flows."""
        return f"{self.controller}/{self.queue}/{self.path}/{self.flows}"


@dataclass(frozen=True)
class Quick:
    """The short list: its cells, the draws of each, and the largest share by which goodputs may differ."""

    cells: tuple[str, ...]
    draws: int
    bound: float


@cache
def _document() -> Document:
    return tomllib.loads(files(__package__).joinpath("cells.toml").read_text(encoding="utf-8"))


def draws() -> int:
    """The draws of each side."""
    return int(_document()["draws"])


def quick() -> Quick:
    """The short list."""
    table = _document()["quick"]
    return Quick(tuple(table["cells"]), int(table["draws"]), float(table["bound"]))


def cells(kernel: Kernel) -> list[Cell]:
    """All cells, those that a kernel lacks too, in the order of controllers, queues, paths and flows."""
    names = sorted({*kernel.has["controller"], *kernel.lacks.get("controller", ())})
    return [cell for controller in names for cell in _of_controller(controller, kernel)]


def chosen(every: list[Cell], pattern: str) -> list[Cell]:
    """Those whose name has ``pattern`` in it, in which * stands for anything."""
    return [cell for cell in every if fnmatchcase(cell.name, f"*{pattern}*")]


def _of_controller(controller: str, kernel: Kernel) -> Iterator[Cell]:
    listed = _document()
    for queue in listed["queue"]:
        for path in listed["path"]:
            for flows in listed["flows"]:
                yield _cell(controller, queue["name"], path, flows, kernel)
    for loss in listed["loss"]:
        if loss["controller"] != controller:
            continue
        [path] = [path for path in listed["path"] if path["name"] == loss["path"]]
        [flows] = [flows for flows in listed["flows"] if flows["name"] == loss["flows"]]
        for probability in loss["probabilities"]:
            yield _cell(controller, loss["queue"], path, flows, kernel, probability)


def _cell(controller: str, queue: str, path: Document, flows: Document, kernel: Kernel, loss: str = "") -> Cell:
    kinds = [controller if cc == "*" else cc for cc in flows["cc"]]
    if len(set(kinds)) < len({*flows["cc"]}):
        kinds[-1] = _OTHER
    discipline: dict[str, Any] = {"kind": queue}
    if queue == "fifo":
        discipline["limit"] = path["fifo"]
    if queue == "pie":
        # The kernel's own, next to which two full packets are spared (``twin/plan.py``).
        discipline |= {"ecn": path["ecn"], "mtu": "1514 B"}
    link = {"rate": path["rate"], "queue": discipline}
    if loss:
        link["impair"] = [{"kind": "loss", "probability": loss}]
    scenario = Scenario.from_table(
        {
            "duration": _document()["duration"],
            "endpoints": "linux",
            "record": {"interval": _document()["interval"]},
            "tcp": _document()["tcp"],
            "bottleneck": link,
            "flow": [
                {"name": f"{cc}-{number}", "cc": cc, "rtt": path["rtt"], "ecn": _ecn(cc, path)}
                for number, cc in enumerate(kinds, 1)
            ],
        }
    )
    missing = [f"{kind} {name}" for kind, name in (("qdisc", _qdisc(queue)), ("controller", controller))
               if name not in kernel.has[kind]]  # fmt: skip
    label = f"{flows['name']}, {loss.replace(' ', '')} lost" if loss else flows["name"]
    return Cell(controller, queue, path["name"], label, scenario, " and ".join(missing))


def _ecn(cc: str, path: Document) -> bool | str:
    if not path["ecn"]:
        return False
    return "dctcp" if cc == "dctcp" else True


def _qdisc(queue: str) -> str:
    return "bfifo" if queue == "fifo" else queue
