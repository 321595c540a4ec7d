"""Campaigns: one scenario, many variants of it, many runs of each, and what they say together.

Axes, measures, runs and statistics are those of every experiment (``windtunnel/experiment``).

| file | idea |
|---|---|
| ``model.py`` | what a campaign is: scenario, axes, runs of a cell, metrics, baselines, statistics |
| ``file.py``, ``places.py`` | a campaign file to a campaign, and the lines that its messages name |
| ``plan.py`` | cells, and the runs of a cell |
| ``twin.py`` | each cell on the real Linux, too |
| ``batch.py``, ``rows.py`` | what a worker does: several runs to their rows, as columns |
| ``ledger.py`` | the journal of rows, and which row is whose |
| ``conduct.py`` | carries a campaign out: takes batches of runs from the plan, collects their rows, adds runs |
| ``forecast.py`` | how many runs, how long, how much disk |
| ``summarise.py``, ``claims.py`` | what the runs of all cells say; whether the claims hold |
| ``page/`` | the report of a data set, and the pages of its runs |
| ``columns.py``, ``dataset.py``, ``results.py`` | the data set: its columns, writing it, reading it back |
| ``sweep.py`` | a campaign from its start to its data set |
"""
