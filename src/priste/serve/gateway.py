"""The gateway: fixes in, steps that end by the clock, releases out."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from priste.errors import GatewayError, PristeError
from priste.serve.config import Config, Person, ReceiverKind
from priste.serve.database import Database, connect
from priste.serve.messages import message
from priste.serve.metrics import PERSONS
from priste.serve.outbox import Box, Outbox, Send
from priste.serve.payloads import Fix
from priste.serve.schema import migrate
from priste.serve.sealing import Sealer
from priste.serve.seen import Seen
from priste.serve.shard import Shards
from priste.serve.store import Letter, Store
from priste.serve.ticker import SECOND, Course, Ticker, awake, microseconds
from priste.serve.tokens import Tokens
from priste.serve.writer import Writer
from priste.tracks.model_file import load_model

_log = logging.getLogger(__name__)

MOST_FIXES = 100_000
"""How many fixes of a person may wait for the end of their steps."""

MOST_AHEAD = pd.Timedelta(days=1)
"""How far ahead of the clock a fix may be."""

MOST_LETTERS = 50
"""How many letters are written in one change, so that fixes do not wait for all of them."""

TIDY_SECONDS = 300.0
"""How often copies of deleted fixes are overwritten."""


class Gateway:
    """Everything of a gateway but the way in over HTTP and MQTT."""

    def __init__(
        self,
        config: Config,
        send: Send,
        *,
        begin_anew: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.config, self.now = config, now
        with ExitStack() as opened:
            self._database, beside = self._open(opened), self._open(opened)
            self._database.hold()
            identity = migrate(self._database, secrets.token_hex(8))
            self.store, self.reading = Store(self._database), Store(beside)
            self.tokens = Tokens(beside)
            if begin_anew:
                identity = self._end_all()
            self.identity = identity
            self._seen = Seen(note_of(config), identity, begin_anew=begin_anew)
            self._seen.refuse_older(self.store.ticks)
            self._seen.write(self.store.ticks)  # before anything of it can be seen
            self._opened = opened.pop_all()
        self._sealer = None if config.key_file is None else Sealer.of(config.key_file)
        self._send = send
        self.writer = Writer(self._database)
        self.shards = Shards(config.workers, list(config.persons), config.log)
        self.ticker: Ticker | None = None
        self._fingerprints: dict[Path, str | None] = {}
        self._written = asyncio.Event()

    def _open(self, opened: ExitStack) -> Database:
        database = connect(self.config.database)
        opened.callback(database.close)
        return database

    def _end_all(self) -> str:
        """End all streams, and return the database's new identity."""
        when, identity = datetime.now(UTC).isoformat(timespec="seconds"), secrets.token_hex(8)
        with self._database.transaction():
            self.store.end_all(when, identity)
        return identity

    async def start(self) -> None:
        """Wake all streams, and begin those that are new."""
        persons = self.config.persons.values()
        new: dict[tuple[object, ...], bytes] = {}
        for person in persons:
            await self._begin(person, new)
        woken = await asyncio.gather(*map(self._wake, self.shards.neighbours()))
        by_name = {course.person.name: course for courses in woken for course in courses}
        courses = {name: by_name[name] for name in self.config.persons}
        self.ticker = Ticker(
            courses,
            self.store,
            self.writer,
            self.shards,
            self.now,
            self._committed,
            self._sealer.seal if self._sealer else None,
        )
        PERSONS.set(len(courses))
        boxes = [Box(p.name, r) for p in self.config.persons.values() for r in p.receivers]
        self.outbox = Outbox(boxes, self.store, self.writer, self._send, self.now)

    async def _begin(self, person: Person, new: dict[tuple[object, ...], bytes]) -> None:
        """Begin the stream of a person who has none; `new` has those that begin alike."""
        if await self.writer.run(lambda: self.store.has_stream(person.name)):
            return
        alike = person.beginning
        with _about(person):
            if alike not in new:
                moment = pd.Timestamp(self.now(), unit="s", tz="UTC")
                new[alike] = await self.shards.ask(person.name, "begin", moment, *alike)
        state = new[alike]
        await self.writer.run(lambda: self.store.begin(person.name, state))

    async def _wake(self, people: list[str]) -> list[Course]:
        """Wake the streams of the people of one shard, one after the other."""
        return [await self._awake(self.config.persons[name]) for name in people]

    async def _awake(self, person: Person) -> Course:
        """Wake the stream of a person."""
        with _about(person):
            course = await awake(person, self.store, self.writer, self.shards)
            if self._fingerprint(person.model) not in (None, course.model):
                _log.warning(
                    "the stream of %s goes on with the model it began with; another one needs a "
                    "new stream (--begin-anew)",
                    person.name,
                )
        return course

    def _fingerprint(self, path: Path) -> str | None:
        """Return the fingerprint of a model's file, if it is there."""
        if path not in self._fingerprints:
            self._fingerprints[path] = load_model(path).fingerprint if path.exists() else None
        return self._fingerprints[path]

    async def run(self) -> None:
        """Serve for ever."""
        if self.ticker is None:
            await self.start()
        assert self.ticker is not None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.ticker.run())
            tasks.create_task(self._write_for_ever())
            tasks.create_task(self.outbox.run())
            tasks.create_task(self._tidy())

    async def close(self) -> None:
        """End in order: what was begun is finished, and nothing new is."""
        self.shards.close()
        self.writer.close()
        self._opened.close()

    # in

    async def take(self, person: str, fixes: list[Fix]) -> None:
        """Keep fixes until the end of their steps; return when they are durable."""
        now, ahead = round(self.now() * SECOND), microseconds(MOST_AHEAD)
        if self.ticker is not None:
            course = self.ticker.courses[person]
            if now + ahead < course.begins(course.step):
                raise GatewayError("the clock is behind the stream: fixes are not taken yet")
        latest = now + ahead
        timely = [fix for fix in fixes if fix.time < latest]

        def change() -> None:
            if self.store.count_fixes(person) < MOST_FIXES:
                self.store.add_fixes(person, timely)

        if timely:
            await self.writer.run(change)

    # out

    def _committed(self, ticks: int) -> None:
        """Let what was committed be sent, once it is noted beside the database."""
        self._seen.write(ticks)
        self._written.set()

    async def revive(self, person: str) -> int:
        """Send a person's dead letters again; return how many there are."""
        count = await self.writer.run(lambda: self.store.revive(person))
        self.outbox.wake_all()
        return count

    async def write_letters(self) -> None:
        """Write what is to be sent of what was committed, some at a time, and have it sent."""
        while written := await self.writer.run(self._letters):
            self.outbox.wake(written)

    async def _write_for_ever(self) -> None:
        self._written.set()
        while True:
            await self._written.wait()
            self._written.clear()
            try:
                await self.write_letters()
            except Exception:
                _log.exception("letters cannot be written; they will be")
                await asyncio.sleep(1.0)
                self._written.set()

    def _letters(self) -> list[tuple[str, str]]:
        """Write the bytes of some of what has none yet; return whose they are, and for whom."""
        assert self.ticker is not None
        written = []
        for stream, name, step, receiver, cell in self.store.unwritten(MOST_LETTERS):
            letter = Letter(stream, step, receiver, b"")
            course = self.ticker.courses.get(name)
            kinds = {r.name: r.kind for r in course.person.receivers} if course else {}
            if course is None or course.stream != stream or receiver not in kinds:
                self.store.give_up(letter, "the receiver is not configured any more")
            elif step >= course.seen:  # it is committed, and not noted yet
                continue
            else:
                self._write(letter, course, kinds[receiver], cell)
            written.append((name, receiver))
        return written

    def _write(self, letter: Letter, course: Course, kind: ReceiverKind, cell: int) -> None:
        name, place, clock = course.person.name, course.place, course.clock
        body = message(kind, name, place, clock, letter.step, cell)
        if body is None:
            self.store.sent(letter)
        else:
            self.store.write_letters([letter._replace(body=body)])

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                await asyncio.to_thread(self.reading.database.tidy)
            except Exception:
                _log.exception("deleted fixes could not be overwritten yet")


@contextmanager
def _about(person: Person) -> Iterator[None]:
    """Say whose stream it is that cannot be."""
    try:
        yield
    except (PristeError, OSError) as error:
        raise GatewayError(f"persons.{person.name}: {error}") from error


def note_of(config: Config) -> Path:
    """Return where it is noted how far the database has come."""
    if "://" in config.database:
        return config.folder / "gateway.seen"
    return Path(f"{Path(config.database).resolve()}.seen")
