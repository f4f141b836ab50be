"""The end of each step: draw, commit, and only then let anything be sent.

A step ends at its moment plus the person's lag, wherever they are. What was drawn is kept in memory
until it is committed: if the disk is full, the same is committed later, and nothing is drawn anew.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import NamedTuple

import pandas as pd

from priste.errors import GatewayError
from priste.serve.config import Person
from priste.serve.live import ClosedDay
from priste.serve.metrics import DELAY, PLANS, STEPS, TICKS
from priste.serve.payloads import Fix
from priste.serve.shard import Awake, Ended, NotAwakeError, Shards
from priste.serve.store import Store, Ticked
from priste.serve.writer import Writer
from priste.stream import Account
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock

_log = logging.getLogger(__name__)

CATCH_UP = pd.Timedelta(hours=1)
"""How long ago a step may have ended that is still released after the gateway was down."""

LONGEST_GAP = pd.Timedelta(days=30)
"""How far a stream may lie behind the clock. More is taken for a clock that is wrong."""

CERTIFYING = pd.Timedelta(hours=1)
"""In which time after midnight everybody's day is certified, one after the other."""

MOST_AT_ONCE = 1000
"""How many steps of a stream are ended in one go after the gateway was down."""

MOST_TOGETHER = 20
"""How many streams' steps are ended in one commit, so that fixes do not wait for all of them."""

LONGEST_NAP = 0.1
"""Seconds after which the clock is looked at again, in case somebody set it."""

SECOND = 1_000_000


def microseconds(length: pd.Timedelta) -> int:
    """Return a length of time as a number."""
    return int(length.total_seconds() * SECOND + 0.5)


@dataclass
class Course:
    """How far a person's stream has come, and by which clock; all of it is public."""

    person: Person
    stream: int
    place: LocalMap
    clock: Clock
    model: str
    """The fingerprint of the model."""
    step: int
    """The step that ends next."""
    last_cell: int | None = None
    is_day_over: bool = False
    account: Account | None = None
    """The account after the last step that was committed."""
    is_planned: bool = False
    remark: str = ""
    """Why the events file can ask for nothing, if it cannot."""
    seen: int = 0
    """The step before which everything may be seen: it is committed, and noted."""

    def __post_init__(self) -> None:
        self._start = round(self.clock.start.timestamp() * SECOND)
        self._length = microseconds(self.clock.length)
        self._lag = microseconds(self.person.lag)
        self.seen = self.step

    def ends(self, step: int) -> int:
        """Return when a step ends, in microseconds since 1970."""
        return int(self._start + (step + 1) * self._length)

    def begins(self, step: int) -> int:
        """Return when a step begins."""
        return self.ends(step - 1)

    @property
    def due(self) -> int:
        """When the next step is released."""
        return self.ends(self.step) + self._lag

    def overdue(self, now: int) -> int:
        """Return how many steps are to be ended by now."""
        return max(0, (now - self.due) // self._length + 1)


async def awake(person: Person, store: Store, writer: Writer, shards: Shards) -> Course:
    """Wake the stream of a person from what is kept, and return how far it has come."""
    resting = await writer.run(lambda: store.resting(person.name))
    if resting is None:
        raise GatewayError(f"{person.name} has no stream to go on with")
    certifying = shards.turn(person.name) * CERTIFYING
    woken: Awake = await shards.ask(person.name, "wake", resting, person.events, certifying)
    _tell(person.name, woken.remark)
    woken.place.centres([0])  # computes all of them now, and not when a step ends
    return Course(
        person,
        resting.id,
        woken.place,
        woken.clock,
        woken.model,
        resting.step + 1,
        await writer.run(lambda: store.last_cell(resting.id)),
        woken.is_day_over,
        woken.account,
        remark=woken.remark,
    )


def _tell(name: str, remark: str) -> None:
    """Log why an events file can ask for nothing."""
    if remark:
        _log.warning(
            "the events file of %s cannot be used on the stream that runs: %s. What was asked for "
            "before stays promised, at most for a week; nothing new is",
            name,
            remark,
        )


class _Round(NamedTuple):
    """Steps that were drawn together and wait for their commit."""

    due: int
    courses: list[tuple[Course, Ended]]
    ticked: list[Ticked]


class Ticker:
    """Ends steps when their time has come."""

    def __init__(
        self,
        courses: dict[str, Course],
        store: Store,
        writer: Writer,
        shards: Shards,
        now: Callable[[], float],
        committed: Callable[[int], None],
        seal: Callable[[Fix], bytes] | None = None,
    ) -> None:
        """Take over streams that are awake; `committed` is called before anything is sent."""
        self.courses = courses
        self._store, self._writer, self._shards = store, writer, shards
        self._now, self._committed, self._seal = now, committed, seal
        self._waiting: _Round | None = None
        self._days: dict[str, ClosedDay] = {}
        self._lost: set[str] = set()
        self._failed: set[str] = set()
        self._out_of_time: set[str] = set()
        self._unnoted: int | None = None
        self._trouble = ""

    @property
    def problem(self) -> str:
        """What keeps steps from ending, in words; it names nobody and no place."""
        if self._failed:
            return "a step failed, and its stream stopped"
        if self._lost:
            return "a process ended, and its streams are woken"
        if self._out_of_time:
            return "the clock is far ahead of a stream"
        if any(course.remark for course in self.courses.values()):
            return "an events file cannot be used; the log says why"
        return self._trouble

    def now(self) -> int:
        """Return the time, in microseconds since 1970."""
        return round(self._now() * SECOND)

    async def run(self) -> None:
        """End steps, and plan ahead in between, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tick_for_ever())
            for people in self._shards.neighbours():
                tasks.create_task(self._plan_for_ever(people))

    async def _tick_for_ever(self) -> None:
        while True:
            try:
                await self.tick()
                self._trouble = ""
            except Exception as error:
                self._trouble = f"steps cannot be kept: {type(error).__name__}"
                _log.exception("steps that ended cannot be kept; the same will be tried again")
                await asyncio.sleep(1.0)
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        due = min((c.due for c in self._running()), default=self.now() + SECOND)
        return min(max(0.0, (due - self.now()) / SECOND), LONGEST_NAP)

    def _running(self) -> list[Course]:
        out = self._failed | self._lost
        return [course for name, course in self.courses.items() if name not in out]

    async def tick(self) -> None:
        """End every step that is due."""
        while True:
            if self._unnoted is not None:  # nothing goes on that is not noted
                self._note(self._unnoted)
            if self._waiting is None:
                await self._wake_lost()
                self._waiting = await self._draw()
            if self._waiting is not None:
                await self._commit(self._waiting)
            elif not await self._close_day():  # one at a time: others may be due by now
                return

    async def _wake_lost(self) -> None:
        for name in sorted(self._lost):
            person = self.courses[name].person
            try:
                woken = await awake(person, self._store, self._writer, self._shards)
            except Exception:
                _log.exception("the stream of %s cannot be woken; it is tried again", name)
                continue
            self.courses[name] = woken
            self._lost.remove(name)

    async def _draw(self) -> _Round | None:
        """Draw what is due of some streams, of each as many steps as are; None if nothing is."""
        now = self.now()
        late = [c for c in self._running() if not c.is_day_over and c.overdue(now)]
        late = [course for course in late if not self._is_out_of_time(course, now)]
        late = sorted(late, key=lambda course: course.due)[:MOST_TOGETHER]
        if not late:
            return None
        fixes = await self._writer.run(lambda: [self._fixes(course, now) for course in late])
        results = await asyncio.gather(
            *(
                self._shards.ask(course.person.name, "end_steps", found)
                for course, found in zip(late, fixes, strict=True)
            ),
            return_exceptions=True,
        )
        ended: list[tuple[Course, Ended]] = []
        for course, result in zip(late, results, strict=True):
            if isinstance(result, BaseException):
                self._lose(course, result)
            else:
                ended.append((course, result))
        if not ended:
            return None
        ticked = [each for course, steps in ended for each in self._ticked(course, steps)]
        return _Round(min(course.due for course, _ in ended), ended, ticked)

    def _lose(self, course: Course, error: BaseException) -> None:
        """Take a stream out whose step could not be ended.

        If its process is gone, the stream is woken again: whatever was drawn there was seen by
        nobody, and that it is gone has nothing to do with it. Any other failure may depend on what
        was drawn, and to draw again until it succeeds would tell something. So the stream stops.
        """
        if not isinstance(error, Exception):
            raise error
        name = course.person.name
        if isinstance(error, BrokenExecutor | NotAwakeError):
            _log.error("the process that follows %s ended; its stream is woken again", name)
            self._lost.add(name)
        else:
            _log.error("a step of %s failed; the stream stops", name, exc_info=error)
            self._failed.add(name)

    def _is_out_of_time(self, course: Course, now: int) -> bool:
        """Tell whether a stream lies so far behind that the clock must be wrong."""
        name, is_out = course.person.name, now - course.due > microseconds(LONGEST_GAP)
        if is_out and name not in self._out_of_time:
            _log.error(
                "the clock is more than %d days after the last step of %s; set it right, or "
                "begin the stream anew",
                LONGEST_GAP.days,
                name,
            )
        (self._out_of_time.add if is_out else self._out_of_time.discard)(name)
        return is_out

    def _fixes(self, course: Course, now: int) -> list[Fix | None]:
        """Return the fix of each step of a stream that is to be ended."""
        count = min(course.overdue(now), MOST_AT_ONCE)
        oldest = now - microseconds(CATCH_UP) - microseconds(course.person.lag)
        return [
            self._store.first_fix(course.person.name, course.begins(step), course.ends(step))
            if course.ends(step) >= oldest
            else None
            for step in range(course.step, course.step + count)
        ]

    def _ticked(self, course: Course, ended: Ended) -> list[Ticked]:
        rows, shown = [], course.last_cell
        for step, release in enumerate(ended.releases, start=course.step):
            shown = shown if release is None else release[0]
            is_told = release is not None or course.person.silence == "repeat"
            rows.append(
                Ticked(
                    course.stream,
                    course.person.name,
                    step,
                    course.ends(step),
                    release,
                    shown if is_told else None,
                    tuple(receiver.name for receiver in course.person.receivers),
                )
            )
        return rows

    def _sealed(self, ticked: list[Ticked]) -> dict[str, list[tuple[int, bytes]]]:
        """Return the fixes that people keep to learn habits from, encrypted."""
        ends = {t.person: t.end for t in ticked if self.courses[t.person].person.keep_fixes}
        if self._seal is None:
            return {}
        return {
            name: [(fix.time, self._seal(fix)) for fix in self._store.fixes_before(name, end)]
            for name, end in ends.items()
        }

    async def _commit(self, done: _Round) -> None:
        def change() -> int:
            return self._store.tick(done.ticked, self._sealed(done.ticked))

        self._unnoted = await self._writer.run(change)
        self._waiting = None
        DELAY.observe((self.now() - done.due) / SECOND)
        TICKS.inc()
        STEPS.inc(len(done.ticked))
        for course, ended in done.courses:
            course.step += len(ended.releases)
            course.is_day_over, course.is_planned = ended.is_day_over, False
            course.account = ended.account
            cells = [release[0] for release in ended.releases if release is not None]
            course.last_cell = cells[-1] if cells else course.last_cell
        self._note(self._unnoted)

    def _note(self, ticks: int) -> None:
        """Note beside the database how far it has come; then what was committed may be seen."""
        self._committed(ticks)
        self._unnoted = None
        for course in self.courses.values():
            course.seen = course.step

    async def _close_day(self) -> bool:
        """Certify one day that is over, before anything of the next is drawn; tell if there was."""
        over = (c for c in self._running() if c.is_day_over)
        course = next(over, None)
        if course is None:
            return False
        name = course.person.name
        if name not in self._days:
            try:
                events = course.person.events
                self._days[name] = await self._shards.ask(name, "close_day", events)
            except Exception as error:
                self._lose(course, error)
                return True
        day = self._days[name]
        kept = day.stream, day.number, day.steps, day.certificate, day.state
        await self._writer.run(partial(self._store.close_day, *kept))
        del self._days[name]
        course.is_day_over, course.account, course.remark = False, day.account, day.remark
        _tell(name, day.remark)
        return True

    async def _plan_for_ever(self, people: list[str]) -> None:
        """Plan ahead for the people of one shard; the one whose step ends first comes first."""
        while True:
            ready = [
                self.courses[name]
                for name in people
                if name not in self._failed | self._lost | self._out_of_time
                and not self.courses[name].is_planned
                and not self.courses[name].is_day_over
            ]
            if not ready:
                await asyncio.sleep(0.05)
                continue
            course = min(ready, key=lambda each: each.due)
            course.is_planned = True  # a step that ends meanwhile says otherwise
            start = perf_counter()
            try:
                await self._shards.ask(course.person.name, "plan")
            except Exception:
                _log.exception("a plan could not be made ahead; it is made at the end of the step")
            PLANS.observe(perf_counter() - start)
