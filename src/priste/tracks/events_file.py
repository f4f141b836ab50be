"""An events file: what is secret, in terms of places and times.

    time_zone = "Europe/Berlin"

    [regions.clinic]
    circle = { latitude = 52.52, longitude = 13.40, radius_km = 0.4 }

    [windows.office_hours]
    from = "09:00"
    to = "17:00"
    days = ["mon", "tue", "wed", "thu", "fri"]

    [events.treatment]
    kind = "presence"
    region = "clinic"
    window = "office_hours"
    epsilon = 0.5

Regions are a circle, a polygon, the polygons of a GeoJSON file, or cells. Windows are hours
("09:00"), days, and moments (2024-05-01T08:00:00+02:00), in any combination. Kinds of events:

- presence: in `region` at any step of `window`, which names a window or is a list of names
- visits: in `region` at `at_least` steps of `window` or more
- pattern: in each of `regions` in turn, one a step, the first at the moment `start`
- expression: other events by name with and, or, not and brackets

An event without an epsilon is not protected by itself; it serves in expressions. A presence or
visits in a window of several days is one event, about all of them together; with `each_day = true`
every day is an event of its own, with the epsilon for each.
"""

import ast
import datetime
from collections.abc import Mapping
from functools import partial, reduce
from operator import and_, or_
from pathlib import Path
from typing import Any, Self, cast, get_args

import pandas as pd

from priste.checks import cell_set, listing, shown
from priste.errors import EventError, EventsFileError
from priste.events import At, Event, Withheld, at_least, extent, pattern, presence, writable
from priste.grid import Region
from priste.protection import Protect
from priste.storage import plain_json
from priste.storage.limits import (
    MAX_CONDITIONS,
    MAX_CORNERS,
    MAX_EXPRESSION,
    MAX_MARKUP_BYTES,
    MAX_NAMED,
    MAX_NESTING,
    at_most,
    moment_within,
    refusing,
)
from priste.tracks import plain_toml
from priste.tracks.fields import field, hour, in_field, only, tables
from priste.tracks.names import MAX_NAME, checked, escaped
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.windows import Window, zone
from priste.worst_case import Sides


def read_events(path: str | Path, place: LocalMap, clock: Clock, n_steps: int) -> list[Protect]:
    """Return the protections of an events file, each with its name, for a stream on a map.

    An event whose window has no step in the stream, such as one of weekdays on a Saturday, is
    not there; `absent_events` names those. There may be none left.
    """
    return Reader.of(path, place, clock, n_steps).protections()


def asked_events(path: str | Path, place: LocalMap, clock: Clock) -> list[Protect]:
    """Return all that a file ever protects, without saying what it is."""
    return Reader.of(path, place, clock, 1).asked()


class Reader:
    """The tables of an events file, and the events that they make in a stream."""

    def __init__(
        self,
        content: dict[str, Any],
        folder: Path,
        place: LocalMap,
        clock: Clock,
        n_steps: int,
    ) -> None:
        only(content, "the file", ("time_zone", "regions", "windows", "events"))
        self.time_zone = content.get("time_zone")
        self.regions: dict[str, Any] = tables(content, "regions")
        self.windows: dict[str, Any] = tables(content, "windows")
        self.events: dict[str, Any] = tables(content, "events")
        self.folder, self.place, self.clock, self.n_steps = folder, place, clock, n_steps
        self._windows: dict[str, Window] = {}
        self._days: dict[str, dict[datetime.date, list[int]]] = {}
        self._regions: dict[str, Region] = {}
        self._conditions = 0
        self._built: dict[str, Event | bool] = {}
        self._building: list[str] = []

    @classmethod
    def of(cls, path: str | Path, place: LocalMap, clock: Clock, n_steps: int) -> Self:
        """Return the tables of a file, for so many steps."""
        path = Path(path)
        content = plain_toml.read(path, EventsFileError)
        clock.check_steps(n_steps)
        return cls(content, path.parent, place, clock, n_steps)

    @property
    def protected(self) -> dict[str, Any]:
        """The tables of the events that have an epsilon."""
        return {name: table for name, table in self.events.items() if "epsilon" in table}

    def asked(self) -> list[Protect]:
        """Return all that is ever protected, without saying what it is."""
        return [self.protection(n, table, n, Withheld()) for n, table in self.protected.items()]

    def protections(self) -> list[Protect]:
        """Return what is protected."""
        if not self.events:
            raise EventsFileError("the file has no events; add a table [events.NAME]")
        found: list[Protect] = []
        for name, table in self.events.items():
            event = self.event(name)
            if "epsilon" not in table:
                if "sides" in table:
                    raise EventsFileError(f"events.{name}.sides needs an epsilon beside it")
                continue
            if isinstance(event, bool):
                continue
            found += [
                self.protection(name, table, title, part)
                for title, part in self._occurrences(name, table, event)
            ]
            remedy = "use fewer, or leave out each_day"
            at_most(len(found), MAX_NAMED, "the number of protections", remedy, EventsFileError)
        if not self.protected:
            raise EventsFileError("no event has an epsilon, so nothing would be protected")
        return found

    def protection(self, name: str, table: Mapping[str, Any], title: str, event: Event) -> Protect:
        """Return an event with the epsilon and the sides of a table, called `title`."""
        sides = table.get("sides", "both")
        if sides not in get_args(Sides):
            raise EventsFileError(
                f"events.{name}.sides must be one of {listing(get_args(Sides))}, got {shown(sides)}"
            )
        build = partial(Protect, sides=sides, name=title)
        return in_field(f"events.{name}.epsilon", build, event, table["epsilon"])

    def _occurrences(
        self, name: str, table: Mapping[str, Any], event: Event
    ) -> list[tuple[str, Event]]:
        """Return the event, or if each day counts by itself, that of each day."""
        if not table.get("each_day", False):
            return [(name, event)]
        where = f"events.{name}"
        found = []
        for day, steps in self._by_day(self._window_names(table, where)).items():
            title = checked(f"{name} {day}", where, EventsFileError)
            found.append((title, cast(Event, self._visit(table, where, steps))))  # it has steps
        return found

    def event(self, name: str) -> Event | bool:
        """Return the event of a name, built once; a truth value if it is decided beforehand."""
        if name in self._building:
            raise EventsFileError(
                f"events.{name} is defined by itself: {listing([*self._building, name], 12)}"
            )
        if name not in self._built:
            self._building.append(name)
            depth, remedy = len(self._building), "define events by fewer others"
            at_most(depth, MAX_NESTING, "events that define each other", remedy, EventsFileError)
            event = self._build(name, self.events[name])
            self._built[name] = event if isinstance(event, bool) else self._counted(event, name)
            self._building.pop()
        return self._built[name]

    def _counted(self, event: Event, name: str) -> Event:
        """Return an event that can be written out in full, and all of the file together too."""
        self._conditions += extent(in_field(f"events.{name}", writable, event))[0]
        remedy = "use shorter windows or longer steps"
        what = "the conditions of all events together"
        at_most(self._conditions, MAX_CONDITIONS, what, remedy, EventsFileError)
        return event

    def _build(self, name: str, table: Mapping[str, Any]) -> Event | bool:
        where = f"events.{name}"
        kind = field(table, where, "kind", str)
        common = ("kind", "epsilon", "sides")
        if kind in ("presence", "visits"):
            of_visits = ("at_least",) if kind == "visits" else ()
            only(table, where, (*common, "region", "window", "each_day", *of_visits))
            field(table, where, "each_day", bool, False)
            return self._visit(table, where, self._steps(table, where))
        if kind == "pattern":
            only(table, where, (*common, "regions", "start"))
            names = field(table, where, "regions", list)
            regions = [self.region(n, f"{where}.regions") for n in names]
            moment = self._moment(field(table, where, "start", object), f"{where}.start")
            step = int(self.clock.step_at(pd.Series([moment]))[0])
            if self._is_outside(step, len(regions), f"{where}.start"):
                return False
            return in_field(where, pattern, regions, step)
        if kind == "expression":
            only(table, where, (*common, "expression"))
            return self._expression(field(table, where, "expression", str), f"{where}.expression")
        raise EventsFileError(
            f"{where}.kind must be one of presence, visits, pattern, expression, got {shown(kind)}"
        )

    def _is_outside(self, step: int, length: int, where: str) -> bool:
        """Tell whether a pattern lies wholly outside the stream; refuse one that does in part."""
        if step + length <= 0 or step >= self.n_steps:
            return True
        if step < 0 or step + length > self.n_steps:
            raise EventsFileError(
                f"{where}: a part of the pattern lies outside the stream, which runs from "
                f"{self.clock.start} to {self.clock.time_of([self.n_steps])[0]}"
            )
        return False

    def _visit(self, table: Mapping[str, Any], where: str, steps: list[int]) -> Event | bool:
        """Return being in the region at any, or at enough, of the steps; False without any."""
        if not steps:
            return False
        cells = self._region(table, where)
        if table["kind"] == "presence":
            return in_field(where, presence, cells, steps)
        k = field(table, where, "at_least", int)
        return in_field(f"{where}.at_least", at_least, k, [At(cells, step) for step in steps])

    def _region(self, table: Mapping[str, Any], where: str) -> Region:
        return self.region(field(table, where, "region", str), f"{where}.region")

    def region(self, name: object, wanted_by: str) -> Region:
        """Return the cells of a region."""
        if not isinstance(name, str) or name not in self.regions:
            raise EventsFileError(
                f"{wanted_by} names {shown(name)}, which is not a region; there are "
                f"{listing(sorted(self.regions)) or 'none'}"
            )
        if name not in self._regions:
            self._regions[name] = self._shape(f"regions.{name}", self.regions[name])
        return self._regions[name]

    def _shape(self, where: str, table: Mapping[str, Any]) -> Region:
        shapes = ("circle", "polygon", "geojson", "cells", "elsewhere")
        only(table, where, shapes)
        if len(table) != 1:
            raise EventsFileError(f"{where} needs exactly one of {listing(shapes)}")
        (shape, value) = next(iter(table.items()))
        where = f"{where}.{shape}"
        if shape == "circle":
            numbers = [
                field(value, where, k, float) for k in ("latitude", "longitude", "radius_km")
            ]
            return in_field(where, self.place.circle, *numbers)
        if shape == "polygon":
            return in_field(where, self.place.polygon, value)
        if shape == "geojson":
            return self._geojson(self.folder / field(table, where, shape, str), where)
        if shape == "elsewhere":
            return self._elsewhere(value, where)
        return in_field(
            where, partial(cell_set, n_cells=self.place.grid.n_cells), value, shape, EventError
        )

    def _elsewhere(self, value: object, where: str) -> Region:
        if value is not True:
            raise EventsFileError(f"{where} can only be true, got {shown(value)}")
        cell = self.place.grid.elsewhere_cell
        if cell is None:
            raise EventsFileError(
                f"{where}: the map has no cell for what is off it; fit a model that has one "
                f"(--elsewhere)"
            )
        return (cell,)

    def _geojson(self, path: Path, where: str) -> Region:
        what = f"{where}: {escaped(path.name)[:MAX_NAME]} is not GeoJSON that can be read"
        with refusing(what, EventsFileError):
            content = plain_json.read(path, MAX_MARKUP_BYTES, EventsFileError)
            features = content.get("features", [content])
            shapes = [feature.get("geometry", feature) for feature in features]
            rings = [s["coordinates"][0] for s in shapes if s["type"] == "Polygon"]
            rings += [p[0] for s in shapes if s["type"] == "MultiPolygon" for p in s["coordinates"]]
            corners = sum(map(len, rings))
        if not rings:
            raise EventsFileError(f"{where}: {path.name} holds no polygons")
        at_most(corners, MAX_CORNERS, f"{where}: corners", "simplify the polygons", EventsFileError)
        cells = {cell for ring in rings for cell in in_field(where, self.place.polygon, ring)}
        return tuple(sorted(cells))

    def _window_names(self, table: Mapping[str, Any], where: str) -> tuple[str, ...]:
        """Return the windows that an event is about, all together."""
        given = field(table, where, "window", object)
        names = tuple(given) if isinstance(given, list) else (given,)
        unknown = [name for name in names if not isinstance(name, str) or name not in self.windows]
        if unknown or not names:
            raise EventsFileError(
                f"{where}.window names {shown(unknown[0] if unknown else given)}, which is not a "
                f"window; there are {listing(sorted(self.windows)) or 'none'}"
            )
        return names

    def _steps(self, table: Mapping[str, Any], where: str) -> list[int]:
        by_day = self._by_day(self._window_names(table, where))
        return sorted(step for steps in by_day.values() for step in steps)

    def _by_day(self, names: tuple[str, ...]) -> dict[datetime.date, list[int]]:
        """Return the steps of some windows together, by the day they belong to."""
        found: dict[datetime.date, set[int]] = {}
        for name in names:
            for day, steps in self._days_of(name).items():
                found.setdefault(day, set()).update(steps)
        return {day: sorted(found[day]) for day in sorted(found)}

    def _days_of(self, name: str) -> dict[datetime.date, list[int]]:
        if name not in self._days:
            self._days[name] = self.window(name).by_day(self.clock, self.n_steps)
        return self._days[name]

    def window(self, name: str) -> Window:
        """Return a window."""
        where, table = f"windows.{name}", self.windows[name]
        only(table, where, ("from", "to", "days", "start", "end", "time_zone"))
        time_zone = table.get("time_zone", self.time_zone)
        if time_zone is not None and "time_zone" not in table:
            in_field("time_zone", zone, time_zone)
        if time_zone is None:
            raise EventsFileError(
                f'{where} needs a time zone: put time_zone = "Europe/Berlin" (or another) at the '
                f"top of the file or into the window"
            )
        moments = {
            k: self._moment(table[k], f"{where}.{k}") for k in ("start", "end") if k in table
        }
        hours = {k: hour(table[k], f"{where}.{k}") for k in ("from", "to") if k in table}
        if table.get("to") == "24:00" and hours.get("from") == datetime.time(0):
            hours = {}  # all day
        days = tuple(field(table, where, "days", list)) if "days" in table else None
        return in_field(
            where,
            Window,
            time_zone,
            moments.get("start"),
            moments.get("end"),
            hours.get("from"),
            hours.get("to"),
            days,
        )

    def _moment(self, value: object, where: str) -> pd.Timestamp:
        if not isinstance(value, datetime.datetime):
            raise EventsFileError(
                f"{where} must be a moment such as 2024-05-01T08:00:00+02:00 (without quotes), "
                f"got {shown(value)}"
            )
        moment = pd.Timestamp(value)
        if moment.tz is None and self.time_zone is None:
            raise EventsFileError(f"{where} has no time zone; add one, or time_zone to the file")
        moment_within(moment if moment.tz else moment.tz_localize("UTC"), where, EventsFileError)
        if moment.tz:
            return moment
        return in_field(where, moment.tz_localize, in_field("time_zone", zone, self.time_zone))

    def _expression(self, text: str, where: str) -> Event | bool:
        try:
            event: Event | bool = in_field(where, self._combined, parsed(text, where), text)
            return event
        except RecursionError:
            raise EventsFileError(f"{where} is nested too deeply") from None

    def _combined(self, node: ast.expr, text: str) -> Any:
        """Return an event, or a truth value where a part of it has one for all paths."""
        match node:
            case ast.Name(name) if name in self.events:
                return self.event(name)
            case ast.Name(name):
                known = listing(sorted(self.events), 12)
                raise EventsFileError(f"{shown(name)} is not an event; there are {known}")
            case ast.UnaryOp(ast.Not(), inner):
                part = self._combined(inner, text)
                return not part if isinstance(part, bool) else ~part
            case ast.BoolOp(operator, nodes):
                parts = [self._combined(each, text) for each in nodes]
                return _joined(parts, isinstance(operator, ast.And))
        raise EventsFileError(f"it may use only names, and, or, not and brackets: {shown(text)}")


def _joined(parts: list[Event | bool], is_and: bool) -> Event | bool:
    """Return all parts or any part of an expression as one."""
    if (not is_and) in parts:
        return not is_and
    events = [part for part in parts if not isinstance(part, bool)]
    return reduce(and_ if is_and else or_, events) if events else is_and


def parsed(text: str, where: str) -> ast.expr:
    """Return an expression as Python's own parser reads it; nothing in it is run."""
    at_most(len(text), MAX_EXPRESSION, f"{where}: characters", "split it", EventsFileError)
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise EventsFileError(
            f"{where} cannot be read: {shown(text)}; use event names with and, or, not, brackets"
        ) from None
