"""Where streams are followed and planned: in processes of their own, each with some of the people.

A stream lives in one of them as long as it runs. What these are asked is answered one after the
other, so a step that ends waits for one plan at most.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from priste.serve import logs
from priste.serve.live import ClosedDay, LiveStream, begun
from priste.serve.payloads import Fix
from priste.serve.store import Released, Resting
from priste.stream import Account
from priste.tracks.adversary import Adversary
from priste.tracks.model_file import load_model
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.stream_file import to_bytes


class Ended(NamedTuple):
    """Steps that ended, in order: what each released, if anything; and whether the day is over."""

    releases: list[Released | None]
    is_day_over: bool
    account: Account


class Awake(NamedTuple):
    """A stream that was woken: its map, its clock, its model, and whether its day is over."""

    place: LocalMap
    clock: Clock
    model: str
    is_day_over: bool
    account: Account
    remark: str
    """Why the events file can ask for nothing, if it cannot."""


class NotAwakeError(Exception):
    """The process follows no such stream: it has taken the place of one that ended."""


class Shard:
    """Some people's streams."""

    def __init__(self) -> None:
        self._streams: dict[str, LiveStream] = {}

    def begin(
        self,
        _: str,
        now: pd.Timestamp,
        model: Path,
        events: Path,
        adversary: Adversary,
        budget: float,
    ) -> bytes:
        """Return a new stream of somebody, at rest."""
        return to_bytes(begun(now, load_model(model), events, adversary, budget))

    def wake(
        self, person: str, resting: Resting, events: Path, after_midnight: pd.Timedelta
    ) -> Awake:
        """Go on with a stream from what was kept."""
        name = f"the stream of {person}"
        stream = self._streams[person] = LiveStream(resting, name, after_midnight)
        told = stream.place, stream.clock, stream.model
        return Awake(*told, stream.is_day_over, stream.account(), stream.remark(events))

    def _of(self, person: str) -> LiveStream:
        if person not in self._streams:
            raise NotAwakeError
        return self._streams[person]

    def end_steps(self, person: str, fixes: Sequence[Fix | None]) -> Ended:
        """End steps, each with its fix if it has one, until there are no more or the day ends."""
        stream, releases = self._of(person), []
        for fix in fixes:
            releases.append(stream.tick(fix))
            if stream.is_day_over:
                break
        return Ended(releases, stream.is_day_over, stream.account())

    def close_day(self, person: str, events: Path) -> ClosedDay:
        """Certify a day that is over."""
        return self._of(person).close_day(events)

    def plan(self, person: str) -> None:
        """Make the plan of the next step."""
        self._of(person).plan()


_NICENESS = 10
_here = Shard()


def _prepare(log: Literal["json", "text"]) -> None:
    """Leave Ctrl-C and the processor to the gateway: plans can wait, senders and steps cannot.

    A gateway that is killed takes its processes along.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_gateway, daemon=True).start()
    if sys.platform != "win32":
        os.nice(_NICENESS)
    logs.set_up(log)


def _end_with_the_gateway() -> None:
    gateway = multiprocessing.parent_process()
    if gateway is not None:
        gateway.join()
        os._exit(1)


def _ask(method: str, *arguments: Any) -> Any:
    """Ask the shard of this process."""
    return getattr(_here, method)(*arguments)


class Shards:
    """All people's streams, in `count` processes; with none, in a thread of this one."""

    def __init__(
        self, count: int, people: Sequence[str], log: Literal["json", "text"] = "text"
    ) -> None:
        self._log: Literal["json", "text"] = log
        self._asking: list[tuple[Executor, Callable[..., Any]]] = []
        if count == 0:
            shard = Shard()
            self._asking = [
                (ThreadPoolExecutor(1, "shard"), lambda method, *a: getattr(shard, method)(*a))
            ]
        else:
            self._asking = [self._process() for _ in range(count)]
        self._home = {person: i % len(self._asking) for i, person in enumerate(people)}
        self._turn = {person: i / len(people) for i, person in enumerate(people)}

    def _process(self) -> tuple[Executor, Callable[..., Any]]:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, context, _prepare, (self._log,)), _ask

    async def ask(self, person: str, method: str, *arguments: Any) -> Any:
        """Ask the shard where a person's stream is."""
        home = self._home[person]
        executor, ask = self._asking[home]
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(executor, ask, method, person, *arguments)
        except BrokenExecutor:  # the process was killed: another takes its place, with no streams
            if self._asking[home][0] is executor:
                self._asking[home] = self._process()
            raise

    def turn(self, person: str) -> float:
        """Return when it is a person's turn if everybody has one in a time: 0 at once, below 1."""
        return self._turn[person]

    def neighbours(self) -> list[list[str]]:
        """Return the people of each shard."""
        return [
            [person for person, home in self._home.items() if home == i]
            for i in range(len(self._asking))
        ]

    def close(self) -> None:
        """End them; what was not asked yet is not answered."""
        for executor, _ in self._asking:
            executor.shutdown(wait=True, cancel_futures=True)
