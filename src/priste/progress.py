"""A line that says how far a long computation has come."""

import sys
import time
from collections.abc import Callable

Progress = Callable[[float], None]
"""Called with the share done, from 0 to 1."""


def progress_line(label: str) -> Progress:
    """Return a progress that writes to a terminal, if there is one and it takes over 2 seconds."""
    started = shown = time.monotonic()

    def show(share: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if not sys.stderr.isatty() or now - started < 2 or (now - shown < 0.2 and share < 1):
            return
        shown = now
        ending = "\n" if share >= 1 else ""
        print(f"\r{label}: {share:6.1%}", end=ending, file=sys.stderr, flush=True)

    return show
