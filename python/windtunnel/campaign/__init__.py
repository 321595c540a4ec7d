"""Campaigns: one scenario, many variants of it, many runs of each, and what they say together.

| file | idea |
|---|---|
| ``model.py`` | what a campaign is: scenario, axes, runs of a cell, metrics, baselines, statistics |
| ``axes.py`` | an axis and its values: settings of the scenario |
| ``ranges.py`` | ranges of numbers and quantities, linear and logarithmic |
| ``file.py``, ``places.py`` | a campaign file to a campaign, and the lines that its messages name |
| ``plan.py`` | cells, and the runs of a cell |
| ``metrics/`` | what is measured of a run |
| ``simulate.py``, ``recording.py`` | a run to what is kept of it; what it need not record |
| ``conduct.py`` | carries a campaign out: takes runs from the plan, keeps what they gave, adds runs |
| ``forecast.py`` | how many runs, how long, how much disk |
| ``scales.py`` | the kinds of quantities: plain, ratio, share; their means and intervals |
| ``statistics.py``, ``summarise.py`` | values to intervals, comparisons and effects; those of all cells |
| ``page/`` | the report of a data set, and the pages of its runs |
| ``columns.py``, ``dataset.py``, ``results.py`` | the data set: its columns, writing it, reading it back |
| ``sweep.py`` | a campaign from its start to its data set |
"""
