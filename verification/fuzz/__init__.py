"""Whatever a file holds, its reader returns or refuses it in words, in 2 s and 500 MB.

Valid files of each kind are spoilt, each from a number of its own: bits turned over, ends cut off,
values replaced by hostile ones, headers that lie under checksums that are right, structures of any
depth. Each reader runs in a process of its own, so that a crash is a finding and not the end.

    python -m verification.fuzz csv 100000     # so many inputs of one reader
    python -m verification.fuzz csv @4711      # one input again, kept in a file to look at
"""

from collections.abc import Iterator

from verification.fuzz.readers import READERS
from verification.fuzz.watch import Tally, watched
from verification.report import Finding, times

MISTAKE = "one input in twenty crashes its reader"
INPUTS = 100_000


def findings(effort: float, *, mistaken: bool) -> Iterator[Finding]:
    """Spoil files of every kind. The tests' small effort takes a few dozen of each."""
    for name in READERS:
        yield finding(name, watched(name, range(times(INPUTS, effort**2)), mistaken=mistaken))


def finding(name: str, tally: Tally) -> Finding:
    """Return what came of the inputs of a reader."""
    numbers = (
        f"{tally.inputs:,} inputs, {tally.inputs - tally.accepted:,} of them refused, the slowest "
        f"in {tally.slowest:.2f} s, at most {tally.largest:.0f} MB"
    )
    failures = [f"@{seed}: {what}" for seed, what in tally.failures.items()]
    return Finding(name, "; ".join([numbers, *failures[:20]]), not failures)
