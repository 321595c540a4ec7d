"""A scenario on the real Linux in virtual time: its twin.

- ``plan.py``: a resolved scenario as what the guest does; what Linux cannot do is refused by name.
- ``applications.py``: what flows write, and when.
- ``parameters.py``: parameters of controllers, as the kernel's modules have them.
- ``script.py``: the plan as the script that the guest runs.
- ``ours.py``: flows of the kernel in a network of ours, which ``inside.py`` is in the guest; ``merged.py``: its result.
- ``readings.py``: what the guest wrote, as a result like any other.
- ``traffic.py``: of these, messages and datagrams.
- ``sides.py``: several draws on the kernel and in the simulator.
- ``measures.py``: what both are compared by, and the verdict on each measure.
- ``truth/``: a list of scenarios, carried out and judged.
"""

from __future__ import annotations

from typing import IO

from windtunnel.engine.work import GoOn, always
from windtunnel.kernel.guest import boot
from windtunnel.kernel.kept import Kernel
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.twin import merged
from windtunnel.twin.ours import Ours, has_kernel_flows, network, ours, over_kernel
from windtunnel.twin.plan import NetworkRefusedError, Plan, plan
from windtunnel.twin.readings import result_of
from windtunnel.twin.script import CAPTURE, script

#: Seconds of a host after which a guest is ended: a day, which no run that makes sense takes.
_LIMIT = 86400.0


def run_linux(
    scenario: Scenario, kernel: Kernel, go_on: GoOn = always, *, capture: IO[bytes] | None = None
) -> RunResult:
    """Run a scenario on a kernel; the packets at both ends of each flow are written to ``capture``, as pcapng. Raises
    InputError for what Linux cannot do, RunFailedError, and KeyboardInterrupt after ``go_on`` has returned False.
    """
    resolved = scenario.resolve()
    seed = int(resolved["seed"])
    made = planned(scenario, kernel)
    hosts, between = (made.plan, network(made)) if isinstance(made, Ours) else (made, None)
    text = script(hosts, between, capture=capture is not None)
    outcome = boot(kernel, text, seed=seed, limit=_LIMIT, go_on=go_on)
    if capture is not None:
        capture.write(outcome.files[CAPTURE])
    if isinstance(made, Ours):
        return merged.result_of(made, kernel, outcome)
    return result_of(resolved, scenario.check(), seed, made, kernel, outcome)


def planned(scenario: Scenario, kernel: Kernel) -> Plan | Ours:
    """What the guest does: a network of Linux's if it has such a one and all flows are its own, and else ours. Raises
    InputError.
    """
    resolved = scenario.resolve()
    if has_kernel_flows(resolved):
        return ours(scenario, kernel)
    try:
        return plan(resolved, kernel)
    except NetworkRefusedError as error:
        return over_kernel(scenario, kernel, str(error))


__all__ = ["Ours", "Plan", "plan", "planned", "run_linux", "script"]
