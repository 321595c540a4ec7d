"""``windtunnel validate``: the TCP of this project against the RFCs' rules, published laws, and the real Linux stack.

Each check is one or several scenarios and rows of expected and measured values. The page ``docs/validation.md`` is
written from them; anyone can write it again.
"""

from __future__ import annotations

from windtunnel.validation.suite import SECTIONS, Section, run_sections
from windtunnel.validation.table import write_page

__all__ = ["SECTIONS", "Section", "run_sections", "write_page"]
