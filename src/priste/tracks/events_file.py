"""An events file: what is secret, in the words of places and clocks.

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

- presence: in `region` at any step of `window`
- visits: in `region` at `at_least` steps of `window` or more
- pattern: in each of `regions` in turn, one a step, the first at the moment `start`
- expression: other events by name with and, or, not and brackets

An event without an epsilon is not protected by itself; it is there for expressions. A presence or
visits in a window of several days is one event, about all of them together; with `each_day = true`
every day is an event of its own, with the epsilon for each.
"""

import ast
import datetime
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import pandas as pd

from priste.checks import cell_set, listing
from priste.errors import EventError, EventsFileError, PristeError
from priste.events import Event, at, at_least, pattern, presence
from priste.grid import Region
from priste.protection import Protect
from priste.tracks.places import LocalMap
from priste.tracks.steps import Clock
from priste.tracks.windows import Window
from priste.worst_case import Sides

Built = TypeVar("Built")


@dataclass(frozen=True)
class NamedProtection:
    """A protection and the name it has in the events file."""

    name: str
    protection: Protect


def read_events(
    path: str | Path, place: LocalMap, clock: Clock, n_steps: int
) -> list[NamedProtection]:
    """Return the protections of an events file for a stream of `n_steps` steps on a map."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise EventsFileError(f"{path} is not a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EventsFileError(f"{path.name} is not TOML: {error}") from error
    return _Reader(content, path.parent, place, clock, n_steps).protections()


class _Reader:
    def __init__(
        self,
        content: dict[str, Any],
        folder: Path,
        place: LocalMap,
        clock: Clock,
        n_steps: int,
    ) -> None:
        _only(content, "the file", ("time_zone", "regions", "windows", "events"))
        self.time_zone = content.get("time_zone")
        self.regions: dict[str, Any] = _tables(content, "regions")
        self.windows: dict[str, Any] = _tables(content, "windows")
        self.events: dict[str, Any] = _tables(content, "events")
        self.folder, self.place, self.clock, self.n_steps = folder, place, clock, n_steps
        self._built: dict[str, Event] = {}
        self._building: list[str] = []

    def protections(self) -> list[NamedProtection]:
        if not self.events:
            raise EventsFileError("the file names no events; add a table [events.NAME]")
        found = []
        for name, table in self.events.items():
            event = self.event(name)
            if "epsilon" not in table:
                if "sides" in table:
                    raise EventsFileError(f"events.{name}.sides needs an epsilon beside it")
                continue
            sides = table.get("sides", "both")
            if sides not in get_args(Sides):
                raise EventsFileError(
                    f"events.{name}.sides must be one of {listing(get_args(Sides))}, got {sides!r}"
                )
            where, epsilon = f"events.{name}.epsilon", table["epsilon"]
            found += [
                NamedProtection(named, _in(where, Protect, part, epsilon, sides))
                for named, part in self._occurrences(name, table, event)
            ]
        if not found:
            raise EventsFileError("no event has an epsilon, so nothing would be protected")
        return found

    def _occurrences(
        self, name: str, table: Mapping[str, Any], event: Event
    ) -> list[tuple[str, Event]]:
        """Return the event, or if each day counts by itself, that of each day."""
        if not table.get("each_day", False):
            return [(name, event)]
        where = f"events.{name}"
        window = self.window(_field(table, where, "window", str))
        days = window.by_day(self.clock, self.n_steps).items()
        return [(f"{name} {day}", self._visit(table, where, steps)) for day, steps in days]

    def event(self, name: str) -> Event:
        if name in self._building:
            raise EventsFileError(
                f"events.{name} is defined by itself: {' → '.join(self._building)}"
            )
        if name not in self._built:
            self._building.append(name)
            self._built[name] = self._build(name, self.events[name])
            self._building.pop()
        return self._built[name]

    def _build(self, name: str, table: Mapping[str, Any]) -> Event:
        where = f"events.{name}"
        kind = _field(table, where, "kind", str)
        common = ("kind", "epsilon", "sides")
        if kind in ("presence", "visits"):
            of_visits = ("at_least",) if kind == "visits" else ()
            _only(table, where, (*common, "region", "window", "each_day", *of_visits))
            _field(table, where, "each_day", bool, False)
            return self._visit(table, where, self._steps(table, where))
        if kind == "pattern":
            _only(table, where, (*common, "regions", "start"))
            names = _field(table, where, "regions", list)
            regions = [self.region(n, f"{where}.regions") for n in names]
            moment = self._moment(_field(table, where, "start", object), f"{where}.start")
            step = int(self.clock.step_at(pd.Series([moment]))[0])
            if step < 0 or step + len(regions) > self.n_steps:
                raise EventsFileError(
                    f"{where}.start: the pattern lies outside the stream, which runs from "
                    f"{self.clock.start} to {self.clock.time_of([self.n_steps])[0]}"
                )
            return _in(where, pattern, regions, step)
        if kind == "expression":
            _only(table, where, (*common, "expression"))
            return self._expression(_field(table, where, "expression", str), f"{where}.expression")
        raise EventsFileError(
            f"{where}.kind must be one of presence, visits, pattern, expression, got {kind!r}"
        )

    def _visit(self, table: Mapping[str, Any], where: str, steps: list[int]) -> Event:
        """Return being in the region at any, or at enough, of the steps."""
        cells = self._region(table, where)
        if table["kind"] == "presence":
            return presence(cells, steps)
        k = _field(table, where, "at_least", int)
        return _in(f"{where}.at_least", at_least, k, [at(cells, step) for step in steps])

    def _region(self, table: Mapping[str, Any], where: str) -> Region:
        return self.region(_field(table, where, "region", str), f"{where}.region")

    def region(self, name: str, wanted_by: str) -> Region:
        if name not in self.regions:
            raise EventsFileError(
                f"{wanted_by} names {name!r}, which is no region; there are "
                f"{listing(sorted(self.regions)) or 'none'}"
            )
        where, table = f"regions.{name}", self.regions[name]
        shapes = ("circle", "polygon", "geojson", "cells")
        _only(table, where, shapes)
        if len(table) != 1:
            raise EventsFileError(f"{where} needs exactly one of {listing(shapes)}")
        (shape, value) = next(iter(table.items()))
        where = f"{where}.{shape}"
        if shape == "circle":
            numbers = [
                _field(value, where, k, float) for k in ("latitude", "longitude", "radius_km")
            ]
            return _in(where, self.place.circle, *numbers)
        if shape == "polygon":
            return _in(where, self.place.polygon, value)
        if shape == "geojson":
            return self._geojson(self.folder / str(value), where)
        return _in(
            where, partial(cell_set, n_cells=self.place.grid.n_cells), value, shape, EventError
        )

    def _geojson(self, path: Path, where: str) -> Region:
        try:
            content = json.loads(path.read_text(encoding="utf-8-sig"))
            features = content.get("features", [content])
            shapes = [feature.get("geometry", feature) for feature in features]
            rings = [s["coordinates"][0] for s in shapes if s["type"] == "Polygon"]
            rings += [p[0] for s in shapes if s["type"] == "MultiPolygon" for p in s["coordinates"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise EventsFileError(
                f"{where}: {path.name} is not GeoJSON that can be read ({type(error).__name__})"
            ) from error
        if not rings:
            raise EventsFileError(f"{where}: {path.name} holds no polygons")
        cells = {cell for ring in rings for cell in _in(where, self.place.polygon, ring)}
        return tuple(sorted(cells))

    def _steps(self, table: Mapping[str, Any], where: str) -> list[int]:
        name = _field(table, where, "window", str)
        if name not in self.windows:
            raise EventsFileError(
                f"{where}.window names {name!r}, which is no window; there are "
                f"{listing(sorted(self.windows)) or 'none'}"
            )
        steps = self.window(name).steps(self.clock, self.n_steps)
        if not steps:
            raise EventsFileError(
                f"{where}.window: {name!r} has no step in the stream, which runs from "
                f"{self.clock.start} to {self.clock.time_of([self.n_steps])[0]}"
            )
        return steps

    def window(self, name: str) -> Window:
        where, table = f"windows.{name}", self.windows[name]
        _only(table, where, ("from", "to", "days", "start", "end", "time_zone"))
        time_zone = table.get("time_zone", self.time_zone)
        if time_zone is None:
            raise EventsFileError(
                f'{where} needs a time zone: put time_zone = "Europe/Berlin" (or another) at the '
                f"top of the file or into the window"
            )
        moments = {
            k: self._moment(table[k], f"{where}.{k}") for k in ("start", "end") if k in table
        }
        hours = {k: _hour(table[k], f"{where}.{k}") for k in ("from", "to") if k in table}
        days = tuple(_field(table, where, "days", list)) if "days" in table else None
        return _in(
            where,
            Window,
            str(time_zone),
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
                f"got {value!r}"
            )
        moment = pd.Timestamp(value)
        if moment.tz is not None:
            return moment
        if self.time_zone is None:
            raise EventsFileError(f"{where} has no time zone; add one, or time_zone to the file")
        return _in(where, moment.tz_localize, str(self.time_zone))

    def _expression(self, text: str, where: str) -> Event:
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise EventsFileError(
                f"{where} cannot be read: {text!r}; use event names with and, or, not, brackets"
            ) from None

        def build(node: ast.expr) -> Event:
            match node:
                case ast.Name(name) if name in self.events:
                    return self.event(name)
                case ast.Name(name):
                    known = listing(sorted(self.events), 12)
                    raise EventsFileError(f"{where}: {name!r} is no event; there are {known}")
                case ast.UnaryOp(ast.Not(), inner):
                    return ~build(inner)
                case ast.BoolOp(operator, [first, *others]):
                    event = build(first)
                    for other in others:
                        part = build(other)
                        event = event & part if isinstance(operator, ast.And) else event | part
                    return event
            raise EventsFileError(
                f"{where} may use only names, and, or, not and brackets: {text!r}"
            )

        try:
            return build(tree)
        except RecursionError:
            raise EventsFileError(f"{where} is nested too deeply") from None


def _tables(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    tables = content.get(name, {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise EventsFileError(f"{name} must be tables, each like [{name}.NAME]")
    return tables


def _field(table: object, where: str, name: str, kind: type, default: Any = None) -> Any:
    if not isinstance(table, Mapping):
        raise EventsFileError(f"{where} must be a table with {name} in it, got {table!r}")
    if name not in table and default is not None:
        return default
    if name not in table:
        raise EventsFileError(f"{where} needs {name}")
    value = table[name]
    good = isinstance(value, (int, float) if kind is float else kind)
    if not good or (kind in (int, float) and isinstance(value, bool)):
        words = {
            bool: "true or false",
            str: "text",
            int: "a whole number",
            float: "a number",
            list: "a list",
        }
        raise EventsFileError(f"{where}.{name} must be {words[kind]}, got {value!r}")
    return value


def _only(table: object, where: str, known: tuple[str, ...]) -> None:
    if not isinstance(table, Mapping):
        raise EventsFileError(f"{where} must be a table, got {table!r}")
    unknown = [name for name in table if name not in known]
    if unknown:
        raise EventsFileError(
            f"{where} does not know {listing(unknown)}; it knows {listing(known, 12)}"
        )


def _hour(value: object, where: str) -> datetime.time:
    try:
        hour = value if isinstance(value, datetime.time) else _parsed_hour(value)
        if hour.tzinfo is not None:
            raise ValueError("hours are those of the window's zone")
        return hour
    except (TypeError, ValueError):
        raise EventsFileError(f'{where} must be an hour such as "09:00", got {value!r}') from None


def _parsed_hour(value: object) -> datetime.time:
    return datetime.time.fromisoformat(cast(str, value))


def _in(where: str, build: Callable[..., Built], *arguments: object) -> Built:
    """Build something; if it is refused, say which field of the file is to blame."""
    try:
        return build(*arguments)
    except PristeError as error:
        raise EventsFileError(f"{where}: {error}") from error
    except (TypeError, ValueError) as error:
        raise EventsFileError(f"{where} cannot be understood: {error}") from error
