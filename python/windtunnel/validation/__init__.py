"""``windtunnel validate``: the TCP of this project against the RFCs' rules, published laws, and the real Linux stack.

Each comparison is one or several scenarios, and lines of expected and measured values. The page ``docs/validation.md``
shows the lines that differ, and counts the others; anyone can write it again, and all lines as a table.
"""

from __future__ import annotations

from windtunnel.validation.suite import SECTIONS, Section, run_sections
from windtunnel.validation.table import write_lines, write_page

__all__ = ["SECTIONS", "Section", "run_sections", "write_lines", "write_page"]
