"""Changes to the database, one after the other; those that wait are committed together.

A commit that survives a loss of power takes the time of the disk, however much it holds. So what
comes in during one commit goes into the next, and each change is undone for itself if it fails.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from priste.serve.database import Database

Result = TypeVar("Result")

MOST_TOGETHER = 500
"""How many changes go into one commit."""

_Job = tuple[Callable[[], Any], "Future[Any]"]


class Writer:
    """The one thread that changes a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def submit(self, change: Callable[[], Result]) -> "Future[Result]":
        """Return what a change will have returned when it is durable."""
        future: Future[Result] = Future()
        self._jobs.put((change, future))
        return future

    async def run(self, change: Callable[[], Result]) -> Result:
        """Return what a change returned, once it is durable."""
        return await asyncio.wrap_future(self.submit(change))

    def close(self) -> None:
        """Finish what waits, and end."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs: list[_Job] = [first]
            is_last = False
            while len(jobs) < MOST_TOGETHER and not is_last:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                is_last = job is None
                jobs += [] if job is None else [job]
            self._commit(jobs)
            if is_last:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        jobs = [job for job in jobs if job[1].set_running_or_notify_cancel()]
        done: list[tuple[Future[Any], Any]] = []
        try:
            with self._database.transaction():
                for change, future in jobs:
                    self._database.execute("SAVEPOINT change")
                    try:
                        done.append((future, change()))
                    except Exception as error:
                        self._database.execute("ROLLBACK TO SAVEPOINT change")
                        future.set_exception(error)
                    self._database.execute("RELEASE SAVEPOINT change")
        except Exception as error:
            for _, future in jobs:
                if not future.done():
                    future.set_exception(error)
            return
        for future, result in done:
            future.set_result(result)
