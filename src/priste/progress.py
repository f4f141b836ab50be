"""A line that says how far a long computation has come."""

import sys
import time
from collections.abc import Callable

Progress = Callable[[float], None]
"""Called with the share done, from 0 to 1."""

PATIENCE = 2.0
"""Seconds after which the line shows."""


def progress_line(label: str) -> Progress:
    """Return a progress that writes to a terminal, if there is one and it takes over 2 seconds.

    Where nobody looks (a file, a notebook, a service) it writes nothing.
    """
    screen = sys.stderr
    if screen is None or not screen.isatty():  # a program without a console has none
        return lambda _: None
    started = shown = time.monotonic()

    def show(share: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - started < PATIENCE or (now - shown < 0.2 and share < 1):
            return
        shown = now
        screen.write(f"\r{label}: {share:6.1%}" + ("\n" if share >= 1 else ""))
        screen.flush()

    return show
