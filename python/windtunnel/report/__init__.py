"""Pages for readers: the interactive report of one run, and the side-by-side page of a paper suite.

Both are single files that open offline: style, script and data are inside, and a content security policy
forbids everything else. The script is built from ``web/`` and committed, so that no user needs Node.
"""

from windtunnel.report.run_page import RunLike, write_report
from windtunnel.report.suite_page import FigureRow, SuiteFigure, write_suite_page

__all__ = ["FigureRow", "RunLike", "SuiteFigure", "write_report", "write_suite_page"]
