"""``report.html`` of a data set: its cells as heat maps, lines with bands, distributions and a table, in one file that
opens without a network.

| file | idea |
|---|---|
| ``grid.py`` | a cell's number to its place on each axis; bins of values where cells are very many |
| ``cells.py`` | the rows of ``cells.parquet`` as columns of the page; bins of them, which keep sums and extremes |
| ``distributions.py`` | distributions over runs and over cells, as panels |
| ``runs.py`` | the page of a single run, made again from the campaign |
| ``write.py`` | the page |

The page is made from the data set alone. The script (``web/src/sweep-page.ts``) draws it.
"""

from windtunnel.campaign.page.runs import Address, write_run_page
from windtunnel.campaign.page.write import write_page

__all__ = ["Address", "write_page", "write_run_page"]
