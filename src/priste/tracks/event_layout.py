"""The events of an events file in an endless stream: laid out a few days ahead, again and again.

A presence or visits in a window that recurs is an event of its own every day, named
"NAME YYYY-MM-DD", and so is an expression over such events. What has a time of its own (a window
with a start and an end, a pattern) is one event.
"""

import ast
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from priste.errors import EventsFileError
from priste.events import Event
from priste.protection import Protect
from priste.storage.limits import MAX_NAMED, MAX_NESTING, at_most
from priste.tracks import plain_toml
from priste.tracks.events_file import Reader, parsed
from priste.tracks.fields import field
from priste.tracks.names import checked
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.windows import Window

HORIZON = pd.Timedelta(days=7)
"""How long before they can begin events are asked for."""

_LONGEST = pd.Timedelta(days=2)  # what recurs daily is over by then, whatever the clocks do


class Asked(NamedTuple):
    """A protection, and the field of the events file that asks for it."""

    field: str
    protection: Protect


def lay_out(path: str | Path, place: LocalMap, clock: Clock, steps: range) -> list[Asked]:
    """Return what an events file asks for in a stretch of a stream.

    These are the daily events that begin within `steps`; and the others that begin before its end,
    be it long ago.
    """
    path = Path(path)
    content = plain_toml.read(path, EventsFileError)
    around = -(-_LONGEST // clock.length)
    seen = range(max(0, steps.start - around), steps.stop + around)
    return _Layout(content, path.parent, place, clock, steps, seen).asked()


class _Layout:
    """A file read once for what has a time of its own, and once for every day."""

    def __init__(
        self,
        content: dict[str, Any],
        folder: Path,
        place: LocalMap,
        clock: Clock,
        steps: range,
        seen: range,
    ) -> None:
        self.steps = steps
        self.file = content, folder, place, clock, seen.stop
        self.timed = _Once(*self.file)
        self.days: dict[date, _Daily] = {}
        self.seen = seen

    def asked(self) -> list[Asked]:
        if not self.timed.events:
            raise EventsFileError("the file has no events; add a table [events.NAME]")
        found: list[Asked] = []
        for name, table in self.timed.events.items():
            where = f"events.{name}"
            if "sides" in table and "epsilon" not in table:
                raise EventsFileError(f"{where}.sides needs an epsilon beside it")
            events = self._daily(name) if self.timed.recurs(name) else self._timed(name)
            if "epsilon" in table:
                found += [
                    Asked(where, self.timed.protection(name, table, title, event))
                    for title, event in events
                ]
            remedy = "use fewer, or release more often"
            at_most(len(found), MAX_NAMED, "the number of protections", remedy, EventsFileError)
        if not any("epsilon" in table for table in self.timed.events.values()):
            raise EventsFileError("no event has an epsilon, so nothing would be protected")
        return found

    def _timed(self, name: str) -> list[tuple[str, Event]]:
        event = self.timed.event(name)
        if isinstance(event, bool) or event.steps[0] >= self.steps.stop:
            return []
        return [(name, event)]

    def _daily(self, name: str) -> list[tuple[str, Event]]:
        begins: dict[date, int] = {}
        for window in self.timed.windows_of(name):
            for day, steps in self.timed.days_of(window, self.seen).items():
                begins[day] = min(steps[0], begins.get(day, steps[0]))
        found = []
        for day in sorted(day for day, step in begins.items() if step in self.steps):
            event = self._of(day).occurrence(name)
            if not isinstance(event, bool) and event.steps[0] in self.steps:
                title = checked(f"{name} {day}", f"events.{name}", EventsFileError)
                found.append((title, event))
        return found

    def _of(self, day: date) -> "_Daily":
        if day not in self.days:
            daily = _Daily(*self.file)
            daily._regions = self.timed._regions
            daily.on = {w: self.timed.days_of(w, self.seen).get(day, []) for w in daily.windows}
            self.days[day] = daily
        return self.days[day]


class _Once(Reader):
    """The events with a time of their own, and which of the others are there every day."""

    @cached_property
    def _daily(self) -> dict[str, frozenset[str]]:
        """The windows of each event that recurs; none for one with a time of its own."""
        return {}

    def recurs(self, name: str) -> bool:
        """Tell whether an event is one of every day."""
        return bool(self.windows_of(name))

    def windows_of(self, name: str) -> frozenset[str]:
        """Return the windows that a daily event is about; refuse what cannot be laid out."""
        if name in self._building:
            raise EventsFileError(f"events.{name} is defined by itself")
        if name not in self._daily:
            self._building.append(name)
            depth, remedy = len(self._building), "define events by fewer others"
            at_most(depth, MAX_NESTING, "events that define each other", remedy, EventsFileError)
            self._daily[name] = self._windows_of(self.events[name], f"events.{name}")
            self._building.pop()
        return self._daily[name]

    def _windows_of(self, table: Mapping[str, Any], where: str) -> frozenset[str]:
        kind = field(table, where, "kind", str)
        if kind in ("presence", "visits"):
            windows = self._window_names(table, where)
            each_day = field(table, where, "each_day", bool, False)
            bounded = {name for name in windows if {"start", "end"} <= set(self.windows[name])}
            for name in set(windows) - bounded:
                if not (each_day or {"from", "to", "days"} & set(self.windows[name])):
                    raise EventsFileError(
                        f"{where}.window: {name!r} goes on without end, and so does the stream; "
                        f"give it hours or days, so that every day counts, or a start and an end"
                    )
            if bounded and len(bounded) < len(set(windows)) and not each_day:
                raise EventsFileError(
                    f"{where}.window: windows with a start and an end do not go together with "
                    f"windows of every day; make two events of it"
                )
            return frozenset([] if bounded and not each_day else windows)
        if kind != "expression":
            return frozenset()
        tree = parsed(field(table, where, "expression", str), f"{where}.expression")
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        parts = {part: self.windows_of(part) for part in names if part in self.events}
        daily, timed = ([part for part in parts if bool(parts[part]) is k] for k in (True, False))
        if daily and timed:
            raise EventsFileError(
                f"{where}.expression: {daily[0]} and {timed[0]} do not go together in a stream: "
                f"the first is an event of every day, the other has a time of its own"
            )
        return frozenset().union(*parts.values())

    def days_of(self, window: str, seen: range) -> dict[date, list[int]]:
        """Return the steps of each day of a window."""
        if window not in self._days:
            self._days[window] = self.window(window).by_day(self.clock, seen)
        return self._days[window]

    def _days_of(self, name: str) -> dict[date, list[int]]:
        """Return the steps of a window from its start to its end, wherever these lie."""
        window: Window = self.window(name)
        moments = pd.Series([window.start, window.end])
        first, last = self.clock.step_at(moments).tolist()
        self.clock.check_steps(last - first)
        return window.by_day(self.clock, range(max(first, 0), max(last + 1, 0)))

    def _is_outside(self, step: int, length: int, where: str) -> bool:
        if step + length <= 0:
            return True
        if step < 0:
            raise EventsFileError(
                f"{where}: the pattern begins before the stream, at {self.clock.start}"
            )
        return False


class _Daily(Reader):
    """The events of one day. What has no step on it cannot happen: it is False."""

    on: dict[str, list[int]]

    def occurrence(self, name: str) -> Event | bool:
        """Return an event on this day."""
        return self.event(name)

    def _steps(self, table: Any, where: str) -> list[int]:
        names = self._window_names(table, where)
        return sorted({step for name in names for step in self.on[name]})

    def _visit(self, table: Any, where: str, steps: list[int]) -> Any:
        k = table.get("at_least")
        is_cut = isinstance(k, int) and steps[:1] == [0] and len(steps) < k  # by the first midnight
        return False if is_cut else super()._visit(table, where, steps)
