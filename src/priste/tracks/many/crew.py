"""Who does the parts: processes of this machine, or the workers of a Dask cluster.

What is done stands in the job's folder, so nothing else is believed. A worker may die, a scheduler
may be restarted, the same part may be done twice at a time: whatever is not there yet is handed
out again.
"""

import logging
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from typing import Any, Protocol

from priste.errors import TrackError
from priste.extras import needs_extra
from priste.tracks.many.folder import Run
from priste.tracks.many.part import protect_part

ATTEMPTS = 10
"""How often a part is handed out before the run is given up."""

_PATIENCE = 1.0  # seconds between two looks at the cluster
_log = logging.getLogger(__name__)


class Crew(Protocol):
    """Does the parts of a run that wait."""

    def work(self, run: Run) -> Iterator[int]:
        """Do all of them, and yield each that is done."""
        ...


class Attempts:
    """How often each part has failed, and why last."""

    def __init__(self) -> None:
        self._failed: Counter[int] = Counter()

    def failed(self, part: int, error: BaseException) -> None:
        """Note a failure; give up after too many."""
        self._failed[part] += 1
        _log.warning("part %d: %s; it is handed out again", part, type(error).__name__)
        if self._failed[part] >= ATTEMPTS:
            raise TrackError(
                f"part {part} failed {ATTEMPTS} times, the last time with {type(error).__name__}; "
                f"what is done stays done: mend the cause (memory, disk) and run this again"
            ) from error


class Alone:
    """The process that asks, by itself."""

    def work(self, run: Run) -> Iterator[int]:
        """Do all parts that wait, and yield each that is done."""
        for part in run.waiting():
            protect_part(str(run.job.folder), run.number, part)
            yield part


class Processes:
    """Some processes of this machine, each on one core."""

    def __init__(self, count: int) -> None:
        self.count = count

    def work(self, run: Run) -> Iterator[int]:
        """Do all parts that wait, and yield each that is done."""
        attempts = Attempts()
        while waiting := run.waiting():
            yield from self._until_broken(run, waiting, attempts)

    def _until_broken(self, run: Run, waiting: list[int], attempts: Attempts) -> Iterator[int]:
        """Do parts until all are done or a process has died, which ends the others as well."""
        folder, queue = str(run.job.folder), iter(waiting)
        doing: dict[Future[None], int] = {}
        with ProcessPoolExecutor(self.count, get_context("spawn"), _leave_signals) as pool:
            try:
                while True:
                    for part in queue:
                        doing[pool.submit(protect_part, folder, run.number, part)] = part
                        if len(doing) > self.count:  # one more than are at work, so that none waits
                            break
                    if not doing:
                        return
                    for future in wait(doing, return_when=FIRST_COMPLETED).done:
                        part = doing.pop(future)
                        error = future.exception()
                        if isinstance(error, BrokenProcessPool):
                            raise error
                        if error is None:
                            yield part
                        else:
                            attempts.failed(part, error)
            except BrokenProcessPool as error:  # nobody says whose fault it was
                for part in doing.values():
                    attempts.failed(part, error)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise


def _leave_signals() -> None:
    """Leave it to the parent what to do when somebody presses Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Cluster:
    """The workers of a Dask cluster, which all see the job's folder under the same path."""

    def __init__(self, address: str) -> None:
        with needs_extra("a Dask cluster", "dask"):
            import distributed  # noqa: F401
        self.address = address

    def work(self, run: Run) -> Iterator[int]:
        """Do all parts that wait, and yield each that is done."""
        attempts = Attempts()
        lost = 0
        while run.waiting():
            try:
                yield from self._until_lost(run, attempts)
                lost = 0
            except (OSError, TimeoutError) as error:
                lost += 1
                _log.warning("the cluster cannot be reached: %s", type(error).__name__)
                if lost >= ATTEMPTS:
                    raise TrackError(
                        f"the Dask scheduler at {self.address} cannot be reached "
                        f"({type(error).__name__}); what is done stays done: run this again"
                    ) from error
                time.sleep(_PATIENCE)

    def _until_lost(self, run: Run, attempts: Attempts) -> Iterator[int]:
        """Hand out all parts that wait, and look what is there, until all are or we are cut off."""
        from distributed import Client

        with Client(  # type: ignore[no-untyped-call]
            self.address, timeout=10 * _PATIENCE, set_as_default=False
        ) as client:
            waiting = set(run.waiting())
            handed = {part: self._hand(client, run, part) for part in waiting}
            while waiting:
                time.sleep(_PATIENCE)
                done = waiting - set(run.waiting())
                yield from sorted(done)
                waiting -= done
                if client.status != "running":
                    raise OSError("the connection was lost")
                for part in waiting:
                    if error := self._failure(handed[part]):
                        attempts.failed(part, error)
                        handed[part] = self._hand(client, run, part)

    def _hand(self, client: Any, run: Run, part: int) -> Any:
        # a key of its own for every try: a cluster does not repeat a key that has failed
        key = f"priste-{run.number}-{part}-{time.monotonic_ns()}"
        folder = str(run.job.folder.resolve())
        return client.submit(protect_part, folder, run.number, part, key=key, pure=False)

    def _failure(self, future: Any) -> BaseException | None:
        """Return why a part came to nothing, if it did."""
        if future.status == "error":
            with suppress(TimeoutError):
                error: BaseException | None = future.exception(timeout=_PATIENCE)
                return error
        if future.status in ("cancelled", "lost"):
            return OSError("the cluster forgot it")
        return None
