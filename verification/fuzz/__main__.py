"""Spoil many files for one reader, or one again: `python -m verification.fuzz csv 1000`."""

import sys
import tempfile
from pathlib import Path

from verification.fuzz import finding
from verification.fuzz.readers import READERS
from verification.fuzz.watch import watched


def main(name: str, wanted: str) -> int:
    """Run a reader on the inputs 0, 1, 2, ... or on one of them."""
    seeds = range(int(wanted)) if wanted.isdigit() else None
    if seeds is None:
        first, _, last = wanted.removeprefix("@").partition("-")
        seeds = range(int(first), int(last or first) + 1)
    if len(seeds) == 1:
        kept = Path(tempfile.mkdtemp()) / f"{seeds[0]}{READERS[name].suffix}"
        kept.write_bytes(READERS[name].spoilt(seeds[0]))
        print(f"the input is in {kept}")
    found = finding(name, watched(name, seeds))
    print(f"{found.what}: {found.numbers}", flush=True)
    return int(not found.passed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
