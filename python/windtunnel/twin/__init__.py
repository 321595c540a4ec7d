"""A scenario on the real Linux in virtual time: its twin.

- ``plan.py``: a resolved scenario as what the guest does; what Linux cannot do is refused by name.
- ``script.py``: the plan as the script that the guest runs.
- ``readings.py``: what the guest wrote, as a result like any other.
- ``sides.py``: several draws on the kernel and in the simulator.
- ``measures.py``: what both are compared by, and the verdict on each measure.
- ``folder.py``: the folder of a comparison.
- ``truth/``: a list of scenarios, carried out and judged.
"""

from __future__ import annotations

from windtunnel.engine.work import GoOn, always
from windtunnel.kernel.guest import boot
from windtunnel.kernel.kept import Kernel
from windtunnel.result import RunResult
from windtunnel.scenario import Scenario
from windtunnel.twin.plan import Plan, plan
from windtunnel.twin.readings import result_of
from windtunnel.twin.script import script

#: Seconds of a host after which a guest is ended: a day, which no run that makes sense takes.
_LIMIT = 86400.0


def run_linux(scenario: Scenario, kernel: Kernel, go_on: GoOn = always) -> RunResult:
    """Run a scenario on a kernel. Raises InputError for what Linux cannot do, RunFailedError, and KeyboardInterrupt
    after ``go_on`` has returned False.
    """
    resolved = scenario.resolve()
    seed = int(resolved["seed"])
    made = plan(resolved, kernel)
    outcome = boot(kernel, script(made), seed=seed, limit=_LIMIT, go_on=go_on)
    return result_of(resolved, scenario.check(), seed, made, kernel, outcome)


__all__ = ["Plan", "plan", "run_linux", "script"]
