"""How often each setup is run, so that the suite fits into its time.

The whole suite has three quarters of an hour on two cores. A perturbed run costs as much as the run itself, and for a
figure also the time to read its tables. Cheap setups therefore get many. Those of 1 and 10 Gbit/s get six, with which
the range misses one more draw in a quarter of the cases, and the two figures of 100 Gbit/s get two.
"""

from __future__ import annotations

from windtunnel.papers.setups import Setup

#: Perturbed runs by size of the run in packets: (up to, for a table's cell, for a figure).
BUDGET = ((3e6, 16, 16), (3e7, 6, 8), (3e8, 6, 6), (float("inf"), 2, 2))
#: Perturbed runs of every setup in the quick suite.
QUICK = 12


def perturbed_runs(setup: Setup, *, figure: bool, quick: bool) -> int:
    """The number of perturbed runs of a setup."""
    for limit, for_table, for_figure in BUDGET:
        if setup.packets <= limit:
            count = for_figure if figure else for_table
            return min(count, QUICK) if quick else count
    raise AssertionError("the last limit is infinite")
