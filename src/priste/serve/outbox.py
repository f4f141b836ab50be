"""Sending what was released: in order, again until it arrives, always in the same bytes.

One task for each receiver sends the oldest letter first, for some receivers take whatever came last
as the newest. A receiver's answer is looked at for success and goes nowhere else.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from priste.serve.config import Receiver
from priste.serve.metrics import LETTERS
from priste.serve.store import Letter, Store
from priste.serve.writer import Writer

_log = logging.getLogger(__name__)

TIMEOUT = 15.0
"""Seconds that a receiver may take to answer."""

LONGEST_PAUSE = 600.0
"""Seconds between two tries, at most."""


class SendError(Exception):
    """A letter did not arrive; `is_final` if it never will."""

    def __init__(self, problem: str, *, is_final: bool = False) -> None:
        super().__init__(problem)
        self.is_final = is_final


Send = Callable[[Receiver, bytes], Awaitable[None]]
"""Hands a letter to a receiver, or raises `SendError`."""


class Box(NamedTuple):
    """The letters of a person to a receiver."""

    person: str
    receiver: Receiver


class Outbox:
    """Sends letters to all receivers, each at its own pace."""

    def __init__(
        self,
        boxes: list[Box],
        store: Store,
        writer: Writer,
        send: Send,
        now: Callable[[], float],
    ) -> None:
        self._store, self._writer, self._send, self._now = store, writer, send, now
        self._boxes = boxes
        self._mail = {(box.person, box.receiver.name): asyncio.Event() for box in boxes}

    def wake(self, boxes: Iterable[tuple[str, str]]) -> None:
        """Look for letters, now; boxes are named by person and receiver."""
        for box in boxes:
            if box in self._mail:
                self._mail[box].set()

    def wake_all(self) -> None:
        """Look for letters of everybody."""
        self.wake(self._mail)

    async def run(self) -> None:
        """Send letters for ever."""
        self.wake_all()
        async with asyncio.TaskGroup() as tasks:
            for box in self._boxes:
                tasks.create_task(self._serve(box))

    async def _serve(self, box: Box) -> None:
        mail = self._mail[box.person, box.receiver.name]
        while True:
            mail.clear()
            try:
                pause = await self._send_all(box)
            except Exception:  # the database, perhaps: nothing is lost by trying again
                _log.exception("letters to %s of %s wait", box.receiver.name, box.person)
                pause = 5.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(mail.wait(), pause)

    async def _send_all(self, box: Box) -> float | None:
        """Send what is due; return after how many seconds to go on, None if nothing is left."""
        person, receiver = box
        while True:
            found = await self._writer.run(lambda: self._store.next_letter(person, receiver.name))
            if found is None:
                return None
            letter, due = found
            if due > self._now():
                return min(due - self._now(), LONGEST_PAUSE)
            await self._try(box, letter)

    async def _try(self, box: Box, letter: Letter) -> None:
        store, writer, now = self._store, self._writer, self._now()
        kind = box.receiver.kind
        try:
            await self._send(box.receiver, letter.body)
        except SendError as error:
            problem = str(error)
            pause = pause_after(letter.attempts)
            waited = sum(map(pause_after, range(letter.attempts)))
            if error.is_final or waited >= box.receiver.give_up.total_seconds():
                LETTERS.labels(kind, "given up").inc()
                _log.warning("gave up a letter to %s of %s: %s", *_name(box), problem)
                await writer.run(lambda: store.give_up(letter, problem))
            else:
                LETTERS.labels(kind, "failed").inc()
                _log.info("a letter to %s of %s is sent again: %s", *_name(box), problem)
                await writer.run(lambda: store.postpone(letter, now + pause, problem))
        else:
            LETTERS.labels(kind, "sent").inc()
            await writer.run(lambda: store.sent(letter))


def pause_after(attempts: int) -> float:
    """Return how many seconds to wait after so many tries before the last one."""
    return min(2.0 ** min(attempts, 30), LONGEST_PAUSE)


def _name(box: Box) -> tuple[str, str]:
    return box.receiver.name, box.person
