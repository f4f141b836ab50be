"""What the command prints and how it ends: text or JSON, progress, errors, exit codes."""

import json
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from priste.cli.phrases import in_options
from priste.errors import PristeError
from priste.progress import Progress as Report
from priste.storage.atomic_files import SIGNALS

BAD_INPUT, NOT_KEPT, FILE_ERROR = 3, 4, 5
"""Exit codes beside 0 (success), 1 (internal error) and 2 (usage error)."""

SIGNALLED = 128
"""The exit code of a command that a signal ended, less the number of the signal."""

_PARTIAL = r"\.[0-9a-f]{8}\.(partial|before)$"  # how the names of unfinished files end

PATIENCE = 2.0
"""Seconds after which work shows its progress."""

_errors = Console(stderr=True, highlight=False, soft_wrap=True)
_text = Console(highlight=False, soft_wrap=True)


def say(text: object = "") -> None:
    """Print text for a person, without control characters."""
    _text.print(_tame(str(text)), markup=False)


def note(text: str) -> None:
    """Print a remark to standard error."""
    _errors.print(_tame(text), markup=False)


def _tame(text: str) -> str:
    return "".join(c for c in text if c == "\n" or c.isprintable())


def as_json(value: dict[str, Any]) -> None:
    """Print one JSON object for a machine."""
    print(json.dumps(value, ensure_ascii=False, indent=1))


@contextmanager
def working(label: str) -> Iterator[Report]:
    """Give a function to report progress to; a terminal shows a bar after two seconds."""
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


class Interrupted(BaseException):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn signals that ask the command to end into an exception, so that it can clean up."""

    def interrupt(number: int, _: object) -> None:
        raise Interrupted(number)

    usual = {
        each: signal.signal(each, interrupt)
        for each in SIGNALS
        if signal.getsignal(each) != signal.SIG_IGN  # as under nohup
    }
    try:
        yield
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn expected errors into one clear line and an exit code."""
    try:
        with interruptible():
            yield
    except (Interrupted, SystemError) as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):  # as which compiled code hands a signal on, and again
            cause = cause.__cause__
        if not isinstance(cause, Interrupted):
            raise
        note(f"priste: ended by {signal.Signals(cause.number).name}; no file is half written")
        sys.exit(SIGNALLED + cause.number)
    except PristeError as error:
        note(f"priste: {in_options(str(error))}")
        sys.exit(BAD_INPUT)
    except OSError as error:
        where = f" {re.sub(_PARTIAL, '', str(error.filename))}" if error.filename else ""
        why = error.strerror or str(error) or type(error).__name__
        note(f"priste: cannot read or write{where}: {why}; no file is half written")
        sys.exit(FILE_ERROR)
