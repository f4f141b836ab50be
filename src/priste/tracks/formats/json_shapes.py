"""The shapes in which apps write a fix as JSON: one object, and the fixes it holds."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from priste.tracks.moments import microseconds

Object = Mapping[str, Any]


class Fix(NamedTuple):
    """A moment as it is written, and a place in degrees."""

    time: object
    latitude: float
    longitude: float


_TIMES = (
    *(
        "tst",
        "timestamp",
        "timestampMs",
        "time",
        "fixTime",
        "deviceTime",
        "datetime",
        "recorded_at",
    ),
    *("start_time", "created_at", "dateTimeOriginal", "fileCreatedAt", "date"),
)
_WRITTEN = (
    (("latitude", "lat"), ("longitude", "lon", "lng", "long"), 1.0),
    (("latitudeE7", "latE7"), ("longitudeE7", "lonE7", "lngE7"), 1e-7),
)
_PAIR = re.compile(r"\s*(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)")


def fixes_of(thing: object) -> Iterator[Fix]:
    """Yield the fixes of an object in any of the shapes that are known."""
    if not isinstance(thing, Mapping):
        return
    for name, shape in _SHAPES.items():
        if name in thing:
            yield from shape(thing)
            return
    yield from _flat(thing)


def _flat(thing: Object) -> Iterator[Fix]:
    """Read a place with a time beside it: OwnTracks, Traccar, Dawarich, Polarsteps, others."""
    if thing.get("_type", "location") != "location":
        return
    place = _place(thing)
    if place is not None:
        yield Fix(_first(thing, _TIMES), *place)


def _feature(thing: Object) -> Iterator[Fix]:
    """Read a point of GeoJSON: Overland."""
    geometry, properties = (thing.get(name) or {} for name in ("geometry", "properties"))
    if geometry.get("type") == "Point":
        longitude, latitude = geometry["coordinates"][:2]
        yield Fix(_first(properties, _TIMES), float(latitude), float(longitude))


def _photo(thing: Object) -> Iterator[Fix]:
    """Read an asset of Immich."""
    exif = thing.get("exifInfo") or {}
    place = _place(exif)
    if place is not None:
        time = _first(exif, _TIMES) or _first(thing, _TIMES)
        yield Fix(time, *place)


def _step(thing: Object) -> Iterator[Fix]:
    """Read an object whose place is one of its own: Polarsteps, Traccar Client."""
    inner = thing["location"]
    if not isinstance(inner, Mapping):
        return
    place = _place(inner) or _place(inner.get("coords"))
    if place is not None:
        yield Fix(_first(inner, _TIMES) or _first(thing, _TIMES), *place)


def _visit(thing: Object) -> Iterator[Fix]:
    """Read a visit of Google's Semantic Location History: there from its start to its end."""
    yield from _span(
        thing["placeVisit"].get("duration"), *[thing["placeVisit"].get("location")] * 2
    )


def _activity(thing: Object) -> Iterator[Fix]:
    """Read a way of Google's Semantic Location History: its ends, and points between."""
    way = thing["activitySegment"]
    yield from _span(way.get("duration"), way.get("startLocation"), way.get("endLocation"))
    for point in (way.get("simplifiedRawPath") or {}).get("points", []):
        yield from _flat(point)


def _segment(thing: Object) -> Iterator[Fix]:
    """Read a segment of the Timeline that phones export: a path, a visit or a way."""
    start, end = thing.get("startTime"), thing.get("endTime")
    for point in thing.get("timelinePath") or []:
        place = _place(point.get("point"))
        if place is not None:
            yield Fix(point.get("time") or _later(start, point), *place)
    visit = (thing.get("visit") or {}).get("topCandidate") or {}
    way = thing.get("activity") or {}
    places = (
        visit.get("placeLocation"),
        visit.get("placeLocation"),
        way.get("start"),
        way.get("end"),
    )
    for time, written in zip((start, end, start, end), places, strict=True):
        place = _place(written)
        if place is not None:
            yield Fix(time, *place)


def _signal(thing: Object) -> Iterator[Fix]:
    """Read a raw signal of the Timeline that phones export."""
    place = _place(thing["position"])
    if place is not None:
        yield Fix(_first(thing["position"], _TIMES), *place)


def _segment_or_flat(thing: Object) -> Iterator[Fix]:
    """Tell a way of the Timeline from a fix of Google's Records that guesses the activity."""
    return _segment(thing) if "startTime" in thing else _flat(thing)


_SHAPES: dict[str, Callable[[Object], Iterator[Fix]]] = {
    "placeVisit": _visit,
    "activitySegment": _activity,
    "timelinePath": _segment,
    "visit": _segment,
    "activity": _segment_or_flat,
    "position": _signal,
    "exifInfo": _photo,
    "geometry": _feature,
    "location": _step,
}


def _span(duration: object, *places: object) -> Iterator[Fix]:
    """Yield a place at the start and one at the end of a duration."""
    if not isinstance(duration, Mapping):
        return
    for which, written in zip(("start", "end"), places, strict=True):
        place = _place(written)
        if place is not None:
            yield Fix(_first(duration, (f"{which}Timestamp", f"{which}TimestampMs")), *place)


def _place(written: object) -> tuple[float, float] | None:
    """Return the degrees of a place: a pair as text, numbers, or whole ten-millionths."""
    if isinstance(written, str):
        pair = _PAIR.match(written[:100])
        return None if pair is None else (float(pair[1]), float(pair[2]))
    if not isinstance(written, Mapping):
        return None
    for inner in ("latLng", "LatLng"):
        if inner in written:
            return _place(written[inner])
    for latitudes, longitudes, unit in _WRITTEN:
        latitude, longitude = _first(written, latitudes), _first(written, longitudes)
        if latitude is not None and longitude is not None:
            return float(latitude) * unit, float(longitude) * unit
    return None


def _first(thing: object, names: tuple[str, ...]) -> Any:
    """Return the first of the named fields that is there."""
    if not isinstance(thing, Mapping):
        return None
    for name in names:
        if thing.get(name) is not None:
            return thing[name]
    return None


def _later(start: object, point: Object) -> str | None:
    """Return the moment of a point that is so many minutes after the start."""
    minutes = point.get("durationMinutesOffsetFromStartTime")
    began = microseconds(start, None)
    if minutes is None or began is None:
        return None
    return str(began + round(float(minutes) * timedelta(minutes=1) / timedelta(microseconds=1)))
