"""Pages for readers: the interactive report of one run, and what all pages share.

Pages are single files that open offline: style, script and data are inside, and a content security policy
forbids everything else. The script is built from ``web/`` and committed, so that no user needs Node.
"""

from windtunnel.report.run_page import RunLike, write_report

__all__ = ["RunLike", "write_report"]
