"""What the command says and how it ends: text or JSON, progress, errors, exit codes."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from priste.errors import PristeError
from priste.progress import Progress as Report

BAD_INPUT, NOT_KEPT, NOT_WRITTEN = 3, 4, 5
"""Exit codes beside 0 (done), 1 (a defect of ours) and 2 (the command was not understood)."""

_ASIDE = r"\.[0-9a-f]{8}\.(partial|before)$"  # files are written under such names first

PATIENCE = 2.0
"""Seconds after which work shows its progress."""

_errors = Console(stderr=True, highlight=False, soft_wrap=True)
_text = Console(highlight=False, soft_wrap=True)


def say(text: object = "") -> None:
    """Print text for a person; what could steer the terminal is left out."""
    _text.print(_tame(str(text)), markup=False)


def note(text: str) -> None:
    """Print a remark that is no result: to standard error."""
    _errors.print(_tame(text), markup=False)


def _tame(text: str) -> str:
    return "".join(c for c in text if c == "\n" or c.isprintable())


def as_json(value: dict[str, Any]) -> None:
    """Print one JSON object for a machine."""
    print(json.dumps(value, ensure_ascii=False, indent=1))


@contextmanager
def working(label: str) -> Iterator[Report]:
    """Give a progress to report to; after two seconds a bar shows it, if anybody looks.

    Until the first report the bar only says that there is work.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=_errors,
        transient=True,
    )
    task = bar.add_task(label, total=None)
    later = threading.Timer(PATIENCE, bar.start)
    later.daemon = True
    if _errors.is_terminal:
        later.start()
    try:
        yield lambda share: bar.update(task, total=1.0, completed=share)
    finally:
        later.cancel()
        if bar.live.is_started:
            bar.stop()


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what went wrong on purpose into one clear line and an exit code."""
    try:
        yield
    except PristeError as error:
        note(f"priste: {error}")
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f" {re.sub(_ASIDE, '', str(error.filename))}" if error.filename else ""
        why = error.strerror or str(error) or type(error).__name__
        note(f"priste: cannot write or read{where}: {why}; nothing was left half done")
        sys.exit(NOT_WRITTEN)
