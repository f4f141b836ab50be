"""A gateway that is killed again and again, at every boundary between two writes.

Each life is a process of its own: a phone sends, steps end, receivers fail, hang and forget; and at
a moment drawn by chance, at one of the `POINTS`, the process gets a SIGKILL. The next life goes on
from what is on the disk. At the end a last life is left in peace, and everything that anybody ever
saw is held against the database.

    python -m verification.kills 1000
"""

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tests.tracks import city
from tests.tracks.streams import EVENTS

from priste.serve import ticker as ticking
from priste.serve.config import Config, Receiver, read_config
from priste.serve.gateway import Gateway
from priste.serve.live import LiveStream, begun
from priste.serve.messages import message
from priste.serve.outbox import SendError
from priste.serve.payloads import SOURCES, Message
from priste.serve.store import Released, Resting
from priste.stream import Account
from priste.tracks import Certificate, Model, check, load_certificate, load_model, save_model
from priste.tracks.stream_file import to_bytes

PACE = 36_000.0
"""Seconds of the gateway's clock for each real one: an hour passes in a tenth of a second."""

START = "2024-06-03 07:30"

POINTS = (
    "parsed",
    "fix committed",
    "drawn",
    "inside the commit of a step",
    "step committed",
    "step noted",
    "inside the commit of a day",
    "day committed",
    "letter written",
    "about to send",
    "sent",
    "sending noted",
)
"""Where a life may end."""

CONFIG = """
[server]
workers = 0
[persons.ada]
model = "model.npz"
events = "events.toml"
[persons.ada.receivers.one]
kind = "webhook"
url = "http://127.0.0.1:1/one"
[persons.ada.receivers.two]
kind = "owntracks"
url = "http://127.0.0.1:1/two"
[persons.bob]
model = "model.npz"
events = "events.toml"
lag = "20min"
[persons.bob.receivers.one]
kind = "webhook"
url = "http://127.0.0.1:1/bob"
"""


class Seen(NamedTuple):
    """What the world saw: fixes that were acknowledged and when, and what receivers got."""

    acknowledged: list[tuple[str, int, int]]
    received: list[tuple[str, str, bytes]]


ROUND = 50
"""How many lives one gateway has."""


class Tally(NamedTuple):
    """How many lives ended at each point, and how much there is to hold against each other."""

    deaths: Counter[str]
    acknowledged: int
    releases: int
    received: int
    certificates: int


class Lives:
    """The lives of one gateway in a folder."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        events: str,
        seed: int,
        plant: Callable[[Gateway], None] = lambda _: None,
    ) -> None:
        """Prepare a folder; `plant` may put a mistake into the gateway of every life."""
        self.folder, self.model, self.plant = folder, model, plant
        self.random = random.Random(seed)
        save_model(model, folder / "model.npz")
        (folder / "events.toml").write_text(events)
        (folder / "gateway.toml").write_text(CONFIG)
        self.config: Config = read_config(folder / "gateway.toml")
        self._warm_up()
        self.began = time.monotonic()
        self.deaths: Counter[str] = Counter()

    def _warm_up(self) -> None:
        """Load what is compiled, once for all lives."""
        person = self.config.persons["ada"]
        start = pd.Timestamp(START, tz=self.model.time_zone)
        stream = begun(start, self.model, person.events, person.adversary, person.budget)
        protector = stream.protector()
        for cell in range(3):
            protector.release(cell)

    def now(self) -> float:
        """Return the time, which goes on from life to life."""
        start = pd.Timestamp(START, tz=self.model.time_zone).timestamp()
        return float(start) + (time.monotonic() - self.began) * PACE

    def live(self, point: str | None, after: int, seconds: float) -> None:
        """Live once, to the end or until `point` was reached so many times."""
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            if not killed and os.waitstatus_to_exitcode(status) != 0:
                raise AssertionError(f"a life ended by itself, with status {status}")
            self.deaths[point if killed and point else "none"] += 1
            return
        status = 1
        try:
            chance = random.Random(self.random.random())
            asyncio.run(_Life(self, point, after, chance).run(seconds))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def many(self, count: int) -> None:
        """Live many times, each to be killed somewhere, and once in peace."""
        for _ in range(count):
            self.live(self.random.choice(POINTS), self.random.randint(1, 3), 0.8)
            self.random.random()
        self.live(None, 0, 2.0)

    def seen(self) -> Seen:
        """Return what the world saw."""
        acknowledged, received = [], []
        for line in _lines(self.folder / "acknowledged"):
            person, time_of_fix, at = json.loads(line)
            acknowledged.append((person, time_of_fix, at))
        for line in _lines(self.folder / "received"):
            url, kind, body = json.loads(line)
            received.append((url, kind, body.encode()))
        return Seen(acknowledged, received)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class _Life:
    """One process: a gateway with its phone and its receivers."""

    def __init__(self, lives: Lives, point: str | None, after: int, chance: random.Random) -> None:
        self.lives, self.point, self.left, self.chance = lives, point, after, chance
        self.acknowledged = (lives.folder / "acknowledged").open("a")
        self.received = (lives.folder / "received").open("a")

    def reach(self, point: str) -> None:
        """Die here, if it is time."""
        if point == self.point:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    async def send(self, receiver: Receiver, body: bytes) -> None:
        """Receive a letter; or fail before, after, or without an answer."""
        self.reach("about to send")
        fate = self.chance.random() if self.point is not None else 1.0
        if fate < 0.1:
            raise SendError("it answered 500")
        print(json.dumps([receiver.url, receiver.kind, body.decode()]), file=self.received)
        self.received.flush()
        self.reach("sent")
        if fate < 0.2:
            raise SendError("it forgot")
        if fate < 0.25:
            await asyncio.sleep(0.05)
            raise SendError("ReadTimeout")

    async def run(self, seconds: float) -> None:
        ticking.CATCH_UP = pd.Timedelta(days=3000)  # whatever was acknowledged is released
        gateway = Gateway(self.lives.config, self.send, now=self.lives.now)
        self.lives.plant(gateway)
        self._hook(gateway)
        await gateway.start()
        assert gateway.ticker is not None
        self._hook_ticker(gateway.ticker)
        tasks = [asyncio.create_task(gateway.run())]
        tasks += [asyncio.create_task(self._phone(gateway, name)) for name in ("ada", "bob")]
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
        if self.point is None:
            await self._drain(gateway)

    async def _drain(self, gateway: Gateway) -> None:
        """Wait until everything was sent."""
        for _ in range(400):
            ((left,),) = gateway.reading.database.execute("SELECT COUNT(*) FROM outbox")
            if not left:
                return
            gateway.reading.database.execute("UPDATE outbox SET due = 0")
            gateway.outbox.wake_all()
            await asyncio.sleep(0.02)
        raise AssertionError("some letters are never sent")

    async def _phone(self, gateway: Gateway, person: str) -> None:
        while True:
            await asyncio.sleep(self.chance.uniform(0.01, 0.05))
            moment = round(gateway.now() * 1e6)
            latitude = 52.5 + self.chance.uniform(0, 0.04)
            payload = {"_type": "location", "lat": latitude, "lon": 13.4, "tst": moment // 1000}
            fixes = SOURCES["owntracks"].read(Message("", "", json.dumps(payload).encode()), None)
            self.reach("parsed")
            await gateway.take(person, fixes)
            self.reach("fix committed")
            now = round(gateway.now() * 1e6)
            for fix in fixes:
                print(json.dumps([person, fix.time, now]), file=self.acknowledged)
            self.acknowledged.flush()

    def _hook(self, gateway: Gateway) -> None:
        """Put the points between the writes."""
        store = gateway.store
        inside = store.database.execute

        def execute(statement: str, values: Any = ()) -> Any:
            if statement.startswith("UPDATE gateway SET ticks"):
                self.reach("inside the commit of a step")
            if statement.startswith("UPDATE releases SET tickets"):
                self.reach("inside the commit of a day")
            return inside(statement, values)

        store.database.execute = execute  # type: ignore[method-assign]
        written = gateway._letters

        def letters() -> list[tuple[str, str]]:
            boxes = written()
            self.reach("letter written")
            return boxes

        gateway._letters = letters  # type: ignore[method-assign]
        noted = gateway._committed

        def committed(ticks: int) -> None:
            self.reach("step committed")
            noted(ticks)
            self.reach("step noted")

        gateway._committed = committed  # type: ignore[method-assign]
        run = gateway.writer.run

        async def wrote(change: Callable[[], Any]) -> Any:
            done = await run(change)
            name = getattr(change, "func", change).__qualname__
            if "sent" in name or "_try" in name:
                self.reach("sending noted")
            if "close_day" in name:
                self.reach("day committed")
            return done

        gateway.writer.run = wrote  # type: ignore[method-assign]

    def _hook_ticker(self, ticker: ticking.Ticker) -> None:
        draw: Callable[[], Awaitable[Any]] = ticker._draw

        async def drew() -> Any:
            done = await draw()
            if done is not None:
                self.reach("drawn")
            return done

        ticker._draw = drew  # type: ignore[method-assign]


def judge(lives: Lives) -> Tally:
    """Hold everything that was seen against the database; raise where it does not fit."""
    seen = lives.seen()
    gateway = Gateway(lives.config, lambda *_: None, now=lives.now)  # type: ignore[arg-type]
    try:
        return asyncio.run(_judged(lives, seen, gateway))
    finally:
        asyncio.run(gateway.close())


async def _judged(lives: Lives, seen: Seen, gateway: Gateway) -> Tally:
    await gateway.start()
    assert gateway.ticker is not None
    store, courses = gateway.store, gateway.ticker.courses
    cells = {name: store.cells(course.stream) for name, course in courses.items()}
    # every letter is the message of a release in the log, always in the same bytes
    for name, course in courses.items():
        for receiver in course.person.receivers:
            known = {
                message(receiver.kind, name, course.place, course.clock, step, cell)
                for step, cell in cells[name].items()
            }
            got = {body for url, _, body in seen.received if url == receiver.url}
            waiting = _waiting(gateway, course.stream, receiver.name, cells[name])
            told = {
                message(receiver.kind, name, course.place, course.clock, step, cell)
                for step, cell in waiting.items()
            }
            assert got <= known, "something was sent that is not in the log"
            assert got | told >= known - {None}, "something in the log was never sent"
    # what was acknowledged in time was released
    for name, moment, at in seen.acknowledged:
        course = courses[name]
        step = (moment - course.begins(0)) // (course.ends(0) - course.begins(0))
        if step < 0 or step >= course.step:
            continue
        due = course.ends(step) + ticking.microseconds(course.person.lag)
        assert at >= due or step in cells[name], "an acknowledged fix was lost"
    # nothing of the past is kept
    for name, course in courses.items():
        fixes = store.fixes_before(name, course.begins(course.step))
        assert all(fix.time >= course.begins(course.step - 1) for fix in fixes)
    # the account is that of an undisturbed run over the same releases, and the chain audits
    certificates = 0
    for name, course in courses.items():
        chain = _chain(lives.folder, gateway, name)
        certificates += len(chain)
        if chain:
            assert check(chain, lives.model).kept, "a promise is not kept"
        account = course.account
        undisturbed = _undisturbed(course, chain, store.releases(course.stream))
        assert str(account) == str(undisturbed), "the account is another"
    return Tally(
        lives.deaths,
        len(seen.acknowledged),
        sum(map(len, cells.values())),
        len(seen.received),
        certificates,
    )


def _waiting(gateway: Gateway, stream: int, receiver: str, cells: dict[int, int]) -> dict[int, int]:
    """Return the releases of the last moment, which are still to be sent."""
    rows = gateway.store.database.execute(
        "SELECT step FROM outbox WHERE stream = ? AND receiver = ?", (stream, receiver)
    )
    assert len(rows) < 10, "too much was never sent"
    return {step: cells[step] for (step,) in rows}


def _undisturbed(
    course: ticking.Course, chain: list[Certificate], since: dict[int, Released]
) -> Account:
    """Return the account of a stream that ran through all these releases at once."""
    person = course.person
    stream = begun(
        course.clock.start,
        load_model(person.model),
        person.events,
        person.adversary,
        person.budget,
    )
    released = dict(since)
    for certificate in chain:
        for step, (cell, column) in certificate.releases.items():
            assert column is not None
            released[step] = cell, column
    live = LiveStream(Resting(course.stream, -1, to_bytes(stream), -1, {}), "undisturbed")
    for step in range(course.step):
        live._take(step, released.get(step))
        if live.is_day_over and not (course.is_day_over and live.step == course.step):
            live.close_day(person.events)
    return live.account()


def _chain(folder: Path, gateway: Gateway, name: str) -> list[Certificate]:
    chain = []
    for stream, number, *_ in gateway.store.certificates(name):
        content = gateway.store.certificate(name, stream, number)
        assert content is not None
        path = folder / f"{name}-{number}.json"
        path.write_bytes(content)
        chain.append(load_certificate(path))
    return chain


def main(count: int, seed: int = 0) -> None:
    """Live so many times, each gateway at most `ROUND` times, and say what was held against what.

    In longer rounds the clock, which races, may leave a stream a month behind; then it stops.
    """
    tallies = []
    for first in range(0, count, ROUND):
        with tempfile.TemporaryDirectory() as folder:
            lives = Lives(Path(folder), city.model(), EVENTS, seed + first)
            lives.many(min(ROUND, count - first))
            tallies.append(judge(lives))
    deaths = sum((tally.deaths for tally in tallies), Counter[str]())
    for point, number in deaths.most_common():
        print(f"{number:6}  {point}")
    fixes, releases, letters, certificates = (
        sum(part) for part in zip(*(t[1:] for t in tallies), strict=True)
    )
    print(
        f"{fixes} fixes acknowledged, {releases} releases, {letters} letters received, "
        f"{certificates} certificates: nothing drawn twice, nothing lost, every promise kept"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
