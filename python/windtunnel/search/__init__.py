"""Searches on the engine of campaigns: the worst case for a property (`hunt`), the best parameters (`tune`).

| file | idea |
|---|---|
| ``model.py``, ``goal.py`` | what a hunt and a tuning are; the property that a hunt looks for |
| ``file.py`` | a file to a hunt or a tuning |
| ``dimensions.py``, ``space.py`` | what is varied, and the scenario at a point |
| ``topology.py`` | topologies and traffic that are drawn |
| ``sampler.py`` | Optuna's samplers, asked in batches |
| ``laboratory.py`` | a search as a generator that waits for its runs |
| ``explore.py``, ``hunt.py`` | candidates; checks with fresh seeds, finds, one change at a time |
| ``shrink.py``, ``written.py`` | a find to the smallest scenario; scenarios as plain data and as files |
| ``measure.py``, ``tune.py`` | settings on paths; the front, the chosen one, its proof on held-out paths |
| ``carry_out.py`` | a search from its start to its folder |
| ``hunted.py``, ``tuned.py``, ``tables.py``, ``pictures.py`` | the folders of both, and their reports |

Optuna is an extra (`hunt`) and is imported where a search starts.
"""
