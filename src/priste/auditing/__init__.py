"""What an adversary who knows the algorithm learns: the audit, and what it found."""

from priste.auditing.auditor import audit
from priste.auditing.result import TOLERANCE, Audit, Finding

__all__ = ["TOLERANCE", "Audit", "Finding", "audit"]
