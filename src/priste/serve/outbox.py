"""Sending what was released: in order, again until it arrives, always in the same bytes.

One task for each receiver sends the oldest letter first, for some receivers take whatever came last
as the newest. A receiver's answer is looked at for success and goes nowhere else.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import httpx

from priste.serve.config import Receiver
from priste.serve.metrics import LETTERS
from priste.serve.store import Letter, Store
from priste.serve.writer import Writer

_log = logging.getLogger(__name__)

TIMEOUT = 15.0
"""Seconds that a receiver may take to answer."""

LONGEST_PAUSE = 600.0
"""Seconds between two tries, at most."""

HOPELESS = frozenset({400, 404, 405, 410, 413, 414, 415, 422})
"""Answers after which sending the same again is in vain."""


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

    def wake(self) -> None:
        """Look for letters, now."""
        for mail in self._mail.values():
            mail.set()

    async def run(self) -> None:
        """Send letters for ever."""
        self.wake()
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


def over_http(client: httpx.AsyncClient) -> Send:
    """Return what posts letters."""

    async def send(receiver: Receiver, body: bytes) -> None:
        headers = {"Content-Type": "application/json", **receiver.headers}
        try:
            async with asyncio.timeout(TIMEOUT):
                sending = client.stream("POST", receiver.url, content=body, headers=headers)
                async with sending as answer:  # what it says beside its status is not read
                    status, is_success = answer.status_code, answer.is_success
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise SendError(type(error).__name__) from None  # its text may hold the address
        client.cookies.clear()
        if not is_success:
            raise SendError(f"it answered {status}", is_final=status in HOPELESS)

    return send


def _name(box: Box) -> tuple[str, str]:
    return box.receiver.name, box.person
