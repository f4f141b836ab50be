"""A report to look at: figures, and one self-contained HTML page.

Needs the extra: ``pip install 'priste[cli]'``.
"""

from priste.extras import needs_extra

with needs_extra("priste.report", "cli"):
    from priste.report.findings import Findings
    from priste.report.page import write_report
    from priste.report.summary import write_summary

__all__ = ["Findings", "write_report", "write_summary"]
