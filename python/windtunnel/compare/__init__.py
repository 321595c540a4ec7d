"""Comparisons: runs or campaigns, each with the first one, the baseline.

| file | idea |
|---|---|
| ``sides.py`` | what is compared: a result folder, a data set, a scenario that is run |
| ``differences.py`` | numbers side by side, with intervals where there are several runs |
| ``columns.py`` | the columns of their table |
| ``first.py`` | the first packet that leaves a queue differently in two runs |
| ``gate.py`` | conditions under which a comparison fails |
| ``overlay.py`` | one page with the panels of all runs |
| ``twin.py`` | the folder of a scenario on the real Linux and in the simulator |
| ``joined.py``, ``cells_page.py`` | campaigns as one, in which the campaign is an axis; the page of it |
| ``markdown.py`` | the differences as GitHub shows them |
"""
