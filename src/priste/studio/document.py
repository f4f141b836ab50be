"""Places and secrets as the page has them, and as an events file has them; one becomes the other.

The page knows circles and polygons, and hours of the week that are painted one by one. What it
cannot draw (cells, patterns, expressions, windows with moments) is kept as it was written.
"""

from collections.abc import Mapping
from datetime import time
from itertools import chain, count
from typing import Any, get_args

import tomli_w

from priste.errors import EventsFileError, StudioError
from priste.storage.limits import MAX_EVENTS_BYTES, MAX_NAMED, at_most
from priste.tracks import plain_toml
from priste.tracks.fields import field, in_field, only, tables
from priste.tracks.names import checked
from priste.tracks.windows import DAYS, zone
from priste.worst_case import Sides

Week = list[list[int]]
"""The painted hours of each day, Monday first."""

_DRAWN = ("circle", "polygon")


def to_text(document: Mapping[str, Any]) -> str:
    """Return the events file of what is on the page."""
    return tomli_w.dumps(to_tables(document))


def to_tables(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of the events file of what is on the page."""
    try:
        return _tables(document)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        if isinstance(problem, StudioError | EventsFileError):
            raise
        raise StudioError(
            f"the places and secrets are not as the page writes them ({type(problem).__name__})"
        ) from None


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = plain_toml.parsed(document.get("kept", "").encode(), "what is kept", EventsFileError)
    made: dict[str, Any] = {"time_zone": document["time_zone"]}
    for part in ("regions", "windows", "events"):
        made[part] = dict(kept.get(part, {}))
    for place in document["places"]:
        name = checked(place["name"], "a place", StudioError)
        _refuse_taken(name, made["regions"], "place")
        shapes = {shape: place[shape] for shape in _DRAWN if shape in place}
        if len(shapes) != 1:
            raise StudioError(f"the place {name!r} needs a circle or a polygon")
        made["regions"][name] = shapes
    for secret in document["secrets"]:
        name = checked(secret["name"], "a secret", StudioError)
        _refuse_taken(name, made["events"], "secret")
        windows = windows_of(secret["week"])
        if not windows:
            raise StudioError(f"the secret {name!r} has no hours; paint some")
        names = []
        for window in windows:
            names.append(_free(name, made["windows"]))
            made["windows"][names[-1]] = window
        made["events"][name] = {
            "kind": "presence",
            "region": secret["place"],
            "window": names[0] if len(names) == 1 else names,
            "epsilon": float(secret["epsilon"]),
        }
        if secret["sides"] != "both":
            made["events"][name]["sides"] = str(secret["sides"])
    for part in ("regions", "windows", "events"):
        at_most(len(made[part]), MAX_NAMED, f"the number of {part}", "use fewer", StudioError)
    return {part: table for part, table in made.items() if table}


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that nothing else has."""
    others = (f"{name} {number}" for number in count(2))
    return next(each for each in chain([name], others) if each not in taken)


def _refuse_taken(name: str, others: Mapping[str, Any], what: str) -> None:
    if name in others:
        raise StudioError(f"there are two of the name {name!r}; give one {what} another")


def from_text(content: bytes) -> dict[str, Any]:
    """Return what the page shows of an events file."""
    at_most(len(content), MAX_EVENTS_BYTES, "the bytes of the file", "shorten it", StudioError)
    file = plain_toml.parsed(content, "the events file", EventsFileError)
    only(file, "the file", ("time_zone", "regions", "windows", "events"))
    regions, windows, events = (
        dict(tables(file, part)) for part in ("regions", "windows", "events")
    )
    for name, region in regions.items():
        if set(region) == {"circle"}:
            for number in ("latitude", "longitude", "radius_km"):
                field(region["circle"], f"regions.{name}.circle", number, float)
        if set(region) == {"polygon"} and not _is_ring(region["polygon"]):
            raise EventsFileError(f"regions.{name}.polygon must be a list of corners")
    places = {
        name: table
        for name, table in regions.items()
        if len(table) == 1 and set(table) <= {*_DRAWN}
    }
    secrets, drawn = [], set[str]()
    for name, table in list(events.items()):
        names = _listed(table.get("window"))
        week = week_of([windows.get(each) if isinstance(each, str) else None for each in names])
        sides = table.get("sides", "both")
        plain = set(table) - {"sides"} == {"kind", "region", "window", "epsilon"}
        plain = plain and week is not None and sides in get_args(Sides)
        if not plain or table["kind"] != "presence" or str(table["region"]) not in places:
            continue
        field(table, f"events.{name}", "epsilon", float)
        secrets.append(
            {
                "name": name,
                "place": table["region"],
                "week": week,
                "epsilon": table["epsilon"],
                "sides": sides,
            }
        )
        drawn.update(names)
        del events[name]
    still_used = {str(each) for table in events.values() for each in _listed(table.get("window"))}
    kept = {
        "regions": {name: table for name, table in regions.items() if name not in places},
        "windows": {
            name: table
            for name, table in windows.items()
            if name in still_used or name not in drawn
        },
        "events": events,
    }
    return {
        "time_zone": str(in_field("time_zone", zone, file["time_zone"]))
        if "time_zone" in file
        else None,
        "places": [{"name": name, **table} for name, table in places.items()],
        "secrets": secrets,
        "kept": tomli_w.dumps({part: table for part, table in kept.items() if table}),
    }


def _is_ring(value: Any) -> bool:
    """Tell whether something is a list of corners (longitude, latitude)."""
    return (
        isinstance(value, list)
        and len(value) >= 3
        and all(isinstance(corner, list) and len(corner) == 2 for corner in value)
        and all(isinstance(number, int | float) for corner in value for number in corner)
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def windows_of(week: Week) -> list[dict[str, Any]]:
    """Return the windows that make up painted hours: stretches of hours, each with its days."""
    if len(week) != len(DAYS) or not all(0 <= hour < 24 for day in week for hour in day):
        raise StudioError("a week has seven days with hours from 0 to 23")
    days: dict[tuple[int, int], list[str]] = {}
    for name, hours in zip(DAYS, week, strict=True):
        for stretch in _stretches(sorted(set(map(int, hours)))):
            days.setdefault(stretch, []).append(name)
    return [
        {"from": f"{begin:02d}:00", "to": f"{end:02d}:00"}
        | ({} if len(names) == len(DAYS) else {"days": names})
        for (begin, end), names in days.items()
    ]


def _stretches(hours: list[int]) -> list[tuple[int, int]]:
    """Return the stretches of consecutive hours, each from its begin to its end."""
    found: list[tuple[int, int]] = []
    for hour in hours:
        if found and found[-1][1] == hour:
            found[-1] = (found[-1][0], hour + 1)
        else:
            found.append((hour, hour + 1))
    return found


def week_of(windows: list[Any]) -> Week | None:
    """Return the painted hours of windows; None if the page cannot paint them."""
    week: list[set[int]] = [set() for _ in DAYS]
    for window in windows:
        if not isinstance(window, dict) or not {"from", "to"} <= set(window) <= {
            "from",
            "to",
            "days",
        }:
            return None
        begin, end, days = _hour(window["from"]), _hour(window["to"]), window.get("days", DAYS)
        if begin is None or end is None or begin >= end or not isinstance(days, list | tuple):
            return None
        if not all(day in DAYS for day in days):
            return None
        for day in days:
            week[DAYS.index(day)].update(range(begin, end))
    return [sorted(hours) for hours in week] if windows else None


def _hour(value: object) -> int | None:
    """Return a whole hour; None for anything else."""
    text = value.isoformat() if isinstance(value, time) else str(value)
    hour, _, rest = text.partition(":")
    if not (hour.isdecimal() and rest in ("00", "00:00") and int(hour) <= 24):
        return None
    return int(hour)
