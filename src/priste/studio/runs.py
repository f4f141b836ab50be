"""Computations in the background: each says how far it is, can be stopped, and may tell early."""

import json
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from priste.errors import PristeError

_log = logging.getLogger(__name__)

MAX_KEPT = 20
"""How many runs are remembered."""

NICE = 5
"""How far the work stands back behind everything else on the machine."""

Work = Callable[["Run"], None]


class Stopped(Exception):
    """Somebody stopped the run."""


class Run:
    """One computation. Its work calls `at` as it goes on and `tell` with what it has found."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.state, self.phase, self.progress = "running", "", 0.0
        self.problem = ""
        self.revision, self.result = 0, b"null"
        self.files: dict[str, Callable[[], bytes]] = {}
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask the run to end; it does at its next word."""
        self._stop.set()

    def forget(self) -> None:
        """Stop, and let go of everything that was found."""
        self.stop()
        self.files, self.result = {}, b"null"

    def begin(self, phase: str) -> Callable[[float], None]:
        """Begin a part of the work, and return what to call with the share done."""
        self.phase = phase
        self.at(0.0)
        return self.at

    def at(self, share: float) -> None:
        """Say how far the part has come; ends the run if it was stopped."""
        if self._stop.is_set():
            raise Stopped
        self.progress = share

    def tell(self, result: dict[str, Any]) -> None:
        """Give a result, which may replace an earlier one."""
        if self._stop.is_set():
            raise Stopped
        self.result = json.dumps(result, allow_nan=False, separators=(",", ":")).encode()
        self.revision += 1

    def status(self) -> dict[str, Any]:
        """Return how the run stands."""
        return {
            "run": self.name,
            "state": self.state,
            "phase": self.phase,
            "progress": round(self.progress, 4),
            "revision": self.revision,
            "problem": self.problem,
        }


class Runs:
    """The runs of one desk. A new run of a kind stops the one before: it never waits for it."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._numbers = count(1)

    def start(self, kind: str, work: Work) -> Run:
        """Begin a computation in the background."""
        for other in self._runs.values():
            if other.kind == kind:
                other.stop()
        run = Run(str(next(self._numbers)), kind)
        self._runs[run.name] = run
        while len(self._runs) > MAX_KEPT:
            self._runs.pop(next(iter(self._runs))).forget()
        threading.Thread(
            target=self._work, args=(run, work), name=f"studio-{kind}", daemon=True
        ).start()
        return run

    def _work(self, run: Run, work: Work) -> None:
        _done(run, work)
        if run.state == "done":  # what it replaces may hold a large model
            for other in list(self._runs.values()):
                if other.kind == run.kind and int(other.name) < int(run.name):
                    other.forget()

    def get(self, name: str) -> Run | None:
        """Return a run, if it is remembered."""
        return self._runs.get(name)

    def clear(self) -> None:
        """Stop all runs, and forget them."""
        while self._runs:
            self._runs.popitem()[1].forget()


def _done(run: Run, work: Work) -> None:
    with suppress(OSError, AttributeError):  # answering the page, or a gateway's steps, go first
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    try:
        work(run)
        run.state = "done"
    except Stopped:
        run.state = "stopped"
    except PristeError as problem:
        run.problem, run.state = str(problem), "failed"
    except Exception as problem:
        _log.error("a run failed: %s", type(problem).__name__)  # its text may hold what is private
        run.problem, run.state = f"something went wrong ({type(problem).__name__})", "failed"
