"""What a check found, and how a check is run."""

import importlib
import os
from collections.abc import Iterator
from typing import NamedTuple, Protocol


class Finding(NamedTuple):
    """One comparison: what with what, its numbers, and whether they agree.

    `passed` is None where something needed for the comparison is not installed.
    """

    what: str
    numbers: str
    passed: bool | None


class Check(Protocol):
    """A module of this package that checks one statement."""

    MISTAKE: str

    def findings(self, effort: float, *, mistaken: bool) -> Iterator[Finding]:
        """Yield what was compared."""


class Report(NamedTuple):
    """A check that has been run: its statement, its findings and its processor time."""

    statement: str
    findings: list[Finding]
    seconds: float


def run(name: str, effort: float = 1.0) -> Report:
    """Run a check as it is and with its mistake, which it must notice."""
    start = processor_time()
    module = importlib.import_module(f"verification.{name}")
    check: Check = module
    found = list(check.findings(effort, mistaken=False))
    failed = (f for f in check.findings(effort, mistaken=True) if f.passed is False)
    first = next(failed, None)
    numbers = f"noticed: {first.what}, {first.numbers}" if first else "not noticed"
    found.append(Finding(f"planted mistake: {check.MISTAKE}", numbers, first is not None))
    statement = (module.__doc__ or "").partition("\n")[0]
    return Report(statement, found, processor_time() - start)


def processor_time() -> float:
    """Return the seconds that this process and its ended children have computed."""
    return sum(os.times()[:4])


def times(count: int, effort: float) -> int:
    """Return a number of cases for an effort, at least one."""
    return max(round(count * effort), 1)
